# SPDX-License-Identifier: Apache-2.0
"""The record: what one launch of a case gave, and the append-only file that keeps it.

`records.jsonl` holds one JSON object a line, flushed to disk before the launch counts as done.
Each carries a link of a chain (records/run/chain.py).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Iterable, Iterator
from contextlib import suppress
from operator import attrgetter
from pathlib import Path
from typing import Annotated, Any, Literal, Protocol, TypeVar

import msgspec
from msgspec.structs import replace

from records.errors import AssayError, InfrastructureError
from records.files import append_whole
from records.input_files import MOST_LINE_BYTES, decoded, opened, refuse_twice, whole_lines
from records.metric import Metric
from records.run.chain import Chain, chain_of, write_seal
from records.values import Count, Params

SCHEMA = 2
#: What a link of the chain adds to a line at most.
_CHAIN_BYTES = 100

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
    meanwhile on other nodes; without it, none did. `drawn_alone` is there where others might have:
    whether the seed drew that none should. `programs` has the SHA-256 of each program that the
    launch executed, None where the harness could not read it. `submitted_at` is there of jobs that
    were handed in at once. `chain` is set by the writer.
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
    drawn_alone: bool | msgspec.UnsetType = msgspec.UNSET
    programs: dict[str, str | None] | msgspec.UnsetType = msgspec.UNSET
    submitted_at: str | msgspec.UnsetType = msgspec.UNSET
    chain: str = ""


_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(Record)
#: By this records are told apart for `latest_attempts`.
CASE_ID = attrgetter("case_id")
_AnyRecord = TypeVar("_AnyRecord", bound=Record)


class Attempt(Protocol):
    """A launch of a case in a block."""

    @property
    def block(self) -> int:
        """The block, from 1."""

    @property
    def attempt(self) -> int:
        """1, or more when the case was run again in the block."""


_Attempt = TypeVar("_Attempt", bound=Attempt)
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
    if len(line) > MOST_LINE_BYTES - _CHAIN_BYTES:
        raise AssayError(f"{where}: a line of {len(line)} bytes; allowed: {MOST_LINE_BYTES}")
    return decode_line(_decoder, line, where)


class RecordWriter:
    """Appends records durably, each with its link of the chain; the one writer of a run directory.
    `chain` has followed all records that are there; None: they are read. A torn last line is cut
    off. Closing it seals the run. Raises AssayError for a file whose chain is broken."""

    def __init__(self, path: Path, chain: Chain | None = None) -> None:
        self.path, self._chain = path, chain or chain_of(path.parent)
        whole = None
        if path.exists() and has_torn_tail(path):
            whole = sum(len(line) + 1 for _, line in whole_lines(path))
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK
        self._fd = os.open(path, flags, 0o644)
        if whole is not None:
            os.ftruncate(self._fd, whole)

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
    file and line for anything that is not a record, has a member twice, or has a fault."""
    for where, line in whole_lines(path):
        record = decode_line(_decoder, line, where)
        refuse_twice(line, where, "a record")
        if fault_of and (fault := fault_of(record)):
            raise AssayError(f"{where}: {fault}")
        yield record


def decode_line(decoder: msgspec.json.Decoder[_AnyRecord], line: bytes, where: str) -> _AnyRecord:
    """The record of one line; `where` is its file and number. Raises AssayError for anything else;
    an unknown schema is named before what follows from it."""
    schema: object = SCHEMA
    try:
        record = decoded(decoder.decode, line, where, "a record")
        schema = record.schema
    except AssayError:
        with suppress(msgspec.MsgspecError, ValueError, RecursionError):
            schema = msgspec.json.decode(line, type=dict).get("schema", SCHEMA)
        if schema == SCHEMA:
            raise
    if schema != SCHEMA:
        raise AssayError(f"{where}: not a record: schema is {schema!r}; allowed: {SCHEMA}.")
    return record
