# SPDX-License-Identifier: Apache-2.0
"""The report of a run in short as Markdown."""

from __future__ import annotations

from collections.abc import Iterator

from records.text.plain_text import plain
from reports.analysis import Analysis
from reports.answer.run import answer_of
from reports.checks.sections import CheckPart
from reports.notation.units import count_text
from reports.render.markdown import markdown_table, md
from reports.show import listings
from reports.show.choice.tables import score_table
from reports.show.headline import headline_table
from reports.write.content import Content
from reports.write.summary import check_sentences, launches_text, summary_sentences


def render_markdown(content: Content) -> str:
    """The report in short: the answer, what ran, a few rows of each check, where the rest is."""
    analysis, run = content.analysis, content.analysis.run
    answer = answer_of(analysis)
    lines = [f"# {md(run.plan.question or run.plan.campaign)}", ""]
    lines += [f"**{md(answer.state.word)}**: {md(answer.sentence)}", ""]
    lines += [f"Not known: {md(answer.unknown)}", ""] if answer.unknown else []
    lines += [f"Next: `{plain(answer.command)}`", ""] if answer.command else []
    names = f"Campaign {md(run.plan.campaign)}, site {md(run.plan.site)}, run {md(run.run_id)}"
    lines += [f"{names}: {md(launches_text(analysis))}.", ""]
    lines += [f"- **Warning:** {md(text)}" for text in content.warnings[:MOST_WARNINGS]]
    lines += [f"- {md(sentence.text)}" for sentence in summary_sentences(analysis)]
    if study := content.study:
        lines += ["", f"## Beside the study of {study.study.year}", ""]
        beside = (
            f"{study.study.authors}, {study.study.title}. Its tables and figures beside this run:"
        )
        lines += [f"{md(beside)} `{study.command}`.", *markdown_table(study.claims)]
    if reasons := listings.reasons_table(analysis, content.links):
        lines += markdown_table(reasons)
    if places := score_table(analysis):
        lines += ["", "## Which environment is best", *markdown_table(places)]
    parts = [list(_check(analysis, part)) for part in content.parts]
    tables = [list(_first_table(part)) for part in content.parts]
    end = ["", "## Where the rest is", ""]
    end += [f"- {md(name)}: {what}" for name, what in _ELSEWHERE.items()]
    told, room = 0, MOST_LINES - len(lines) - len(end) - 2
    for part in parts:
        if len(part) > room:
            break
        told, room = told + 1, room - len(part)
    for part, further in zip(parts[:told], tables, strict=False):
        lines += part
        if len(further) <= room and told == len(parts):
            lines, room = lines + further, room - len(further)
    if left := len(parts) - told:
        lines += ["", f"{count_text(left, 'further check stands', 'further checks stand')} there:"]
    return "\n".join(lines + end) + "\n"


#: Lines of the text, whatever the campaign.
MOST_LINES = 480
#: Rows of a check's own table, where there is room for it.
MOST_ROWS = 20
#: Warnings that it tells; the page has all.
MOST_WARNINGS = 20
_ELSEWHERE = {
    "index.html": "pictures, every table, every launch with its raw output",
    "summary.csv": "each metric at each point with its statistics, SI units",
    "values.parquet": "the value of each launch",
    "verdicts.json": "the answer, places, every comparison",
    "junit.xml": "a test case a launch, with the reason of each that is not ok",
}


def _first_table(part: CheckPart) -> Iterator[str]:
    """A check's first own table, where it is short."""
    for table in part.tables[:1]:
        if len(table.rows) <= MOST_ROWS and not table.omitted:
            yield from markdown_table(table)


def _check(analysis: Analysis, part: CheckPart) -> Iterator[str]:
    """What was found in a check, and a few rows of it."""
    yield from ("", f"## {md(part.title)}", "")
    for sentence in check_sentences(analysis, part.check):
        yield md(sentence.text)
    if table := headline_table(analysis, part.check):
        yield from markdown_table(table)
