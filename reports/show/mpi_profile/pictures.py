# SPDX-License-Identifier: Apache-2.0
"""Pictures of the MPI profile: time in each call beside the rest, and messages by size."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from reports.analysis import Analysis
from reports.notation.units import ReadableUnit, bytes_text, fixed, percent, readable_unit
from reports.show.lines import counted_footer, picture_of
from reports.show.mpi_profile.totals import CaseTotals, case_profiles, case_totals
from reports.show.panel import Axis, Bars, Mark, Panel, Picture, Text, rows_axis

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
            lambda group: _time_panel(analysis, colours, *group),
            anchor=f"picture-profile-{check}",
            title="Time in MPI calls and outside",
            caption="Mean over ranks and launches, from the first MPI call to MPI_Finalize.",
        ),
        picture_of(
            analysis,
            groups.items(),
            lambda group: _sizes_panel(analysis, *group),
            anchor=f"picture-profile-sizes-{check}",
            title="Messages by size",
            caption="Messages that a rank hands over in a launch, by the least power of two that"
            " holds them: sends, started requests and collectives.",
        ),
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
    names = [analysis.run.plan.cases[item.case].environment for item in found]
    parts = [
        f"{name}: {percent(float(item.mpi_s.mean() / item.elapsed_s.mean()))} of the time in MPI"
        for name, item in zip(names, found, strict=True)
    ]
    longest = max(float(item.elapsed_s.mean()) for item in found) / unit.factor
    return Panel(
        label,
        [
            mark
            for row, item in enumerate(found)
            for mark in _bar(row, names[row], item, unit, colours)
        ],
        f"{label}: {'; '.join(parts)}",
        Axis(f"time of a rank, {unit.label}", low=0, high=1.24 * longest),
        rows_axis(names),
        counted_footer(analysis, [len(item.elapsed_s) for item in found]),
        1.6 + 0.34 * len(found),
        key={**colours, "other MPI": _OTHER_MPI, "outside MPI": _OUTSIDE},
    )


def _bar(
    row: int, name: str, item: CaseTotals, unit: ReadableUnit, colours: dict[str, str]
) -> Iterator[Mark]:
    """The time of a rank in its parts, with the share of MPI."""
    left, mpi_s, elapsed_s = 0.0, float(item.mpi_s.mean()), float(item.elapsed_s.mean())
    seconds = {call.call: float(call.seconds.mean()) for call in item.calls}
    named = {name: seconds.get(name, 0.0) for name in colours}
    pieces = [(colours[name], value) for name, value in named.items()]
    pieces += [(_OTHER_MPI, mpi_s - sum(named.values())), (_OUTSIDE, elapsed_s - mpi_s)]
    for colour, value in pieces:
        width = max(value, 0.0) / unit.factor
        yield Bars([row], [width], 0.62, colour, left, level=True, name=name)
        left += width
    share = percent(mpi_s / elapsed_s, 0) if elapsed_s else "–"
    yield Text(f"MPI {share}", left, row, size=8.5, offset=(4, 0), vertical="center")


def _sizes_panel(analysis: Analysis, label: str, found: list[CaseTotals]) -> Panel:
    counts = [item.messages for item in found]
    classes = sorted({size for each in counts for size in each})
    width = 0.8 / len(found)
    bars = []
    for place, (item, each) in enumerate(zip(found, counts, strict=True)):
        name = analysis.run.plan.cases[item.case].environment
        at = np.arange(len(classes)) - 0.4 + width * (place + 0.5)
        counted = [each.get(size, 0.0) for size in classes]
        colour = analysis.looks[name].colour
        bars.append(Bars(at.tolist(), counted, width, colour, name=name))
    total = ", ".join(f"{fixed(sum(each.values()), 0)}" for each in counts)
    return Panel(
        label,
        bars,
        f"{label}: {total} messages a rank in {len(classes)} classes of length",
        Axis(
            "message length up to",
            ticks=dict(enumerate(map(bytes_text, classes))),
            grid=False,
        ),
        Axis("messages a rank"),
        counted_footer(analysis, [len(item.elapsed_s) for item in found]),
    )
