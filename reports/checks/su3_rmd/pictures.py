# SPDX-License-Identifier: Apache-2.0
"""Pictures of the lattice program: program time and share of communication against ranks."""

from __future__ import annotations

from reports.analysis import Analysis
from reports.checks.su3_rmd.cases import CHECK, LAYOUT, LatticeCase, strong_series
from reports.notation.palette import QUIET
from reports.notation.units import count_text
from reports.show.canvas import Line, Panel, draw_line, finish, new_panel
from reports.show.lines import Picture, XAxis, footer, grouped, joined, lines_picture, picture_of

_Series = list[list[LatticeCase]]


def time_picture(analysis: Analysis) -> Picture | None:
    """Program time against ranks, both logarithmic, one panel a lattice."""
    return _against_ranks(analysis, "program_time", "picture-su3-time", "Program time")


def share_picture(analysis: Analysis) -> Picture | None:
    """Share of communication in the program time against ranks."""
    title = "Communication share"
    return _against_ranks(analysis, "communication_share", "picture-su3-share", title)


def _against_ranks(analysis: Analysis, metric: str, anchor: str, title: str) -> Picture | None:
    """One panel for each lattice that was run on several numbers of ranks."""
    series = [item for one in strong_series(analysis) for item in one]
    is_time = metric == "program_time"
    return lines_picture(
        analysis,
        grouped(analysis, [i.rows[metric] for i in series if metric in i.rows], without=LAYOUT[4:]),
        XAxis("ranks", lambda row: float(analysis.case(row).ranks), log=True),
        anchor=anchor,
        title=f"{title} against ranks",
        caption="One panel for each lattice."
        + ("" if is_time else " Halos and global sums over program time."),
        log_y=is_time,
        from_zero=not is_time,
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
