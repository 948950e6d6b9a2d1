# SPDX-License-Identifier: Apache-2.0
"""Where no virtual cluster can be made, one sentence says why, and what helps."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from virtual_cluster import namespaces
from virtual_cluster.tests.clusters import NEEDS_CLUSTER

pytestmark = NEEDS_CLUSTER
ASK = [sys.executable, "-c", "from virtual_cluster import namespaces; print(namespaces.refusal())"]
_INSIDE = ["unshare", "--user", "--map-root-user", "--mount", "--pid", "--fork", "--mount-proc"]


def told(first: str) -> str:
    """What the trial says after these words in namespaces."""
    within = [*_INSIDE, "sh", "-e", "-c", f'{first}; exec "$@"', "sh"]
    done = subprocess.run([*within, *ASK], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_nothing_is_refused_here_and_nothing_is_left() -> None:
    links, mounts = Path("/proc/net/dev").read_text().count(":"), Path("/proc/self/mountinfo")
    before = mounts.read_text()
    assert namespaces.refusal() == ""
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


def test_a_masked_proc() -> None:
    said = told("mount --bind /dev/null /proc/version")
    assert "this container hides parts of /proc" in said
    assert "systempaths=unconfined" in said


def test_apparmor(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "restrict").write_text("1\n")
    monkeypatch.setattr(namespaces, "_APPARMOR", tmp_path / "restrict")
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    refused = "write failed /proc/self/uid_map: Operation not permitted"
    done = subprocess.CompletedProcess([], 1, "", f"unshare: {refused}\n")
    monkeypatch.setattr(namespaces, "run", lambda *_, **__: done)
    assert "kernel.apparmor_restrict_unprivileged_userns=0" in namespaces.refusal()
    assert refused in namespaces.refusal()
