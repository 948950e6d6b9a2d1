# SPDX-License-Identifier: Apache-2.0
"""Checks that a campaign brings: from a plan or campaign into the register, and back."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path

import msgspec

from checks.common.command import CommandDefinition
from checks.common.reframe_tests import ReframeDefinition
from checks.common.registry import CHECKS
from records.errors import AssayError
from records.run.brought import Brought, CommandLine

_Definition = CommandDefinition | ReframeDefinition

#: Environment variable with the path of a session's brought checks, as JSON.
BROUGHT_FILE = "ASSAY_BROUGHT_FILE"


def bring(brought: Mapping[str, Brought]) -> None:
    """Add to CHECKS what a plan or campaign brings; of a name that was brought before, the last
    counts. Raises AssayError for the name of a check that is a folder, and for a metric that
    another check defines otherwise."""
    for name, one in brought.items():
        if not isinstance(CHECKS.get(name), _Definition | None):
            raise AssayError(f"{name} is a check of Assay; give another name")
        check: _Definition = (
            CommandDefinition(name, one)
            if isinstance(one, CommandLine)
            else ReframeDefinition(name, one)
        )
        for other in CHECKS.values():
            for metric in () if isinstance(other, _Definition) else other.metrics:
                if check.metrics_by_name.get(metric.name, metric) != metric:
                    raise AssayError(
                        f"the metric {metric.name} is another one of check {other.name}; give"
                        " another name"
                    )
        CHECKS[name] = check


def brought_by(checks: Iterable[str]) -> dict[str, Brought]:
    """What of these checks a campaign brought, by name."""
    found = {name: CHECKS.get(name) for name in checks}
    return {name: one.line for name, one in found.items() if isinstance(one, _Definition)}


def bring_from_file() -> None:
    """Add the brought checks of a session."""
    if path := os.environ.get(BROUGHT_FILE):
        bring(msgspec.json.decode(Path(path).read_bytes(), type=dict[str, Brought]))
