# SPDX-License-Identifier: Apache-2.0
"""The order of all tests and the number of their workers."""

from __future__ import annotations

import os

import pytest


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Modules with long tests begin first, so that no worker is left alone with one at the end."""
    marked = ("cluster", "long")
    first = {item.path for item in items if any(map(item.get_closest_marker, marked))}
    items.sort(key=lambda item: item.path not in first)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """One more than cores: a test of a cluster waits half of its time."""
    return len(os.sched_getaffinity(0)) + 1
