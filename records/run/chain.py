# SPDX-License-Identifier: Apache-2.0
"""The chain of a run's records, and the seal that says how long it was and where it ended.

Each record carries the SHA-256 of the line before it, without its newline; the first one carries
that of what the run began with, and the first after an extension of the plan that of the extension
as well. `seal.json` is written whenever a driver ends; without it nobody could tell that records at
the end are missing.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from records.errors import AssayError
from records.files import append_whole, write_whole
from records.input_files import decoded, decoded_once, kind_at, read_whole, whole_lines
from records.run.checksums import digest
from records.values import Count

SEAL = "seal.json"
#: Schema 2 has no `unchained`, which counted records of an earlier schema.
SCHEMA, READABLE = 2, (1, 2)
#: What a run begins with: its digests are the start of the chain.
BEGINNING = ("plan.json", "provenance.json", "campaign.yaml")
#: What was added to the plan, a line an extension with the number of records before it.
EXTENSIONS = "extensions.jsonl"


class Seal(msgspec.Struct, frozen=True, kw_only=True):
    """The state of a run when a driver ended: `head` is the hash that its records end with,
    `began_with` are the SHA-256 of the files of BEGINNING."""

    schema: int = SCHEMA
    records: Count
    head: str
    began_with: dict[str, str]


@dataclass
class Chain:
    """Follows the records of a run line by line: `head` is the hash that the `records` so far end
    with. `extensions`: what was added to the plan after so many records."""

    began_with: dict[str, str]
    head: str
    seal: Seal | None
    extensions: dict[int, bytes]
    records: int = 0

    @classmethod
    def of(cls, directory: Path, names: Sequence[str] = BEGINNING) -> Chain:
        """The chain of a directory that began with `names` before its first record. Raises
        AssayError for a damaged seal, and for files other than those it was made with."""
        files = {name: directory / name for name in names}
        began_with = {name: digest(path) for name, path in files.items() if kind_at(path)}
        seal = read_seal(directory)
        for name in sorted(began_with.keys() | seal.began_with.keys()) if seal else ():
            if seal and began_with.get(name) != seal.began_with.get(name):
                raise AssayError(
                    f"{directory / name}:1: is not the file that the run began with ({SEAL}); put"
                    " that back"
                )
        # The last part stands where schema 1 had the digest of records without a chain.
        parts = [*(began_with.get(name, "") for name in names), _sha256(b"")]
        path, extensions = directory / EXTENSIONS, dict[int, bytes]()
        decode = msgspec.json.Decoder(_Extended).decode
        for where, line in whole_lines(path) if kind_at(path) else ():
            extensions[decoded(decode, line, where, "an extension").records] = line
        return cls(began_with, _sha256("\n".join(parts).encode()), seal, extensions)

    @property
    def due(self) -> str:
        """The hash that the next record must carry."""
        added = self.extensions.get(self.records)
        return self.head if added is None else _sha256(self.head.encode() + b"\n" + added)

    def follow(self, lines: Sequence[bytes], carried: Sequence[str]) -> str | None:
        """Take in lines without their newlines, and what each carries; gives the first fault. After
        a fault `records` counts the lines before it."""
        sealed, end = self.seal.records if self.seal else -1, self.records + len(lines)
        hashes = [*map(_sha256, lines)]
        plain = not any(self.records <= at <= end for at in (*self.extensions, sealed))
        if plain and [*carried] == [self.head, *hashes[:-1]]:
            self.head, self.records = hashes[-1], end
            return None
        for own, value in zip(hashes, carried, strict=True):
            if value != self.due:
                told = (
                    f"is broken: line {self.records} is not what was written"
                    if self.records
                    else f"does not begin here: {' or '.join(BEGINNING)} is not what the run began"
                    " with"
                )
                return f"the chain {told}, or lines before this one are missing"
            if self.seal and self.records + 1 == sealed and own != self.seal.head:
                return f"is not the record with which the run was sealed ({SEAL})"
            self.head, self.records = own, self.records + 1
        return None

    def missing(self) -> str | None:
        """At the end of the file: that records are missing which were there when it was sealed, or
        when blocks were added."""
        if (most := max(self.extensions, default=0)) > self.records:
            return f"{self.records} records; there were {most} when blocks were added"
        if self.seal and self.records < self.seal.records:
            return (
                f"{self.records} records; the run was sealed with {self.seal.records} ({SEAL}):"
                " lines at the end are missing"
            )
        if self.seal and not self.records and self.head != self.seal.head:
            return f"was not sealed without records ({SEAL})"
        return None


def chain_of(
    directory: Path, file: str = "records.jsonl", names: Sequence[str] = BEGINNING
) -> Chain:
    """The chain of all records of a run directory, or of another `file` of a directory that began
    with `names`. Raises AssayError naming the line of a fault."""
    chain, path = Chain.of(directory, names), directory / file
    decode = msgspec.json.Decoder(_Link).decode
    for where, line in whole_lines(path) if kind_at(path) else ():
        if fault := chain.follow([line], [decoded(decode, line, where, "a record").chain]):
            raise AssayError(f"{where}: {fault}")
    if fault := chain.missing():
        raise AssayError(f"{path}:{chain.records}: {fault}")
    return chain


def append_entry(path: Path, chain: Chain, entry: Any) -> None:
    """Add an entry, a struct with `chain`, to a file whose lines `chain` has followed, and seal its
    folder: on disk when this returns. What a killed writer left of a line goes. Raises OSError."""
    entry.chain = chain.due
    line = msgspec.json.encode(entry)
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(path, flags, 0o644)
    try:
        os.ftruncate(descriptor, sum(len(line) + 1 for _, line in whole_lines(path)))
        append_whole(descriptor, line + b"\n")
    finally:
        os.close(descriptor)
    chain.follow([line], [entry.chain])
    write_seal(path.parent, chain)


def write_seal(directory: Path, chain: Chain) -> None:
    """Write the seal of a run. Raises OSError."""
    seal = Seal(records=chain.records, head=chain.head, began_with=chain.began_with)
    write_whole(directory / SEAL, msgspec.json.format(msgspec.json.encode(seal), indent=1) + b"\n")


def read_seal(directory: Path) -> Seal | None:
    """The seal of a run; None where there is none. Raises AssayError for a damaged one."""
    path = directory / SEAL
    if kind_at(path) is None:
        return None
    seal = decoded_once(msgspec.json.Decoder(Seal).decode, read_whole(path), str(path), "a seal")
    if seal.schema not in READABLE:
        raise AssayError(
            f"{path}:1: is a seal of schema {seal.schema}; this Assay reads"
            f" schemas {' and '.join(map(str, READABLE))}"
        )
    return seal


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


class _Link(msgspec.Struct):
    chain: str


class _Extended(msgspec.Struct):
    records: Count
