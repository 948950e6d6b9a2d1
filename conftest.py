# SPDX-License-Identifier: Apache-2.0
"""Order and workers of all tests, and their isolation from the caller."""

from __future__ import annotations

import fcntl
import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

# Properties are held to no time, and each run of the tests draws the same examples.
settings.register_profile("assay", deadline=None, derandomize=True)
settings.load_profile("assay")

#: Variables that make, pytest and a CI set for their children, which change how programs behave.
_OF_CALLERS = re.compile(r"MAKE.*|MFLAGS|PYTEST_.*|CI")


def _forget_callers() -> None:
    for name in filter(_OF_CALLERS.fullmatch, [*os.environ]):
        del os.environ[name]


@pytest.hookimpl(tryfirst=True)
def pytest_fixture_setup() -> None:
    """Hide the caller's variables from a fixture; pytest sets one of them again before each."""
    _forget_callers()


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call() -> None:
    """Hide the caller's variables from a test."""
    _forget_callers()


@pytest.fixture
def vets_alone() -> Iterator[None]:
    """No other test with this fixture runs: a second vetting of a host is refused meanwhile."""
    with Path(__file__).open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Modules with long tests begin first, so that no worker is left alone with one at the end.

    Tests on clusters are skipped where root's clone is below a private folder, such as /root, which
    the jobs' user may not enter.
    """
    marked = ("cluster", "long")
    first = {item.path for item in items if any(map(item.get_closest_marker, marked))}
    items.sort(key=lambda item: item.path not in first)
    closed = [folder for folder in Path(__file__).parents if not folder.stat().st_mode & 1]
    if closed and os.geteuid() == 0:
        skip = pytest.mark.skip(reason=f"jobs may not enter {closed[0]}: clone elsewhere")
        for item in filter(lambda item: item.get_closest_marker("cluster"), items):
            item.add_marker(skip)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """One more than cores: a test of a cluster waits half of its time."""
    return len(os.sched_getaffinity(0)) + 1
