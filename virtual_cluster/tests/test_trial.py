# SPDX-License-Identifier: Apache-2.0
"""Where no virtual cluster can be made, one sentence says why, and what helps."""

import ctypes
import os
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from virtual_cluster import trial
from virtual_cluster.tests.clusters import NEEDS_CLUSTER

pytestmark = NEEDS_CLUSTER
ASK = [sys.executable, "-c", "from virtual_cluster import trial; print(trial.refusal())"]
_INSIDE = ["unshare", "--user", "--map-root-user", "--mount", "--pid", "--fork", "--mount-proc"]


def refuse_unshare() -> None:
    """Install a filter that refuses `unshare` with EPERM, as containers have one."""
    number = {"x86_64": 272}.get(os.uname().machine, 97)
    load, equal, give = 0x20, 0x15, 0x06
    allow, refuse = 0x7FFF0000, 0x00050000 | 1
    program = [(load, 0, 0, 0), (equal, 0, 1, number), (give, 0, 0, refuse), (give, 0, 0, allow)]
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *one) for one in program))
    whole = ctypes.create_string_buffer(
        struct.pack("HxxxxxxQ", len(program), ctypes.addressof(code))
    )
    prctl = ctypes.CDLL(None).prctl
    assert prctl(38, 1, 0, 0, 0) == 0  # no new privileges
    assert prctl(22, 2, whole, 0, 0) == 0  # filter


def told(first: str = "", *, filtered: bool = False) -> str:
    """What the trial says after these words in namespaces, or behind a filter."""
    within = [*_INSIDE, "sh", "-e", "-c", f'{first}; exec "$@"', "sh"] if first else []
    done = subprocess.run(
        [*within, *ASK],
        preexec_fn=refuse_unshare if filtered else None,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()


def test_nothing_is_refused_here_and_nothing_is_left() -> None:
    links, mounts = Path("/proc/net/dev").read_text().count(":"), Path("/proc/self/mountinfo")
    before = mounts.read_text()
    assert trial.refusal() == ""
    assert mounts.read_text() == before
    assert Path("/proc/net/dev").read_text().count(":") == links


@pytest.mark.parametrize(
    ("limit", "remedy"),
    [("user", "user.max_user_namespaces=10000"), ("net", "user.max_net_namespaces=10000")],
)
def test_no_namespaces_left(limit: str, remedy: str) -> None:
    said = told(f"echo 0 >/proc/sys/user/max_{limit}_namespaces")
    assert said.startswith("the kernel gives no further namespaces; run, as root: sysctl -w")
    assert remedy in said
    assert "No space left on device" in said


def test_a_filter_of_a_container() -> None:
    said = told(filtered=True)
    assert "a seccomp filter of this container" in said
    assert "--security-opt seccomp=unconfined" in said
    assert "Operation not permitted" in said


def test_a_masked_proc() -> None:
    said = told("mount --bind /dev/null /proc/version")
    assert "this container hides parts of /proc" in said
    assert "systempaths=unconfined" in said


def test_apparmor(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "restrict").write_text("1\n")
    monkeypatch.setattr(trial, "_APPARMOR", tmp_path / "restrict")
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    refused = "write failed /proc/self/uid_map: Operation not permitted"
    done = subprocess.CompletedProcess([], 1, "", f"unshare: {refused}\n")
    monkeypatch.setattr(trial, "run", lambda *_, **__: done)
    assert "kernel.apparmor_restrict_unprivileged_userns=0" in trial.refusal()
    assert refused in trial.refusal()
