# SPDX-License-Identifier: Apache-2.0
"""The record: what one launch of a case gave, the append-only file that keeps it, and whether it
belongs to the run in whose directory it is.

`records.jsonl` holds one JSON object a line, flushed to disk before the launch counts as done.
Each carries a link of a chain (records/run/chain.py).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from contextlib import suppress
from itertools import repeat
from operator import attrgetter
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

import msgspec
from msgspec.structs import replace

from records.errors import AssayError, InfrastructureError
from records.files import append_whole
from records.input_files import MOST_LINE_BYTES, decoded, opened, whole_lines
from records.metric import Metric
from records.run.chain import Chain, chain_of, opened_to_append, write_seal
from records.run.plan import Plan, PlannedCase
from records.values import ALLOWED, Count, Params, is_artifact, odd_word, utc_seconds

SCHEMA = 2
Status = Literal["ok", "failed", "wrong", "lost", "skipped"]


class Neighbour(msgspec.Struct, frozen=True):
    """A launch that ran at the same time in the same allocation, its nodes, and their switches
    where the site declares them."""

    case_id: str
    block: Count
    nodes: list[str]
    switches: list[str] | msgspec.UnsetType = msgspec.UNSET


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """Outcome of one launch of a case. Only `ok` records enter statistics.

    `block` counts from 1; a case that cannot run on the site has one `skipped` record with block 0.
    `flags` are short words shown beside the numbers, e.g. "oversubscribed". `profile` is the MPI
    profile by ascending rank, there when the case asked for it. `neighbours` are launches that ran
    meanwhile on other nodes; without it, none did. `programs` has the SHA-256 of each program that
    the launch executed, None where the harness could not read it. `submitted_at` is there of jobs
    that were handed in at once. `chain` is set by the writer.
    """

    schema: int = SCHEMA
    run_id: str
    case_id: str
    check: str
    environment: str
    site: str
    params: Params
    block: Count
    attempt: Annotated[int, msgspec.Meta(ge=1, le=2**31)]
    status: Status
    reason: str | None
    started_at: str | None
    ended_at: str | None
    job_id: str | None
    nodes: list[str]
    ranks: Count
    metrics: list[Metric]
    flags: list[str]
    artifacts: dict[str, str]
    profile: list[dict[str, Any]] | msgspec.UnsetType = msgspec.UNSET
    neighbours: list[Neighbour] | msgspec.UnsetType = msgspec.UNSET
    programs: dict[str, str | None] | msgspec.UnsetType = msgspec.UNSET
    submitted_at: str | msgspec.UnsetType = msgspec.UNSET
    chain: str = ""


_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(Record)
#: By this records are told apart for `latest_attempts`.
CASE_ID = attrgetter("case_id")
_AnyRecord = TypeVar("_AnyRecord", bound=Record)


#: A launch of a case in a `block`, from 1; its `attempt` counts from 1 in the block.
_Attempt = TypeVar("_Attempt", bound=Any)
_Case = TypeVar("_Case", bound=Hashable)


def latest_attempts(
    launches: Iterable[_Attempt], case_of: Callable[[_Attempt], _Case]
) -> dict[tuple[_Case, int], _Attempt]:
    """The launch that counts of each case and block: the latest attempt, of equals the last."""
    latest: dict[tuple[_Case, int], _Attempt] = {}
    for launch in launches:
        key = case_of(launch), launch.block
        if key not in latest or launch.attempt >= latest[key].attempt:
            latest[key] = launch
    return latest


def as_read(record: Record) -> Record:
    """The record as a reader of its line gets it. Raises AssayError where none can read it."""
    line, where = _encoder.encode(replace(record, schema=SCHEMA, chain="")), "the launch's outcome"
    if len(line) > MOST_LINE_BYTES - 100:  # a link of the chain is added
        raise AssayError(f"{where}: a line of {len(line)} bytes; allowed: {MOST_LINE_BYTES}")
    return decode_line(_decoder, line, where)


class RecordWriter:
    """Appends records durably, each with its link of the chain; the one writer of a run directory.
    `chain` has followed all records that are there; None: they are read. A torn last line is cut
    off. Closing it seals the run. Raises AssayError for a file whose chain is broken."""

    def __init__(self, path: Path, chain: Chain | None = None) -> None:
        self.path, self._chain = path, chain or chain_of(path.parent)
        self._fd = opened_to_append(path)

    def append(self, record: Record) -> None:
        """Write one line and force it to disk; a full disk leaves the file as it was."""
        line = _encoder.encode(replace(record, schema=SCHEMA, chain=self._chain.due))
        try:
            append_whole(self._fd, line + b"\n")
        except OSError as error:
            raise InfrastructureError(
                f"{self.path}: the record of {record.case_id}, block {record.block}, could not be"
                f" written ({error.strerror}). All earlier records are safe. Make room, then"
                f" continue with: assay run --resume {self.path.parent}"
            ) from error
        self._chain.follow([line], [self._chain.due])

    def close(self) -> None:
        """Close the file and seal the run; the writer is done."""
        os.close(self._fd)
        try:
            write_seal(self.path.parent, self._chain)
        except OSError as error:
            raise InfrastructureError(
                f"{self.path.parent}: the run could not be sealed ({error.strerror}). All records"
                f" are safe. Make room, then say: assay run --resume {self.path.parent}"
            ) from error

    def __enter__(self) -> RecordWriter:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        # While another error is under way, that one says what happened.
        with suppress(*[InfrastructureError] if kind else []):
            self.close()


def has_torn_tail(path: Path) -> bool:
    """Tell whether the last line lacks its newline: the writer died inside it, it never counted."""
    with opened(path) as file:
        if file.seek(0, os.SEEK_END) == 0:
            return False
        file.seek(-1, os.SEEK_END)
        return file.read(1) != b"\n"


def read_records(
    path: Path, fault_of: Callable[[Record], str | None] | None = None
) -> Iterator[Record]:
    """Yield the records of a file in order; a torn last line is left out. Raises AssayError naming
    file and line for anything that is not a record, or has a fault."""
    for where, line in whole_lines(path):
        record = decode_line(_decoder, line, where)
        if fault_of and (fault := fault_of(record)):
            raise AssayError(f"{where}: {fault}")
        yield record


def decode_line(decoder: msgspec.json.Decoder[_AnyRecord], line: bytes, where: str) -> _AnyRecord:
    """The record of one line; `where` is its file and number. Raises AssayError for anything
    else."""
    record = decoded(decoder.decode, line, where, "a record")
    if record.schema != SCHEMA:
        raise AssayError(f"{where}: not a record: schema is {record.schema}; allowed: {SCHEMA}")
    return record


#: Ending of the name of an artifact's checksum.
CHECKSUM = "_sha256"
_NAMED = attrgetter("case_id", "check", "environment")


def raw_paths(artifacts: Mapping[str, str]) -> dict[str, str]:
    """The paths of a launch's artifacts by their kinds, without the checksums."""
    return {kind: path for kind, path in artifacts.items() if not kind.endswith(CHECKSUM)}


def checksum_of(artifacts: Mapping[str, str], kind: str) -> str:
    """The SHA-256 of an artifact, "" where its record has none."""
    return artifacts.get(f"{kind}{CHECKSUM}", "")


class Belonging:
    """Plan and run that records agree with. `run_id` "": that of the first record."""

    def __init__(self, plan: Plan, run_id: str = "") -> None:
        self.plan, self.run_id = plan, run_id
        self._cases = {case.id: case for case in plan.cases}
        self._places = {
            (case.id, case.check, case.environment): at for at, case in enumerate(plan.cases)
        }
        #: The text of the parameters that each case had in its last line: most have it in the next.
        self._params = [b""] * len(plan.cases)
        self._seen: set[tuple[str, int, int]] = set()

    def fault(self, record: Record) -> str | None:
        """Fault of a whole record; records that were asked about before count."""
        return next(self._faults(record), None)

    def repeated(self, record: Record) -> str | None:
        """Fault of an attempt that was asked about before."""
        attempt = record.case_id, record.block, record.attempt
        if attempt in self._seen:
            return f"case {attempt[0]}, block {attempt[1]}, attempt {attempt[2]} is recorded twice"
        self._seen.add(attempt)
        return None

    def places(self, lines: list[Any]) -> list[int]:
        """Position in the plan of each line's case, -1 where the plan has none of its names."""
        return [*map(self._places.get, map(_NAMED, lines), repeat(-1))]

    def line_faults(self, cases: list[int], lines: list[Any]) -> Iterator[tuple[int, str]]:
        """Numbers of lines that do not belong to the run, with the reason; `cases` are their
        places, their parameters are raw."""
        for number, (place, line) in enumerate(zip(cases, lines, strict=True)):
            if place < 0 or line.run_id != self.run_id or not 0 < line.block <= self.plan.blocks:
                yield from ((number, fault) for fault in self._place_faults(line))
            if (text := bytes(line.params)) != self._params[place]:
                self._params[place], case = text, self.plan.cases[place]
                try:
                    same = msgspec.json.decode(text) == case.params
                except (msgspec.MsgspecError, ValueError, RecursionError):
                    same = False
                if not same:
                    yield number, _other("params", case)

    def _place_faults(self, record: Record) -> Iterator[str]:
        """Faults of a record's place in the run; its other members may be raw."""
        self.run_id, case = self.run_id or record.run_id, self._cases.get(record.case_id)
        foreign = "A run directory holds the records of one run; move foreign lines out."
        if record.run_id != self.run_id or odd_word([record.run_id]) is not None:
            yield f"`run_id` is {record.run_id!r}, but the run is {self.run_id!r}. {foreign}"
        if case is None:
            yield f"case {record.case_id!r} is not in plan.json. {foreign}"
            return
        for name in ("check", "environment"):
            if getattr(record, name) != getattr(case, name):
                yield _other(name, case, getattr(record, name))
        least = 0 if record.status == "skipped" else 1
        if not least <= record.block <= self.plan.blocks:
            yield f"`block` is {record.block}; plan.json has {self.plan.blocks} blocks."

    def _faults(self, record: Record) -> Iterator[str]:
        yield from self._place_faults(record)
        case = self._cases[record.case_id]
        if record.params != case.params:
            yield _other("params", case, record.params)
        nodes = [record.nodes, *(one.nodes for one in record.neighbours or ())]
        faults = [self.repeated(record), *map(nodes_fault, nodes)]
        yield from filter(None, [*faults, artifacts_fault(record.artifacts)])
        for name in ("submitted_at", "started_at", "ended_at"):
            time = getattr(record, name)
            if isinstance(time, str) and utc_seconds(time) is None:
                yield f"`{name}` is {time!r:.80}; allowed: a time as 2026-11-20T23:50:11.120Z"
        points = set()
        for metric in record.metrics:
            if fault := self.plan.register.fault(metric):
                yield fault
                return
            point = metric.name, tuple(sorted((metric.at or {}).items()))
            if point in points:
                yield f"`metrics` hold {metric.name} at {metric.at or 'no point'!s:.80} twice"
            points.add(point)


def _other(name: str, case: PlannedCase, value: object = "another") -> str:
    return (
        f"`{name}` is {value!r:.80}, but plan.json has {getattr(case, name)!r:.80} for case"
        f" {case.id}. The line or the plan was changed after the run."
    )


def nodes_fault(nodes: list[str]) -> str | None:
    """A node whose name could not be one."""
    odd = odd_word(nodes)
    return None if odd is None else f"`nodes` holds {odd!r}; {ALLOWED}"


def artifacts_fault(artifacts: Mapping[str, str]) -> str | None:
    """A path that leads out of the run directory, or no folder of it."""
    odd = next((path for path in raw_paths(artifacts).values() if not is_artifact(path)), None)
    if odd is None:
        return None
    return (
        f"`artifacts` holds {odd!r}; allowed is the name of a file in a folder of the run"
        " directory, as raw/x.out"
    )
