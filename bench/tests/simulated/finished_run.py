# SPDX-License-Identifier: Apache-2.0
"""A finished run of many launches with all its files: half are HPL (2 values), half start-ups.

Numbers and texts are made up.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import numpy as np

from records.run.archive import ArchiveWriter, Packed, archive_name
from records.run.chain import chain_of, write_seal
from records.run.record import CHECKSUM
from records.run.run_directory import RAW_SUFFIX, launch_stem
from reports.tests.synthetic import ENVIRONMENTS, HPL_FIXED, case, write_run

BLOCKS = 10
#: Bytes of what a launch printed, and launches whose output is appended together.
PRINTED, TOGETHER = 2000, 500


class _RecordMaker:
    """Keeps the raw output of records of `write_run` in archives."""

    def __init__(self, directory: Path) -> None:
        self._directory, self._rng = directory, np.random.default_rng(1)
        self._archive: ArchiveWriter | None = None
        self._waiting: list[Packed] = []

    def edit(self, record: dict[str, Any]) -> dict[str, Any]:
        """The record with its members."""
        path = self._directory / "raw" / archive_name(record["block"])
        if self._archive is None or self._archive.path != path:
            self.close()
            self._archive = ArchiveWriter(path, lambda _: True)
        stem, artifacts = launch_stem(record["case_id"], record["block"], 1), {}
        for kind, suffix in RAW_SUFFIX.items():
            text = self._rng.bytes(PRINTED // 4).hex().encode() + b"\n" * (PRINTED // 2)
            self._waiting.append(Packed(f"{stem}.{suffix}", [text]))
            artifacts[kind] = f"raw/{path.name}/{stem}.{suffix}"
            artifacts[f"{kind}{CHECKSUM}"] = hashlib.sha256(text).hexdigest()
        if len(self._waiting) >= TOGETHER:
            self._append()
        return record | {"artifacts": artifacts}

    def _append(self) -> None:
        if self._archive is not None:
            self._archive.append(self._waiting)
            self._waiting = []

    def close(self) -> None:
        """Close the archive that is open."""
        if self._archive is not None:
            self._append()
            self._archive.close()

    def seal(self) -> None:
        """End the run."""
        self.close()
        write_seal(self._directory, chain_of(self._directory))


def make_run(directory: Path, launches: int) -> Path:
    """A finished run of so many launches with all its files."""
    pairs = max(1, launches // (2 * BLOCKS * len(ENVIRONMENTS)))
    cases = [
        one
        for n in range(1, pairs + 1)
        for name in ENVIRONMENTS
        for one in (
            case("hpl", name, {"p": 1, "q": 2, "n": 1000 + n, **HPL_FIXED}),
            case("startup", name, {"ranks": 2, "ranks_per_node": n}),
        )
    ]
    (directory / "raw").mkdir(parents=True, mode=0o700)
    maker = _RecordMaker(directory)
    write_run(directory, cases, blocks=BLOCKS, edit=maker.edit)
    maker.seal()
    return directory
