# SPDX-License-Identifier: Apache-2.0
"""Tries, in a child that leaves no trace, what a virtual cluster needs of the kernel."""

from __future__ import annotations

import os
import re
from pathlib import Path

from records.errors import InfrastructureError
from virtual_cluster.host import run

#: The steps, each named before it is tried.
_STEPS = """\
echo processes; mount -t proc proc /proc
echo network; mount -t sysfs -o nosuid,nodev,noexec sysfs /sys
echo links; ip link add b0 type bridge; ip link add v0 type veth peer name v1
echo user; unshare --user --map-user=1000 --map-group=1000 true
"""
_SPACES = ["--mount", "--net", "--uts", "--ipc", "--pid", "--fork", "--kill-child"]
_APPARMOR = Path("/proc/sys/kernel/apparmor_restrict_unprivileged_userns")
_LIMITS = ("user", "mnt", "net", "pid", "uts", "ipc")


def refusal(*, site: bool = False) -> str:
    """Why no virtual cluster can be made here, with what helps; "" where one can.

    A cluster that looks like a `site` needs no user namespace, but root.
    """
    if site and os.geteuid() != 0:
        return "a cluster of several users needs root; run this as root"
    user = [] if site else ["--user", "--map-root-user"]
    done = run(["unshare", *user, *_SPACES, "sh", "-e", "-c", _STEPS], check=False)
    if done.returncode == 0:
        return ""
    said = (done.stderr.strip() or f"status {done.returncode}").splitlines()[0]
    step = (done.stdout.split() or ["begin"])[-1]
    return f"{_reason(step, said)} ({said})"


def require(*, site: bool = False) -> None:
    """Raise InfrastructureError unless a virtual cluster can be made here."""
    if why := refusal(site=site):
        raise InfrastructureError(f"no virtual cluster can be made here: {why}")


def _reason(step: str, said: str) -> str:
    """The sentence for the step that failed and what was said of it."""
    if step == "begin":
        return _no_namespace(said)
    if step in ("processes", "network"):
        if _restricted():
            return _RESTRICTED
        return (
            "this container hides parts of /proc or /sys, so that nodes cannot have their own;"
            " start it with --security-opt systempaths=unconfined (Docker) or --security-opt"
            " unmask=ALL (Podman), or run assay outside of it"
        )
    if step == "links":
        return (
            "the kernel makes no bridge or virtual Ethernet link; run, as root: modprobe -a bridge"
            " veth"
        )
    return _no_namespace(said)


_RESTRICTED = (
    "AppArmor refuses namespaces to ordinary users here (Ubuntu 23.10 and later); run once: sudo"
    " sysctl -w kernel.apparmor_restrict_unprivileged_userns=0, or call assay as root"
)


def _restricted() -> bool:
    return os.geteuid() != 0 and _number(_APPARMOR) == 1


def _no_namespace(said: str) -> str:
    full = [name for name in _LIMITS if _number(Path(f"/proc/sys/user/max_{name}_namespaces")) == 0]
    if "No space left" in said or full:
        name = full[0] if full else "user"
        return (
            f"the kernel gives no further namespaces; run, as root: sysctl -w"
            f" user.max_{name}_namespaces=10000"
        )
    if _restricted():
        return _RESTRICTED
    if _number(Path("/proc/sys/kernel/unprivileged_userns_clone")) == 0 and os.geteuid() != 0:
        return (
            "the kernel gives ordinary users no namespaces; run, as root: sysctl -w"
            " kernel.unprivileged_userns_clone=1"
        )
    if re.search(r"^Seccomp:\s*2", Path("/proc/self/status").read_text(), re.MULTILINE):
        return (
            "a seccomp filter of this container or service refuses namespaces; start the container"
            " with --security-opt seccomp=unconfined --security-opt systempaths=unconfined, or run"
            " assay outside of it"
        )
    if "function not implemented" in said.lower() or "invalid argument" in said.lower():
        return "this kernel has no namespaces of users; a kernel with CONFIG_USER_NS is needed"
    return (
        "namespaces are refused here, as in a chroot or a restricted container; run assay outside"
        " of it"
    )


def _number(path: Path) -> int | None:
    try:
        return int(path.read_text())
    except (OSError, ValueError):
        return None
