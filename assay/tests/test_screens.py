# SPDX-License-Identifier: Apache-2.0
"""What people see: 80 columns suffice, colour stays on a terminal, failures stand by reason."""

import io
import re
from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len

from assay.cli import main
from assay.cli.report import end
from assay.plan.times import Clock
from assay.run.progress import Progress
from assay.run.status import run_status
from assay.screens.screen import Screen
from assay.terminal import MOST, WIDTH, plain_output
from checks.common.session.outcome import Launch
from records.errors import ExitStatus
from records.run.run_directory import open_run
from records.tests.made import plan_of, planned, record
from reports.show.tables import Column
from reports.tests import synthetic

LONG = "srun: error: task 3 exited, and its daemon said nothing of use to anybody in block {block}"


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def small_cases() -> list[dict[str, Any]]:
    return [
        synthetic.case("startup", name, {"ranks": 2, "ranks_per_node": 1})
        for name in ("mpich", "openmpi", "lam")
    ]


def written(path: Path, cases: list[dict[str, Any]] | None = None, **how: Any) -> Path:
    return synthetic.write_run(path, cases or small_cases(), **how)


def failing(record: dict[str, Any]) -> dict[str, Any]:
    if record["environment"] == "mpich":
        return record
    reason = LONG if record["environment"] == "lam" else "did not end within {block}.5 s"
    return record | {"status": "failed", "reason": reason.format(**record), "metrics": []}


@pytest.fixture
def failed_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return written(Path("results/quick/failed"), edit=failing)


def lines_of(capsys: pytest.CaptureFixture[str]) -> list[str]:
    lines = capsys.readouterr().out.splitlines()
    assert max(map(cell_len, lines)) <= WIDTH, max(lines, key=cell_len)
    assert all(line == line.rstrip() for line in lines)
    return lines


def test_a_failed_run_is_told_by_reason_and_exits_1(failed_run, capsys) -> None:
    assert main(["status", str(failed_run)]) == 1
    lines = lines_of(capsys)
    assert lines[0] == "FAILED: quick on virtual, run failed"
    assert lines[1] == "  15 of 15 launches have a record: 5 ok, 10 failed"
    told = " ".join(" ".join(lines).split())
    assert "5 × failed: did not end within 1.5 s (openmpi: startup)" in told
    assert "5 × failed: srun: error: task 3 exited" in told
    assert len(lines) <= 8


@pytest.mark.parametrize(
    ("cases", "told"),
    [(small_cases(), ""), (synthetic.quick_cases(("mpich",)), "2 wrong on purpose")],
)
def test_a_run_without_failures_exits_0(tmp_path, capsys, cases, told) -> None:
    assert main(["status", str(written(tmp_path / "good", cases, blocks=2))]) == 0
    lines = lines_of(capsys)
    assert lines[0].startswith("COMPLETE")
    assert told in " ".join(lines)


def shown(monkeypatch: pytest.MonkeyPatch, stream: io.StringIO, **variables: str) -> str:
    for name in ("NO_COLOR", "FORCE_COLOR", "COLUMNS", "TTY_COMPATIBLE"):
        monkeypatch.delenv(name, raising=False)
    for name, value in ({"TERM": "xterm-256color"} | variables).items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("sys.stdout", stream)
    with plain_output():
        screen = Screen()
        screen.line(("BAD\x1b[31m", "bad"), " and " + "many words " * 40, indent=2, hang=4)
        screen.table(
            [Column("number", numeric=True), Column("words")],
            [["123 456 789.0 s", "a case that is described " * 6], [("+1 %", "good"), "[b]x[/b]"]],
        )
    return stream.getvalue()


def test_colour_stays_on_a_terminal(monkeypatch) -> None:
    assert "\x1b[" in shown(monkeypatch, Terminal())
    assert "\x1b" not in shown(monkeypatch, Terminal(), NO_COLOR="1")
    assert "\x1b" not in shown(monkeypatch, io.StringIO())
    assert "\x1b" not in shown(monkeypatch, Terminal(), TERM="dumb")


@pytest.mark.parametrize(("columns", "most"), [("60", 60), ("100", 100), ("300", MOST)])
def test_lines_are_as_wide_as_the_terminal_or_have_80_columns(monkeypatch, columns, most) -> None:
    text = shown(monkeypatch, Terminal(), COLUMNS=columns, NO_COLOR="1")
    assert most - 12 <= max(map(cell_len, text.splitlines())) <= most
    text = shown(monkeypatch, io.StringIO(), COLUMNS=columns)
    assert max(map(cell_len, text.splitlines())) <= WIDTH
    assert "[b]x[/b]" in text
    assert "123 456 789.0 s" in text


def test_a_report_ends_with_the_answer_the_ranking_and_the_page(tmp_path, capsys) -> None:
    run = written(tmp_path / "run", blocks=8)
    assert main(["report", str(run), "--format", "html", "--format", "csv"]) == 0
    told = capsys.readouterr().out
    words = told.split()  # a long path is on a line of its own
    assert words[words.index("page:") + 1] == f"{run}/report/index.html"
    lines = [line for line in told.splitlines() if str(tmp_path) not in line]
    assert max(map(cell_len, lines)) <= WIDTH
    text = "\n".join(lines)
    assert text.startswith("quick on virtual, run run: 24 ok\n\nOPEN: openmpi and mpich cannot yet")
    ranked = re.findall(r"^ +(1–2|3) +(\w+) +\d\.\d\d", text, re.MULTILINE)
    assert ranked == [("1–2", "openmpi"), ("1–2", "mpich"), ("3", "lam")]
    assert f"\n  next: assay run --resume {run} --blocks " in told.replace("\n        ", " ")
    assert "best in" in text
    assert "with it: summary.csv" in text


def test_the_end_of_a_run_has_answer_and_reasons(failed_run, capsys) -> None:
    run = open_run(str(failed_run))
    status = run_status(run, run.ledger())
    end(status, ExitStatus.FAIL, report=True, as_json=False)
    text = "\n".join(lines_of(capsys))
    assert "\nFAILED: 10 of 15 launches failed" in text
    assert "\n  5 × failed: did not end within 1.5 s (openmpi: startup)\n" in text
    assert f"  page: {failed_run}/report/index.html" in text
    end(status, ExitStatus.FAIL, report=False, as_json=False)
    assert lines_of(capsys)[0].startswith("FAILED: quick on virtual")


def test_a_run_whose_report_fails_keeps_its_status(failed_run, capsys) -> None:
    (failed_run / "report").symlink_to(failed_run)
    end(run_status(open_run(str(failed_run))), ExitStatus.FAIL, report=True, as_json=False)
    said = capsys.readouterr()
    assert "assay: no report: " in said.err
    assert said.out.startswith("FAILED: quick on virtual")


def test_a_comparison_is_a_table_with_the_greatest_change_first(tmp_path, capsys) -> None:
    cases = synthetic.quick_cases(("mpich",))[:3] + small_cases()
    first = written(tmp_path / "a", cases, seed=1)

    def edit(record: dict[str, Any]) -> dict[str, Any]:
        for metric in record["metrics"]:
            metric["value"] *= 1.5 if record["environment"] == "lam" else 1.2
        return record

    second = written(tmp_path / "b", cases, seed=2, edit=edit)
    assert main(["compare", str(first), str(second)]) == 0
    lines = lines_of(capsys)
    text = "\n".join(lines)
    assert "\\" not in text
    assert "|" not in text
    blocks = text.split("\n\n")
    assert re.match(r"Results\n\d+ beyond launches", blocks[2])
    found = [
        100 * float(times) - 100 if times else float(more)
        for more, times in re.findall(r"^ +(?:\+(\d+\.\d) %|(\d\.\d+) ×) ", blocks[2], re.MULTILINE)
    ]
    assert len(found) > 5
    assert found == sorted(found, reverse=True)
    rows = [line for line in blocks[2].splitlines()[2:] if " … " in line]
    assert "lam" in rows[0]
    units = [re.search(r"[ \u00a0][%×] ", line) for line in rows]
    assert len({found and found.start() for found in units}) == 1


def progress_of(monkeypatch: pytest.MonkeyPatch, *, live: bool) -> str:
    stream = Terminal() if live else io.StringIO()
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr("sys.stderr", stream)
    progress = Progress()
    cases = [planned(f"startup-{n}", "startup", "mpich") for n in range(4)]
    launches = [
        Launch(n, case.id, "startup", "mpich", {}, 2, 1, 2, n + 1, 1, 60.0)
        for n, case in enumerate(cases)
    ]
    progress.begin(launches, 0, Clock(plan_of(cases, 1)))
    progress.next(launches[0])
    progress.record(record(case_id="startup-0"))
    for number in (1, 2):
        failed: dict[str, Any] = {"status": "failed", "metrics": []}
        reason = f"node n{number} is gone"
        progress.record(record(case_id=f"startup-{number}", reason=reason, **failed))
    progress.next(launches[3])
    progress.tick()
    with progress._console.capture() as caught:
        if progress._bar is not None:
            progress._console.print(progress._bar.get_renderable())
    progress.end()
    return (f"{caught.get()}\f" if live else "") + stream.getvalue()


def test_on_a_terminal_a_line_updates_and_a_failure_is_said_once(monkeypatch) -> None:
    picture, said = progress_of(monkeypatch, live=True).split("\f")
    assert "3/4, about 1 s left, now: startup-3 in mpich, block 4" in picture
    assert max(map(cell_len, re.sub(r"\x1b\[[0-9;]*\w", "", picture).splitlines())) < WIDTH
    assert said.count("block 1: failed") == 1
    assert "block 1: ok" not in said


def test_off_a_terminal_each_launch_has_a_plain_line(monkeypatch) -> None:
    lines = progress_of(monkeypatch, live=False).splitlines()
    assert lines[0].startswith("4 launches to run")
    assert [line.split()[0] for line in lines[1:]] == ["[1/4]", "[2/4]", "[3/4]"]
    assert "\x1b" not in "".join(lines)
