# SPDX-License-Identifier: Apache-2.0
"""Listings of files of ReFrame suites, by child processes that the files cannot leave.

A server loads ReFrame once and forks a child for each file; there are as many servers as cores, but
at most MOST_SERVERS.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Self

import msgspec
from msgspec.structs import replace

from checks.common.foreign.listing import Listing, Order, Reply, Surroundings
from records.errors import InfrastructureError
from records.forms import as_bytes
from records.text.plain_text import end_of_output, one_line, plain_data
from records.waiting import SERVER_S, scaled

#: Servers at once, on nodes of many cores that others use too.
MOST_SERVERS = 8
#: Whether servers use namespaces where the kernel allows it.
NAMESPACES = True
#: What a file says, or what is said of it, that lacks processes or memory.
_LACKING = (
    *("Resource temporarily unavailable", "can't start new thread", "Cannot allocate memory"),
    "ends the process that lists files",
)
#: The user and group of the kernel that have no file.
_OVERFLOW_ID = 65534


def list_file(file: Path, around: Surroundings | None = None) -> Listing:
    """As `list_files`, of one file."""
    return list_files([file], around, workers=1)[0]


def list_files(
    files: Sequence[Path], around: Surroundings | None = None, workers: int | None = None
) -> list[Listing]:
    """What each file has, in their order; a file that cannot be listed is refused, with a reason.

    Raises InfrastructureError where no process can be had.
    """
    around = around or Surroundings()
    if os.geteuid() != 0:
        around = replace(around, user=None)  # no other can be had
    elif around.user is None or 0 in around.user:
        around = replace(around, user=(_OVERFLOW_ID, _OVERFLOW_ID))
    root = os.path.commonpath([file.absolute().parent for file in files]) if files else "/"
    found: dict[int, Listing] = {}

    def work(waiting: Iterator[int]) -> None:
        with tempfile.TemporaryDirectory(prefix="assay-listing-") as folder:
            if around.user is not None:
                os.chown(folder, *around.user)
            with _Server(Order(folder, root, around, NAMESPACES)) as server:
                for number in waiting:
                    found[number] = server.listing(files[number])

    count = min(workers or len(os.sched_getaffinity(0)), MOST_SERVERS, len(files)) or 1
    waiting = iter(range(len(files)))  # of all threads
    with ThreadPoolExecutor(count) as pool:
        for task in [pool.submit(work, waiting) for _ in range(count)]:
            task.result()
    if count > 1:  # once more, alone: another file may have used up what these lacked
        work(iter([n for n, one in found.items() if any(map(one.refused.count, _LACKING))]))
    return [found[number] for number in range(len(files))]


class _Server:
    """A server process, made anew when a file has ended it. Use it in one thread."""

    def __init__(self, order: Order) -> None:
        self._order = order
        self._process: subprocess.Popen[bytes] | None = None
        self._pipe: Connection
        self._isolated = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._end()

    def listing(self, file: Path) -> Listing:
        """What the file has, or why not."""
        path = str(file.absolute())
        if self._process is None:
            self._start()
        began = time.monotonic()
        try:
            self._pipe.send_bytes(as_bytes(path))
            answer = self._answer(self._order.around.limit_s + scaled(SERVER_S))
            reply = msgspec.json.decode(answer, type=Reply)
        except (OSError, EOFError, msgspec.MsgspecError):
            self._end()
            reply = Reply(ended="ends the process that lists files")
        found = Listing(file=path)
        if reply.ended:
            printed = end_of_output(reply.printed.splitlines()) if reply.printed.strip() else ""
            found.refused = reply.ended + (f"; it prints: {printed}" if printed else "")
        else:
            try:
                data = plain_data(msgspec.json.decode(reply.answer))
                found = msgspec.convert(data, Listing)
            except (msgspec.MsgspecError, RecursionError) as error:
                found.refused = f"gives no listing: {str(error)[:200]}"
        found.file, found.refused = path, one_line(found.refused)
        found.isolation = "namespaces" if self._isolated else "limits"
        found.seconds = round(time.monotonic() - began, 3)
        return found

    def _start(self) -> None:
        """Raises InfrastructureError where it cannot serve."""
        python = [sys.executable, "-P", "-m", "checks.common.foreign.server"]
        own = ("LD_LIBRARY_PATH", "PATH", "PYTHONPATH")
        self._pipe, theirs = Pipe()
        with tempfile.TemporaryFile() as log, theirs:
            self._process = subprocess.Popen(
                [*python, str(theirs.fileno())],
                env={name: os.environ[name] for name in own if name in os.environ},
                cwd="/",
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                pass_fds=(theirs.fileno(),),
                start_new_session=True,
            )
            theirs.close()
            try:
                self._pipe.send_bytes(as_bytes(self._order))
                self._isolated = msgspec.json.decode(self._answer(scaled(SERVER_S)), type=bool)
            except (OSError, EOFError, msgspec.MsgspecError) as error:
                self._end()
                log.seek(0)
                said = end_of_output(log.read().decode(errors="replace").splitlines())
                raise InfrastructureError(f"files cannot be listed: {said}") from error

    def _answer(self, limit_s: float) -> bytes:
        """What the server says; raises EOFError where it ends or time runs out."""
        if not self._pipe.poll(limit_s):
            raise EOFError
        return self._pipe.recv_bytes()

    def _end(self) -> None:
        if self._process is None:
            return
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._process = None
        self._pipe.close()
