# SPDX-License-Identifier: Apache-2.0
"""The criteria files that come with Assay."""

from __future__ import annotations

from assay import ROOT

CRITERIA = ROOT / "campaigns" / "criteria"


def criteria_names() -> list[str]:
    """Names of the criteria files that come with Assay."""
    return sorted(path.stem for path in CRITERIA.glob("*.yaml"))
