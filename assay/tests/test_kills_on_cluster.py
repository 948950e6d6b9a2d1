# SPDX-License-Identifier: Apache-2.0
"""Kills at random moments of runs with every launcher, each resumed to its end: every case has in
every block one final record, artifacts have their checksums, nothing is left running."""

import hashlib
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path

from assay.tests.test_run_on_cluster import campaign, own_name, planned_keys
from assay.tests.test_run_on_cluster import of_full as pytestmark
from records.errors import AssayError
from records.run.archive import RawFiles
from records.run.record import CASE_ID, checksum_of, latest_attempts
from records.run.run_directory import RunDirectory
from virtual_cluster import Cluster, ClusterSpec, down, revive, up
from virtual_cluster.host import tries
from virtual_cluster.state import load_state
from virtual_cluster.tests.clusters import processes_of

__all__ = ["pytestmark"]
_STARTUP = "  - check: startup\n    matrix: {ranks: [1, 2]}\n    fixed: {ranks_per_node: 1}"
_PVM = "  - check: pvm_echo\n    matrix: {route: [direct, daemon]}\n    fixed: {sizes: [64]}"
#: One for each launcher of the distribution's libraries.
CASES = {"mpich": _STARTUP, "openmpi": _STARTUP, "lam": _STARTUP, "lam-lamd": _STARTUP, "pvm": _PVM}
_ASSAY = (
    "import sys, assay.run.driver as driver; driver.PAUSE_S = 4.0;"
    "from assay.cli.main import main; sys.exit(main())"
)
_RESUMES = 8
#: Seconds without a record, of a driver that has not ended; other waits, too.
_PATIENCE_S = 400.0
#: How often within them the cluster is looked after.
_LOOKS = 10
#: What hosts run without a session or job.
_OF_HOSTS = re.compile(r"sh -c (node=|sleep infinity)|sleep infinity|slurmd ")


class Chaos:
    """Campaigns on one cluster, the seeded kills in them, and what was found wrong."""

    def __init__(self, cluster: Cluster, folder: Path, seed: int) -> None:
        self.cluster, self.folder = cluster, folder
        self.chance = random.Random(seed)  # noqa: S311
        self.killed = 0
        self.ended: Counter[str] = Counter()
        self.problems: list[str] = []
        self.launches = 0
        self._driver: subprocess.Popen[bytes] | None = None

    def campaign(self, environment: str, blocks: int, kinds: Sequence[str]) -> None:
        name = f"{environment}-{sum(self.ended.values())}"
        file = campaign(self.folder, name, environment, blocks, CASES[environment], launch_s=60)
        seed = self.chance.randrange(1000)
        Path(file).write_text(Path(file).read_text().replace("seed: 11", f"seed: {seed}"))
        self._start(file, "--site", f"virtual:{self.cluster.name}")
        run = self._begun(name)
        for kind in kinds:
            time.sleep(self.chance.uniform(0.2, 2.0))
            if self._over() and not self._resume(run):
                break
            self.killed += KINDS[kind](self)
            time.sleep(self.chance.uniform(0.0, 1.5))
            if self.chance.random() < 0.8:
                self._mend()
        self._mend()
        for _ in range(_RESUMES):
            self._wait(run)
            if not self._resume(run):
                break
        else:
            self.problems.append(f"{run.path}: not complete after {_RESUMES} resumes")
        self._verify(run)

    def close(self) -> None:
        if self._driver is not None:
            self._driver.kill()
            self._driver.wait()

    def _start(self, *arguments: str) -> None:
        self._log = self.folder / "driver.log"
        with self._log.open("wb") as log:
            words = [sys.executable, "-c", _ASSAY, "run", *arguments]
            self._driver = subprocess.Popen(
                words,
                cwd=self.folder,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def _begun(self, name: str) -> RunDirectory:
        for _ in tries(_PATIENCE_S, 0.1):
            found = list((self.folder / "results" / name).glob("*/provenance.json"))
            if found:
                return RunDirectory(found[0].parent)
            if self._over():
                break
        raise AssayError(f"the run did not begin: {self._log.read_text()[-2000:]}")

    def _over(self) -> bool:
        assert self._driver is not None
        return self._driver.poll() is not None

    def _status_unless_idle(self, run: RunDirectory) -> int | None:
        """How the driver ended; None: it goes on. One that adds no record for long is killed.

        Meanwhile the cluster is mended again: Slurm drains a node seconds after its controller was
        started anew, when that gives the number of a job that it forgot ("Duplicate jobid").
        """
        assert self._driver is not None
        before = _size(run.records_file)
        for _ in range(_LOOKS):
            with suppress(subprocess.TimeoutExpired):
                return self._driver.wait(timeout=_PATIENCE_S / _LOOKS)
            if _size(run.records_file) > before:
                return None
            self._mend()
        self.problems.append(f"a driver hangs: {self._log.read_text()[-500:]}")
        self._driver.kill()
        return self._driver.wait()

    def _wait(self, run: RunDirectory) -> None:
        while (status := self._status_unless_idle(run)) is None:
            pass
        said = self._log.read_text(errors="replace")
        self.ended[f"status {status}"] += 1
        # A signal before the driver heeds it, or after its last record, ends Python itself. What is
        # mended before it is looked at is told as a matter of the set-up, and nothing was run.
        ended = -status in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)
        idle = not said or not self._unfinished(run)
        proof = status == 2 and ("Nothing was run" in said or "Nothing is recorded" in said)
        good = status in (0, 1, 4, -signal.SIGKILL) or (ended and idle) or proof
        if not good or "Traceback" in said:
            self.problems.append(f"a driver ended with status {status}: {said[-1500:]}")

    def _resume(self, run: RunDirectory) -> bool:
        if self._unfinished(run):
            self._wait(run)
            self._mend()
            self._start("--resume", str(run.path))
            return True
        return False

    def _unfinished(self, run: RunDirectory) -> bool:
        latest = latest_attempts(run.records(), CASE_ID)
        final = {key for key, record in latest.items() if record.status != "lost"}
        return not {*planned_keys(run.path)} <= final

    def _mend(self) -> None:
        revive(self.cluster.name)

    def _verify(self, run: RunDirectory) -> None:
        records = [record for record in run.records() if record.block > 0]
        keys = [(record.case_id, record.block) for record in records if record.status != "lost"]
        wanted = planned_keys(run.path)
        self.launches += len(wanted)
        if sorted(keys) != wanted:
            self.problems.append(f"{run.path}: {len(keys)} final records for {len(wanted)}")
        with RawFiles(run.path) as files:
            for record in records:
                self.ended[record.status] += 1
                for kind in {"script", "stdout", "stderr"} & record.artifacts.keys():
                    content = files.read(record.artifacts[kind]) or b""
                    digest = hashlib.sha256(content).hexdigest()
                    if digest != checksum_of(record.artifacts, kind):
                        self.problems.append(f"{run.path}: {record.artifacts[kind]} has changed")
        for _ in tries(_PATIENCE_S, 0.2):
            left = [one for one in self._processes() if one and not _OF_HOSTS.match(one)]
            if not left and not self.cluster.status()["jobs"]:
                break
        else:
            self.problems.append(f"{run.path}: left running: {left}")
        folders = [path.name for path in Path(self.cluster.site_facts()["work_dir"]).iterdir()]
        if any(run.run_id in name and not name.endswith(".gone") for name in folders):
            self.problems.append(f"{run.path}: its work folder is left")

    def _processes(self) -> Iterator[str]:
        """The command lines of all hosts."""
        for pid in processes_of(self.cluster, "-f", "."):
            with suppress(OSError):  # it has ended meanwhile
                yield Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " ")

    def kill_driver(self) -> bool:
        """SIGKILL, or a signal that asks it to end."""
        assert self._driver is not None
        ran, choices = not self._over(), ("SIGKILL", "SIGTERM", "SIGINT", "SIGHUP")
        self._driver.send_signal(signal.Signals[self.chance.choice(choices)])
        return ran

    def kill_recorded(self, name: str) -> bool:
        state = load_state(self.cluster.name)
        assert state is not None
        process = state.processes[name]
        if not process.alive():
            return False
        os.kill(process.pid, signal.SIGKILL)
        return True

    def lose_work_folder(self) -> bool:
        work = Path(self.cluster.site_facts()["work_dir"])
        for path in work.iterdir():
            if path.is_dir() and not path.name.endswith(".gone"):
                with suppress(FileNotFoundError):  # the driver removes it now
                    path.rename(work / f"{path.name}.{time.time_ns()}.gone")
                    return not self._over()
        return False


KINDS: dict[str, Callable[[Chaos], bool]] = {
    "driver": Chaos.kill_driver,
    "slurmctld": lambda chaos: chaos.kill_recorded("slurmctld"),
    "work folder": Chaos.lose_work_folder,
}


def _size(file: Path) -> int:
    return file.stat().st_size if file.exists() else 0


def killed(count: int, seed: int, blocks: int) -> Chaos:
    """Kill `count` times, in campaigns of 2 cases and `blocks` blocks; every campaign is ended."""
    spec = ClusterSpec(name=own_name("k"), nodes=2)
    with tempfile.TemporaryDirectory(prefix="assay-chaos-") as name, ExitStack() as after:
        after.callback(down, spec.name)
        chaos = Chaos(up(spec), Path(name), seed)
        after.callback(chaos.close)
        environments = chaos.chance.sample(list(CASES), len(CASES))
        for turn in range(count):
            if (left := count - chaos.killed) > 0:
                kinds = [chaos.chance.choice([*KINDS]) for _ in range(min(left, 5))]
                chaos.campaign(environments[turn % len(environments)], blocks, kinds)
                shutil.rmtree(Path(name, "results"))
    return chaos


def test_kills_lose_no_launch_and_count_none_twice() -> None:
    chaos = killed(3, seed=2, blocks=4)
    assert not chaos.problems, "\n".join(chaos.problems)
    assert chaos.killed >= 1
    assert chaos.launches >= 8
