# SPDX-License-Identifier: Apache-2.0
"""Pictures of the MPI profile: time in each call beside the rest, and messages by size."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.patches import Patch

from reports.analysis import Analysis
from reports.notation.palette import INK
from reports.notation.units import ReadableUnit, bytes_text, fixed, percent, readable_unit
from reports.show.canvas import Panel, finish, new_panel
from reports.show.lines import Picture, counted_footer, picture_of
from reports.show.mpi_profile.load import case_profiles
from reports.show.mpi_profile.totals import CaseTotals, case_totals

#: Calls that get a colour of their own; the others are drawn together.
MOST_CALLS = 5
#: Colours of calls, the costliest first: a sequence apart from the environments' colours.
_CALL_COLOURS = ("#4C5C96", "#E0A93B", "#7FB5B0", "#B5654A", "#93A95B")
_OTHER_MPI, _OUTSIDE = "#7d8991", "#c3ccd2"


def profile_pictures(analysis: Analysis, check: str) -> list[Picture]:
    """Pictures of one check; empty when none of its cases was profiled."""
    cases, order = analysis.run.plan.cases, list(analysis.looks)
    found = [item for item in case_profiles(analysis) if cases[item.case].check == check]
    found.sort(key=lambda item: (cases[item.case].ranks, order.index(cases[item.case].environment)))
    groups: dict[str, list[CaseTotals]] = {}
    for item in found:
        label = analysis.labels[check].label(cases[item.case])
        groups.setdefault(label, []).append(case_totals(item))
    colours = _call_colours(groups)
    pictures = (
        picture_of(
            analysis,
            groups.items(),
            draw,
            lambda group: (cases[item.case].environment for item in group[1]),
            anchor=f"{anchor}-{check}",
            title=title,
            caption=caption,
        )
        for draw, anchor, title, caption in (
            (
                lambda group: _time_panel(analysis, colours, *group),
                "picture-profile",
                "Time in MPI calls and outside",
                "Mean over ranks and launches, from the first MPI call to MPI_Finalize.",
            ),
            (
                lambda group: _sizes_panel(analysis, *group),
                "picture-profile-sizes",
                "Messages by size",
                "Messages that a rank hands over in a launch, by the least power of two that holds"
                " them: sends, started requests and collectives.",
            ),
        )
    )
    return [picture for picture in pictures if picture is not None]


def _call_colours(groups: dict[str, list[CaseTotals]]) -> dict[str, str]:
    """Colours for the calls that take the greatest share of a run, summed over the cases."""
    shares: dict[str, float] = {}
    for item in (item for found in groups.values() for item in found):
        for call in item.calls:
            share = float(call.seconds.mean() / item.elapsed_s.mean())
            shares[call.call] = shares.get(call.call, 0.0) + share
    costliest = sorted(shares, key=lambda name: -shares[name])[:MOST_CALLS]
    return dict(zip(costliest, _CALL_COLOURS, strict=False))


def _time_panel(
    analysis: Analysis, colours: dict[str, str], label: str, found: list[CaseTotals]
) -> Panel:
    unit = readable_unit("s", [float(item.elapsed_s.mean()) for item in found])
    height = 1.6 + 0.34 * len(found)
    figure, axes = new_panel(
        label, counted_footer(analysis, [len(item.elapsed_s) for item in found]), height
    )
    for row, item in enumerate(found):
        _draw_bar(axes, row, item, unit, colours)
    names = [analysis.run.plan.cases[item.case].environment for item in found]
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.grid(axis="y", visible=False)
    axes.set_xlabel(f"time of a rank, {unit.label}")
    axes.set_xlim(0, 1.24 * max(float(item.elapsed_s.mean()) for item in found) / unit.factor)
    entries = {**colours, "other MPI": _OTHER_MPI, "outside MPI": _OUTSIDE}
    axes.legend(
        [Patch(color=colour, linewidth=0) for colour in entries.values()],
        list(entries),
        ncols=3,
        fontsize=9,
        borderpad=0,
        frameon=False,
        handlelength=1,
        columnspacing=1.1,
        labelcolor=INK,
        borderaxespad=0,
    )
    parts = [
        f"{name}: {percent(float(item.mpi_s.mean() / item.elapsed_s.mean()))} of the time in MPI"
        for name, item in zip(names, found, strict=True)
    ]
    return finish(figure, f"{label}: {'; '.join(parts)}")


def _draw_bar(
    axes: Any, row: int, item: CaseTotals, unit: ReadableUnit, colours: dict[str, str]
) -> None:
    left, mpi_s, elapsed_s = 0.0, float(item.mpi_s.mean()), float(item.elapsed_s.mean())
    seconds = {call.call: float(call.seconds.mean()) for call in item.calls}
    named = {name: seconds.get(name, 0.0) for name in colours}
    pieces = [(colours[name], value) for name, value in named.items()]
    pieces += [(_OTHER_MPI, mpi_s - sum(named.values())), (_OUTSIDE, elapsed_s - mpi_s)]
    for colour, value in pieces:
        width = max(value, 0.0) / unit.factor
        axes.barh(row, width, left=left, height=0.62, color=colour, linewidth=0)
        left += width
    share = percent(mpi_s / elapsed_s, 0) if elapsed_s else "–"
    axes.annotate(
        f"MPI {share}", (left, row), (4, 0), textcoords="offset points", va="center", fontsize=8.5
    )


def _sizes_panel(analysis: Analysis, label: str, found: list[CaseTotals]) -> Panel:
    figure, axes = new_panel(
        label, counted_footer(analysis, [len(item.elapsed_s) for item in found])
    )
    counts = [item.messages for item in found]
    classes = sorted({size for each in counts for size in each})
    width = 0.8 / len(found)
    for place, (item, each) in enumerate(zip(found, counts, strict=True)):
        look = analysis.looks[analysis.run.plan.cases[item.case].environment]
        at = np.arange(len(classes)) - 0.4 + width * (place + 0.5)
        axes.bar(at, [each.get(size, 0.0) for size in classes], width, color=look.colour)
    axes.set_xticks(range(len(classes)), [bytes_text(size) for size in classes])
    axes.set_xlabel("message length up to")
    axes.set_ylabel("messages a rank")
    axes.grid(axis="x", visible=False)
    total = ", ".join(f"{fixed(sum(each.values()), 0)}" for each in counts)
    return finish(figure, f"{label}: {total} messages a rank in {len(classes)} classes of length")
