# SPDX-License-Identifier: Apache-2.0
"""The machine that carries the cluster: rights, programs, cores, memory; commands; waiting."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from records.errors import InfrastructureError
from records.waiting import COMMAND_S, scaled

SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
SYSTEM_ENVIRONMENT = {"PATH": SYSTEM_PATH, "LANG": "C.UTF-8"}

#: Program and the Debian package that brings it.
PROGRAMS = {
    "slurmctld": "slurm-wlm",
    "slurmd": "slurm-wlm",
    "scontrol": "slurm-wlm",
    "sinfo": "slurm-wlm",
    "squeue": "slurm-wlm",
    "sbatch": "slurm-wlm",
    "salloc": "slurm-wlm",
    "munged": "munge",
    "ip": "iproute2",
    "tc": "iproute2",
    "nsenter": "util-linux",
    "unshare": "util-linux",
    "setpriv": "util-linux",
    "taskset": "util-linux",
    "mount": "mount",
    "useradd": "passwd",
    "userdel": "passwd",
}

#: Capabilities (number, name) without which root cannot make a cluster, as in some containers.
CAPABILITIES = ((7, "CAP_SETUID"), (12, "CAP_NET_ADMIN"), (21, "CAP_SYS_ADMIN"))


def program(name: str) -> str:
    """Path of a system program; its bare name if it is not installed."""
    return shutil.which(name, path=SYSTEM_PATH) or name


def missing_programs(further: Mapping[str, str] | None = None) -> dict[str, str]:
    """Programs that are not installed, each with its package; `further`: what a site needs."""
    needed = {**PROGRAMS, **(further or {})}
    return {name: needed[name] for name in needed if not shutil.which(name, path=SYSTEM_PATH)}


def missing_capabilities() -> list[str]:
    """Names of the needed capabilities that this process lacks."""
    status = Path("/proc/self/status").read_text()
    effective = next(line for line in status.splitlines() if line.startswith("CapEff:"))
    mask = int(effective.split()[1], 16)
    return [name for number, name in CAPABILITIES if not mask >> number & 1]


def require_rights(action: str) -> None:
    """Raise InfrastructureError unless this process may make namespaces and links.

    `action` is the subcommand of `assay cluster` that the message repeats.
    """
    if os.geteuid() != 0:
        raise InfrastructureError(
            f"assay cluster {action} needs the rights of root: it makes network namespaces, links, "
            "mounts and a user for the jobs. You are an ordinary user "
            f"(uid {os.geteuid()}). Run: sudo {sys.executable} -m virtual_cluster {action}"
        )
    lacking = missing_capabilities()
    if lacking:
        raise InfrastructureError(
            f"assay cluster {action} is run by root, but without {', '.join(lacking)}: "
            "this container or service takes these rights away. Start it on the machine itself, "
            "or start the container with them (docker run --privileged)."
        )


def require_programs(further: Mapping[str, str]) -> None:
    """Raise InfrastructureError that names what to install; `further`: as of missing_programs."""
    missing = missing_programs(further)
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
    stdin: str | None = None,
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
            input=stdin if stdin is not None else "",
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
