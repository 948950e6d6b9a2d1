# SPDX-License-Identifier: Apache-2.0
"""Pictures of a check's metrics as a section declares them: over lengths, over a parameter."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from reports.analysis.run import Analysis, Row
from reports.show.lines import grouped, lines_picture, size_picture
from reports.show.panel import Axis, Picture
from reports.show.rows import message_bytes

DrawPicture = Callable[[Analysis], Picture | None]


def over(
    check: str,
    metrics: Sequence[str],
    parameter: str,
    axis: str,
    *,
    anchor: str,
    title: str,
    caption: str,
    least: int = 1,
    from_zero: bool = True,
) -> DrawPicture:
    """Metrics against a parameter, a panel for each combination of what else varies; None where
    the parameter has fewer than `least` values."""

    def picture(analysis: Analysis) -> Picture | None:
        rows = [analysis.rows_of(check, metric) for metric in metrics]

        def place(row: Row) -> float:
            case = analysis.case(row)
            return float({"ranks": case.ranks, **case.params}.get(parameter, 0))

        if len({place(row) for of_metric in rows for row in of_metric}) < least:
            return None
        return lines_picture(
            analysis,
            [
                curve
                for of_metric in rows
                for curve in grouped(analysis, of_metric, without=(parameter,))
            ],
            place,
            Axis(axis, counts=True),
            anchor=anchor,
            title=title,
            caption=caption,
            from_zero=from_zero,
        )

    return picture


def chosen_construct(rows: Sequence[Row]) -> object:
    """The construct that stands for all: Send/Recv, or the first; None where there is none."""
    constructs = [row.series.at_value("construct") for row in rows]
    return "Send/Recv" if "Send/Recv" in constructs else next(iter(constructs), None)


def latency_and_bandwidth(check: str, *metrics: str) -> DrawPicture:
    """A time and a rate against message length, of the plain send and receive."""

    def picture(analysis: Analysis) -> Picture | None:
        rows = analysis.rows_of(check, *metrics)
        plain = chosen_construct(rows)
        mine = [row for row in rows if row.series.at_value("construct") == plain]
        drawn = [row for row in mine if message_bytes(row)]
        return size_picture(
            analysis,
            drawn,
            f"picture-{check}",
            "Latency and bandwidth",
            f"{plain or 'Send and receive'}, all lengths measured"
            + ("; 0 bytes stand in the tables." if len(drawn) < len(mine) else "."),
        )

    return picture
