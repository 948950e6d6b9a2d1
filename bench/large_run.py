# SPDX-License-Identifier: Apache-2.0
"""What commands cost on a run of 100,000 launches whose raw output is in archives.

python -m bench large_run [LAUNCHES]. Half of the launches are HPL (2 values), half start-ups (4 or
6). Each command is a process of its own: wall and processor seconds, peak memory. Numbers and texts
are made up; the commands are those of a user.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from records.run.archive import ArchiveWriter, Packed, archive_name
from records.run.belonging import CHECKSUM
from records.run.chain import chain_of, write_seal
from records.run.run_directory import RAW_SUFFIX, RunDirectory, launch_stem
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


_ASSAY = ("-c", "import sys; from assay.entry import main; sys.exit(main())")
#: Commands, and what a resumed driver reads before its first launch.
COMMANDS = {
    "status": [*_ASSAY, "status", "RUN"],
    "resume, until launches are known": ["-m", "bench.large_run", "--resume", "RUN"],
    "raw": [*_ASSAY, "raw", "CASE", "1", "--run", "RUN"],
    "report": [*_ASSAY, "report", "RUN", "--format", "html", "--format", "csv"],
    "verify": [*_ASSAY, "verify", "RUN"],
}


def resumed(name: str) -> None:
    """What `run --resume` does before it asks Slurm."""
    from assay.run.launches import launches_to_come  # slow: every check

    run = RunDirectory(Path(name))
    print(len([*launches_to_come(run.plan(), run.ledger().entries, run.interims())]))


def main(arguments: list[str]) -> int:
    """Entry point; see the module's docstring."""
    if arguments[:1] == ["--resume"]:
        resumed(arguments[1])
        return 0
    launches = int(arguments[0]) if arguments else 100_000
    with tempfile.TemporaryDirectory(prefix="assay-bench-") as folder:
        begun = time.monotonic()
        run = make_run(Path(folder) / "run", launches)
        files = [path for path in run.rglob("*") if path.is_file()]
        size = sum(path.stat().st_size for path in files)
        took = time.monotonic() - begun
        told = f"{len(files)} files, {size / 1e6:.0f} MB"
        print(f"{launches:,} launches: {told}, made in {took:.0f} s")
        first = RunDirectory(run).plan().cases[0].id
        for name, words in COMMANDS.items():
            given = [{"RUN": str(run), "CASE": first}.get(word, word) for word in words]
            print(f"{name:34} {measured([sys.executable, *given])}", flush=True)
    return 0


class Used(NamedTuple):
    """What a command took."""

    seconds: float
    processor_s: float
    peak_bytes: int
    status: int

    def __str__(self) -> str:
        return (
            f"{self.seconds:7.2f} s (CPU {self.processor_s:.2f} s),"
            f" peak {self.peak_bytes / 2**20:.0f} MiB, exit status {self.status}"
        )


def measured(words: list[str], folder: str | None = None) -> Used:
    """Run a command, in a folder; its time and memory."""
    begun = time.monotonic()
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL, cwd=folder)
    _, status, used = os.wait4(process.pid, 0)
    seconds, code = time.monotonic() - begun, os.waitstatus_to_exitcode(status)
    return Used(seconds, used.ru_utime + used.ru_stime, used.ru_maxrss * 1024, code)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
