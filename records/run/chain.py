# SPDX-License-Identifier: Apache-2.0
"""The chain of a run's records, and the seal that says how long it was and where it ended.

Each record carries the SHA-256 of the line before it, without its newline. The first one carries
that of what the run began with: the files of BEGINNING, and the lines without a chain before it,
which an Assay of record schema 1 wrote. `seal.json` is written whenever a driver ends; without it
nobody could tell that records at the end are missing. The first record after blocks were added to
the run (EXTENSIONS) carries the hash of that extension as well.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from records.errors import AssayError
from records.files import append_whole, write_whole
from records.input_files import decoded, decoded_once, kind_at, read_whole, whole_lines
from records.values import Count

SEAL = "seal.json"
SCHEMA = 1
#: What a run begins with: its digests are the start of the chain.
BEGINNING = ("plan.json", "provenance.json", "campaign.yaml")
#: What was added to the plan, a line an extension with the number of records before it.
EXTENSIONS = "extensions.jsonl"

_Unset = msgspec.UnsetType


class Seal(msgspec.Struct, frozen=True, kw_only=True):
    """The state of a run when a driver ended: `head` is the hash that its records end with.
    `began_with` are the SHA-256 of the files of BEGINNING, `unchained` counts records of schema
    1."""

    schema: int = SCHEMA
    records: Count
    unchained: Count
    head: str
    began_with: dict[str, str]


@dataclass
class Chain:
    """Follows the records of a run line by line; `due` is what the next one must carry.
    `extensions`: what was added to the plan after so many records."""

    began_with: dict[str, str]
    seal: Seal | None = None
    names: tuple[str, ...] = BEGINNING
    extensions: dict[int, bytes] = field(default_factory=dict)
    records: int = 0
    unchained: int = 0
    _last: str = ""
    _before: Any = field(default_factory=hashlib.sha256)

    @classmethod
    def of(cls, directory: Path, names: tuple[str, ...] = BEGINNING) -> Chain:
        """The chain of a directory that began with `names` before its first record. Raises
        AssayError for a damaged seal, and for files other than those it was made with."""
        found = {
            name: hashlib.sha256(read_whole(directory / name)).hexdigest()
            for name in names
            if kind_at(directory / name)
        }
        seal = read_seal(directory)
        began_with = seal.began_with if seal else found
        for name in sorted(found.keys() | began_with.keys()):
            if name not in names or name in found.keys() - began_with.keys():
                what = "holds" if name in began_with else "lacks"
                raise AssayError(
                    f"{directory / SEAL}:1: `began_with` {what} {name!r}; it names what the run"
                    f" began with: {', '.join(sorted(found))}"
                )
            if found.get(name) != began_with[name]:
                raise AssayError(
                    f"{directory / name}:1: is not the file that the run began with ({SEAL}); put"
                    " that back"
                )
        path, extensions = directory / EXTENSIONS, dict[int, bytes]()
        decode = msgspec.json.Decoder(_Extended).decode
        for where, line in whole_lines(path) if kind_at(path) else ():
            extensions[decoded(decode, line, where, "an extension").records] = line
        return cls(found, seal, names, extensions)

    @property
    def due(self) -> str:
        """What the next record must carry."""
        added = self.extensions.get(self.records)
        if added is None:
            return self.head
        return hashlib.sha256(self.head.encode() + b"\n" + added).hexdigest()

    @property
    def head(self) -> str:
        """The hash that the records so far end with."""
        if self._last:
            return self._last
        parts = [*(self.began_with.get(name, "") for name in self.names), self._before.hexdigest()]
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()

    def follow(self, lines: Sequence[bytes], carried: Sequence[str | _Unset]) -> str | None:
        """Take in lines without their newlines, and what each carries; gives the first fault. After
        a fault `records` counts the lines before it."""
        if not self._last and {*carried} == {msgspec.UNSET} and self.seal is None:
            self._before.update(b"\n".join([*lines, b""]))
            self.records, self.unchained = self.records + len(lines), self.unchained + len(lines)
            return None
        hashes = [hashlib.sha256(line).hexdigest() for line in lines]
        sealed = self.seal.records - self.records if self.seal else 0
        quick = bool(self._last) and not 0 < sealed <= len(lines)
        quick &= not any(0 <= at - self.records < len(lines) for at in self.extensions)
        if quick and list(carried) == [self._last, *hashes[:-1]]:
            self.records, self._last = self.records + len(lines), hashes[-1]
            return None
        for line, found, value in zip(lines, hashes, carried, strict=True):
            if isinstance(value, _Unset):
                if self._last:
                    return "carries no chain, but the record before it does; the line is foreign"
                self.unchained += 1
                self._before.update(line + b"\n")
            elif value != self.due:
                return self._fault()
            else:
                self._last = found
            end = self.seal if self.seal and self.seal.records == self.records + 1 else None
            if end and (self.head, self.unchained) != (end.head, end.unchained):
                return f"is not the record with which the run was sealed ({SEAL})"
            self.records += 1
        return None

    def _fault(self) -> str:
        if self._last:
            return (
                f"the chain is broken: line {self.records} is not what was written, or lines"
                " between the two are missing"
            )
        began = " or ".join(self.names)
        before = f", or one of the {self.unchained} lines before it" if self.unchained else ""
        return (
            f"the chain does not begin here: {began}{before} is not what the run"
            " began with, or lines before it are missing"
        )

    def missing(self) -> str | None:
        """At the end of the file: that records are missing which were there when it was sealed, or
        when blocks were added."""
        if (most := max(self.extensions, default=0)) > self.records:
            return (
                f"{self.records} records; there were {most} when blocks were added ({EXTENSIONS})"
            )
        if self.seal is None or self.records >= self.seal.records:
            odd = self.seal and not self.records and self.head != self.seal.head
            return f"was not sealed without records ({SEAL})" if odd else None
        return (
            f"{self.records} records; the run was sealed with {self.seal.records} ({SEAL}):"
            " lines at the end are missing"
        )


def chain_of(
    directory: Path, file: str = "records.jsonl", names: tuple[str, ...] = BEGINNING
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
    counts = {"records": chain.records, "unchained": chain.unchained}
    seal = Seal(**counts, head=chain.head, began_with=chain.began_with)
    write_whole(directory / SEAL, msgspec.json.format(msgspec.json.encode(seal), indent=1) + b"\n")


def read_seal(directory: Path) -> Seal | None:
    """The seal of a run; None where there is none. Raises AssayError for a damaged one."""
    path = directory / SEAL
    if kind_at(path) is None:
        return None
    seal = decoded_once(msgspec.json.Decoder(Seal).decode, read_whole(path), str(path), "a seal")
    if seal.schema != SCHEMA:
        raise AssayError(
            f"{path}:1: is a seal of schema {seal.schema}; this Assay reads schema {SCHEMA}"
        )
    return seal


class _Link(msgspec.Struct):
    chain: str | _Unset = msgspec.UNSET


class _Extended(msgspec.Struct):
    records: Count
