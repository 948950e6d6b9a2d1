# SPDX-License-Identifier: Apache-2.0
"""Criteria files of an acceptance: which there are; reading them with every fault named."""

from __future__ import annotations

from pathlib import Path

FOLDER = Path(__file__).resolve().parents[2] / "campaigns" / "criteria"


def criteria_names() -> list[str]:
    """Names of the criteria files that come with Assay."""
    return sorted(path.stem for path in FOLDER.glob("*.yaml"))
