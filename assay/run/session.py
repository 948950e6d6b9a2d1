# SPDX-License-Identifier: Apache-2.0
"""ReFrame session: a list of launches goes in as a file, outcomes come out of a pipe.

ReFrame builds the programs, submits the jobs one by one in the order of the list, waits and
verifies; each launch's outcome arrives as soon as it is known. The session ends with this process;
its jobs in Slurm are found by the run's comment on them. In the work folder of a run what the
harness writes for jobs is apart from what jobs write:

    W/           private to the caller
      control/   what sessions read
        programs/  what launches run: what sessions have built
      session/   ReFrame's folders, stages, output of launches; new for each session

Each run directory has a work folder of its own, so that a copy of a run shares nothing with it.
"""

from __future__ import annotations

import json
import math
import os
import re
import secrets
import select
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from io import BufferedReader
from pathlib import Path, PurePosixPath

import msgspec

from assay.commands import libraries_of_python
from assay.sites.site import Site
from checks.common.registry import BROUGHT_FILE, FOLDERS
from checks.common.session.outcome import JOBS_LIBRARIES, PROGRAMS, Launch, Outcome
from checks.common.slurm.job import ALLOCATION, Allocation
from checks.common.sources import CHECKS, FURTHER_CHECKS
from records.errors import InfrastructureError
from records.input_files import RefusedFileError, open_regular
from records.run.brought import Brought
from records.text.plain_text import one_line
from records.waiting import SESSION_END_S, SLURM_COMMAND_S, scaled

#: A message has an outcome's samples and profile, or the output of a build that failed.
GREATEST_MESSAGE_BYTES = 256 * 2**20
GREATEST_TAIL_BYTES = 64 * 2**10
#: Characters of a fault that a message has.
_TOLD_LENGTH = 300
_UNFIT = re.compile(r"[^A-Za-z0-9._-]")


class WorkFolder:
    """The work folder of one run directory on one site."""

    def __init__(self, site: Site, run: Path) -> None:
        self._is_made = False
        #: Tells this run directory from all others: marks its jobs, too.
        self.name = f"{_UNFIT.sub('_', run.name)[:100]}-{run.stat().st_ino:x}"
        path = site.work_dir(run, self.name)
        self.path = path.parent.resolve() / path.name
        self.control, self.session = self.path / "control", self.path / "session"
        self.programs = self.control / "programs"

    def fresh_session(self) -> None:
        """Make `session` anew; the first one makes the whole folder anew."""
        try:
            if not self._is_made:
                self.path.parent.mkdir(parents=True, exist_ok=True)
                _put_away(self.path)
                for folder in (self.path, self.control, self.programs):
                    folder.mkdir(mode=0o700)
                self._is_made = True
            _put_away(self.session)
            self.session.mkdir(mode=0o700)
        except OSError as error:
            raise self._failed(error) from error

    def write_control(self, name: str, content: str) -> Path:
        """Write a file that sessions read; gives its path."""
        try:
            (self.control / name).write_text(content)
        except OSError as error:
            raise self._failed(error) from error
        return self.control / name

    def open(self, path: str) -> BufferedReader:
        """A file that a job or the session wrote, named by its whole path, open for reading. Raises
        RefusedFileError unless it is a regular file below `session`, FileNotFoundError when there
        is nothing."""
        inside = PurePosixPath(path)
        if not inside.is_relative_to(self.session):
            raise RefusedFileError("is outside of the session's folder")
        return open_regular(self.session, str(inside.relative_to(self.session)))

    def trouble(self, site: Site) -> str | None:
        """Why commands of the site cannot write there; None where they can."""
        probe = str(self.session / ".probe")
        write = ["dd", "status=none", "if=/dev/zero", f"of={probe}"]
        write += ["bs=64k", "count=16", "conv=fsync"]
        for words in (write, ["rm", "-f", probe]):
            answer = site.ask(words, limit_s=scaled(SLURM_COMMAND_S))
            if answer.status != 0:
                return f"the work folder {self.session} cannot be written: {answer.said}"
        return None

    def remove(self) -> None:
        """Remove the folder, if it was made, as far as that is possible."""
        if self._is_made:
            _remove(self.path)

    def _failed(self, error: OSError) -> InfrastructureError:
        return InfrastructureError(
            f"{self.path}: the work folder cannot be used ({error.strerror})"
        )


def _put_away(path: Path) -> None:
    """Rename and remove what is there: a process may still write to it."""
    aside = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    with suppress(FileNotFoundError):
        path.rename(aside)
        _remove(aside)


def _remove(path: Path) -> None:
    # rm needs no descriptor a level, as shutil.rmtree does.
    subprocess.run(["rm", "-rf", "--", path], capture_output=True, check=False)


class Session:
    """A running ReFrame session in a work folder that was made fresh for it. Use as a context
    manager: leaving it ends the session.

    In an `allocation` launches are its steps, several at a time where the site allows it; else each
    is a job, of which Slurm has `at_once` at a time. Programs are made unless the work folder's
    `programs` has them already. `brought` are checks of theirs.
    """

    def __init__(
        self,
        site: Site,
        work: WorkFolder,
        launches: Sequence[Launch],
        allocation: Allocation | None = None,
        at_once: int = 0,
        *,
        brought: Mapping[str, Brought] = {},
    ) -> None:
        if at_once and allocation is None:
            site = site.changed(concurrency=at_once)
        self.work, self._open = work, {launch.index for launch in launches}
        variables = _variables(site, work, launches, allocation, brought)
        self._output = work.write_control("reframe.out", "")
        policy = "async" if allocation or at_once else "serial"
        session = CHECKS / "common" / "session"
        reframe = [
            *site.python_words("checks.common.session.command_line"),
            *(f"--config-file={session / 'settings.py'}", f"--checkpath={session / 'launches.py'}"),
            *("--run", f"--exec-policy={policy}", "--exec-order=name", "--keep-stage-files"),
        ]
        self._pipe, write_end = os.pipe()
        variables["ASSAY_OUTCOME_FD"] = str(write_end)
        argv, environment = site.command(reframe, variables, work.session)
        with self._output.open("wb") as out:
            self._process = subprocess.Popen(
                argv,
                env=environment,
                cwd=work.session,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                pass_fds=(write_end,),
                start_new_session=True,
            )
        os.close(write_end)

    def messages(self, patience_s: float) -> Iterator[Outcome | None]:
        """Messages as they come, None after each second without one; ends with the session. Raises
        InfrastructureError for what is no message, and when nothing at all came for `patience_s`
        seconds."""
        rest, heard, until = bytearray(), time.monotonic(), math.inf
        while True:
            over = self._status() is not None
            if until == math.inf and (over or not self._open):
                until = time.monotonic() + scaled(SESSION_END_S)
            ready, _, _ = select.select([self._pipe], [], [], 1.0)
            # What holds the pipe open after the session has ended is no part of it.
            if (over and not ready) or time.monotonic() > until:
                return
            if not ready:
                if time.monotonic() - heard > patience_s:
                    raise InfrastructureError(
                        f"no sign of ReFrame for {patience_s:.0f} s; see"
                        f" {self.work.session}/reframe.log"
                    )
                yield None
                continue
            heard = time.monotonic()
            chunk = os.read(self._pipe, 1 << 20)
            if not chunk:
                return
            *lines, last = chunk.split(b"\n")
            for line in lines:
                yield self._message(bytes(rest) + line)
                rest.clear()
            rest += last
            if len(rest) > GREATEST_MESSAGE_BYTES:
                raise _no_message(bytes(rest[:100]), "is too long")

    def _message(self, line: bytes) -> Outcome:
        """The message of a line."""
        try:
            message = msgspec.json.decode(line, type=Outcome)
        except (msgspec.MsgspecError, ValueError, RecursionError) as error:
            unfit = f"is none ({one_line(str(error)):.{_TOLD_LENGTH}})"
            raise _no_message(line, unfit) from error
        if message.launch_index >= 0 and message.launch_index not in self._open:
            raise _no_message(line, "is of a launch that is not to come")
        self._open.discard(message.launch_index)
        return message

    def wait(self) -> int:
        """ReFrame's exit status after all messages; -9 if it does not end and must be killed."""
        deadline = time.monotonic() + scaled(SESSION_END_S)
        while (status := self._status()) is None and time.monotonic() < deadline:
            time.sleep(0.02)
        return -signal.SIGKILL if status is None else status

    def _status(self) -> int | None:
        """ReFrame's exit status; None while it runs. Its id is not given to another process."""
        found = os.waitid(os.P_PID, self._process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        if found is None:
            return None
        return found.si_status if found.si_code == os.CLD_EXITED else -found.si_status

    def last_line(self) -> str:
        """The last line in which ReFrame named an error, else its last line; "" where it is mute.
        Where its log is, which it says last, does not count."""
        with self._output.open("rb") as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - GREATEST_TAIL_BYTES))
            text = file.read().decode(errors="replace")
        lines = [line.strip() for line in text.splitlines() if line.strip()]
        said = [line for line in lines if not line.startswith("Log file(s) saved in")]
        errors = [line for line in said if re.search(r"\berror:", line, re.IGNORECASE)]
        return "".join((errors or said or lines)[-1:])

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        if self._status() is None:
            os.killpg(self._process.pid, signal.SIGTERM)
            self.wait()
        os.killpg(self._process.pid, signal.SIGKILL)  # what it left behind, too
        self._process.wait()
        os.close(self._pipe)


def _no_message(line: bytes, unfit: str) -> InfrastructureError:
    return InfrastructureError(
        f"a message of the ReFrame session {unfit}: {line[:100]!r}; nothing is recorded from it"
    )


def _variables(
    site: Site,
    work: WorkFolder,
    launches: Sequence[Launch],
    allocation: Allocation | None,
    brought: Mapping[str, Brought],
) -> dict[str, str]:
    """Variables that tell a session its site, launches and builds, by files of the work folder."""
    described = {**site.session_data(), "reframe_prefix": str(work.session)}
    lines = msgspec.json.Encoder().encode_lines(launches).decode()
    files = {
        "ASSAY_SITE_FILE": ("site.json", json.dumps(described)),
        "ASSAY_LAUNCHES_FILE": ("launches.jsonl", lines),
    }
    if brought:
        files[BROUGHT_FILE] = "brought.json", msgspec.json.encode(brought).decode()
    if allocation is not None:
        files[ALLOCATION] = "allocation.json", allocation.model_dump_json()
    libraries = libraries_of_python()
    return {
        **libraries,
        **({JOBS_LIBRARIES: site.variables().get("LD_LIBRARY_PATH", "")} if libraries else {}),
        **{name: str(work.write_control(*file)) for name, file in files.items()},
        "ASSAY_HPL_ARCHIVE": site.hpl_source(),
        PROGRAMS: str(work.programs),
        "ASSAY_RUN_ID": work.name,
        FURTHER_CHECKS: os.pathsep.join(map(str, FOLDERS)),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
