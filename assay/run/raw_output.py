# SPDX-License-Identifier: Apache-2.0
"""The raw output of a launch, copied from where its job wrote it into the archive of its block."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from assay.run.work_folder import WorkFolder
from checks.common.session.outcome import Outcome
from records.archive import ArchiveWriter, Packed, archive_name, archives, is_sealed
from records.belonging import CHECKSUM
from records.errors import InfrastructureError
from records.files import replacing
from records.flags import RAW_CUT, RAW_LIMIT_BYTES
from records.input_files import opened
from records.ledger import Ledger
from records.pair_scans import ARTIFACT, FOLDER, SUFFIX
from records.run_directory import RAW_SUFFIX, RunDirectory, launch_stem
from records.untrusted import RefusedFileError

_PIECE_BYTES = 1 << 20
#: The values of 200 million pairs fit.
MOST_POINTS_BYTES = 1 << 32
#: Archives that are held open: at the end of a block launches of the next one may end first.
MOST_OPEN = 2


@dataclass
class RawOutput:
    """What was kept: artifacts with their checksums; whether a file was cut; what was refused."""

    artifacts: dict[str, str] = field(default_factory=dict)
    cut: bool = False
    missing: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)

    def tell(self, outcome: Outcome) -> None:
        """Say in the outcome what is not kept; a launch is not `ok` without its raw output."""
        if self.cut:
            outcome.flags.append(RAW_CUT)
        told = list(self.refused)
        if outcome.status == "ok":
            told += [f"{kind} is missing" for kind in self.missing]
        if told:
            said = f"raw output refused: {'; '.join(told)}"
            outcome.reason = f"{outcome.reason}; {said}" if outcome.reason else said
            outcome.status = "wrong" if outcome.status == "ok" else outcome.status


class RawArchives:
    """The archives of a run, written by its one driver. Use as a context manager.

    Entering it ends those that a killed driver left open: what has no record is cut off.
    """

    def __init__(self, run: RunDirectory, ledger: Ledger, say: Callable[[str], object]) -> None:
        self._run, self._ledger, self._say = run, ledger, say
        self._open: dict[int, ArchiveWriter] = {}

    def __enter__(self) -> RawArchives:
        for block, path in archives(self._run.raw).items():
            with opened(path) as file:
                sealed = is_sealed(file)
            if not sealed:
                self._archive(block)
                self._close(block)
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        for block in list(self._open):
            with suppress(*[InfrastructureError] if kind else []):
                self._close(block)

    def keep(self, work: WorkFolder, stem: str, block: int, files: Mapping[str, str]) -> RawOutput:
        """Append a launch's files (kind: path) to its block's archive, on disk when this ends.

        A file that is not a regular file of the jobs' user in the session's folder is refused.
        """
        kept, packed = RawOutput(), []
        for kind, path in files.items():
            with _given(work, path, kind, kept) as source:
                if source is None:
                    continue
                kept.cut |= os.fstat(source).st_size > RAW_LIMIT_BYTES
                name, digest = f"{stem}.{RAW_SUFFIX[kind]}", hashlib.sha256()
                packed.append(Packed(name, _digested(_pieces(source), digest.update)))
            kept.artifacts[kind] = f"raw/{archive_name(block)}/{name}"
            kept.artifacts[f"{kind}{CHECKSUM}"] = digest.hexdigest()
        if packed:
            with self._told(block):
                self._archive(block).append(packed)
        return kept

    def _archive(self, block: int) -> ArchiveWriter:
        """The archive of a block, open; the one that was opened first gives way."""
        if block not in self._open:
            while len(self._open) >= MOST_OPEN:
                self._close(next(iter(self._open)))
            with self._told(block):
                self._open[block] = self._opened(block)
        return self._open[block]

    def _opened(self, block: int) -> ArchiveWriter:
        path, above = self._run.raw / archive_name(block), f"raw/{archive_name(block)}/"
        mine = [entry for entry in self._ledger.entries if entry.block == block]
        stems = {launch_stem(entry.case_id, block, entry.attempt) for entry in mine}
        outputs = [entry.output for entry in mine if entry.output]
        named = {name.removeprefix(above) for name in outputs if name.startswith(above)}
        made = ArchiveWriter(path, lambda name: name.rpartition(".")[0] in stems, named)
        if made.cut:
            self._say(f"{path}: its last {made.cut} bytes, which no record names, were cut off")
        return made

    def _close(self, block: int) -> None:
        with self._told(block):
            self._open.pop(block).close()

    @contextmanager
    def _told(self, block: int) -> Iterator[None]:
        """Errors of the file system as what they mean for the run."""
        try:
            yield
        except OSError as error:
            raise InfrastructureError(
                f"{self._run.raw / archive_name(block)}: raw output could not be kept"
                f" ({error.strerror}); make room, then resume"
            ) from error


@contextmanager
def _given(work: WorkFolder, path: str, kind: str, kept: RawOutput) -> Iterator[int | None]:
    """A launch's file, open; None, and why in `kept`, where there is none that may be read."""
    try:
        source = work.open(path)
    except FileNotFoundError:
        kept.missing.append(kind)
        yield None
        return
    except RefusedFileError as refused:
        kept.refused.append(f"{kind} {refused}")
        yield None
        return
    try:
        yield source
    finally:
        os.close(source)


def _digested(pieces: Iterable[bytes], update: Callable[[bytes], object]) -> Iterator[bytes]:
    """The pieces of a file, as they are digested."""
    for piece in pieces:
        update(piece)
        yield piece


def keep_points(
    work: WorkFolder, run: RunDirectory, stem: str, path: str | None, kept: RawOutput
) -> None:
    """Copy the values of a scan, whole, to points/<stem>.parquet, if there are any."""
    if path is None:
        return
    target = run.points / f"{stem}.{SUFFIX}"
    with _given(work, path, ARTIFACT, kept) as source:
        if source is None:
            return
        size = os.fstat(source).st_size
        if size > MOST_POINTS_BYTES:
            kept.refused.append(f"{ARTIFACT} has {size} bytes; allowed: {MOST_POINTS_BYTES}")
            return
        checksum = _copied(_range(source, 0, size), target)
    kept.artifacts[ARTIFACT] = f"{FOLDER}/{target.name}"
    kept.artifacts[f"{ARTIFACT}{CHECKSUM}"] = checksum


def _copied(pieces: Iterable[bytes], target: Path) -> str:
    """Write a file of the run directory; its SHA-256."""
    digest = hashlib.sha256()
    try:
        target.parent.mkdir(mode=0o700, exist_ok=True)
        with replacing(target, 0o600) as temporary, temporary.open("wb") as file:
            for piece in _digested(pieces, digest.update):
                file.write(piece)
    except OSError as error:
        raise InfrastructureError(
            f"{target}: raw output could not be kept ({error.strerror}); make room, then resume"
        ) from error
    return digest.hexdigest()


def _pieces(source: int) -> Iterator[bytes]:
    """The file; of a long one its head, a line that counts what is left out, and its tail."""
    size = os.fstat(source).st_size
    if size <= RAW_LIMIT_BYTES:
        yield from _range(source, 0, size)
        return
    half = RAW_LIMIT_BYTES // 2
    yield from _range(source, 0, half)
    yield f"\n[assay: {size - 2 * half} bytes are left out here]\n".encode()
    yield from _range(source, size - half, size)


def _range(source: int, at: int, end: int) -> Iterator[bytes]:
    while at < end and (piece := os.pread(source, min(_PIECE_BYTES, end - at), at)):
        yield piece
        at += len(piece)
