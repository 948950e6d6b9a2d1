# SPDX-License-Identifier: Apache-2.0
"""Probes of a site: one folder, programs built there, jobs that try environments on nodes.

A probe job runs through the site's own access options. It reports the facts of its nodes, and of
each environment whether it compiles, starts, on the right nodes, with which library, over the
network.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from assay.commands import Pause
from assay.probe.job import Job, JobFolder, Step, WorkFolderError
from assay.probe.trials import ProbeResult, Trial, job_script, login_build_script, read_probe
from assay.sites.site import Site
from checks.common.slurm.job import Allocation, Watch
from checks.common.sources import CHECKS, LIBRARY, c_sources
from records.waiting import BUILDS_S, scaled

HERE = Path(__file__).parent


@dataclass(frozen=True)
class ProbeJob:
    """A probe job that was submitted, or a step, and what it tries."""

    job: Job | Step
    trials: Sequence[Trial]


class Probes:
    """Probe jobs of one site, in one folder below `above`. Use as a context manager.

    With an `allocation` they are steps of it, whose names name `run`.
    """

    def __init__(
        self,
        site: Site,
        above: str,
        watch: Watch,
        *,
        pause: Pause = time.sleep,
        allocation: Allocation | None = None,
        run: str = "",
    ) -> None:
        self._site, self._pause, self._watch = site, pause, watch
        self._allocation, self._run = allocation, run
        self.folder = JobFolder(site, above)
        self._outs: dict[tuple[str, str, bool], str] = {}
        self._jobs: list[Job] = []

    def __enter__(self) -> Probes:
        self.folder.__enter__()
        try:
            self.folder.put({n: (HERE / n).read_bytes() for n in ("facts.sh", "probe.sh")})
        except BaseException:
            self.folder.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        for job in self._jobs:
            job.__exit__()
        self.folder.__exit__()

    def build_on_login(self, trials: Sequence[Trial]) -> dict[str, str | None]:
        """Compile all trials where commands of the site run; what fails is tried in the job.

        Gives what the build of each trial printed that failed; None for those that succeeded.
        """
        self._unpack()
        outs = self._outs_of(trials)
        script = login_build_script(str(self.folder.path), trials, outs).encode()
        self._site.ask(["bash", "-s"], script, limit_s=scaled(BUILDS_S), pause=self._pause)
        printed: dict[str, str | None] = {}
        for trial, out in zip(trials, outs, strict=True):
            built = (self.folder.text(f"{out}/build.status") or "").strip() == "0"
            texts = (self.folder.text(f"{out}/{name}.out") or "" for name in ("prepare", "build"))
            printed[trial.name] = None if built else "\n".join(texts)
        return printed

    def submit(
        self,
        name: str,
        nodes: int,
        ranks_per_node: int,
        trials: Sequence[Trial],
        *,
        limit_s: int,
        options: Sequence[str] = (),
    ) -> ProbeJob:
        """Submit a probe job of `limit_s` seconds, within the partition's longest; `options` follow
        the site's. Slurm's refusal is an AssayError."""
        described = self._site.description
        limit_s = min(limit_s, described.longest_job_s or limit_s)
        if trials or self._allocation is not None:
            self._unpack()
        outs = self._outs_of(trials)
        folder = str(self.folder.path)
        script = job_script(folder, trials, outs, nodes * ranks_per_node, nodes)
        if (held := self._allocation) is not None:
            self.folder.put({f"{name}.job": script.encode()})
            size = (nodes, ranks_per_node, limit_s)
            return ProbeJob(Step(self.folder, name, held, self._run, *size, self._pause), trials)
        job = Job(self.folder, name, self._pause, self._watch)
        self._jobs.append(job)
        shape = [f"--nodes={nodes}", f"--ntasks-per-node={ranks_per_node}", "--exclusive"]
        length = f"--time={max(1, -(-limit_s // 60))}"
        job.submit(script, [*described.access, *options, *shape, length])
        return ProbeJob(job, trials)

    def result(self, probe: ProbeJob) -> ProbeResult:
        """Wait for a job and read what it found.

        Raises WorkFolderError where the folder is not the same on the nodes.
        """
        end = probe.job.wait()
        result = read_probe(end, probe.trials, self.folder.token)
        if not result.shared:
            raise WorkFolderError(
                f"work folder {self.folder.path.parent}: the nodes do not see it as this machine"
                f" does ({result.said or f'job {end.job_id} ended {end.state}, nothing came'});"
                " choose a folder on a shared file system"
            )
        return result

    def _outs_of(self, trials: Sequence[Trial]) -> list[str]:
        """The folder of each trial's build; trials that are alike share one."""
        return [self._outs.setdefault(trial.build_key, f"b{len(self._outs)}") for trial in trials]

    def _unpack(self) -> None:
        """Put the sources and the session's scripts into the folder, once."""
        if self._outs:
            return
        launch = CHECKS / "common" / "launch"
        found = sorted(path for path in launch.rglob("*") if path.is_file())
        scripts = {f"launch/{path.relative_to(launch)}": path for path in found}
        files = {f"src/{path.relative_to(LIBRARY)}": path for path in c_sources(LIBRARY)} | scripts
        content = {name: path.read_bytes() for name, path in files.items()}
        self.folder.put(content, executable=scripts)
