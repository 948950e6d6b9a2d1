# SPDX-License-Identifier: Apache-2.0
"""The form of two runs side by side."""

from __future__ import annotations

from typing import Any

from assay.machine.runs import Compared
from reports.analysis import Row
from reports.comparison.compare import Change, RunComparison
from reports.show.tables import Table

#: What `Table` of builds is called.
_BUILDS = "table-builds"


def compared_told(found: RunComparison) -> Compared:
    """Run B against run A."""
    builds = [table for table in found.tables if table.anchor == _BUILDS]
    return Compared.of(
        a=found.first.run.run_id,
        b=found.second.run.run_id,
        facts=found.facts,
        provenance=_differing(found.differences),
        builds=[one for table in builds for one in _differing(table)],
        changes=[_changed(change) for change in found.changes],
    )


def _differing(table: Table) -> list[dict[str, str]]:
    """Rows of what differs: what in one or more cells, then how it is in A and in B."""
    texts = ([cell.text for cell in row] for row in table.rows)
    return [{"what": " ".join(what), "a": a, "b": b} for *what, a, b in texts]


def _changed(change: Change) -> dict[str, Any]:
    return {
        "check": change.case.check,
        "case_id": change.case.id,
        "case": change.label,
        "environment": change.case.environment,
        "metric": change.metric.name,
        "unit": change.metric.unit,
        "better": change.metric.better,
        "at": change.point,
        "a": _side(change.a),
        "b": _side(change.b),
        "ratio": change.ratio,
        "interval": change.interval,
        "day_spread": change.day and change.day.spread,
        "nights": change.day.nights if change.day else 0,
        "reading": change.reading,
    }


def _side(row: Row | None) -> dict[str, Any]:
    if row is None:
        return {"n": 0, "mean": None, "stddev": None}
    return {"n": row.summary.n, "mean": row.summary.mean, "stddev": row.summary.stddev}
