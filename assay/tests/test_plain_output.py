# SPDX-License-Identifier: Apache-2.0
"""No control character of a program leaves: not to a terminal, not into a page or a file."""

import io
import json
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
import pytest

from assay.cli import main
from assay.plan.times import Clock
from assay.run.progress import Progress
from assay.terminal import plain_output
from assay.tests.rewritten_runs import rewritten
from assay.tests.test_accept_every_campaign import stored_run
from assay.tests.test_secrets import texts_of
from records.errors import AssayError
from records.run.plan import Plan
from records.run.provenance import read_provenance
from records.tests.made import plan_of, record
from records.text.plain_text import SUBSTITUTE, WITHHELD, one_line, plain

pytestmark = pytest.mark.usefixtures("believed")

#: Each kind once: C0, ESC, DEL, C1, bidi, separators, byte order mark, tags.
CONTROLS = [
    *(chr(code) for code in range(32) if chr(code) not in "\n\t"),
    *(chr(code) for code in range(0x7F, 0xA0)),
    *"\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u206a\u206f",
    *"\u2028\u2029\ufeff\ufff9\ufffe\U000e0041",
]
NASTY = "\x1b[2J\x1b]0;owned\x07" + "".join(CONTROLS) + "\nverified: all is well\n\x9b31m\r100 %"
Capture = pytest.CaptureFixture[str]
JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl"


def spoilt(record: dict[str, Any]) -> dict[str, Any]:
    record |= {"flags": [NASTY], "job_id": NASTY, "started_at": f"2026-11-20{NASTY}"}
    if record["block"] == 1:
        record |= {"status": "failed", "reason": NASTY}
    return record


def assert_plain(text: str, where: str) -> None:
    found = [repr(one) for one in CONTROLS if one in text]
    assert not found, f"{where}: {found}"
    assert JWT not in text, where


def test_the_progress_of_a_run_is_plain_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.StringIO()
    monkeypatch.setattr("sys.stderr", stream)
    failed = record(**spoilt({"block": 1, "metrics": []}))
    with plain_output():
        progress = Progress(live=False)
        progress.begin([], 0, Clock(plan_of([], 1)))
        progress.say(NASTY)
        progress.record(failed)
        progress.record(msgspec.structs.replace(failed, status="ok", metrics=record().metrics))
        progress.end()
    assert_plain(stream.getvalue(), "progress")
    assert stream.getvalue().count("\n") == 1 + 3 + 2


@pytest.mark.parametrize("character", [*CONTROLS, "\ud800", "\udfff", "\uffff"])
def test_each_control_character_is_marked(character: str) -> None:
    assert plain(f"a{character}b") == f"a{SUBSTITUTE}b"
    assert one_line(f"a{character}b\nc").isprintable()


def test_readable_text_stays() -> None:
    text = "µs, ± 3 %, n₁–n₂\tnaïve 日本 \u200b\n"
    assert plain(text) == text
    assert one_line("two\n lines ") == "two lines"


def test_a_path_that_is_no_text_is_one_message(capsys: Capture) -> None:
    assert main(["status", "\udcff\x1b[31m"]) == 2
    said = capsys.readouterr().err
    assert said[:-1].isprintable()
    assert said.count("\n") == 1


def _leaves(data: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The ways to each text of plain data."""
    if isinstance(data, str):
        yield path
    elif isinstance(data, dict | list):
        for key, one in data.items() if isinstance(data, dict) else enumerate(data):
            yield from _leaves(one, (*path, key))


def _spoilt_wherever(data: Any, takes: Callable[[bytes], object]) -> tuple[Any, int]:
    """The data with NASTY in each text in which a reader `takes` it, and in how many it does."""
    count = 0
    for path in [*_leaves(data)]:
        spoilt = json.loads(json.dumps(data))
        place = spoilt
        for key in path[:-1]:
            place = place[key]
        place[path[-1]] += NASTY
        with suppress(AssayError):
            takes(json.dumps(spoilt).encode())
            data, count = spoilt, count + (path[-1] != "unit")
    return data, count


@pytest.mark.full
def test_no_text_of_a_run_leaves_with_a_control_character(folder: Path, capsys: Capture) -> None:
    run = stored_run("nightly", folder)
    written = json.loads((run / "plan.json").read_text())
    units = {one["name"]: one["unit"] for one in written["metrics"]}
    plan, texts = _spoilt_wherever(written, Plan.from_json)
    assert texts > 40
    for one in plan["metrics"]:  # a unit is that of the records, or the run is refused
        one["unit"] = units[one["name"]]
    found = folder / "provenance.json"

    def takes(content: bytes) -> None:
        found.write_bytes(content)
        read_provenance(found)

    provenance, texts = _spoilt_wherever(json.loads((run / "provenance.json").read_text()), takes)
    assert texts > 80
    provenance["variables"]["SLURM_JWT"] = JWT
    provenance["started_at"] = provenance["started_at"].removesuffix(NASTY)  # a time, or refused
    for one in provenance["environments"].values():  # what launches prove, or accept refuses them
        one["library"] = one["library"].removesuffix(NASTY)
    found.unlink()
    (run / "provenance.json").write_text(json.dumps(provenance))

    def asks(cases: list[dict[str, Any]]) -> None:
        """Give the plan and its records these cases' parameters."""
        params = {case["id"]: case["params"] for case in cases}
        for case in plan["cases"]:
            case["params"] = params[case["id"]]
        (run / "plan.json").write_text(json.dumps(plan))

        def edit(record: dict[str, Any]) -> dict[str, Any]:
            own = {"params": params[record["case_id"]], "started_at": record["started_at"]}
            return spoilt(record) | own  # a time, or refused

        rewritten(run, edit)

    asks(plan["cases"])
    for words in (
        ["status", str(run)],
        ["status", str(run), "--json"],
        ["report", str(run)],
        ["report", str(run), "--pictures", "pictures"],
        ["compare", str(run), str(run), "--html", "page.html"],
        ["export", str(run), "--output", "metrics.txt"],
        ["nightly", "add", str(run)],
        ["nightly", "check"],
        ["nightly", "check", "--json"],
        ["nightly", "show"],
        ["accept", str(run), "--criteria", "standard"],
        ["verify", str(run)],
    ):
        if words[0] == "accept":
            asks(written["cases"])  # others it does not judge
        status, said = main(words), capsys.readouterr()
        assert status in (0, 1, 3), (words, said.err)
        assert_plain(said.out + said.err, " ".join(words))
        assert not re.search(r"^verified: all", said.out, re.MULTILINE), words
    assert WITHHELD in (run / "report" / "index.html").read_text()
    kinds = ("report/*", "report/raw/*", "acceptance/*")
    files = [file for kind in kinds for file in run.glob(kind) if file.is_file()]
    files += [*folder.glob("p*"), folder / "metrics.txt", *folder.glob("results/*/*")]
    files += [*(folder / "pictures").iterdir()]
    assert len(files) > 30
    for file in files:
        if file.suffix in (".pdf", ".parquet"):
            (_, text) = texts_of(file)
            assert not any(repr(one)[1:-1] in text for one in CONTROLS if one != "\\")
            assert_plain(text, str(file))
        elif file.is_file() and file.suffix != ".png":
            assert_plain(file.read_bytes().decode(), str(file))
