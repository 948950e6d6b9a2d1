# SPDX-License-Identifier: Apache-2.0
"""The raw output of a launch, copied from where its job wrote it into the run directory."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from assay.run.work_folder import WorkFolder
from checks.common.outcome import Outcome
from records.belonging import CHECKSUM
from records.errors import InfrastructureError
from records.files import replacing
from records.flags import RAW_CUT, RAW_LIMIT_BYTES
from records.pair_scans import ARTIFACT, FOLDER, SUFFIX
from records.run_directory import RAW_SUFFIX, RunDirectory
from records.untrusted import RefusedFileError

_PIECE_BYTES = 1 << 20


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


def keep_raw(work: WorkFolder, run: RunDirectory, stem: str, files: Mapping[str, str]) -> RawOutput:
    """Copy a launch's files (kind: path) to raw/<stem>.*, private to their owner.

    A file that is not a regular file of the jobs' user in the session's folder is refused.
    """
    kept = RawOutput()
    for kind, path in files.items():
        try:
            source = work.open(path)
        except FileNotFoundError:
            kept.missing.append(kind)
            continue
        except RefusedFileError as refused:
            kept.refused.append(f"{kind} {refused}")
            continue
        kept.cut |= os.fstat(source).st_size > RAW_LIMIT_BYTES
        target = run.raw / f"{stem}.{RAW_SUFFIX[kind]}"
        try:
            checksum = _copied(_pieces(source), target)
        finally:
            os.close(source)
        kept.artifacts[kind] = f"raw/{target.name}"
        kept.artifacts[f"{kind}_sha256"] = checksum
    return kept


def keep_points(
    work: WorkFolder, run: RunDirectory, stem: str, path: str | None, kept: RawOutput
) -> None:
    """Copy the values of a scan, whole, to points/<stem>.parquet, if there are any."""
    if path is None:
        return
    try:
        source = work.open(path)
    except FileNotFoundError:
        kept.missing.append(ARTIFACT)
        return
    except RefusedFileError as refused:
        kept.refused.append(f"{ARTIFACT} {refused}")
        return
    run.points.mkdir(mode=0o700, exist_ok=True)
    target = run.points / f"{stem}.{SUFFIX}"
    try:
        checksum = _copied(_range(source, 0, os.fstat(source).st_size), target)
    finally:
        os.close(source)
    kept.artifacts[ARTIFACT] = f"{FOLDER}/{target.name}"
    kept.artifacts[f"{ARTIFACT}{CHECKSUM}"] = checksum


def _copied(pieces: Iterable[bytes], target: Path) -> str:
    """Write a file of the run directory; its SHA-256."""
    digest = hashlib.sha256()
    try:
        with replacing(target, 0o600) as temporary, temporary.open("wb") as file:
            for piece in pieces:
                digest.update(piece)
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
