# SPDX-License-Identifier: Apache-2.0
"""Half round trip against hop count: one panel a message length, one line an environment."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from reports.analysis import Analysis
from reports.checks.hops.measured import HopSeries, hop_series
from reports.notation.units import bytes_text
from reports.show.canvas import Line, Panel, draw_line, finish, new_panel
from reports.show.lines import MOST_PANELS, Picture, footer, joined


def hops_picture(check: str) -> Callable[[Analysis], Picture | None]:
    """The picture of a check's times against hop counts."""

    def picture(analysis: Analysis) -> Picture | None:
        groups: dict[str, list[HopSeries]] = {}
        for one in hop_series(analysis, check):
            title = joined(bytes_text(one.message_bytes), one.title)
            groups.setdefault(title, []).append(one)
        if not groups:
            return None
        shown = list(groups.items())[:MOST_PANELS]
        caption = (
            "One panel for each message length: medians over launches against the hops between the"
            " two nodes, by the topology that the site declares."
        )
        if len(groups) > MOST_PANELS:
            caption += f" The first {MOST_PANELS} of {len(groups)} panels."
        names = {one.environment for _, found in shown for one in found}
        return Picture(
            f"picture-{check}-hops",
            "Half round trip against hop count",
            caption,
            [_panel(analysis, title, found) for title, found in shown],
            [name for name in analysis.looks if name in names],
        )

    return picture


def _panel(analysis: Analysis, title: str, found: Sequence[HopSeries]) -> Panel:
    launches = [one.launches for one in found]
    figure, axes = new_panel(title, footer(analysis, min(launches), max(launches)))
    for one in found:
        times_us = [time_s * 1e6 for time_s in one.times.values()]
        look = analysis.looks[one.environment]
        line = Line(one.environment, look, list(one.times), times_us, [0.0] * len(times_us))
        draw_line(axes, line, with_points=False)
    counts = sorted({hops for one in found for hops in one.times})
    axes.set_xticks(counts, [str(hops) for hops in counts])
    axes.set_xlabel("hops between the two nodes")
    axes.set_ylabel("half round trip / µs")
    axes.set_ylim(bottom=0)
    return finish(figure, f"{title}: {'; '.join(map(_alt, found))}")


def _alt(one: HopSeries) -> str:
    times = ", ".join(f"{time_s * 1e6:.3g} µs at {hops}" for hops, time_s in one.times.items())
    return f"{one.environment} {times}"
