# SPDX-License-Identifier: Apache-2.0
"""Runs a command of another user so that it cannot reach the caller's terminal.

A process that has a terminal as its controlling terminal may push input into it (ioctl TIOCSTI),
which the shell of the terminal's owner then executes. So the command runs in a session of its own:
what was a terminal becomes a pseudo-terminal of the command alone, which this process relays.
"""

from __future__ import annotations

import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import termios
import time
import tty
from collections.abc import Sequence
from contextlib import suppress

_PIECE_BYTES = 1 << 16
#: How often the command's end is looked for, and how long its last words are copied.
_LOOK_S, _LAST_S = 0.1, 1.0


def run_apart(argv: Sequence[str]) -> int:
    """Run a command to its end; return its exit status, 128 + N after signal N.

    Of standard input, output and error, those that are terminals become the command's own
    pseudo-terminal; the others are handed on.
    """
    terminals = [descriptor for descriptor in (0, 1, 2) if os.isatty(descriptor)]
    if not terminals:
        with subprocess.Popen(argv, start_new_session=True) as process:
            _pass_on_signals(process.pid)
            status = process.wait()
            return status if status >= 0 else 128 - status
    handed_on = {one: os.dup(one) for one in (0, 1, 2) if one not in terminals}
    interactive = 0 in terminals and 1 in terminals
    pid, master = pty.fork()
    if pid == 0:
        for descriptor, original in handed_on.items():
            os.dup2(original, descriptor)
        os.closerange(3, os.sysconf("SC_OPEN_MAX"))  # any may be the caller's terminal
        try:
            os.execvp(argv[0], list(argv))  # noqa: S606
        finally:
            os._exit(127)
    _pass_on_signals(pid)
    _relay(pid, master, terminals, interactive)
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    return status if status >= 0 else 128 - status


def _pass_on_signals(pid: int) -> None:
    """End the command's session when this process is to end."""

    def end(number: int, _: object) -> None:
        with suppress(ProcessLookupError):
            os.killpg(pid, number)

    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT):
        signal.signal(number, end)


def _relay(pid: int, master: int, terminals: Sequence[int], interactive: bool) -> None:
    """Copy between the pseudo-terminal and the caller's until the command itself has ended.

    What it leaves behind may keep the pseudo-terminal open. The caller's terminal becomes raw only
    where the command has it for input and output, and only in the foreground; elsewhere it does
    the echo and the keys, and is read only in the foreground.
    """
    source, target = terminals[0], terminals[-1]

    def resize(*_: object) -> None:
        size = fcntl.ioctl(target, termios.TIOCGWINSZ, struct.pack("4H", 0, 0, 0, 0))
        fcntl.ioctl(master, termios.TIOCSWINSZ, size)

    def foreground() -> bool:
        try:
            return os.tcgetpgrp(target) == os.getpgrp()
        except OSError:  # not the controlling terminal: nobody stops its readers
            return True

    resize()
    signal.signal(signal.SIGWINCH, resize)
    saved = termios.tcgetattr(target)
    raw = interactive and foreground()
    if not raw:
        own = termios.tcgetattr(master)
        own[3] &= ~termios.ECHO
        termios.tcsetattr(master, termios.TCSANOW, own)
    reads, opened, ended, deadline = source == 0, True, False, 0.0
    try:
        if raw:
            tty.setraw(target, termios.TCSADRAIN)
        while True:
            reading = [master] if opened else []
            if reads and not ended and foreground():
                reading.append(source)
            ready, _, _ = select.select(reading, [], [], 0 if ended else _LOOK_S)
            if master in ready:
                try:
                    _write(target, os.read(master, _PIECE_BYTES))
                except OSError:  # EIO: nobody has the other side open; the command may still run
                    opened = False
            elif ended:
                return
            if source in ready:
                typed = os.read(source, _PIECE_BYTES)
                _write(master, typed or b"\x04")
                reads = bool(typed)
            flags = os.WEXITED | os.WNOHANG | os.WNOWAIT
            if not ended and os.waitid(os.P_PID, pid, flags) is not None:
                ended, deadline = True, time.monotonic() + _LAST_S
            if ended and time.monotonic() > deadline:
                return
    finally:
        if raw:
            termios.tcsetattr(target, termios.TCSADRAIN, saved)
        os.close(master)


def _write(descriptor: int, piece: bytes) -> None:
    while piece:
        piece = piece[os.write(descriptor, piece) :]
