# SPDX-License-Identifier: Apache-2.0
"""Tries, in a child that leaves no trace, what a virtual cluster needs of the kernel."""

from __future__ import annotations

import os
import re
from pathlib import Path

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


#: What helps, by what refuses.
_REMEDIES = {
    "masks": "this container hides parts of /proc or /sys, so that nodes cannot have their own;"
    " start it with --security-opt systempaths=unconfined (Docker) or --security-opt"
    " unmask=ALL (Podman), or run assay outside of it",
    "links": "the kernel makes no bridge or virtual Ethernet link; run, as root: modprobe -a bridge"
    " veth",
    "limit": "the kernel gives no further namespaces; run, as root: sysctl -w"
    " user.max_{full}_namespaces=10000",
    "apparmor": "AppArmor refuses namespaces to ordinary users here (Ubuntu 23.10 and later); run"
    " once: sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0, or call assay as root",
    "kernel": "the kernel gives ordinary users no namespaces; run, as root: sysctl -w"
    " kernel.unprivileged_userns_clone=1",
    "seccomp": "a seccomp filter of this container or service refuses namespaces; start the"
    " container with --security-opt seccomp=unconfined --security-opt systempaths=unconfined, or"
    " run assay outside of it",
    "absent": "this kernel has no namespaces of users; a kernel with CONFIG_USER_NS is needed",
    "unknown": "namespaces are refused here, as in a chroot or a restricted container; run assay"
    " outside of it",
}


def _reason(step: str, said: str) -> str:
    """The sentence for the step that failed and what was said of it."""
    full = [name for name in _LIMITS if _number(Path(f"/proc/sys/user/max_{name}_namespaces")) == 0]
    ordinary, status = os.geteuid() != 0, Path("/proc/self/status").read_text()
    restricted = ordinary and _number(_APPARMOR) == 1
    clone = _number(Path("/proc/sys/kernel/unprivileged_userns_clone"))
    found = {
        "masks": step in ("processes", "network") and not restricted,
        "links": step == "links",
        "limit": bool(full) or "No space left" in said,
        "apparmor": restricted,
        "kernel": ordinary and clone == 0,
        "seccomp": bool(re.search(r"^Seccomp:\s*2", status, re.MULTILINE)),
        "absent": bool(re.search("function not implemented|invalid argument", said.lower())),
        "unknown": True,
    }
    first = next(name for name, fits in found.items() if fits)
    return _REMEDIES[first].format(full=[*full, "user"][0])


def _number(path: Path) -> int | None:
    try:
        return int(path.read_text())
    except (OSError, ValueError):
        return None
