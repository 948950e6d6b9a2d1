# SPDX-License-Identifier: Apache-2.0
"""What a file uses while it is loaded, as Python's audit events and reads of variables show it.

A file can avoid being seen; that it cannot do harm is left to `isolation`.
"""

from __future__ import annotations

import errno
import os
import sys
from typing import Any

from checks.common.foreign.listing import Touched

#: Entries that are kept of each kind.
MOST_ENTRIES = 50
_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
#: Events whose first arguments are paths that they change.
_CHANGES = {
    "os.chmod": 1,
    "os.chown": 1,
    "os.link": 2,
    "os.mkdir": 1,
    "os.remove": 1,
    "os.rename": 2,
    "os.rmdir": 1,
    "os.symlink": 2,
    "os.truncate": 1,
}
_PROGRAMS = ("subprocess.Popen", "os.system", "os.exec", "os.posix_spawn")


class Watch:
    """Fills `touched` from now on. With `refuses` a change outside `folder` raises OSError."""

    def __init__(self, folder: str, root: str, *, refuses: bool) -> None:
        #: The folder of the suite.
        self.root = root
        self.touched = Touched()
        #: Variables that were read and are not set.
        self.absent = set[str]()
        #: Whether it made a socket.
        self.socket = False
        self._folder, self._refuses = folder, refuses
        sys.addaudithook(self._hook)
        read = self._read

        class Environment(type(os.environ)):  # type: ignore[misc]
            """`os.environ` that tells which variables are read."""

            def __getitem__(self, name: str) -> str:
                read(name)
                found: str = super().__getitem__(name)
                return found

        os.environ.__class__ = Environment

    def _read(self, name: str) -> None:
        self._keep(self.touched.variables, name)
        if isinstance(name, str) and name.encode() not in os.environ._data:  # type: ignore[attr-defined]
            self.absent.add(name)

    def _hook(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open":
            path, mode, flags = arguments
            if flags & _WRITES or (isinstance(mode, str) and set(mode) & set("wax+")):
                self._changes(path)
        elif event in _CHANGES:
            for path in arguments[: _CHANGES[event]]:
                self._changes(path)
        elif event in _PROGRAMS:
            self._keep(self.touched.programs, _program(arguments))
        elif event == "socket.getaddrinfo":
            self._keep(self.touched.hosts, arguments[0])
        elif event == "socket.__new__":
            self.socket = True
        elif event == "socket.connect":
            address = arguments[1]
            self._keep(self.touched.hosts, address[0] if isinstance(address, tuple) else address)

    def _changes(self, path: Any) -> None:
        if isinstance(path, int):
            return
        path = os.path.abspath(os.fsdecode(path))  # noqa: PTH100  a text, and no look at the disk
        if path in (self._folder, "/dev/null") or path.startswith(f"{self._folder}/"):
            return
        self._keep(self.touched.written, path)
        if self._refuses:
            raise OSError(errno.EROFS, os.strerror(errno.EROFS), path)

    @staticmethod
    def _keep(entries: list[str], entry: Any) -> None:
        text = entry.decode(errors="replace") if isinstance(entry, bytes) else str(entry)
        if text[:200] not in entries and len(entries) < MOST_ENTRIES:
            entries.append(text[:200])


def _program(arguments: tuple[Any, ...]) -> str:
    """The name of the program that an event starts; of a shell's line its first word."""
    words = arguments[1] if len(arguments) > 1 else arguments[0]
    if isinstance(words, list | tuple):
        words = [word.decode() if isinstance(word, bytes) else str(word) for word in words]
        shell = len(words) > 2 and words[1] == "-c"
        words = words[2] if shell else (words[0] if words else "")
    text = words.decode() if isinstance(words, bytes) else str(words)
    return os.path.basename((text.split() or [""])[0])  # noqa: PTH119  a text
