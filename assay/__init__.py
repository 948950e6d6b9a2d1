# SPDX-License-Identifier: Apache-2.0
"""The engine: command line, campaign files, plans, runs, sites, builds."""

from pathlib import Path

#: The checkout.
ROOT = Path(__file__).resolve().parent.parent
#: The criteria files that come with Assay.
CRITERIA = ROOT / "campaigns" / "criteria"


def criteria_names() -> list[str]:
    """Names of the criteria files that come with Assay."""
    return sorted(path.stem for path in CRITERIA.glob("*.yaml"))
