# SPDX-License-Identifier: Apache-2.0
"""A process that has loaded ReFrame once and forks a child for each file: `python -m` of this, and
the number of a pipe.

The first message is an Order as JSON, each further one a file's path; each gets one, a Reply. It
runs no foreign code itself.
"""

from __future__ import annotations

import os
import select
import signal
import sys
import time
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path
from secrets import token_bytes
from typing import Any

import msgspec

from checks.common.foreign import isolation
from checks.common.foreign.lister import answer, set_up
from checks.common.foreign.listing import Order, Reply
from checks.common.foreign.touching import Watch
from records.forms import as_bytes

#: Bytes of a listing, and of what a file prints, that are kept.
MOST_ANSWER, MOST_OUTPUT = 16 << 20, 1 << 16
_SECRET = 16
_LOOK_S = 0.02
_PATH = "/usr/local/bin:/usr/bin:/bin"


class Server:
    """Lists files by children, one at a time."""

    def __init__(self, order: Order, processes: int, *, isolated: bool) -> None:
        self.order, self.isolated, self.processes = order, isolated, processes
        if not isolated:
            isolation.adopt_orphans()

    def reply(self, file: str) -> Reply:
        """What the child of this file says; all that it has started has ended then."""
        secret = token_bytes(_SECRET)
        answers, says = os.pipe()
        output, prints = os.pipe()
        pid = isolation.fork_first() if self.isolated else os.fork()
        if pid == 0:
            try:
                self._child(file, secret, says, prints)
            except BaseException as error:
                os.write(2, f"{type(error).__name__}: {error}\n".encode())
            os._exit(70)
        os.close(says)
        os.close(prints)
        try:
            answer, printed, ended = self._follow(pid, secret, answers, output)
        finally:
            os.close(answers)
            os.close(output)
            self._end(pid)
        text = printed.decode(errors="replace")
        return Reply(answer.decode(errors="replace"), ended, text)

    def _follow(
        self, pid: int, secret: bytes, answers: int, output: int
    ) -> tuple[bytes, bytes, str]:
        """Its answer, what it printed, and how it ended without an answer. A descendant may hold
        the pipes open for longer than the child lives."""
        answer, printed = bytearray(), bytearray()
        until = time.monotonic() + self.order.around.limit_s
        open_ends, status, ended = [answers, output], None, ""
        while not ended:
            ready, _, _ = select.select(open_ends, [], [], _LOOK_S)
            for end in ready:
                if not (chunk := os.read(end, 1 << 16)):
                    open_ends.remove(end)
                elif end == answers:
                    answer += chunk
                else:
                    printed += chunk[: MOST_OUTPUT - len(printed)]
            if answer.endswith(secret):
                return bytes(answer[:-_SECRET]), bytes(printed), ""
            if len(answer) > MOST_ANSWER:
                ended = f"gives a listing of more than {MOST_ANSWER >> 20} MiB"
            elif time.monotonic() > until:
                ended = f"does not end within {self.order.around.limit_s:g} s"
            elif status is not None and answers not in ready:
                ended = _how(status)
            status = os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        return b"", bytes(printed), ended

    def _end(self, pid: int) -> None:
        """Kill the child and all that it left behind."""
        with suppress(ProcessLookupError):
            os.killpg(pid, signal.SIGKILL)
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        if self.isolated:
            return
        with suppress(ChildProcessError):  # orphans are children of this process
            while True:
                for child in _children():
                    with suppress(ProcessLookupError):
                        os.kill(child, signal.SIGKILL)
                os.waitpid(-1, 0)

    def _child(self, file: str, secret: bytes, says: int, prints: int) -> None:
        """Confine this process, list the file and end."""
        os.setsid()
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(prints, 1)
        os.dup2(prints, 2)
        os.dup2(says, 3)
        os.closerange(4, 1 << 12)
        folder, around = self.order.folder, self.order.around
        if self.isolated:
            isolation.hide_system(folder, network=around.network)
        else:
            isolation.no_growing_files()
        isolation.drop(around.user, self.processes, network=around.network)
        os.chdir(folder)
        os.environ.clear()
        os.environ |= {"PATH": _PATH, "LANG": "C.UTF-8", **around.environment}
        os.environ |= {"HOME": folder, "TMPDIR": folder}
        sys.path[:0] = filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))
        watch = Watch(folder, self.order.root, refuses=not self.isolated)
        text = as_bytes(answer(file, around.variables, watch)) + secret
        while text:
            text = text[os.write(3, text) :]
        os._exit(0)


def _children() -> list[int]:
    """This process's children; -1, all others, as the first of a process namespace."""
    if os.getpid() == 1:
        return [-1]
    return [*map(int, Path("/proc/thread-self/children").read_text().split())]


def _how(found: Any) -> str:
    """How a child ended that gave no answer."""
    if found.si_code == os.CLD_EXITED:
        return f"ends the process that loads it, with status {found.si_status}"
    return f"the process that loads it ended by {signal.Signals(found.si_status).name}"


def main() -> None:
    """Serve until the pipe ends."""
    isolation.end_with_parent()
    parent = Connection(int(sys.argv[1]))
    order = msgspec.json.decode(parent.recv_bytes(), type=Order)
    user = order.around.user
    processes = isolation.processes_of(os.getuid() if user is None else user[0])
    isolated = order.namespaces and isolation.enter() and isolation.can_hide_system(order.folder)
    server = Server(order, processes, isolated=isolated)
    set_up(order.around.configuration)
    parent.send_bytes(as_bytes(server.isolated))
    with suppress(EOFError):
        while True:
            file = msgspec.json.decode(parent.recv_bytes(), type=str)
            parent.send_bytes(as_bytes(server.reply(file)))


if __name__ == "__main__":
    main()
