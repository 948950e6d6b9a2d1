"""The command, the verdict and the section."""

from assay.cli.arguments import JSON, NEWEST, declared
from assay.run.status import run_of
from assay.screens.pages import print_result
from records.errors import ExitStatus
from records.forms import Form
from reports.analysis.run import analyse
from reports.answers import Answer, State
from reports.load.loading import load_run
from reports.result import Result, Section, Sentence


class SpreadForm(Form, kw_only=True):
    """What `--json` prints."""

    text: str


def spread_command(given):
    """Print the verdict of a run."""
    text = sentence(analyse(load_run(run_of(given.run_name).path)))
    answer = Answer(State.MEASURED, text)
    print_result(Result("", "Spread", SpreadForm(text=text), answer), as_json=given.json)
    return ExitStatus.PASS


declare = declared(spread_command, NEWEST, JSON)


def section(analysis, links):
    """The section of a report."""
    return Section("spread", "What varies most", lambda: [Sentence(sentence(analysis))])


def sentence(analysis):
    """The value with the greatest coefficient of variation."""
    row = max(analysis.rows, key=lambda row: row.summary.cv or 0)
    case = analysis.title(analysis.case(row))
    return f"{case}, {row.series.metric}: {100 * (row.summary.cv or 0):.1f} %."
