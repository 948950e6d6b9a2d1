# SPDX-License-Identifier: Apache-2.0
"""What the page and the text of a report are written from."""

from __future__ import annotations

from dataclasses import dataclass

from reports.analysis import Analysis
from reports.checks.sections import CheckPart


@dataclass(frozen=True)
class Content:
    """An analysis, the relative way `root` from the report to the run directory, the checks' parts
    and all warnings."""

    analysis: Analysis
    root: str
    parts: list[CheckPart]
    warnings: tuple[str, ...]
