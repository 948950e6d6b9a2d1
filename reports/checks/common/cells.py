# SPDX-License-Identifier: Apache-2.0
"""Cells that the tables of several checks have."""

from __future__ import annotations

from collections.abc import Iterable

from reports.show.tables import Cell


def name_cell(environment: str, flags: Iterable[str] = ()) -> Cell:
    """An environment's name with its sign, and what marks its launches."""
    return Cell(environment, environment=environment, badges=tuple(flags))
