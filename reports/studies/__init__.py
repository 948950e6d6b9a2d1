# SPDX-License-Identifier: Apache-2.0
"""What the papers measured, read from the transcribed tables, a folder a study."""

from __future__ import annotations

import csv
from functools import cache
from pathlib import Path

#: The folder of the studies: one folder each, with its `study.yaml` and what was transcribed.
FOLDER = Path(__file__).parent


@cache
def rows(table: str) -> tuple[dict[str, str], ...]:
    """The rows of a table, "hypercube-1988/ring" or a path: texts as printed, by column."""
    path = FOLDER / f"{table}.csv"
    with path.open(newline="") as file:
        return tuple(csv.DictReader(file))
