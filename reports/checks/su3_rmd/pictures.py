# SPDX-License-Identifier: Apache-2.0
"""Pictures of the lattice program: program time and share of communication against ranks."""

from __future__ import annotations

from collections.abc import Callable

from matplotlib.axes import Axes

from reports.analysis import Analysis, Row
from reports.checks.su3_rmd.cases import CHECK, LAYOUT, LatticeCase, strong_series
from reports.notation.palette import QUIET
from reports.notation.units import ReadableUnit, count_text, readable_unit
from reports.show.canvas import Line, Panel, draw_line, finish, log_value_axis, new_panel
from reports.show.lines import (
    LOG_BANDS,
    Picture,
    XAxis,
    footer,
    joined,
    lines_of,
    picture_of,
    ranges_text,
)

_Series = list[list[LatticeCase]]


def time_picture(analysis: Analysis) -> Picture | None:
    """Program time against ranks, both logarithmic; grey: what perfect scaling would give."""

    def finish_axes(axes: Axes, series: _Series, unit: ReadableUnit) -> None:
        least = min((one[0] for one in series), key=lambda item: item.time_s)
        ideal = least.time_s * least.case.ranks / unit.factor
        ranks = [item.case.ranks for one in series for item in one]
        ends = [min(ranks), max(ranks)]
        axes.plot(ends, [ideal / end for end in ends], color=QUIET, lw=1)
        log_value_axis(axes)
        axes.set_ylabel(f"program time, {unit.label}")

    return _picture(
        analysis,
        "program_time",
        finish_axes,
        anchor="picture-su3-time",
        title="Program time against ranks",
        caption="Grey: half the time on twice the ranks.",
    )


def share_picture(analysis: Analysis) -> Picture | None:
    """Share of communication in the program time against ranks."""

    def finish_axes(axes: Axes, _: _Series, __: ReadableUnit) -> None:
        axes.set_ylim(0, 100)
        axes.set_ylabel("communication, %")

    return _picture(
        analysis,
        "communication_share",
        finish_axes,
        anchor="picture-su3-share",
        title="Communication share against ranks",
        caption="Halos and global sums over program time.",
    )


def scaling_picture(analysis: Analysis) -> Picture | None:
    """Speed-up and efficiency over the fewest ranks, beside the ideal, of each lattice."""
    groups: dict[str, _Series] = {}
    for series in strong_series(analysis):
        parts = analysis.labels[CHECK].parts(series[0].case, LAYOUT)
        groups.setdefault(joined(series[0].lattice, *parts), []).append(series)
    panels = [(name, series, share) for name, series in groups.items() for share in (False, True)]
    return picture_of(
        analysis,
        panels,
        lambda panel: _scaling_panel(analysis, *panel),
        lambda panel: (one[0].case.environment for one in panel[1]),
        anchor="picture-su3-scaling",
        title="Speed-up and efficiency",
        caption=f"Over the fewest ranks; grey: the ideal. {_slower_than_alone(groups)}Lines: ratios"
        " of means.",
    )


def _scaling_panel(analysis: Analysis, name: str, series: _Series, share: bool) -> Panel:
    rows = [item.rows["program_time"] for one in series for item in one]
    what = "Efficiency" if share else "Speed-up"
    figure, axes = new_panel(joined(what, name), footer(analysis, rows))
    told = []
    for one in series:
        ranks = [float(item.case.ranks) for item in one]
        speed = [one[0].time_s / item.time_s for item in one]
        values = (
            [100 * s * ranks[0] / r for s, r in zip(speed, ranks, strict=True)] if share else speed
        )
        environment = one[0].case.environment
        line = Line(environment, analysis.looks[environment], ranks, values, [0.0] * len(ranks))
        draw_line(axes, line, with_points=False)
        told.append(f"{environment} {values[-1]:.3g} on {ranks[-1]:g} ranks")
    counts = sorted({float(item.case.ranks) for one in series for item in one})
    ideal = [100.0] * 2 if share else [1.0, counts[-1] / counts[0]]
    axes.plot([counts[0], counts[-1]], ideal, color=QUIET, lw=1)
    axes.set_ylim(bottom=0)
    axes.set_xticks(counts, [f"{count:g}" for count in counts])
    axes.set_xlabel("ranks")
    axes.set_ylabel(
        "efficiency / %" if share else f"speed-up over {count_text(int(counts[0]), 'rank')}"
    )
    return finish(figure, f"{what}, {name}: {'; '.join(told)}")


def _slower_than_alone(groups: dict[str, _Series]) -> str:
    """Where more ranks are slower than the fewest, in a sentence; "" where they are not."""
    told = []
    for name, series in groups.items():
        found: dict[tuple[int, int], list[str]] = {}
        for first, second, *_ in series:
            if second.time_s > first.time_s:
                share = f"{first.case.environment} {first.time_s / second.time_s:.2f}"
                found.setdefault((first.case.ranks, second.case.ranks), []).append(share)
        told += [
            f"On {count_text(more, 'rank')} the program is slower than on {few} ({name}):"
            f" {', '.join(shares)} of its speed. "
            for (few, more), shares in found.items()
        ]
    return "".join(told[:3])


def _picture(
    analysis: Analysis,
    metric: str,
    finish_axes: Callable[[Axes, _Series, ReadableUnit], None],
    *,
    anchor: str,
    title: str,
    caption: str,
) -> Picture | None:
    """One panel for each lattice with what was measured of `metric`."""
    groups: dict[str, _Series] = {}
    for series in strong_series(analysis):
        told = [item for item in series if metric in item.rows]
        if told:
            parts = analysis.labels[CHECK].parts(told[0].case, LAYOUT)
            groups.setdefault(joined(told[0].lattice, *parts), []).append(told)

    def panel(group: tuple[str, _Series]) -> Panel:
        name, series = group
        rows: list[Row] = [item.rows[metric] for one in series for item in one]
        unit = ReadableUnit("%", 0.01)
        if metric == "program_time":
            unit = readable_unit("s", [row.summary.mean for row in rows])
        figure, axes = new_panel(name, footer(analysis, rows))
        axis = XAxis("ranks", lambda row: float(analysis.case(row).ranks), log=True)
        lines = lines_of(analysis, rows, axis.place, unit)
        for line in lines:
            draw_line(axes, line, with_points=True, log_y=metric == "program_time")
        axis.draw(axes, lines)
        finish_axes(axes, series, unit)
        return finish(figure, f"{name}: {ranges_text(lines, unit.label)}")

    return picture_of(
        analysis,
        groups.items(),
        panel,
        lambda group: (one[0].case.environment for one in group[1]),
        anchor=anchor,
        title=title,
        caption=f"One panel for each lattice. {caption} Lines: means; bands: ± s{LOG_BANDS};"
        " dots: launches.",
    )
