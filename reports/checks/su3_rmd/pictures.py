# SPDX-License-Identifier: Apache-2.0
"""Pictures of the lattice program: program time and share of communication against ranks."""

from __future__ import annotations

from records.flags import shares_cores
from reports.analysis.run import Analysis, flags_of
from reports.checks.su3_rmd.cases import CHECK, LAYOUT, LatticeCase, strong_series
from reports.notation.units import count_text, significant
from reports.show.lines import footer, grouped, joined, lines_picture, picture_of
from reports.show.panel import Axis, Panel, Picture, Series

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
        lambda row: float(analysis.case(row).ranks),
        Axis("ranks", scale="log", counts=True),
        anchor=anchor,
        title=f"{title} against ranks",
        caption="One panel for each lattice."
        + ("" if is_time else " Halos and global sums over program time."),
        log_y=is_time,
        from_zero=not is_time,
    )


def scaling_picture(analysis: Analysis) -> Picture | None:
    """Speed-up and efficiency over the fewest ranks, with the ideal, of each lattice."""
    groups: dict[str, _Series] = {}
    for series in strong_series(analysis):
        parts = analysis.labels[CHECK].parts(series[0].case, LAYOUT)
        groups.setdefault(joined(series[0].lattice, *parts), []).append(series)
    return picture_of(
        analysis,
        [(name, series, share) for name, series in groups.items() for share in (False, True)],
        lambda panel: _scaling_panel(analysis, *panel),
        anchor="picture-su3-scaling",
        title="Speed-up and efficiency",
        caption=f"Over the fewest ranks; grey: the ideal. {_slower_than_alone(groups)}Lines: ratios"
        " of means.",
    )


def _scaling_panel(analysis: Analysis, name: str, series: _Series, is_share: bool) -> Panel:
    what = "Efficiency" if is_share else "Speed-up"
    counts = [float(item.case.ranks) for one in series for item in one]
    fewest, most = min(counts), max(counts)
    ideal = [100.0, 100.0] if is_share else [1.0, most / fewest]
    lines = [Series([fewest, most], ideal, width=1)]
    told = []
    for one in series:
        environment, ranks = one[0].case.environment, [float(item.case.ranks) for item in one]
        values = [one[0].time_s / item.time_s for item in one]
        if is_share:
            values = [100 * s * ranks[0] / r for s, r in zip(values, ranks, strict=True)]
        hollow = [shares_cores(flags_of(item.rows.values())) for item in one]
        lines.append(Series(ranks, values, analysis.looks[environment], environment, hollow=hollow))
        told.append(
            f"{environment} {significant(values[-1])} on {count_text(int(ranks[-1]), 'rank')}"
        )
    over = f"speed-up over {count_text(int(fewest), 'rank')}"
    return Panel(
        joined(what, name),
        lines,
        f"{what}, {name}: {'; '.join(told)}",
        Axis("ranks", counts=True),
        Axis("efficiency / %" if is_share else over, low=0),
        footer(analysis, [item.rows["program_time"] for one in series for item in one]),
    )


def _slower_than_alone(groups: dict[str, _Series]) -> str:
    """Where more ranks are slower than the fewest, in a sentence; "" where they are not."""
    found: dict[tuple[str, int, int], list[str]] = {}
    for name, series in groups.items():
        for first, second, *_ in series:
            if second.time_s > first.time_s:
                share = f"{first.case.environment} {first.time_s / second.time_s:.2f}"
                ranks = first.case.ranks, second.case.ranks
                found.setdefault((name, *ranks), []).append(share)
    told = [
        f"On {count_text(more, 'rank')} the program is slower than on {few} ({name}):"
        f" {', '.join(shares)} of its speed. "
        for (name, few, more), shares in found.items()
    ]
    return "".join(told[:3])
