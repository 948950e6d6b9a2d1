# SPDX-License-Identifier: Apache-2.0
"""Evidence that nothing was altered: the chain of a run's records, lists of checksums, signatures.

Each record carries the SHA-256 of the line before it, without its newline; the first one carries
that of what the run began with, and the first after an extension of the plan that of the extension
as well. `seal.json` is written whenever a driver ends, and says how long the chain was: without it
nobody could tell that records at the end are missing. A list of checksums has the form of
sha256sum, so that it can be checked without Assay.
"""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from records.errors import AssayError
from records.files import write_whole
from records.input_files import decoded, kind_at, opened, read_whole, whole_lines
from records.values import Count

#: Files and folders of a run directory that are derived or temporary.
NOT_EVIDENCE = frozenset({"acceptance", "against", "report", "work", ".lock"})
#: What a signature is for (`-n` of ssh-keygen), and the end of the name of its file.
NAMESPACE, SIGNATURE = "assay-acceptance", ".sig"


def digest(path: Path) -> str:
    """SHA-256 of a regular file in hexadecimal. Raises AssayError if it cannot be read."""
    with opened(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def manifest(run: Path, reruns: Sequence[Path]) -> dict[str, str]:
    """Name relative to `run` -> SHA-256, of every file of the run and its re-runs, sorted. Raises
    AssayError for a link or a FIFO in one of them."""
    paths = (
        path
        for folder in (run, *reruns)
        for path in folder.rglob("*")
        if path.relative_to(folder).parts[0] not in NOT_EVIDENCE
    )
    names = [os.path.relpath(path, run) for path in paths if path.is_symlink() or not path.is_dir()]
    return {name: digest(run / name) for name in sorted(names)}


def sums_text(sums: Mapping[str, str]) -> str:
    """The text of a sha256sum file; names with a line break are refused."""
    bad = [name for name in sums if "\n" in name or "\\" in name]
    if bad:
        raise AssayError(f"{bad[0]!r}: such a name cannot stand in a list of checksums; rename it")
    return "".join(f"{value}  {name}\n" for name, value in sums.items())


def read_sums(path: Path) -> dict[str, str]:
    """The checksums of a sha256sum file. Raises AssayError naming the line that is none."""
    sums: dict[str, str] = {}
    text = read_whole(path).decode("utf-8", "replace")
    for number, line in enumerate(text.splitlines(), start=1):
        found = re.fullmatch(r"([0-9a-f]{64})  (.+)", line)
        if found is None:
            raise AssayError(f"{path}:{number}: is no line of a sha256sum file")
        sums[found[2]] = found[1]
    return sums


def sign(sums: Path, private_key: Path) -> Path:
    """Sign a list of checksums by `ssh-keygen -Y sign`; gives the file of the signature. A
    passphrase is asked for on the terminal. Raises AssayError with ssh-keygen's message."""
    _ssh_keygen("sign", "-f", str(private_key), "-n", NAMESPACE, str(sums))
    return sums.with_name(sums.name + SIGNATURE)


def signer(sums: Path, allowed_signers: Path | None) -> str:
    """Who signed a list of checksums, as ssh-keygen names them, offline. With `allowed_signers` (a
    file as ssh-keygen(1) describes it) the principal, else the key alone. Raises AssayError for a
    signature of something else, or of nobody in that file."""
    signature, content = str(sums.with_name(sums.name + SIGNATURE)), read_whole(sums)
    about = ("-n", NAMESPACE, "-s", signature)
    if allowed_signers is None:
        return _ssh_keygen("check-novalidate", *about, given=content)
    listed = ("-f", str(allowed_signers))
    found = _ssh_keygen("find-principals", "-s", signature, *listed).splitlines()
    return _ssh_keygen("verify", *listed, "-I", found[0], *about, given=content)


def _ssh_keygen(task: str, *arguments: str, given: bytes | None = None) -> str:
    command = ["ssh-keygen", "-Y", task, *arguments]
    given = b"" if given is None and task != "sign" else given  # it asks for the passphrase
    try:
        done = subprocess.run(command, input=given, capture_output=True, check=False)
    except OSError as error:
        raise AssayError(
            f"ssh-keygen: {error.strerror}; signatures need OpenSSH 8.1 or later (Debian:"
            " openssh-client)"
        ) from error
    printed = (done.stdout + done.stderr).decode("utf-8", "replace").strip()
    if done.returncode != 0:
        raise AssayError(f"ssh-keygen -Y {task}: {(printed or 'failed').splitlines()[-1]}")
    return printed


SEAL = "seal.json"
SCHEMA = 2
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
        if seal and (other := dict(began_with.items() ^ seal.began_with.items())):
            raise AssayError(
                f"{directory / min(other)}:1: is not the file that the run began with ({SEAL}); put"
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
        for line, value in zip(lines, carried, strict=True):
            if value != self.due:
                found = (
                    f"is broken: line {self.records} is not what was written"
                    if self.records
                    else f"does not begin here: {' or '.join(BEGINNING)} is not what the run began"
                    " with"
                )
                return f"the chain {found}, or lines before this one are missing"
            head = _sha256(line)
            if self.seal and self.records + 1 == self.seal.records and head != self.seal.head:
                return f"is not the record with which the run was sealed ({SEAL})"
            self.head, self.records = head, self.records + 1
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


def opened_to_append(path: Path) -> int:
    """Descriptor of a file of lines, made where there is none; what a killed writer left of a line
    is cut off. Raises OSError."""
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    descriptor = os.open(path, flags, 0o644)
    os.ftruncate(descriptor, sum(len(line) + 1 for _, line in whole_lines(path)))
    return descriptor


def write_seal(directory: Path, chain: Chain) -> None:
    """Write the seal of a run. Raises OSError."""
    seal = Seal(records=chain.records, head=chain.head, began_with=chain.began_with)
    write_whole(directory / SEAL, msgspec.json.format(msgspec.json.encode(seal), indent=1) + b"\n")


def read_seal(directory: Path) -> Seal | None:
    """The seal of a run; None where there is none. Raises AssayError for a damaged one."""
    path = directory / SEAL
    if kind_at(path) is None:
        return None
    seal = decoded(msgspec.json.Decoder(Seal).decode, read_whole(path), str(path), "a seal")
    if seal.schema > SCHEMA:
        raise AssayError(
            f"{path}:1: is a seal of schema {seal.schema}; use the Assay that wrote it"
        )
    return seal


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


class _Link(msgspec.Struct):
    chain: str


class _Extended(msgspec.Struct):
    records: Count
