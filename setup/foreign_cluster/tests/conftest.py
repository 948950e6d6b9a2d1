# SPDX-License-Identifier: Apache-2.0
"""What the walks on several clusters share."""

from __future__ import annotations

import fcntl
import os

import pytest

from setup.foreign_cluster.tests.walk import Wheels, fetch_wheels


@pytest.fixture(scope="session")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Wheels:
    """The packages, fetched once for all workers."""
    folder = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        folder = folder.parent
    fetched, fulfilled = folder / "wheels", folder / "requirements.lock"
    with (folder / "wheels.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not fulfilled.exists():
            fulfilled.write_text(fetch_wheels(fetched).lock)
    return Wheels(fetched, fulfilled.read_text())
