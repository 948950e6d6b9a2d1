# SPDX-License-Identifier: Apache-2.0
"""A person at a terminal: reads what a command shows there, and interrupts it."""

from __future__ import annotations

import os
import pty
import re
import select
import signal
import time
from collections.abc import Sequence
from contextlib import suppress


class Person:
    """Starts a command on a terminal of its own. Use as a context manager: leaving it hangs up."""

    def __init__(self, argv: Sequence[str], patience_s: float) -> None:
        self.shown = ""
        self._patience_s = patience_s
        self._pid, self._terminal = pty.fork()
        if self._pid == 0:
            signal.signal(signal.SIGINT, signal.SIG_DFL)  # tests in the background ignore it
            os.execvp(argv[0], list(argv))  # noqa: S606

    def __enter__(self) -> Person:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._terminal)

    def sees(self, pattern: str) -> str:
        """Wait until this is shown after all that was waited for before; gives it."""
        deadline = time.monotonic() + self._patience_s
        while (found := re.search(pattern, self.shown)) is None:
            assert time.monotonic() < deadline, f"not shown: {pattern}\n{self.shown}"
            assert self._read(), f"ended before: {pattern}\n{self.shown}"
        self.shown = self.shown[found.end() :]
        return found[0]

    def interrupts(self, pattern: str) -> None:
        """Press Ctrl-C, again after a second, until this is shown."""
        deadline = time.monotonic() + self._patience_s
        while re.search(pattern, self.shown) is None:
            assert time.monotonic() < deadline, f"not shown: {pattern}\n{self.shown}"
            os.write(self._terminal, b"\x03")
            until = time.monotonic() + 1
            while time.monotonic() < until and re.search(pattern, self.shown) is None:
                assert self._read(), f"ended before: {pattern}\n{self.shown}"

    def ends(self) -> int:
        """The exit status, once the command has ended."""
        deadline = time.monotonic() + self._patience_s
        while self._read():
            assert time.monotonic() < deadline, f"does not end\n{self.shown}"
        return os.waitstatus_to_exitcode(os.waitpid(self._pid, 0)[1])

    def _read(self) -> bool:
        """Take over what is shown within a second; whether the terminal is still there."""
        if select.select([self._terminal], [], [], 1.0)[0]:
            with suppress(OSError):  # EIO: nobody has the terminal open any more
                text = os.read(self._terminal, 1 << 16).decode(errors="replace")
                print(text, end="", flush=True)
                self.shown += text.replace("\r\n", "\n")
                return bool(text)
            return False
        return True
