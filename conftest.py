# SPDX-License-Identifier: Apache-2.0
"""The order of all tests, the number of their workers, and what a module leaves to the next."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from hypothesis import settings

from checks.common.brought import brought_by
from checks.common.registry import CHECKS

# Properties are held to no time, and each run of the tests draws the same examples.
settings.register_profile("assay", deadline=None, derandomize=True)
settings.load_profile("assay")


@pytest.fixture(autouse=True, scope="module")
def _no_brought_checks() -> Iterator[None]:
    """The register of checks has none that a campaign of the module brought."""
    yield
    for name in brought_by([*CHECKS]):
        del CHECKS[name]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Modules with long tests begin first, so that no worker is left alone with one at the end."""
    marked = ("cluster", "long")
    first = {item.path for item in items if any(map(item.get_closest_marker, marked))}
    items.sort(key=lambda item: item.path not in first)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """One more than cores: a test of a cluster waits half of its time."""
    return len(os.sched_getaffinity(0)) + 1
