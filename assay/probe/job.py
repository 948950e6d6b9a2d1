# SPDX-License-Identifier: Apache-2.0
"""A short job of the jobs' user: its folder, submitted, waited for, its output read, all removed.

All is done by commands of the jobs' user, so that no name in the folder can lead a harness of root
astray, and what fails fails as it would for a launch.
"""

from __future__ import annotations

import io
import re
import secrets
import tarfile
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import PurePosixPath

from assay.probe.commands import COMMAND_LIMIT_S, KEPT_CHARACTERS, Pause, ask, run_command
from assay.sites.site import Site
from checks.common.evidence.clocks import Moment
from checks.common.session.outcome import iso_time
from checks.common.slurm.allocation import Allocation, without_slurm
from checks.common.slurm.commands import Alone, slurm_seconds
from checks.common.slurm.reasons import (
    last_words,
    pending_verdict,
    refusal_verdict,
    with_meaning,
)
from records.errors import AssayError, InfrastructureError
from records.plain_text import one_line
from records.queue_state import QueueState, State

#: Seconds that a shared file system may take to show what a job wrote.
_VISIBLE_WITHIN_S = 30.0
#: Polls of a job follow each other after these seconds; the last repeats.
_POLLS_S = (0.1, 0.1, 0.2, 0.2, 0.5, 0.5, 1.0, 1.0, 2.0, 2.0, 5.0)
#: Seconds after which the same reason for waiting is said again.
_SAID_AGAIN_S = 300.0
#: Nothing is said of a job that starts within these seconds.
_QUIET_S = 2.0
#: Seconds that Slurm's controller may be silent.
_SILENT_S = 300.0

Say = Callable[[str], None]
#: Is told where a job is at each question, e.g. for `assay status`.
Watch = Callable[[QueueState], None]


class WorkFolderError(AssayError):
    """The folder cannot be written, or the nodes do not see it as the login node does."""


class JobFolder:
    """A new folder of the jobs' user below `above`, which nodes see. Use as a context manager."""

    def __init__(self, site: Site, above: str) -> None:
        self.site = site
        self.path = PurePosixPath(above) / f"assay-probe-{secrets.token_hex(6)}"
        #: What the login node wrote there, for nodes to read.
        self.token = secrets.token_hex(16)

    def __enter__(self) -> JobFolder:
        made = ask(self.site, ["mkdir", "-p", "-m", "700", "--", str(self.path)])
        if made.status != 0:
            raise WorkFolderError(f"work folder {self.path.parent}: {made.said}; choose another")
        self.put({"token": self.token.encode()})
        return self

    def __exit__(self, *_: object) -> None:
        ask(self.site, ["rm", "-rf", "--", str(self.path)])

    def put(self, files: Mapping[str, bytes], executable: Iterable[str] = ()) -> None:
        """Write files, folders among their names are made."""
        packed, runs = io.BytesIO(), set(executable)
        with tarfile.open(fileobj=packed, mode="w") as archive:
            for name, content in files.items():
                entry = tarfile.TarInfo(name)
                entry.size, entry.mode = len(content), 0o755 if name in runs else 0o644
                entry.mtime = int(time.time())
                archive.addfile(entry, io.BytesIO(content))
        written = ask(self.site, ["tar", "-x", "-C", str(self.path)], packed.getvalue())
        if written.status != 0:
            raise WorkFolderError(f"{self.path}: cannot be written: {written.said}")

    def text(self, name: str) -> str | None:
        """What a file of the folder holds; None where it is not there."""
        found = ask(self.site, ["head", "-c", str(KEPT_CHARACTERS), "--", str(self.path / name)])
        return found.stdout if found.status == 0 else None


@dataclass(frozen=True)
class Waiter:
    """How one waits for jobs: who is told, what sleeps, who watches."""

    say: Say
    pause: Pause = time.sleep
    watch: Watch | None = None


@dataclass(frozen=True)
class JobEnd:
    """A job that has ended: Slurm's last word of it, and what it printed (None: not to be seen)."""

    job_id: str
    state: str
    waited_s: float
    output: str | None


class Job:
    """One job. Use as a context manager: leaving it cancels the job if it has not ended."""

    def __init__(self, folder: JobFolder, name: str, waiter: Waiter) -> None:
        self._folder, self._site = folder, folder.site
        self.name, self._waiter = name, waiter
        self.job_id = ""
        self._handed_in = Moment.now()
        self._ended = False

    def __enter__(self) -> Job:
        return self

    def __exit__(self, *_: object) -> None:
        if self.job_id and not self._ended:
            ask(self._site, ["scancel", self.job_id])

    def submit(self, script: str, options: Sequence[str]) -> None:
        """Submit; what Slurm may take later is tried again, patiently.

        Raises AssayError with Slurm's words for what it refuses for good.
        """
        words = [
            *("sbatch", "--parsable", f"--job-name={self.name}", f"--chdir={self._folder.path}"),
            *(f"--output={self._folder.path}/{self.name}.out", "--open-mode=truncate"),
            *options,
        ]
        told, answered = "", time.monotonic()
        while True:
            answer = ask(self._site, words, script.encode())
            found = re.match(r"\s*(\d+)", answer.stdout)
            if answer.status == 0 and found:
                self.job_id = found[1]
                return
            if answer.status == 127:
                raise InfrastructureError("sbatch is not there: is this a login node of Slurm?")
            verdict = refusal_verdict(answer.stderr)
            if verdict != "unreached":
                answered = time.monotonic()
            if time.monotonic() - answered > _SILENT_S:
                raise InfrastructureError(
                    f"Slurm does not answer for {_SILENT_S:.0f} s: {answer.said}"
                )
            if verdict not in ("waits", "unreached"):
                raise AssayError(
                    f"Slurm does not take the job ({' '.join(options)}): {answer.said}"
                )
            self._tell("not-taken", last_words(answer.stderr))
            if answer.said != told:
                told = answer.said
                self._waiter.say(f"Slurm does not take {self.name} now, trying again: {told}")
            self._waiter.pause(_POLLS_S[-1])

    def wait(self) -> JobEnd:
        """Wait until the job has ended, saying why it waits; no clock of ours ends that.

        Raises AssayError for a job that can never start, InfrastructureError when Slurm is silent.
        """
        state, waited_s = self._follow(_OPEN)
        self._ended = True
        return JobEnd(self.job_id, state, waited_s, self._output())

    def started(self) -> str:
        """Wait as `wait` does, until the job has begun; gives its state then."""
        state, _ = self._follow(_BEFORE)
        return state

    def _follow(self, states: Collection[str]) -> tuple[str, float]:
        """Wait while the job is in one of `states`; its state then, and for how long it waited."""
        begun = answered = time.monotonic()
        alone = Alone(self._output_of)
        started: float | None = None
        told, told_at = ("", ""), 0.0
        for poll in count():
            state, reason, start = self._state()
            estimate = f", to start {start} by Slurm's estimate" if start else ""
            now = time.monotonic()
            answered = answered if state == "UNKNOWN" else now
            if now - answered > _SILENT_S:
                raise InfrastructureError(f"Slurm does not answer for {_SILENT_S:.0f} s: {reason}")
            if started is None and state not in _BEFORE:
                started = now
            if state not in states:
                break
            verdict = pending_verdict(reason) if state == "PENDING" else "waits"
            if verdict == "never" or alone.long_enough(verdict):
                raise AssayError(
                    f"job {self.job_id} can never start: Slurm says {with_meaning(reason)}"
                )
            if state == "PENDING" and now - begun > _QUIET_S:
                self._tell("pending", with_meaning(reason), start)
            again = (reason, estimate) != told or now - told_at > _SAID_AGAIN_S
            if state == "PENDING" and again and now - begun > _QUIET_S:
                self._waiter.say(
                    f"job {self.job_id} waits: {reason}{estimate} ({now - begun:.0f} s so far)"
                )
                told, told_at = (reason, estimate), now
            self._waiter.pause(_POLLS_S[min(poll, len(_POLLS_S) - 1)])
        return state, (started or now) - begun

    def _output_of(self, argv: list[str]) -> str | None:
        answer = ask(self._site, argv)
        return answer.stdout if answer.status == 0 else None

    def _state(self) -> tuple[str, str, str]:
        """State, reason, and when Slurm thinks that it starts."""
        answer = ask(self._site, ["squeue", "-h", "-j", self.job_id, "-o", "%T|%r|%S"])
        fields = answer.stdout.strip().split("|")
        if answer.status == 0 and len(fields) == 3:
            return fields[0], fields[1], fields[2].removesuffix("N/A")
        if answer.status != 0 and "invalid job id" not in answer.stderr.lower():
            return "UNKNOWN", answer.said, ""  # the controller does not answer: the job goes on
        last = ask(self._site, ["scontrol", "show", "job", "-o", self.job_id])
        found = re.search(r"\bJobState=(\w+)", last.stdout)
        return (found[1] if found else "ENDED"), "", ""

    def _tell(self, state: State, reason: str, start: str = "") -> None:
        """Tell whoever watches where the job is."""
        if self._waiter.watch is not None:
            self._waiter.watch(
                QueueState(
                    state=state,
                    job_id=self.job_id or None,
                    reason=one_line(reason)[:300],
                    since=str(iso_time(self._handed_in.wall)),
                    waited_s=self._handed_in.ago_s(),
                    expected_start=iso_time(slurm_seconds(start)),
                )
            )

    def _output(self) -> str | None:
        """What the job printed, as soon as this side sees it whole."""
        deadline, text = time.monotonic() + _VISIBLE_WITHIN_S, None
        while time.monotonic() < deadline:
            text = self._folder.text(f"{self.name}.out")
            if text is not None and END_MARK in text:
                break
            self._waiter.pause(0.5 if text is None else 0.2)
            if text is not None and time.monotonic() > deadline - _VISIBLE_WITHIN_S + 5:
                break  # its script was ended before its last line
        return text


class Step(Job):
    """A script that runs in a step of an allocation, in place of a job of its own."""

    def __init__(
        self, folder: JobFolder, name: str, waiter: Waiter, allocation: Allocation
    ) -> None:
        super().__init__(folder, name, waiter)
        self._allocation = allocation
        self._ended = True  # the job is not this step's to cancel
        self._words: list[str] = []
        self._variables: dict[str, str] = {}
        self._limit_s = COMMAND_LIMIT_S

    def prepare(
        self, script: str, nodes: int, ranks_per_node: int, limit_s: float, *, run: str
    ) -> None:
        """Put the script into the folder; `wait` runs it, by a name that names `run`."""
        file, folder = f"{self.name}.job", self._folder.path
        self._folder.put({file: script.encode()})
        step = self._allocation.step(
            str(folder / "launch/allocated.sh"),
            # Not the first, which srun takes by itself: what starts ranks must heed the nodes.
            self._allocation.nodes[-nodes:],
            nodes * ranks_per_node,
            ranks_per_node,
        )
        options = [f"--job-name=assay-{run}.{self.name}", f"--chdir={folder}"]
        self._words = [*step[:1], *options, *step[1:], "bash", str(folder / file)]
        self._variables = {"ASSAY_RUN_ID": run}
        self.job_id, self._limit_s = self._allocation.job_id, limit_s

    def wait(self) -> JobEnd:
        """Run the script. Raises InfrastructureError where it does not end in time."""
        argv, environment = self._site.command(self._words, self._variables)
        answer = run_command(
            argv,
            without_slurm(environment),
            limit_s=self._limit_s,
            called=f"{self._words[0]} {self.name}",
            pause=self._waiter.pause,
        )
        state = "FAILED" if answer.status else "COMPLETED"
        return JobEnd(self.job_id, state, 0.0, answer.stdout or answer.stderr)


#: The last line that a script of ours prints.
END_MARK = "== end"
#: States before a job's script has begun; UNKNOWN: Slurm does not answer.
_BEFORE = {"PENDING", "CONFIGURING", "UNKNOWN"}
_OPEN = _BEFORE | {
    "RUNNING",
    "SUSPENDED",
    "STAGE_OUT",
    "RESIZING",
    "REQUEUED",
    "STOPPED",
    "SIGNALING",
}
