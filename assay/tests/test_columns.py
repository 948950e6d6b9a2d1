# SPDX-License-Identifier: Apache-2.0
"""80 columns suffice for what every command shows, on a terminal and off it; 40 break no line."""

import io
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import pytest
from rich.cells import cell_len

from assay.cli import main
from assay.cli import report as cli_report
from assay.cli.main import COMMANDS, make_parser
from assay.documents import acceptance_files as store
from assay.terminal import WIDTH, folded
from assay.tests.campaign_texts import CRITERIA
from assay.tests.test_screens import Terminal, failing
from reports.tests import acceptance_runs, synthetic
from reports.tests.test_nightly_history import write_night

pytestmark = pytest.mark.usefixtures("believed")

#: What is never broken: a path, a command to be copied, what stands in backticks.
WHOLE = re.compile(r"\S*/\S*|\bassay [a-z].*|`[^`]+`")
WRONG = """\
schema: 1
name: wrong
question: What happens when keys are misspelt, and what is allowed is a list of a great many keys?
environments: [mpich]
block: 5
cases:
  - check: echo
    fixed: {sizes: [8, 1024], iteration: 20}
"""


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Runs, a history with a change, an acceptance, files with faults."""
    folder = tmp_path_factory.mktemp("columns")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for printer in (store, cli_report):
            patch.setattr(printer, "find_browser", lambda: None)
        patch.setattr("reports.render.html.svg_of", lambda *_: "")  # what is told is the same
        cases = [one for one in synthetic.quick_cases() if one["check"] != "pt2pt"]
        for name, how in (("a", {}), ("b", {"slower": 1.3}), ("failed", {"edit": failing})):
            synthetic.write_run(Path("results/quick") / name, cases, **how)
        acceptance_runs.write_run(Path("results/acceptance/c"), slow_node={"n2": 0.6})
        for number in range(1, 8):
            night = write_night(folder, number, slower=1.3 if number > 5 else 1.0)
            with redirect_stdout(io.StringIO()):
                assert main(["nightly", "add", str(night)]) == 0
        Path("mine.yaml").write_text(CRITERIA)
        Path("wrong.yaml").write_text(WRONG)
        yield folder


#: Commands on good input and on bad; the runs are relative, as people name them.
SHOWN = [
    *("doctor", "doctor --site none", "run", "run quick --time 5", "plan wrong.yaml", "plan none"),
    *("plan quick --site none", "site init"),
    *(f"status results/quick/{run}" for run in ("a", "failed", "none")),
    *(f"report results/quick/{run} --format csv" for run in ("a", "failed")),
    "report results/quick/a --checks none",
    *(f"compare results/quick/a results/{run}" for run in ("quick/b", "acceptance/c")),
    *(f"paper {year} results/quick/a" for year in (1901, 2003)),
    *(f"accept results/quick/a{criteria}" for criteria in ("", " --criteria none")),
    *("accept results/acceptance/c --criteria mine.yaml", "verify results/acceptance/c"),
    *("nightly show", "nightly show --changes", "nightly check", "nightly check --campaign none"),
    *("nightly add results/quick/b",),
    "nightly accept-change 99 --author me --reason because",
    *(f"predict results/quick/{words}" for words in ("a", "a --nodes none", "none")),
    *(f"checks {name}" for name in ("", "hpl", "pt2pt", "osu", "su3_rmd", "pvm_echo", "hpll")),
    "export results/quick/none",
    *(f"run --resume results/quick/{words}" for words in ("none", "a --blocks 3")),
    "build --site virtual --environments none",
    "nightly schedule --with cron --at 25:99",
]


def told(words: str, monkeypatch: pytest.MonkeyPatch, *, columns: int | None) -> str:
    """What a command shows, messages on a terminal; `columns`: of that; None: the rest off it."""
    stream, messages = io.StringIO() if columns is None else Terminal(), Terminal()
    monkeypatch.setenv("COLUMNS", str(columns or WIDTH))
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr("sys.stdin", io.StringIO())
    with redirect_stdout(stream), redirect_stderr(messages):
        try:
            status = main(words.split())
        except SystemExit as end:
            status = int(end.code or 0)
    assert status in range(5), words
    return stream.getvalue() + messages.getvalue()


def too_long(text: str, width: int) -> list[str]:
    """Lines that are longer than the width, and not for something that is never broken."""
    return [
        line
        for line in text.splitlines()
        if cell_len(line) > width and cell_len(WHOLE.sub("", line)) > width
    ]


@pytest.mark.parametrize("words", SHOWN)
def test_80_columns_suffice(place: Path, monkeypatch: pytest.MonkeyPatch, words: str) -> None:
    for columns in (None, WIDTH):
        text = told(words, monkeypatch, columns=columns)
        assert text.strip()
        assert not too_long(text, WIDTH)
        assert all(line == line.rstrip() for line in text.splitlines())


@pytest.mark.parametrize(
    "words", ["status results/quick/failed", "report results/quick/a --format csv", "checks echo"]
)
def test_40_columns_break_no_line(place: Path, monkeypatch: pytest.MonkeyPatch, words: str) -> None:
    assert not too_long(told(words, monkeypatch, columns=40), 40)


def helps() -> Iterator[str]:
    for name in COMMANDS:
        yield name
        parser = make_parser([name])._subparsers
        assert parser is not None
        (commands,) = (a.choices for a in parser._group_actions if a.choices)
        for action in commands[name]._actions:  # type: ignore[index]
            if isinstance(action.choices, dict):
                yield from (f"{name} {one}" for one in action.choices)


def test_every_help_fits(monkeypatch: pytest.MonkeyPatch) -> None:
    for words in helps():
        text = told(f"{words} --help", monkeypatch, columns=WIDTH)
        assert text.startswith("usage: assay"), words
        assert not too_long(text, WIDTH), words


def test_no_path_or_command_is_broken_and_lines_that_fit_stay_as_they_are() -> None:
    path, command = "/x" * 60, f"assay run --resume {'/y' * 50} --site a:b --time 5"
    text = f"{'some words ' * 6}{path} and {'more ' * 20}`{command}` or {command}; {'end ' * 30}"
    lines = folded(text, WIDTH).splitlines()
    assert any(path in line for line in lines)
    assert sum(command in line for line in lines) == 2
    assert not too_long("\n".join(lines), WIDTH)
    assert " ".join(text.split()) == " ".join(" ".join(lines).split())
    text = "  a table   with blanks\n\n    more   of it\n"
    assert folded(text, WIDTH) == text
    assert folded("日本" * 30 + " 語", WIDTH).splitlines()[1] == "  語"


def run_in_shell(words: str, place: Path, **variables: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        ["bash", "-c", words.replace("assay", str(Path(sys.executable).with_name("assay")), 1)],
        cwd=place,
        env={**os.environ, **variables},
        capture_output=True,
        check=False,
    )


def test_a_closed_terminal_is_no_error(place: Path) -> None:
    terminal, end = os.openpty()
    os.close(terminal)
    words = [str(Path(sys.executable).with_name("assay")), "status", "results/quick/failed"]
    buffered = os.environ | {"PYTHONUNBUFFERED": ""}
    done = subprocess.run(words, cwd=place, stdout=end, stderr=end, env=buffered, check=False)
    os.close(end)
    assert done.returncode == 1  # as with a terminal


def test_a_closed_pipe_is_no_error(place: Path) -> None:
    done = run_in_shell("assay status results/quick/failed | head -1; echo ${PIPESTATUS[0]}", place)
    assert done.stderr == b""
    assert done.stdout.startswith(b"FAILED: ")
    assert done.stdout.endswith(b"\n1\n")  # as without the pipe


@pytest.mark.parametrize("encoding", ["latin-1", "ascii"])
def test_a_foreign_encoding_is_no_error(place: Path, encoding: str) -> None:
    words = "assay status results/quick/failed"
    done = run_in_shell(words, place, PYTHONIOENCODING=encoding, LC_ALL="C", FORCE_COLOR="1")
    assert (done.returncode, done.stderr) == (1, b"")
    assert b"\x1b" not in done.stdout
