# SPDX-License-Identifier: Apache-2.0
"""Every command on every damage of a run directory: one message that names the file, status 2."""

import json
import os
import shutil
import signal
import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from assay.cli import main
from assay.documents import acceptance_files as store
from assay.tests.campaign_texts import CRITERIA
from records.errors import AssayError
from records.input_files import kind_at
from records.run.chain import SEAL
from records.tests.made import case_id
from reports.tests import acceptance_runs as runs
from reports.tests.synthetic import chained as rechained

pytestmark = pytest.mark.usefixtures("believed")

Capsys = pytest.CaptureFixture[str]
Damage = Callable[[Path], object]

#: Commands that read a run; RUN is the damaged one, GOOD another.
COMMANDS = {
    "status": ["status", "RUN"],
    "report": ["report", "RUN", "--format", "csv", "--format", "md"],
    "compare": ["compare", "GOOD", "RUN"],
    "verify": ["verify", "RUN"],
    "accept": ["accept", "RUN", "--criteria", "mine.yaml"],
    "accept --with": ["accept", "GOOD", "--criteria", "mine.yaml", "--with", "RUN"],
    "nightly add": ["nightly", "add", "RUN", "--history", "h.sqlite"],
    "run --resume": ["run", "--resume", "RUN", "--plain"],
}
#: Names that would leave the run directory, be an option or reach a shell.
ODD_NAMES = (
    *("../../x", "/etc/x", "-rf", "a\nb", "a b", "$(id)", "a;id"),
    *("x\u0000", "\u202ex", "..", "", "x" * 300),
)
GREAT = 10**400
DEEP = b"[" * 100_000
#: What a file may be instead of one.
CONTENTS = {
    "empty": b"",
    "NUL": b"\0" * 4096 + b"\n",
    "no UTF-8": b'{"schema": 1, "run_id": "\xff\xfe"}\n',
    "surrogate": b'{"schema": 1, "run_id": "\\ud800", "a": 1}\n',
    "deep": b'{"schema": 1, "x": ' + DEEP + b"\n",
    "deep and closed": b'{"x": ' + DEEP + b"]" * 100_000 + b"}\n",
    "null": b"null\n",
    "list": b"[]\n",
    "text": b"not json\n",
    "great integer": b'{"schema": ' + b"1" * 400 + b"}\n",
    "greater integer": b'{"schema": ' + b"1" * 5000 + b"}\n",
    "two": b"{} {}\n",
}


def bind(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as made:
        os.chdir(path.parent)  # such a name is short
        made.bind(path.name)


def to_link(path: Path) -> None:
    path.symlink_to(path.rename(path.with_name(f"real-{path.name}")).name)


def to(make: Damage) -> Damage:
    """What is made in the place of a file."""

    def change(path: Path) -> None:
        path.unlink()
        make(path)

    return change


KINDS: dict[str, Damage] = {
    "folder": to(Path.mkdir),
    "FIFO": to(os.mkfifo),
    "socket": to(bind),
    "link": to_link,
    "loop": to(lambda path: path.symlink_to(path.name)),
    "dangling": to(lambda path: path.symlink_to("nowhere")),
    "device": to(lambda path: path.symlink_to("/dev/zero")),
}


def of(name: str, change: Damage) -> Damage:
    return lambda run: change(run / name)


def spoiled(change: Callable[[bytes], bytes]) -> Damage:
    return lambda path: path.write_bytes(change(path.read_bytes()))


def content(text: bytes) -> Damage:
    return spoiled(lambda _: text)


def put(text: str | bytes, keys: Sequence[str | int], value: Any) -> str:
    """The text of an object of JSON in which a member is set to a value."""
    whole = at = json.loads(text)
    for key in keys[:-1]:
        at = at[key]
    at[keys[-1]] = value
    return json.dumps(whole)


def member(file: str, keys: Sequence[str | int], value: Any) -> Damage:
    """Set a member of a file of JSON, or of the record in a line: "records.jsonl:4"."""
    name, _, number = file.partition(":")
    if not number:
        return of(name, lambda path: path.write_text(put(path.read_bytes(), keys, value)))
    at = int(number) - 1
    return lines(
        lambda found: [*found[:at], f"{put(found[at], keys, value)}\n".encode(), *found[at + 1 :]]
    )


def lines(change: Callable[[list[bytes]], list[bytes]]) -> Damage:
    edit = spoiled(lambda text: b"".join(change(text.splitlines(keepends=True))))
    return of("records.jsonl", edit)


PLAN, PROVENANCE, RECORD = "plan.json", "provenance.json", "records.jsonl:4"
METRIC = {"name": "rate", "unit": "flop/s", "better": "higher", "value": 1.0}
#: File and member → what it is set to.
MEMBERS: dict[tuple[str, *tuple[str | int, ...]], Sequence[Any]] = {
    **{(PLAN, "cases", 0, name): ODD_NAMES for name in ("id", "check", "environment")},
    **dict.fromkeys([(PLAN, "campaign"), (PLAN, "site"), (PLAN, "environments", 0)], ODD_NAMES),
    (PLAN, "schema"): (9, GREAT, "1"),
    (PLAN, "blocks"): (0, -1, GREAT, 10**9, None, 1.5),
    (PLAN, "seed"): (GREAT, "x"),
    (PLAN, "limits"): ({"retries": "x"}, {"launch_s": -1}, {"launch_s": GREAT}, [], {"x": {}}),
    (PLAN, "weights"): ({"hpl": -1.0}, {"hpl": GREAT}),
    (PLAN, "variants"): ({"../x": {}}, {"v": 3}, []),
    (PLAN, "cases"): ({}, None, [1], [{}]),
    (PLAN, "cases", 0, "ranks"): (-1, GREAT, "2"),
    (PLAN, "cases", 0, "params"): ([], {"n": GREAT}, {"n": [[[[1]]]]}, {"n": {"a": {"b": {}}}}),
    (PLAN, "cases", 0, "estimate_s"): (-1.0, GREAT),
    (PLAN, "cases", 1, "id"): (case_id("node", "mpich", runs.CASES["node"]),),  # the other's
    (PROVENANCE, "run_id"): [*filter(None, ODD_NAMES)],
    (PROVENANCE, "site"): (
        *({"asked_as": odd} for odd in ODD_NAMES),
        *({"nodes_left_out": [odd]} for odd in ODD_NAMES),
        *({"builds": "x"}, {"nodes": GREAT}, {"network": 3}, {"nodes": -1}, []),
    ),
    (PROVENANCE, "environments"): [{odd: {}} for odd in ODD_NAMES],
    (PROVENANCE, "schema"): (9,),
    (PROVENANCE, "variables"): ([1],),
    **dict.fromkeys([(RECORD, "run_id"), (RECORD, "case_id"), (RECORD, "nodes", 1)], ODD_NAMES),
    (RECORD, "artifacts", "stdout"): (
        *ODD_NAMES,
        *("raw/../../x", "raw//x", "./raw/x", "x.out", "raw/-x", "raw/a\nb"),
    ),
    (RECORD, "schema"): (9, GREAT, 1),
    (RECORD, "block"): (0, -1, 999, GREAT, "1"),
    (RECORD, "attempt"): (0, -1, GREAT),
    (RECORD, "status"): ("good", None, "OK"),
    (RECORD, "check"): ("other",),
    (RECORD, "environment"): ("other",),
    (RECORD, "params"): ({}, {"n": GREAT}, [], {"x": [[[[[1]]]]]}),
    (RECORD, "metrics"): ({}, [METRIC | {"value": GREAT}], [METRIC | {"value": "1"}], [1]),
    (RECORD, "flags"): ("x", [1]),
    (RECORD, "artifacts"): ([], {"stdout": 1}),
}


def damages() -> Iterator[tuple[str, str, Damage]]:
    for file in (PLAN, PROVENANCE, "records.jsonl", "campaign.yaml"):
        for name, change in KINDS.items():
            yield f"{file} is a {name}", file, of(file, change)
    for file in (PLAN, PROVENANCE, "records.jsonl"):
        for name, text in CONTENTS.items():
            if (file, name) != ("records.jsonl", "empty"):
                yield f"{file} holds {name}", file, of(file, content(text))
    for file in (PLAN, PROVENANCE):
        yield f"{file} is truncated", file, of(file, spoiled(lambda text: text[: len(text) // 2]))
        yield f"{file} is missing", file, of(file, Path.unlink)
    for (file, *keys), values in MEMBERS.items():
        for value in values:
            yield f"{file} {keys} is {str(value)[:20]!r}", file, member(file, keys, value)
    yield "another run", "records.jsonl:1", member(PROVENANCE, ["run_id"], "20990101T000000Z-ffff")
    for name, text in {**CONTENTS, "empty": b"\n"}.items():
        change = lines(lambda found, text=text: [*found[:3], text, *found[3:]])  # type: ignore[misc]
        yield f"a line holds {name}", RECORD, change
    half = lines(lambda found: [*found[:3], found[3][:40] + b"\n", *found[4:]])
    yield "half a line", RECORD, half
    joined = lines(lambda found: [*found[:3], found[3][:-1] + found[4], *found[5:]])
    yield "two records in a line", RECORD, joined


def chained() -> Iterator[tuple[str, str, Damage]]:
    """Damages that only a chain can show."""
    yield "value halved", "records.jsonl:5", member(RECORD, ["metrics", 0, "value"], 1.0)
    yield "line removed", "records.jsonl:4", lines(lambda found: [*found[:3], *found[4:]])
    yield "half removed", "records.jsonl:7", lines(lambda found: found[: len(found) // 2])
    yield "all removed", "records.jsonl", lines(lambda found: [])
    yield "records missing", "records.jsonl", of("records.jsonl", Path.unlink)
    yield "question changed", PLAN, member(PLAN, ["question"], "x")
    for name, change in KINDS.items():
        if name != "link":
            yield f"seal is a {name}", SEAL, of(SEAL, change)
    for name, text in CONTENTS.items():
        yield f"seal holds {name}", SEAL, of(SEAL, content(text))


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A good run, one to be damaged that is sealed, and that one without its seal."""
    place = tmp_path_factory.mktemp("damaged")
    runs.write_run(place / "good", checks=("node",), blocks=3)
    sealed = runs.write_run(place / "sealed", checks=("node", "alltoall_pairs"), blocks=7)
    shutil.copytree(sealed, place / "old", ignore=shutil.ignore_patterns(SEAL))
    return place


@contextmanager
def no_longer_than(seconds: int) -> Iterator[None]:
    """A command that waits for a FIFO fails the test instead of stopping it."""

    def stop(*_: object) -> None:
        raise TimeoutError("the command hangs")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def refused(command: str, file: str, capsys: Capsys) -> str:
    """What is wrong with how a command took a damage; "" if nothing."""
    argv = [{"RUN": "run", "GOOD": "good"}.get(word, word) for word in COMMANDS[command]]
    with no_longer_than(120):
        try:
            status = main(argv)
        except Exception as error:
            return f"{type(error).__name__}: {error}"
    said = capsys.readouterr()
    if status == 1 and command == "verify":
        named = file.split(":", maxsplit=1)[0] in said.out
        return "" if named else f"1, without the file: {said.out[-300:]}"
    told = said.err.splitlines()
    if status != 2:
        return f"exit status {status}: {said.err or said.out[-200:]}"
    if len(told) != 1 or f"run/{file}" not in told[0]:
        return f"said {said.err[:400]!r}"
    return "" if said.err[:-1].isprintable() else "a control character is printed"


@pytest.fixture
def place(made: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with a good run and criteria; nothing is printed as PDF."""
    monkeypatch.setattr(store, "find_browser", lambda: None)
    (folder / "mine.yaml").write_text(CRITERIA)
    shutil.copytree(made / "good", folder / "good")
    return folder


#: Not one command on all damages, but each fifth damage with the next command.
IN_TURN = "each in turn"


def tries(kind: str, command: str) -> Iterator[tuple[str, str, str, Damage]]:
    """A command, and name, file and change of the damage that it meets."""
    made = enumerate(damages() if kind == "old" else chained())
    if command != IN_TURN:
        yield from ((command, *damage) for _, damage in made)
    names = [*COMMANDS]
    yield from ((names[n // 5 % len(names)], *damage) for n, damage in made if n % 5 == 0)


@pytest.mark.parametrize(
    "command", [IN_TURN, *(pytest.param(one, marks=pytest.mark.full) for one in COMMANDS)]
)
@pytest.mark.parametrize("kind", ["old", "sealed"])
def test_every_damage_is_one_message_with_its_file(made, place, capsys, command, kind) -> None:
    run, wrong, tried = place / "run", [], 0
    for used, name, file, damage in tries(kind, command):
        shutil.rmtree(run, ignore_errors=True)
        shutil.copytree(made / kind, run)
        damage(run)
        os.chdir(place)
        if kind == "old" and kind_at(run / "records.jsonl") == "a file":
            with suppress(AssayError):
                rechained(run)
        before = sorted(path.name for path in run.iterdir())
        if fault := refused(used, file, capsys):
            wrong.append(f"{used}: {name}: {fault}")
        if sorted(path.name for path in run.iterdir()) != before:
            wrong.append(f"{used}: {name}: wrote into the run")
        tried += 1
    assert tried > (200 if kind == "old" else 20) / (5 if command == IN_TURN else 1)
    assert not wrong, "\n".join([f"{len(wrong)} of {tried}", *wrong[:40]])
