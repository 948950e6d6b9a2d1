# SPDX-License-Identifier: Apache-2.0
"""The checks there are, found by their folders. No ReFrame here: plans are made without it."""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module
from pathlib import Path
from typing import Any

from checks.common.definition import CheckDefinition
from checks.common.metrics import HOPS
from records.metric import CheckDescription, MetricDefinition, Register

_FOLDER = Path(__file__).resolve().parents[1]


def _found(folder: Path) -> dict[str, CheckDefinition[Any]]:
    """The definition `CHECK` of each package in `folder` that has one, by name."""
    names = sorted(path.parent.name for path in folder.glob("*/__init__.py"))
    modules = (import_module(f"checks.{name}") for name in names if name not in ("common", "tests"))
    return {module.CHECK.name: module.CHECK for module in modules}


#: Every check a campaign may name.
CHECKS = _found(_FOLDER)


def metrics_of(checks: Iterable[str]) -> list[MetricDefinition]:
    """All that these checks can report, each metric once; `hops` any of them."""
    found = {metric.name: metric for name in checks for metric in CHECKS[name].metrics}
    return [HOPS, *found.values()]


def descriptions_of(checks: Iterable[str]) -> list[CheckDescription]:
    """How these checks are named to readers."""
    return [CHECKS[name].description() for name in checks]


#: All that the checks can report.
REGISTER = Register.of(metrics_of(CHECKS), descriptions_of(CHECKS))
