# SPDX-License-Identifier: Apache-2.0
"""The machine that carries the cluster: programs, cores, memory; commands; waiting."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from records.errors import InfrastructureError
from records.waiting import COMMAND_S, scaled

SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
#: The configuration file of Slurm, as hosts of a cluster see it.
SLURM_CONF = "/cluster/etc/slurm.conf"
SYSTEM_ENVIRONMENT = {"PATH": SYSTEM_PATH, "LANG": "C.UTF-8", "SLURM_CONF": SLURM_CONF}

#: Program and the Debian package that brings it.
PROGRAMS = {
    **dict.fromkeys(("slurmctld", "slurmd", "scontrol", "sinfo", "squeue"), "slurm-wlm"),
    **dict.fromkeys(("sbatch", "salloc"), "slurm-wlm"),
    **dict.fromkeys(("ip", "tc"), "iproute2"),
    **dict.fromkeys(("nsenter", "unshare", "setpriv", "taskset"), "util-linux"),
    **dict.fromkeys(("pivot_root", "chrt"), "util-linux"),
    **{"munged": "munge", "pgrep": "procps", "mount": "mount"},
}


def program(name: str) -> str:
    """Path of a system program; its bare name if it is not installed."""
    return shutil.which(name, path=SYSTEM_PATH) or name


def missing_programs(needed: Mapping[str, str] = PROGRAMS) -> dict[str, str]:
    """Programs that are not installed, each with its package."""
    return {name: needed[name] for name in needed if not shutil.which(name, path=SYSTEM_PATH)}


def require_programs(needed: Mapping[str, str] = PROGRAMS) -> None:
    """Raise InfrastructureError that names what to install."""
    missing = missing_programs(needed)
    if missing:
        packages = " ".join(sorted(set(missing.values())))
        raise InfrastructureError(
            f"the virtual cluster needs {', '.join(missing)}, not found in {SYSTEM_PATH}. "
            f"Run, as root on Debian: make packages, or: apt-get install -y {packages}"
        )


def usable_cores() -> list[int]:
    """Numbers of the cores this process may use."""
    return sorted(os.sched_getaffinity(0))


def total_memory_bytes() -> int:
    """Memory of the machine in bytes."""
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


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
    argv: Sequence[str],
    stdin: str = "",
    check: bool = True,
    limited: bool = True,
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
