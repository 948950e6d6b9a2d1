# SPDX-License-Identifier: Apache-2.0
"""The machine that carries the cluster: programs, cores, memory; commands, and processes.

A process that is started is recorded before it goes on, by its id and its start time, so that an id
that the kernel has reused is never signalled. Signals go through a pidfd that is opened before the
identity is checked.
"""

import os
import select
import signal
import subprocess
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from records.errors import InfrastructureError
from records.waiting import COMMAND_S, KILLED_S, scaled
from virtual_cluster.images import MACHINE

SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
#: The configuration file of Slurm, as hosts of a cluster see it.
SLURM_CONF = "/cluster/etc/slurm.conf"
SYSTEM_ENVIRONMENT = {"PATH": SYSTEM_PATH, "LANG": "C.UTF-8", "SLURM_CONF": SLURM_CONF}

#: Programs that this machine must have, and their package.
MACHINE_PROGRAMS = {
    **dict.fromkeys(("nsenter", "unshare", "setpriv", "taskset", "mountpoint"), "util-linux"),
    **{"pivot_root": "util-linux", "mount": "mount", "chroot": "coreutils", "find": "findutils"},
}
#: Programs that an image must have, and the Debian package that brings each.
IMAGE_PROGRAMS = {
    **dict.fromkeys(("slurmctld", "slurmd", "scontrol", "sinfo", "squeue"), "slurm-wlm"),
    **dict.fromkeys(("sbatch", "salloc"), "slurm-wlm"),
    **dict.fromkeys(("ip", "tc"), "iproute2"),
    **{"munged": "munge", "pgrep": "procps", "chrt": "util-linux", "hostname": "hostname"},
    "umount": "mount",
}


def program(name: str, tree: str = MACHINE) -> str:
    """Path of a system program as hosts of this image see it; its bare name if it has none."""
    return _found(name, tree) or name


def _found(name: str, tree: str) -> str | None:
    paths = (os.path.join(folder, name) for folder in SYSTEM_PATH.split(":"))  # noqa: PTH118
    return next((path for path in paths if os.path.lexists(f"{tree}/{path}")), None)


def missing_programs(tree: str = MACHINE, further: Mapping[str, str] = {}) -> dict[str, str]:
    """Programs that this machine, or the image, does not have, each with its package."""
    missing = {name: one for name, one in MACHINE_PROGRAMS.items() if not _found(name, MACHINE)}
    needed = {**IMAGE_PROGRAMS, **further}
    return missing | {name: one for name, one in needed.items() if not _found(name, tree)}


def require_programs(tree: str = MACHINE, further: Mapping[str, str] = {}) -> None:
    """Raise InfrastructureError that names what to install."""
    if missing := missing_programs(tree, further):
        packages = " ".join(sorted(set(missing.values())))
        where = "" if tree == MACHINE else f" on this machine and in image {tree}"
        raise InfrastructureError(
            f"the virtual cluster needs {', '.join(missing)}, not found in {SYSTEM_PATH}{where}."
            f" Run, as root on Debian: apt-get install -y {packages}; or use an image that has"
            " them: assay image list"
        )


def usable_cores() -> list[int]:
    """Numbers of the cores this process may use."""
    return sorted(os.sched_getaffinity(0))


def boot_id() -> str:
    """Identity of this boot of the machine; no process of another boot can be alive."""
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()


def tries(seconds: float, pause_s: float) -> Iterator[None]:
    """Yield at once and after each pause, until `seconds` have passed."""
    deadline = time.monotonic() + seconds
    yield
    while time.monotonic() < deadline:
        time.sleep(pause_s)
        yield


def run(
    argv: Sequence[str], stdin: str = "", check: bool = True, limited: bool = True
) -> subprocess.CompletedProcess[str]:
    """Run a system program to its end with a clean environment, its output captured.

    Raises InfrastructureError with what it said on a non-zero status (if `check`), and if it
    takes longer than COMMAND_S and is `limited`.
    """
    try:
        done = subprocess.run(
            argv,
            input=stdin,
            capture_output=True,
            text=True,
            errors="replace",
            env=SYSTEM_ENVIRONMENT,
            timeout=scaled(COMMAND_S) if limited else None,
            check=False,
            close_fds=False,  # the lock on the cluster is held until this ends
        )
    except (OSError, subprocess.TimeoutExpired) as problem:
        raise InfrastructureError(f"{' '.join(argv)}: {problem}") from problem
    if check and done.returncode != 0:
        said = (done.stderr or done.stdout).strip() or f"status {done.returncode}"
        raise InfrastructureError(f"{' '.join(argv)} failed: {said}")
    return done


#: Runs a command in a session of its own while the words that entered a namespace end at once.
_BEHIND = 'exec 3<&0; setsid "$@" <&3 3<&- &'
#: Seconds that the end of a PID namespace takes, where nothing holds it up.
_HELD_UP_S = 1.0


@dataclass(frozen=True)
class Process:
    """A process by id and start time (clock ticks since boot, field 22 of /proc/ID/stat), and the
    inode of the PID namespace that it lives in."""

    pid: int
    start_ticks: int
    space: int = 0

    def alive(self) -> bool:
        """Tell if this very process is running; a zombie is not."""
        return start_ticks(self.pid) == self.start_ticks

    def is_left(self) -> bool:
        """Tell whether it runs or awaits reaping: after that its namespace's number is free."""
        return start_ticks(self.pid, "") == self.start_ticks


def start_ticks(pid: int, ended: str = "ZX") -> int | None:
    """Start time of a process; None when there is none or its state is one of `ended`."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(errors="replace")
    except OSError:
        return None
    fields = text.rpartition(")")[2].split()
    return int(fields[19]) if len(fields) >= 20 and fields[0] not in ended else None


def start(
    enter: Sequence[str], argv: Sequence[str], log: Path, record: Callable[[Process], None]
) -> Process:
    """Start a script that begins with gate.sh, behind the words that enter its namespaces; returns
    when it is ready.

    Its output is appended to `log`. `record` is called with its identity before it goes on. Raises
    InfrastructureError with the end of `log` where it ends first.
    """
    with (
        log.open("ab") as out,
        subprocess.Popen(
            [*enter, "sh", "-c", _BEHIND, "sh", *argv],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=out,
            text=True,
            cwd="/",
            env=SYSTEM_ENVIRONMENT,
            start_new_session=True,
        ) as gate,
    ):
        assert gate.stdin is not None
        assert gate.stdout is not None
        told = gate.stdout.readline().strip()
        pid = int(told) if told.isdecimal() else 0
        ticks = start_ticks(pid) if pid else None
        if ticks is None:
            raise failure("it could not be started", log)
        process = Process(pid, ticks, inode(f"/proc/{pid}/ns/pid"))
        record(process)
        with suppress(BrokenPipeError):
            gate.stdin.write("go\n")
            gate.stdin.close()
        if gate.stdout.readline() != "ready\n":
            raise failure("it ended before it was ready", log)
    return process


def failure(what: str, log: Path) -> InfrastructureError:
    """Error that says what failed and how its log ends (the log may be removed afterwards)."""
    try:
        tail = log.read_text(errors="replace").splitlines()[-8:]
    except OSError:
        tail = []
    said = "\n  ".join(tail) or "(nothing)"
    return InfrastructureError(f"{what}; the end of {log.name}:\n  {said}")


def inode(path: str) -> int:
    """Number of a namespace by its file; 0 where it is gone or another's."""
    try:
        return Path(path).stat().st_ino
    except OSError:
        return 0


def end(process: Process, spaces: Collection[int] = ()) -> bool:
    """Kill this very process and wait for its end; return whether it has ended.

    `spaces` are the PID namespaces that end with it. A namespace does not end before what has
    died in it is reaped, also by a process outside that entered it and was stopped since. After a
    second such processes are killed.
    """
    with suppress(ProcessLookupError):
        handle = os.pidfd_open(process.pid)
        try:
            if process.alive():
                signal.pidfd_send_signal(handle, signal.SIGKILL)
                if not _ended(handle, _HELD_UP_S):
                    for one in inside(spaces, "pid_for_children"):
                        with suppress(OSError):
                            os.kill(one, signal.SIGKILL)
                return _ended(handle, scaled(KILLED_S))
        finally:
            os.close(handle)
    return True


def _ended(handle: int, seconds: float) -> bool:
    return bool(select.select([handle], [], [], seconds)[0])


def inside(spaces: Collection[int], kind: str = "pid") -> list[int]:
    """Ids of the processes in these PID namespaces, but not in those below; of the kind
    `pid_for_children`, of processes whose children live there, also from outside."""
    pids = (entry.name for entry in Path("/proc").iterdir() if entry.name.isdigit())
    return [int(pid) for pid in pids if inode(f"/proc/{pid}/ns/{kind}") in spaces]
