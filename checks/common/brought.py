# SPDX-License-Identifier: Apache-2.0
"""Checks that a campaign brings: from a plan or campaign to definitions, and back."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec

from checks.common.command import CommandDefinition
from checks.common.reframe_tests import ReframeDefinition
from checks.common.registry import CHECKS, Checks
from records.errors import AssayError
from records.run.brought import Brought, CommandLine

_Definition = CommandDefinition | ReframeDefinition

#: Environment variable with the path of a session's brought checks, as JSON.
BROUGHT_FILE = "ASSAY_BROUGHT_FILE"


def definitions(brought: Mapping[str, Brought]) -> dict[str, _Definition]:
    """The definitions of what a plan or campaign brings, by name."""
    return {
        name: CommandDefinition(name, one)
        if isinstance(one, CommandLine)
        else ReframeDefinition(name, one)
        for name, one in brought.items()
    }


def checks_with(brought: Mapping[str, Brought]) -> Checks:
    """The checks that are folders, and those that a plan or campaign brings. Raises AssayError for
    the name of a check that is a folder, and for a metric that such a check defines otherwise."""
    found = definitions(brought)
    for said in (said for check in found.values() for _, said in clashes_of(check)):
        raise AssayError(said)
    return {**CHECKS, **found}


def clashes_of(check: _Definition) -> Iterator[tuple[str, str]]:
    """Names of a check and of its metrics that are reserved, each with what is wrong."""
    if check.name in CHECKS:
        yield check.name, f"{check.name} is a check of Assay; reserved are {', '.join(CHECKS)}"
    for other in CHECKS.values():
        for metric in other.metrics:
            if check.metrics_by_name.get(metric.name, metric) != metric:
                yield (
                    metric.name,
                    f"the metric {metric.name} is another one of check {other.name}; give another"
                    f" name, such as {check.name}_{metric.name} (reserved names:"
                    " docs/your-benchmark.md)",
                )


def brought_by(checks: Checks) -> dict[str, Brought]:
    """Checks among these that a campaign brought, by name."""
    return {name: one.line for name, one in checks.items() if isinstance(one, _Definition)}


def brought_to_session() -> dict[str, Brought]:
    """The brought checks of this session, by name."""
    path = os.environ.get(BROUGHT_FILE)
    return msgspec.json.decode(Path(path).read_bytes(), type=dict[str, Brought]) if path else {}
