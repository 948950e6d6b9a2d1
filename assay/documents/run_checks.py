# SPDX-License-Identifier: Apache-2.0
"""Checks of a run: its records along their chain, their raw output, and the values it gives.

What could not be verified is reported as such, and never counts as good. Nothing is repaired.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from records.errors import AssayError
from records.input_files import kind_at
from records.run.archive import RawFiles
from records.run.belonging import Belonging, checksum_of, raw_paths
from records.run.chain import SEAL, chain_of
from records.run.extensions import read_plan
from records.run.interims import INTERIMS, asked_blocks, read_interims
from records.run.plan import Plan
from records.run.provenance import read_provenance
from records.run.record import Record, has_torn_tail, read_records

#: At most so many faults of one kind are listed.
MOST_LISTED = 20

#: Gives how a record differs from its raw output, judged again; raises NotReadError.
Reread = Callable[[RawFiles, Record], Iterable[str]]
_Kind = Literal["raw", "value", "unread", "suite"]


class NotReadError(Exception):
    """A launch cannot be judged again here; the message says why, of one or of several."""


class SuiteTestError(NotReadError):
    """The launch is of a ReFrame suite's test, which only the suite can judge."""

    def __init__(self) -> None:
        super().__init__("it is a test of a ReFrame suite, which alone can read it")


@dataclass(frozen=True)
class Check:
    """A comparison of the verification and its faults; without faults nothing has changed.

    `unproven`: a change could not have been found.
    """

    what: str
    faults: tuple[str, ...] = ()
    note: str = ""
    unproven: bool = False

    @property
    def good(self) -> bool:
        """Tell that nothing differs."""
        return not self.faults


def clipped(faults: Iterable[str]) -> tuple[str, ...]:
    """The first MOST_LISTED faults, each once, then the number of the others."""
    listed = [*dict.fromkeys(faults)]
    more = len(listed) - MOST_LISTED
    return (*listed[:MOST_LISTED], *([f"and {more} more"] if more > 0 else []))


def run_checks(run_dir: Path, reread: Reread | None) -> list[Check]:
    """The records along their chain, their raw output, and values read again. Raises AssayError for
    a plan, a provenance or records that cannot be read or are not of the run."""
    plan = read_plan(run_dir / "plan.json")
    belonging = Belonging(plan, read_provenance(run_dir / "provenance.json").run_id or "")
    path = run_dir / "records.jsonl"
    named, launched, faults = set[str](), set[tuple[str, int]](), dict[_Kind, list[str]]()
    unread, unproven = Counter[str](), False
    with RawFiles(run_dir) as files:
        for record in read_records(path, belonging.fault) if kind_at(path) else ():
            named |= {*raw_paths(record.artifacts).values()}
            launched |= {(record.case_id, record.block)} if record.block else set()
            for kind, text in _launch_faults(files, record, reread):
                if kind in ("raw", "value"):
                    faults.setdefault(kind, []).append(text)
                else:
                    unread[f"of {record.check}: {text}"] += 1
                    unproven |= record.status == "ok"
        raw = [*faults.get("raw", ()), *_strangers(run_dir, files, named)]
    checks = [
        _records_check(run_dir, plan, len(launched)),
        Check("raw output against the records", clipped(raw)),
    ]
    if reread is not None:
        note = "; ".join(f"not read again: {count} launches {why}" for why, count in unread.items())
        what, values = "values read again from raw output", clipped(faults.get("value", ()))
        checks.append(Check(what, values, note, unproven))
    return checks


def unproven(
    run_dir: Path, records: Iterable[Record], reread: Reread, *, suites: bool = False
) -> Iterator[str]:
    """The launches whose raw output is missing or changed, or does not give their record; `suites`
    are believed where theirs is unchanged."""
    with RawFiles(run_dir) as files:
        for record in records:
            for kind, text in _launch_faults(files, record, reread):
                if kind in ("raw", "value"):
                    yield text
                elif record.status == "ok" and not (kind == "suite" and suites):
                    remedy = "; criteria with `unproven: accept` take it" if kind == "suite" else ""
                    yield f"{_launch(record)}: is not read again: {text}{remedy}"


def _file_fault(files: RawFiles, artifacts: Mapping[str, str], kind: str) -> str | None:
    """Difference of a raw file of a launch from its record. Raises AssayError for a damaged one."""
    name, wanted = raw_paths(artifacts)[kind], checksum_of(artifacts, kind)
    if not wanted:
        return f"{name} has no checksum in its record"
    with files.open(name) or nullcontext() as file:
        if file is None:
            return f"{name} is missing"
        same = hashlib.file_digest(file, "sha256").hexdigest() == wanted
    return None if same else f"{name} is not what its record says"


def _launch_faults(
    files: RawFiles, record: Record, reread: Reread | None
) -> Iterator[tuple[_Kind, str]]:
    """Faults of a launch: raw files that are not what its record says; of those that are, how they
    do not give its values, or why they cannot be read again."""
    paths, whole = raw_paths(record.artifacts), True
    if record.status == "ok" and not paths:
        yield "raw", f"{_launch(record)}: the record names no raw output"
    for kind in paths:
        try:
            fault = _file_fault(files, record.artifacts, kind)
            text = f"{_launch(record)}: {fault}" if fault else ""
        except AssayError as error:  # damage, which has one message for all launches
            text = str(error)
        if text:
            whole = False
            yield "raw", text
    if reread is None or not paths or not whole or not record.block:
        return
    try:
        yield from (("value", f"{_launch(record)}: {fault}") for fault in reread(files, record))
    except NotReadError as error:
        yield "suite" if isinstance(error, SuiteTestError) else "unread", str(error)


def _launch(record: Record) -> str:
    return f"{record.case_id}, block {record.block}, attempt {record.attempt}"


def _strangers(run_dir: Path, files: RawFiles, named: set[str]) -> Iterator[str]:
    """Files next to the raw files that records name."""
    raw, archives = run_dir / "raw", {name.rpartition("/")[0] for name in named}
    for path in sorted(raw.iterdir()) if raw.is_dir() else ():
        names = [f"raw/{path.name}"]
        if names[0] in archives:
            try:
                names = [f"{names[0]}/{member}" for member in files.members(names[0])]
            except AssayError as error:
                yield str(error)
                continue
        elif path.name.startswith(".") and path.suffix == ".part":  # a killed driver's
            continue
        yield from (f"{name} belongs to no record" for name in names if name not in named)


def _records_check(run_dir: Path, plan: Plan, launched: int) -> Check:
    """The records along their chain: none changed, none missing."""
    what, path = "records along their chain", run_dir / "records.jsonl"
    try:
        chain = chain_of(run_dir)
        asked = asked_blocks(plan, read_interims(run_dir / INTERIMS, plan))
    except AssayError as error:
        return Check(what, (str(error),))
    feasible = (case for case in plan.cases if case.skipped is None)
    planned = sum(asked[case.environment, case.check] for case in feasible)
    lacking = f"{planned - launched} of {planned} planned launches have no record (not finished)"
    faults = [
        f"plan.json: case {case.id} has not the id of its check, environment and parameters"
        for case in plan.cases
        if not case.has_its_id
    ]
    remedy = f"assay run --resume {run_dir}"
    if kind_at(path) and has_torn_tail(path):
        torn = f"{path}:{chain.records + 1}: the last line is torn; it does not count"
        faults.append(f"{torn}. If a kill of the run did that, say: {remedy}")
    if chain.seal is None:
        faults.append(f"{SEAL} is missing: the run was not ended, or records are missing")
    elif chain.seal.records < chain.records:
        more = f"the last {chain.records - chain.seal.records} records are not sealed"
        faults.append(f"{more}: the run was killed; end it with: {remedy}")
    return Check(what, tuple(faults), lacking if launched < planned else "")
