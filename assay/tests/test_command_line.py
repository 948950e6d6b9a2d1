# SPDX-License-Identifier: Apache-2.0
"""The command line: exit statuses, each the same in help and README; no slow library is loaded
that a command does not need; completion, asked for in a real bash."""

import argparse
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

import pytest

from assay import ROOT, criteria_files
from assay.cli import main
from assay.cli.main import COMMANDS, make_parser, plugin_commands
from assay.schema.loading import campaign_names
from assay.sites.site_file import SITES
from assay.tests.test_runs import small_run
from checks.common.registry import CHECKS
from records.errors import ExitStatus

ASSAY = str(Path(sys.executable).with_name("assay"))


def ended(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, ASSAY, *words]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (ExitStatus.PASS, ("status", "results/quick/good")),
        (ExitStatus.FAIL, ("status", "results/quick/bad")),
        (ExitStatus.BAD_INPUT, ("plan", "no-campaign")),
        (ExitStatus.BAD_INPUT, ("plan", "--no-option")),
        (ExitStatus.INCONCLUSIVE, ("predict", "results/quick/good", "--nodes", "64")),
        (ExitStatus.INFRASTRUCTURE, ("run", "quick", "--site", "virtual:t-none")),
    ],
)
@pytest.mark.plugins("contract", "papers", "predict", "profile", "reframe", "vetting")
def test_a_command_ends_with_this_status(tmp_path: Path, status, words) -> None:
    small_run(tmp_path / "results/quick/good")
    small_run(tmp_path / "results/quick/bad", failed=True)
    answer = ended(tmp_path, *words)
    assert answer.returncode == status, answer.stderr
    assert "Traceback" not in answer.stderr


def test_help_and_readme_say_the_same_of_each_status(tmp_path: Path) -> None:
    told = " ".join(ended(tmp_path, "--help").stdout.split())
    readme = " ".join((ROOT / "README.md").read_text().split())
    for status in ExitStatus:
        assert f"{status:d} {status.meaning}" in told
        assert f"{status:d} {status.meaning}" in readme


def options(command: str) -> list[str]:
    (below,) = [
        action.choices[command]
        for action in make_parser([command])._actions
        if isinstance(action, argparse._SubParsersAction)
    ]
    return [
        one.option_strings[-1] for one in below._actions if one.option_strings and one.nargs != 0
    ]


@pytest.mark.parametrize(
    "command", ["run", "plan", "report", "compare", "accept", "export", "predict"]
)
@pytest.mark.parametrize("form", [lambda o: [o, ""], lambda o: [f"{o}="]])
@pytest.mark.plugins("contract", "papers", "predict", "profile", "reframe", "vetting")
def test_no_option_takes_an_empty_value(command, form, said) -> None:
    assert "an argument has an empty value" in said(2, command, "")
    assert options(command)
    for option in options(command):
        assert f"assay: {option} has an empty value" in said(2, command, *form(option))


@pytest.mark.parametrize(
    ("error", "is_defect"),
    [
        (KeyError("planted"), True),
        (ModuleNotFoundError("planted", name="assay.lost"), True),
        (ModuleNotFoundError("planted", name="scipy.stats"), False),
    ],
)
def test_a_defect_is_no_verdict_and_a_package_that_is_not_here_no_defect(
    monkeypatch, capsys, error, is_defect
) -> None:
    def broken(_):
        raise error

    monkeypatch.setattr(sys.modules["assay.cli.main"], "make_parser", broken)
    assert main(["status"]) == 4
    told = capsys.readouterr().err
    assert "planted" in told
    assert ("a defect of assay, not a verdict" in told) == is_defect
    assert ("Traceback" in told) == is_defect
    assert ("call this on the machine of the cluster" in told) != is_defect


#: Libraries that take longer to load than all of ours.
SLOW = {"matplotlib", "msgspec", "numpy", "polars", "pydantic", "reframe", "rich", "scipy", "yaml"}


def loaded_by(statement: str) -> set[str]:
    """The modules that are loaded after a statement."""
    program = f"import sys; {statement}; print('loaded:', *sys.modules)"
    answer = subprocess.run([sys.executable, "-P", "-c", program], capture_output=True, check=True)
    return set(answer.stdout.decode().rpartition("loaded:")[2].split())


def test_no_slow_library_is_loaded_to_list_the_commands():
    assert not SLOW & loaded_by("from assay.cli.main import make_parser; make_parser([])")
    assert SLOW - {"reframe"} <= loaded_by("import assay.cli.report, assay.schema.loading")


@pytest.mark.parametrize("module", ["status", "doctor"])
def test_quick_commands_load_no_analysis(module):
    slow = {"matplotlib", "polars", "reframe", "scipy"}
    assert not slow & loaded_by(f"import assay.cli.{module}")


#: What only foreign tests and commands of campaigns need.
FOREIGN = re.compile(
    r"checks\.common\.command\.|assay\.schema\.command|assay\.screens\.try_output"
    r"|plugins\.reframe\.(?!plugin|suites)"
)
PLAN = "from assay.cli.main import main; main(['plan', 'quick', '--site', 'virtual'])"
NIGHT = "import assay.cli.nightly, assay.cli.campaign, assay.run.start, assay.run.session"
SESSION = "import checks.common.session.command_line, checks.common.session.launches"


@pytest.mark.parametrize("code", [PLAN, NIGHT, SESSION, "import assay.cli.checks"])
def test_what_only_suites_need_is_not_loaded_without_them(code):
    found = loaded_by(code)
    assert "checks.common.registry" in found
    assert not [name for name in found if FOREIGN.match(name)]


def works(parser: argparse.ArgumentParser) -> Iterator[str]:
    """What the commands of a parser, and those below them, name as their work."""
    below = [a for a in parser._actions if isinstance(a, argparse._SubParsersAction)]
    for action in below:
        for command in action.choices.values():
            yield from works(command)
    if not below:
        yield parser.get_default("run")


def test_the_work_of_each_command_is_found():
    every = {*COMMANDS, *plugin_commands()}
    named = [*works(make_parser(every))]
    assert len(named) > len(every)
    assert all(callable(run) for run in named)


@pytest.mark.parametrize("module", ["assay.cli.main", "assay.cli.report", "polars"])
def test_ctrl_c_while_a_command_is_loaded_ends_it_without_a_traceback(module):
    program = f"""
import os, signal, sys
class Press:
    def find_spec(self, name, *_):
        if name == {module!r}:
            os.kill(os.getpid(), signal.SIGINT)
signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job would ignore it
sys.meta_path.insert(0, Press())
sys.argv = ["assay", "report"]
from assay.entry import main
main()
"""
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, check=False)
    assert (ended.returncode, ended.stdout, ended.stderr) == (-signal.SIGINT, b"", b"")


#: Arguments: the words of a command line, the last one to be completed. Prints what is offered.
ASKING = """\
source ./script
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
_shtab_assay
printf '%s\\n' "${COMPREPLY[@]}"
"""


@pytest.fixture
def complete(folder, monkeypatch):
    """Ask a real bash what it offers."""
    command = [Path(sys.executable).with_name("assay"), "--print-completion", "bash"]
    script = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    (folder / "script").write_text(script)
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:{os.environ['PATH']}")

    def ask(*words: str) -> set[str]:
        command = ["bash", "-c", ASKING, "bash", *words]
        offered = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
        return set(offered.stdout.split())

    return ask


@pytest.mark.full
def test_commands_options_and_their_values(complete):
    assert complete("assay", "") == {*COMMANDS, *plugin_commands()}
    assert complete("assay", "st") == {"status"}
    assert complete("assay", "nightly", "accept") == {"accept-change"}
    assert complete("assay", "report", "--f") == {"--format"}
    assert complete("assay", "report", "--format", "p") == {"parquet", "pdf"}
    assert complete("assay", "cluster", "up", "--") >= {"--nodes", "--network", "--switches"}


@pytest.mark.full
def test_names_of_what_there_is(complete, tmp_path):
    assert complete("assay", "plan", "") == set(campaign_names())
    sites = {path.parent.name for path in SITES.glob("*/site.yaml")}
    assert complete("assay", "run", "quick", "--site", "") == sites
    assert complete("assay", "accept", "--criteria", "") == set(criteria_files())
    assert complete("assay", "checks", "") == set(CHECKS)
    for run in ("20261120T000000Z-0001", "$(touch harm)"):
        (tmp_path / "results" / "quick" / run).mkdir(parents=True)
        (tmp_path / "results" / "quick" / run / "plan.json").touch()
    assert complete("assay", "run", "--resume", "") == {"20261120T000000Z-0001"}
    assert not (tmp_path / "harm").exists()


def test_nothing_is_offered_where_a_number_or_text_stands(complete):
    assert complete("assay", "nightly", "show", "--nothing-like-it") == set()
    assert not complete("assay", "cluster", "up", "--nodes", "") & set(COMMANDS)
    assert not complete("assay", "cluster", "status", "") & {"up", "down", "status"}


def test_version_is_the_installed_one(capsys):
    with pytest.raises(SystemExit) as left:
        main(["--version"])
    assert left.value.code == 0
    assert capsys.readouterr().out == f"assay {metadata.version('assay')}\n"
