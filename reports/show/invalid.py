# SPDX-License-Identifier: Apache-2.0
"""What the fault shown on purpose, a reply before the wait, would claim of the network."""

from __future__ import annotations

from reports.analysis import Analysis, Row
from reports.notation.units import ReadableUnit, bytes_text, percent
from reports.show.lines import line_rate, size_picture
from reports.show.panel import Picture
from reports.show.rows import message_bytes, value_cell
from reports.show.tables import Cell, Table, pivot, slug


def invalid_picture(analysis: Analysis) -> Picture | None:
    """The apparent bandwidth against message length, next to the link's rate."""
    rows = [row for row in analysis.invalid if row.series.metric == "bandwidth"]
    return size_picture(
        analysis, rows, "picture-invalid", "Apparent bandwidth of replies sent before the wait"
    )


def invalid_table(analysis: Analysis) -> Table | None:
    """The greatest apparent bandwidth of each construct and environment against the link's rate."""
    best: dict[tuple[str, str], Row] = {}
    for row in analysis.invalid:
        if row.series.metric == "bandwidth":
            key = str(row.series.at_value("construct")), analysis.case(row).environment
            if key not in best or row.summary.mean > best[key].summary.mean:
                best[key] = row
    rate = line_rate(analysis)

    def environment(row: Row) -> Cell:
        case = analysis.case(row)
        return Cell(case.environment, environment=case.environment, href=f"#case-{slug(case.id)}")

    return pivot(
        [best[key] for key in sorted(best)],
        [
            ("construct", lambda row: str(row.series.at_value("construct"))),
            ("environment", environment),
        ],
        [
            ("n", lambda rows: str(rows[0].summary.n)),
            ("message", lambda rows: bytes_text(message_bytes(rows[0]))),
            (
                "greatest apparent bandwidth ± s, MB/s",
                lambda rows: value_cell(rows, ReadableUnit("MB/s", 1e6)),
            ),
            (
                "of the link's rate",
                lambda rows: percent(rows[0].summary.mean / rate, 0) if rate else "not recorded",
            ),
        ],
        anchor="table-invalid",
        title="Greatest apparent bandwidth",
    )
