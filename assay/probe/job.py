# SPDX-License-Identifier: Apache-2.0
"""A short job: its folder, submitted, waited for, its output read, all removed.

All is done by commands where launches are submitted: what fails fails as it would for a launch, and
what hangs has a time limit.
"""

from __future__ import annotations

import secrets
import shutil
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from assay.commands import KEPT_CHARACTERS, Pause, run_command
from assay.sites.site import Site
from assay.terminal import Say
from checks.common.slurm.commands import Answer
from checks.common.slurm.job import BEFORE, OPEN, Allocation, SlurmJob, Watch
from records.errors import AssayError, InfrastructureError
from records.files import write_whole
from records.run.queue_state import QueueState
from records.waiting import SILENCE_S

#: Seconds that a shared file system may take to show what a job wrote, and that the last line of
#: a script may take that was ended before it.
_VISIBLE_WITHIN_S, _CUT_OFF_AFTER_S = 30.0, 5.0
#: Polls of a job follow each other after these seconds; the last repeats.
_POLLS_S = (0.1, 0.1, 0.2, 0.2, 0.5, 0.5, 1.0, 1.0, 2.0, 2.0, 5.0)
#: Seconds after which the same reason for waiting is said again.
_SAID_AGAIN_S = 300.0
#: Nothing is said of a job that starts within these seconds.
_QUIET_S = 2.0
#: The last line that a script of ours prints.
END_MARK = "== end"


class WorkFolderError(AssayError):
    """The folder cannot be written, or the nodes do not see it as the login node does."""


class JobFolder:
    """A new folder below `above`, which nodes see. Use as a context manager."""

    def __init__(self, site: Site, above: str) -> None:
        self.site = site
        self.path = Path(above) / f"assay-probe-{secrets.token_hex(6)}"
        #: What the login node wrote there, for nodes to read.
        self.token = secrets.token_hex(16)

    def __enter__(self) -> JobFolder:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self.path.mkdir(mode=0o700)
        except OSError as error:
            raise WorkFolderError(
                f"work folder {self.path.parent}: {error.strerror}; choose another"
            ) from error
        self.put({"token": self.token.encode()})
        return self

    def __exit__(self, *_: object) -> None:
        shutil.rmtree(self.path, ignore_errors=True)

    def put(self, files: Mapping[str, bytes], executable: Collection[str] = ()) -> None:
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

    def text(self, name: str) -> str | None:
        """The content of a file of the folder; None where it is not there."""
        try:
            with (self.path / name).open("rb") as file:
                return file.read(KEPT_CHARACTERS).decode(errors="replace")
        except OSError:
            return None


@dataclass(frozen=True)
class JobEnd:
    """A job that has ended: Slurm's last word of it, and what it printed (None: not to be seen)."""

    job_id: str
    state: str
    output: str | None


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


class Job:
    """Job of Slurm. Use as a context manager: leaving it cancels the job if it has not ended."""

    def __init__(self, folder: JobFolder, name: str, pause: Pause, watch: Watch) -> None:
        self._folder, self.name, self._pause = folder, name, pause
        self._job = SlurmJob(folder.site.slurm(), watch=watch)
        self._ended = False

    def __enter__(self) -> Job:
        return self

    def __exit__(self, *_: object) -> None:
        if not self._ended:
            self._job.cancel()

    @property
    def job_id(self) -> str:
        """Its id; "" until it is submitted."""
        return self._job.job_id

    @property
    def described(self) -> Mapping[str, str]:
        """Keys and values that Slurm said of it last."""
        return self._job.described

    def submit(self, script: str, options: Sequence[str]) -> None:
        """Submit; what Slurm may take later is tried again, patiently.

        Raises AssayError with Slurm's words for what it refuses for good.
        """
        words = [
            *("sbatch", "--parsable", f"--job-name={self.name}", f"--chdir={self._folder.path}"),
            *(f"--output={self._folder.path}/{self.name}.out", "--open-mode=truncate"),
            *options,
        ]

        def sbatch() -> Answer:
            answer = self._folder.site.ask(words, script.encode())
            if answer.status == 127:
                raise InfrastructureError("sbatch is not there: is this a login node of Slurm?")
            return answer

        refused = self._job.submit(sbatch, ("waits", "unreached"), self._pause)
        if refused is not None and refused.verdict == "unreached":
            raise InfrastructureError(
                f"Slurm does not answer for {SILENCE_S:.0f} s: {refused.words}"
            )
        if refused is not None:
            raise AssayError(f"Slurm does not take the job ({' '.join(options)}): {refused.words}")

    def wait(self) -> JobEnd:
        """Wait until the job has ended, saying why it waits; no clock of ours ends that.

        Raises AssayError for a job that can never start, InfrastructureError when Slurm is silent.
        """
        self._follow(OPEN)
        self._ended = True
        return JobEnd(self.job_id, self._job.state, self._output())

    def started(self) -> None:
        """Wait as `wait` does, until the job has begun."""
        self._follow(BEFORE)

    def _follow(self, states: Collection[str]) -> None:
        """Wait while the job is in one of `states`."""
        job, begun = self._job, time.monotonic()
        for poll in count():
            if job.look():
                if job.state not in states:
                    break
                if job.state == "PENDING":
                    if never := job.never_runs():
                        raise AssayError(f"job {self.job_id} can never start: Slurm says {never}")
                    if job.asked_at - begun > _QUIET_S:
                        job.tell("pending", job.reason)
            elif job.silent_s > SILENCE_S:
                raise InfrastructureError(
                    f"Slurm does not answer for {SILENCE_S:.0f} s: {job.silence}"
                )
            self._pause(_POLLS_S[min(poll, len(_POLLS_S) - 1)])

    def _output(self) -> str | None:
        """Output of the job, as soon as this side sees it whole."""
        begun, text = time.monotonic(), None
        while time.monotonic() - begun < _VISIBLE_WITHIN_S:
            text = self._folder.text(f"{self.name}.out")
            if text is not None and END_MARK in text:
                break
            self._pause(0.5 if text is None else 0.2)
            if text is not None and time.monotonic() - begun > _CUT_OFF_AFTER_S:
                break
        return text


@dataclass(frozen=True)
class Step:
    """The script `name`.job of a folder, run in a step of an allocation; the step's name names
    `run`."""

    folder: JobFolder
    name: str
    allocation: Allocation
    run: str
    nodes: int
    ranks_per_node: int
    limit_s: float
    pause: Pause

    @property
    def words(self) -> list[str]:
        """The command."""
        step = self.allocation.step(
            str(self.folder.path / "launch/allocated.sh"),
            # Not the first, which srun takes by itself: what starts ranks must heed the nodes.
            self.allocation.nodes[-self.nodes :],
            self.nodes * self.ranks_per_node,
            self.ranks_per_node,
        )
        options = [f"--job-name=assay-{self.run}.{self.name}", f"--chdir={self.folder.path}"]
        return [*step[:1], *options, *step[1:], "bash", str(self.folder.path / f"{self.name}.job")]

    def wait(self) -> JobEnd:
        """Run it. Raises InfrastructureError where it does not end in time."""
        argv, environment = self.folder.site.command(self.words, {"ASSAY_RUN_ID": self.run})
        called = f"srun {self.name}"
        answer = run_command(
            argv, environment, limit_s=self.limit_s, called=called, pause=self.pause
        )
        state = "FAILED" if answer.status else "COMPLETED"
        return JobEnd(self.allocation.job_id, state, answer.stdout or answer.stderr)
