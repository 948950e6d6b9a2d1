# SPDX-License-Identifier: Apache-2.0
"""Probes of a site: one folder, programs built there, short jobs that try environments on nodes.

A probe job runs through the site's own access options. It reports the facts of its nodes, and of
each environment whether it compiles, starts, on the right nodes, with which library, over the
network. All is done by commands where launches are submitted: what fails fails as it would for a
launch, and what hangs has a time limit.
"""

from __future__ import annotations

import secrets
import shutil
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path

from assay.commands import KEPT_CHARACTERS, Pause, run_command
from assay.probe.trials import (
    END_MARK,
    JobEnd,
    ProbeResult,
    Trial,
    job_script,
    login_build_script,
    read_probe,
)
from assay.schedulers.seam import Submitted
from assay.sites.site import Site
from assay.terminal import Say
from checks.common.slurm.job import RUN_ID, Allocation, Watch
from checks.common.sources import CHECKS, LIBRARY, c_sources
from records.errors import AssayError
from records.files import write_whole
from records.run.queue_state import QueueState
from records.waiting import BUILDS_S, scaled

_HERE = Path(__file__).parent
#: Seconds that a shared file system may take to show what a job wrote, and that the last line of
#: a script may take that was ended before it.
_VISIBLE_WITHIN_S, _CUT_OFF_AFTER_S = 30.0, 5.0
#: Seconds after which the same reason for waiting is said again.
_SAID_AGAIN_S = 300.0


class WorkFolderError(AssayError):
    """The folder cannot be written, or the nodes do not see it as the login node does."""


def spoken(say: Say) -> Watch:
    """Says where a job is when that changes, and again after a while."""
    last: tuple[str, str | None] | None = None
    last_at = 0.0

    def heard(state: QueueState) -> None:
        nonlocal last, last_at
        waits, now = (state.reason, state.expected_start), time.monotonic()
        if waits != last or now - last_at > _SAID_AGAIN_S:
            say(f"the job {state.told()}")
            last, last_at = waits, now

    return heard


class Probes:
    """Probe jobs of one site, in a new folder below `above`. Use as a context manager.

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
        self.path = Path(above) / f"assay-probe-{secrets.token_hex(6)}"
        #: What the login node writes there, for nodes to read.
        self._token = secrets.token_hex(16)
        self._outs: dict[tuple[str, str, bool], str] = {}
        self._jobs: list[Submitted] = []

    def __enter__(self) -> Probes:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self.path.mkdir(mode=0o700)
        except OSError as error:
            raise WorkFolderError(
                f"work folder {self.path.parent}: {error.strerror}; choose another"
            ) from error
        try:
            scripts = {name: (_HERE / name).read_bytes() for name in ("facts.sh", "probe.sh")}
            self._put({"token": self._token.encode(), **scripts})
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        for job in self._jobs:
            job.cancel()
        shutil.rmtree(self.path, ignore_errors=True)

    def _put(self, files: Mapping[str, bytes], executable: Collection[str] = ()) -> None:
        """Write files, whole at once; folders among their names are made."""
        for name, content in files.items():
            file = self.path / name
            try:
                file.parent.mkdir(parents=True, exist_ok=True)
                write_whole(file, content, 0o755 if name in executable else 0o644)
            except OSError as error:
                raise WorkFolderError(
                    f"{self.path}: cannot be written: {error.strerror}"
                ) from error

    def _text(self, name: str) -> str | None:
        """The content of a file of the folder; None where it is not there."""
        try:
            with (self.path / name).open("rb") as file:
                return file.read(KEPT_CHARACTERS).decode(errors="replace")
        except OSError:
            return None

    def build_on_login(self, trials: Sequence[Trial]) -> list[str]:
        """Compile all trials where commands of the site run; gives the names of those that failed,
        which are tried in the job."""
        self._unpack()
        outs = self._outs_of(trials)
        script = login_build_script(str(self.path), trials, outs).encode()
        self._site.ask(["bash", "-s"], script, limit_s=scaled(BUILDS_S), pause=self._pause)
        statuses = [self._text(f"{out}/build.status") or "" for out in outs]
        built = zip(trials, statuses, strict=True)
        return [trial.name for trial, status in built if status.strip() != "0"]

    def submit(
        self,
        name: str,
        nodes: int,
        ranks_per_node: int,
        trials: Sequence[Trial],
        *,
        limit_s: int,
        options: Sequence[str] = (),
    ) -> Callable[[], ProbeResult]:
        """Submit a probe job of `limit_s` seconds, within the partition's longest; `options` follow
        the site's. Slurm's refusal is an AssayError.

        Gives a function that waits for the job and reads what it found. It raises WorkFolderError
        where the folder is not the same on the nodes.
        """
        described = self._site.description
        limit_s = min(limit_s, described.longest_job_s or limit_s)
        if trials or self._allocation is not None:
            self._unpack()
        outs = self._outs_of(trials)
        script = job_script(str(self.path), trials, outs, nodes * ranks_per_node, nodes).encode()
        if self._allocation is not None:
            self._put({f"{name}.job": script})
            return lambda: self._result(self.step(name, nodes, ranks_per_node, limit_s), trials)
        words = [
            *(f"--job-name={name}", f"--chdir={self.path}", f"--output={self.path}/{name}.out"),
            *("--open-mode=truncate", *options, f"--nodes={nodes}", "--exclusive"),
            *(f"--ntasks-per-node={ranks_per_node}", f"--time={max(1, -(-limit_s // 60))}"),
        ]
        job = self._site.scheduler().submit(words, script, self._watch, self._pause)
        self._jobs.append(job)
        return lambda: self._result(JobEnd(*job.end(self._pause), self._output(name)), trials)

    def step(self, name: str, nodes: int, ranks_per_node: int, limit_s: float) -> JobEnd:
        """Run the script `name`.job in a step of the allocation. Raises InfrastructureError where
        it does not end in time."""
        assert self._allocation is not None
        step = self._allocation.step(
            str(self.path / "launch"),
            # Not the first, which srun takes by itself: what starts ranks must heed the nodes.
            self._allocation.nodes[-nodes:],
            nodes * ranks_per_node,
            ranks_per_node,
            options=[f"--job-name=assay-{self._run}.{name}", f"--chdir={self.path}"],
        )
        words = [*step, "bash", str(self.path / f"{name}.job")]
        argv, environment = self._site.command(words, {RUN_ID: self._run})
        answer = run_command(
            argv, environment, limit_s=limit_s, called=f"step {name}", pause=self._pause
        )
        state = "FAILED" if answer.status else "COMPLETED"
        return JobEnd(self._allocation.job_id, state, answer.stdout or answer.stderr)

    def _output(self, name: str) -> str | None:
        """Output of the job, as soon as this side sees it whole."""
        begun, text = time.monotonic(), None
        while time.monotonic() - begun < _VISIBLE_WITHIN_S:
            text = self._text(f"{name}.out")
            if text is not None and END_MARK in text:
                break
            self._pause(0.5 if text is None else 0.2)
            if text is not None and time.monotonic() - begun > _CUT_OFF_AFTER_S:
                break
        return text

    def _result(self, end: JobEnd, trials: Sequence[Trial]) -> ProbeResult:
        result = read_probe(end, trials, self._token)
        if not result.shared:
            raise WorkFolderError(
                f"work folder {self.path.parent}: the nodes do not see it as this machine"
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
        self._put(content, executable=scripts)
