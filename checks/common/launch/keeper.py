# SPDX-License-Identifier: Apache-2.0
"""keeper.py NODE RANKS RANKS_PER_NODE OUT ERR COMMAND...: a step on this machine alone.

NODE is its name. OUT and ERR are files of COMMAND's output; the step then says on its own standard
output when COMMAND begins and has ended, as allocated.sh does in Slurm. -: COMMAND gets the step's
own. What COMMAND leaves behind, whatever parents it has lost, is ended before the step says so; the
step that is told to end, or whose starter has ended, ends COMMAND first.
"""

import ctypes
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

#: Options of prctl: a signal when the starter ends; orphans of this process become its children.
_PDEATHSIG, _SUBREAPER = 1, 36
_WRITE = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
#: Seconds that COMMAND has to end itself, and that what it has left may take to be gone.
ENDING_S, GONE_S = 10, 30.0


def _descendants() -> list[int]:
    """Processes below this one that have not ended."""
    parents: dict[int, int] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            state, parent = (folder / "stat").read_text().rpartition(")")[2].split()[:2]
        except OSError:
            continue
        if state != "Z":
            parents[int(folder.name)] = int(parent)
    found = [os.getpid()]
    for above in found:
        found += [pid for pid, parent in parents.items() if parent == above]
    return found[1:]


def _sweep() -> None:
    """End all that is left, again and again, as it may fork meanwhile."""
    until = time.monotonic() + GONE_S
    while (left := _descendants()) and time.monotonic() < until:
        for pid in left:
            try:
                os.kill(pid, signal.SIGKILL)
            except OSError:  # it has just ended, or runs for another user
                continue
        time.sleep(0.01)


def keep(node: str, files: list[str], command: list[str]) -> int:
    """Run the command; gives its status, as a shell would."""
    launch = f"{os.getpid()}-0"
    told = files[0] != "-"
    # Descriptors of the child, closed with this process.
    out, err = [os.open(name, _WRITE, 0o666) for name in files] if told else [None, None]
    environment = {**os.environ, "ASSAY_NODES": node, "ASSAY_LAUNCH_ID": launch}
    child: subprocess.Popen[bytes] | None = None

    def end(number: int, _frame: object) -> None:
        if child is None:
            sys.exit(128 + number)
        # First it may halt what it has begun; then nobody asks.
        child.send_signal(signal.SIGKILL if number == signal.SIGALRM else signal.SIGTERM)
        signal.alarm(ENDING_S)

    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGALRM):
        signal.signal(number, end)
    child = subprocess.Popen(command, stdout=out, stderr=err, env=environment)
    if told:
        print("begun", launch, flush=True)
    status = child.wait()
    status = 128 - status if status < 0 else status
    _sweep()
    if told:
        print("ended", status, flush=True)
    return status


if __name__ == "__main__":
    library = ctypes.CDLL(None)
    library.prctl(_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
    library.prctl(_SUBREAPER, 1, 0, 0, 0)
    sys.exit(keep(sys.argv[1], sys.argv[4:6], sys.argv[6:]))
