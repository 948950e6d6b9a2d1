# SPDX-License-Identifier: Apache-2.0
"""The record: what one launch of a case gave, and the append-only file that keeps it.

`records.jsonl` holds one JSON object a line, flushed to disk before the launch counts as done.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Iterable, Iterator
from operator import attrgetter
from pathlib import Path
from typing import Any, Literal, Protocol, TypeVar

import msgspec

from records.errors import AssayError, InfrastructureError
from records.metric import Metric
from records.mpi_profile import RankProfile

SCHEMA = 1

Status = Literal["ok", "failed", "wrong", "lost", "skipped"]


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """What one launch of a case gave. Only `ok` records enter statistics.

    `block` counts from 1; a case that cannot run on the site has one `skipped` record with block 0.
    `flags` are short words shown beside the numbers, e.g. "oversubscribed". `profile` is the MPI
    profile by ascending rank, there when the case asked for it.
    """

    schema: int = SCHEMA
    run_id: str
    case_id: str
    check: str
    environment: str
    site: str
    params: dict[str, Any]
    block: int
    attempt: int
    status: Status
    reason: str | None
    started_at: str | None
    ended_at: str | None
    job_id: str | None
    nodes: list[str]
    ranks: int
    metrics: list[Metric]
    flags: list[str]
    artifacts: dict[str, str]
    profile: list[RankProfile] | msgspec.UnsetType = msgspec.UNSET


_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(Record)
#: By this records are told apart for `latest_attempts`.
CASE_ID = attrgetter("case_id")
_AnyRecord = TypeVar("_AnyRecord", bound=Record)


class Attempt(Protocol):
    """A launch of a case in a block, the first or a further one."""

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


class RecordWriter:
    """Appends records durably; the one writer of a run directory."""

    def __init__(self, path: Path) -> None:
        self.path = path
        if path.exists() and has_torn_tail(path):
            with path.open("rb+") as file:
                file.truncate(file.read().rfind(b"\n") + 1)
        self._fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)

    def append(self, record: Record) -> None:
        """Write one line and force it to disk; a full disk leaves the file as it was."""
        line = _encoder.encode(record) + b"\n"
        size = os.fstat(self._fd).st_size
        try:
            written = 0
            while written < len(line):
                written += os.write(self._fd, line[written:])
            os.fsync(self._fd)
        except OSError as error:
            os.ftruncate(self._fd, size)
            raise InfrastructureError(
                f"{self.path}: the record of {record.case_id}, block {record.block}, could not be"
                f" written ({error.strerror}). All earlier records are safe. Make room, then"
                f" continue with: assay run --resume {self.path.parent}"
            ) from error

    def close(self) -> None:
        """Close the file; the writer is done."""
        os.close(self._fd)

    def __enter__(self) -> RecordWriter:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def has_torn_tail(path: Path) -> bool:
    """Whether the last line lacks its newline: the writer died inside it, it never counted."""
    with path.open("rb") as file:
        if file.seek(0, os.SEEK_END) == 0:
            return False
        file.seek(-1, os.SEEK_END)
        return file.read(1) != b"\n"


def read_records(path: Path) -> Iterator[Record]:
    """Yield the records of a file in order; a torn last line is left out.

    Raises AssayError naming file and line for anything that is not a record.
    """
    with path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            if line.endswith(b"\n"):
                yield decode_line(_decoder, line, f"{path}:{number}")


def decode_line(decoder: msgspec.json.Decoder[_AnyRecord], line: bytes, where: str) -> _AnyRecord:
    """The record of one line; `where` is its file and number.

    Raises AssayError for anything else; an unknown schema is named before what follows from it.
    """
    try:
        record = decoder.decode(line)
        schema: object = record.schema
        if schema == SCHEMA:
            return record
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        schema = _schema_of(line)
        if schema == SCHEMA:
            raise AssayError(f"{where}: not a record: {error}") from error
    raise AssayError(f"{where}: not a record: schema is {schema}; allowed: {SCHEMA}.")


def _schema_of(line: bytes) -> object:
    """The schema that a line names; SCHEMA where it names none."""
    try:
        found = msgspec.json.decode(line)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return SCHEMA
    return found.get("schema", SCHEMA) if isinstance(found, dict) else SCHEMA
