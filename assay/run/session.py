# SPDX-License-Identifier: Apache-2.0
"""One ReFrame session: a list of launches goes in as a file, outcomes come out of a pipe.

ReFrame builds the programs, submits the jobs one by one in the order of the list, waits and
verifies; each launch's outcome arrives as soon as it is known. The session ends with this process;
its jobs in Slurm are found by the run's comment on them.
"""

from __future__ import annotations

import json
import os
import select
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from assay import ROOT
from assay.sites.site import Site
from checks.common.outcome import Outcome
from checks.common.registry import FOLDERS
from checks.common.sources import CHECKS, FURTHER_CHECKS
from records.errors import InfrastructureError

#: Seconds that ReFrame has to end after its last launch, and after being told to end.
ENDING_S = 30.0


@dataclass(frozen=True)
class Launch:
    """One launch to come: a case's content, its layout, block and attempt."""

    index: int
    case_id: str
    check: str
    environment: str
    params: dict[str, Any]
    ranks: int
    ranks_per_node: int
    nodes: int
    block: int
    attempt: int
    limit_s: float

    @property
    def key(self) -> tuple[str, int]:
        """Case and block: what gets one record that counts."""
        return self.case_id, self.block


class Session:
    """A running ReFrame session. Use as a context manager: leaving it ends the session."""

    def __init__(self, site: Site, work: Path, run_id: str, launches: Sequence[Launch]) -> None:
        self.site, self.work, self.run_id = site, work, run_id
        self.prefix = work / "session"
        shutil.rmtree(self.prefix, ignore_errors=True)
        self.site.prepare_work_dir(self.work)
        self.site.prepare_work_dir(self.prefix)
        described = {**self.site.session_data(), "reframe_prefix": str(self.prefix)}
        (self.work / "site.json").write_text(json.dumps(described))
        lines = (json.dumps(launch.__dict__) for launch in launches)
        (self.work / "launches.jsonl").write_text("".join(f"{line}\n" for line in lines))
        self._pipe, write_end = os.pipe()
        archive = min((ROOT / "build/sources").glob("hpcc_*.orig.tar.gz"), default="absent")
        variables = {
            "ASSAY_SITE_FILE": str(self.work / "site.json"),
            "ASSAY_LAUNCHES_FILE": str(self.work / "launches.jsonl"),
            "ASSAY_OUTCOME_FD": str(write_end),
            "ASSAY_HPL_ARCHIVE": str(archive),
            "ASSAY_RUN_ID": self.run_id,
            FURTHER_CHECKS: os.pathsep.join(map(str, FOLDERS)),
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        reframe = [
            *(sys.executable, "-P", "-m", "checks.common.session"),
            f"--config-file={CHECKS / 'common' / 'settings.py'}",
            f"--checkpath={CHECKS / 'common' / 'launches.py'}",
            *("--run", "--exec-policy=serial", "--exec-order=name", "--keep-stage-files"),
        ]
        argv, environment = self.site.command(reframe, variables)
        with (self.work / "reframe.out").open("wb") as out:
            self._process = subprocess.Popen(
                argv,
                env=environment,
                cwd=self.prefix,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                pass_fds=(write_end,),
                start_new_session=True,
            )
        os.close(write_end)

    def messages(self, patience_s: float) -> Iterator[Outcome | None]:
        """Messages as they come, None after each second without one; ends with the session.

        Raises InfrastructureError when nothing at all came for `patience_s` seconds.
        """
        rest, heard = b"", time.monotonic()
        while True:
            ready, _, _ = select.select([self._pipe], [], [], 1.0)
            if not ready:
                if time.monotonic() - heard > patience_s:
                    raise InfrastructureError(
                        f"no sign of ReFrame for {patience_s:.0f} s; see {self.prefix}/reframe.log"
                    )
                yield None
                continue
            heard = time.monotonic()
            chunk = os.read(self._pipe, 1 << 20)
            if not chunk:
                return
            *lines, rest = (rest + chunk).split(b"\n")
            for line in lines:
                yield msgspec.json.decode(line, type=Outcome)

    def wait(self) -> int:
        """ReFrame's exit status after all messages; -9 if it does not end and must be killed."""
        try:
            return self._process.wait(timeout=ENDING_S)
        except subprocess.TimeoutExpired:
            return -signal.SIGKILL

    def last_line(self) -> str:
        """The last line that ReFrame printed, for error messages."""
        text = (self.work / "reframe.out").read_text(errors="replace")
        return "".join([line.strip() for line in text.splitlines() if line.strip()][-1:])

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGTERM)
            try:
                self._process.wait(timeout=ENDING_S)
            except subprocess.TimeoutExpired:
                os.killpg(self._process.pid, signal.SIGKILL)
                self._process.wait()
        os.close(self._pipe)
