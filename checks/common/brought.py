# SPDX-License-Identifier: Apache-2.0
"""Checks that a campaign brings: from a plan or campaign to definitions, and back."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from checks.common.command import CommandDefinition
from checks.common.definition import CheckDefinition
from checks.common.registry import CHECKS, Checks
from records.errors import AssayError
from records.plugins import hooks
from records.run.brought import Brought, CommandLine

#: Environment variable with the path of a session's brought checks, as JSON.
BROUGHT_FILE = "ASSAY_BROUGHT_FILE"


def definitions(brought: Mapping[str, Brought]) -> dict[str, CheckDefinition[Any]]:
    """Definitions of what a plan or campaign brings, by name; none where its plugin is missing."""
    kinds = ((CommandLine, CommandDefinition), *(hooks("brought_check") if brought else ()))
    return {
        name: definition(name, line)
        for name, line in brought.items()
        for kind, definition in kinds
        if isinstance(line, kind)
    }


def checks_with(brought: Mapping[str, Brought]) -> Checks:
    """The checks that are folders, and those that a plan or campaign brings. Raises AssayError for
    the name of a check that is a folder, and for a metric that such a check defines otherwise."""
    found = definitions(brought)
    for said in (said for check in found.values() for _, said in clashes_of(check)):
        raise AssayError(said)
    return {**CHECKS, **found}


def clashes_of(check: CheckDefinition[Any]) -> Iterator[tuple[str, str]]:
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
    return {name: check.line for name, check in checks.items() if check.line is not None}


def brought_to_session() -> dict[str, Brought]:
    """The brought checks of this session, by name."""
    path = os.environ.get(BROUGHT_FILE)
    return msgspec.json.decode(Path(path).read_bytes(), type=dict[str, Brought]) if path else {}
