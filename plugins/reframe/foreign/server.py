# SPDX-License-Identifier: Apache-2.0
"""Server that has loaded ReFrame and forks a child for each file: `python -m` of this, FOLDER. Its
stdin is files and Surroundings as JSON, its stdout a blank as it begins, and the listings."""

from __future__ import annotations

import math
import os
import resource
import shutil
import signal
import sys
import time
import traceback
from contextlib import suppress
from itertools import islice
from pathlib import Path

import msgspec

from plugins.reframe.foreign.lister import MEMORY_BYTES, answer, set_up
from plugins.reframe.foreign.listing import Listing, Surroundings
from records.forms import as_bytes
from records.text.plain_text import end_of_output

#: Files at once, on nodes of many cores that others use too; bytes that each may write to a file.
_MOST_AT_ONCE, _FILE_BYTES = 8, 64 << 20


class Child:
    """Process that lists one file, in a session and a folder of its own."""

    def __init__(self, file: str, root: str, folder: Path, around: Surroundings) -> None:
        self._file, self._folder, self._limit_s = file, folder, around.limit_s
        (folder / "home").mkdir(parents=True)
        (folder / "output").touch()
        self._began, self._pid = time.monotonic(), os.fork()
        if self._pid == 0:
            try:
                _confine(folder, around)
                text = as_bytes(answer(file, root, around))
                if os.getsid(0) == os.getpid():  # no fork that the file made
                    (folder / "answer").write_bytes(text)
                os._exit(0)
            except BaseException:
                traceback.print_exc()
            os._exit(70)

    def listing(self) -> Listing | None:
        """The listing, once the child has ended, and with it all that it left in its session."""
        seconds = time.monotonic() - self._began
        ended, status = os.waitpid(self._pid, os.WNOHANG)
        if not ended and seconds < self._limit_s:
            return None
        for kill in (os.killpg, os.kill):
            with suppress(ProcessLookupError):
                kill(self._pid, signal.SIGKILL)
        try:
            found = msgspec.json.decode((self._folder / "answer").read_bytes(), type=Listing)
        except (OSError, msgspec.MsgspecError):
            code = os.waitstatus_to_exitcode(status)
            said = f"ends the process that loads it, with status {code}"
            if not ended:
                said = f"does not end within {self._limit_s:g} s"
            elif code < 0:
                said = f"the process that loads it ended by {signal.Signals(-code).name}"
            printed = (self._folder / "output").read_text(errors="replace").splitlines()
            said += f"; it prints: {end_of_output(printed)}" if any(map(str.strip, printed)) else ""
            found = Listing(file=self._file, refused=said)
        shutil.rmtree(self._folder, ignore_errors=True)
        found.seconds = round(seconds, 3)
        return found


def _confine(folder: Path, around: Surroundings) -> None:
    """Have nothing of the server's around, and limits."""
    os.setsid()
    signal.alarm(math.ceil(around.limit_s) + 1)  # should the server be gone
    output, home = os.open(folder / "output", os.O_WRONLY | os.O_APPEND), str(folder / "home")
    for ours, theirs in ((os.open(os.devnull, os.O_RDONLY), 0), (output, 1), (output, 2)):
        os.dup2(ours, theirs)
    os.chdir(home)
    os.environ.clear()
    os.environ |= {"PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8", **around.environment}
    os.environ |= {"HOME": home, "TMPDIR": home}
    sys.path[:0] = filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))
    bytes_now = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    limits = {resource.RLIMIT_AS: bytes_now + MEMORY_BYTES, resource.RLIMIT_FSIZE: _FILE_BYTES}
    for which, most in limits.items():
        with suppress(ValueError):  # a lower one holds
            resource.setrlimit(which, (most, resource.getrlimit(which)[1]))


def main() -> None:
    """List all files."""
    order = sys.stdin.buffer.read()
    files, around = msgspec.json.decode(order, type=tuple[list[str], Surroundings])
    set_up(around.configuration)
    with suppress(ChildProcessError):  # what makes the view, if there is one
        if os.wait()[1] != 0:
            sys.exit("no view of the file systems can be made")
    os.write(1, b" ")
    root = os.path.commonpath([f"{Path(file).parent}" for file in files] or ["/"])
    most = min(_MOST_AT_ONCE, len(os.sched_getaffinity(0)))
    numbers, running, found = iter(range(len(files))), dict[int, Child](), dict[int, Listing]()
    while len(found) < len(files):
        for number in islice(numbers, most - len(running)):
            folder = Path(sys.argv[1], str(number))
            running[number] = Child(files[number], root, folder, around)
        time.sleep(0.005)
        found |= {n: listing for n, child in running.items() if (listing := child.listing())}
        running = {n: child for n, child in running.items() if n not in found}
    sys.stdout.buffer.write(as_bytes([found[number] for number in sorted(found)]))
    sys.stdout.flush()
    os._exit(0)  # at once


if __name__ == "__main__":
    main()
