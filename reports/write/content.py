# SPDX-License-Identifier: Apache-2.0
"""What the page and the text of a report are written from."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from reports.analysis import Analysis
from reports.checks.sections import CheckPart
from reports.show.raw_links import RawLinks
from reports.verdicts.papers.document import StudySection


@dataclass(frozen=True)
class Content:
    """An analysis, the relative way `root` from the report to the run directory, the checks' parts,
    all warnings, the study whose campaign the run is of, and the names of the report's `files`."""

    analysis: Analysis
    root: str
    parts: list[CheckPart]
    warnings: tuple[str, ...]
    study: StudySection | None = None
    files: tuple[str, ...] = ()

    @cached_property
    def links(self) -> RawLinks:
        """The links to raw output, of all files of the report."""
        return RawLinks(self.root)
