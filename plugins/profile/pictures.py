# SPDX-License-Identifier: Apache-2.0
"""The MPI profile of a run: tables and pictures of each check that was profiled.

Profiles are read apart from the metrics: most runs have none, a run without a profile is not read
again, and lines without one are passed over undecoded.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

import msgspec
import numpy as np
from matplotlib.axes import Axes

from plugins.profile import rank_profile
from records.run.plan import PlannedCase
from records.run.record import Record, decode_line, latest_attempts
from reports.analysis.run import Analysis
from reports.notation.labels import INK
from reports.notation.units import bytes_text, fixed, percent, readable_unit, with_spread
from reports.show.lines import counted_footer, picture_of
from reports.show.panel import Axis, Mark, Panel, Picture, rows_axis, written
from reports.show.tables import Cell, Column, Lead, Table, pivot, slug
from reports.statistics.descriptive import Vector, summarise

_MARK = b'"profile":'
#: Calls that get a colour of their own; the others are drawn together.
MOST_CALLS = 5
#: Colours of calls, the costliest first: a sequence apart from the environments' colours.
_CALL_COLOURS = ("#4C5C96", "#E0A93B", "#7FB5B0", "#B5654A", "#93A95B")
_OTHER_MPI, _OUTSIDE = "#7d8991", "#c3ccd2"


@dataclass(frozen=True, slots=True)
class CaseProfile:
    """The profiles of one case: by ascending block, each a list by ascending rank."""

    case: int
    launches: list[list[rank_profile.RankProfile]]


@lru_cache(maxsize=4)
def case_profiles(analysis: Analysis) -> tuple[CaseProfile, ...]:
    """Profiles of the latest attempt of each launch that is ok, in the order of the plan."""
    if not analysis.run.profiled:
        return ()
    decoder = msgspec.json.Decoder(Record)
    path = analysis.run.directory / "records.jsonl"
    with path.open("rb") as file:
        found = [
            decode_line(decoder, line, f"{path}:{number}")
            for number, line in enumerate(file, start=1)
            if _MARK in line and line.endswith(b"\n")
        ]
    place = {case.id: index for index, case in enumerate(analysis.run.plan.cases)}
    profiled = [record for record in found if record.profile is not msgspec.UNSET]
    latest = latest_attempts(profiled, lambda record: place[record.case_id])
    launches: dict[int, list[list[rank_profile.RankProfile]]] = {}
    for (case, _), record in sorted(latest.items(), key=lambda item: item[0]):
        if record.status == "ok":
            launches.setdefault(case, []).append(rank_profile.kept_profile(record))
    return tuple(CaseProfile(case, profiles) for case, profiles in launches.items())


@dataclass(frozen=True)
class CallTotals:
    """Totals of one call of one case. Counts and bytes are means over ranks and launches.

    `seconds`: mean over the ranks for each launch, shape (launches,). `greatest_s`: the longest
    single call of all. `sizes`: messages by their class (the least power of two that holds them),
    means over ranks and launches.
    """

    call: str
    count: float
    bytes: float
    seconds: Vector
    greatest_s: float
    sizes: dict[int, float]


@dataclass(frozen=True)
class CaseTotals:
    """All calls of one case, the costliest first; elapsed seconds, and seconds in MPI as the mean
    over the ranks, both of shape (launches,)."""

    case: int
    elapsed_s: Vector
    mpi_s: Vector
    calls: list[CallTotals]


def case_totals(profile: CaseProfile) -> CaseTotals:
    """Sum the profiles of one case."""
    launches = profile.launches
    ranks = len(launches[0])
    share = 1 / (ranks * len(launches))
    by_name: dict[str, list[list[rank_profile.CallProfile]]] = {}
    for place, launch in enumerate(launches):
        for call in (call for rank in launch for call in rank.calls):
            by_name.setdefault(call.call, [[] for _ in launches])[place].append(call)
    totals = []
    for name, each in sorted(by_name.items()):
        every = [call for calls in each for call in calls]
        sizes: Counter[int] = Counter()
        for call in every:
            sizes.update({int(size): number for size, number in call.sizes.items()})
        totals.append(
            CallTotals(
                call=name,
                count=share * sum(call.count for call in every),
                bytes=share * sum(call.bytes for call in every),
                seconds=np.array([sum(call.time_s for call in calls) / ranks for calls in each]),
                greatest_s=max(call.greatest_s for call in every),
                sizes={size: share * number for size, number in sorted(sizes.items())},
            )
        )
    totals.sort(key=lambda item: -float(item.seconds.mean()))
    elapsed = np.array([np.mean([rank.elapsed_s for rank in launch]) for launch in launches])
    mpi = np.asarray(sum((call.seconds for call in totals), np.zeros(len(launches))))
    return CaseTotals(profile.case, elapsed, mpi, totals)


def _profiled(analysis: Analysis, check: str) -> Iterator[tuple[PlannedCase, str, CaseProfile]]:
    """The profiled cases of a check with their labels, environments in the order of the plan."""
    cases, order = analysis.run.plan.cases, list(analysis.looks)
    profiles = case_profiles(analysis)
    for one in sorted(profiles, key=lambda item: order.index(cases[item.case].environment)):
        if cases[one.case].check == check:
            yield cases[one.case], analysis.labels[check].label(cases[one.case]), one


def profile_tables(analysis: Analysis, check: str) -> list[Table]:
    """The profile of one check; empty when none of its cases was profiled."""
    found = sorted(_profiled(analysis, check), key=lambda item: item[1])
    calls = []
    for case, text, profile in found:
        label = Cell(text, href=f"#case-{slug(case.id)}")
        lead = label, Cell(case.environment, environment=case.environment)
        totals = case_totals(profile)
        calls += [(*lead, (call, totals)) for call in totals.calls]
    leads: list[Lead[tuple[Cell, Cell, object]]]
    leads = [("case", lambda line: line[0]), ("environment", lambda line: line[1])]
    names = ("calls", "message bytes", "time ± s", "of MPI time", "of the run", "longest call")
    table = pivot(
        calls,
        [*leads, ("MPI call", lambda line: f"MPI_{line[2][0].call}")],
        [([*names, Column("messages up to")], lambda lines: _call_cells(*lines[0][2]))],
        anchor=f"profile-{slug(check)}",
        title="MPI profile",
        note="Calls, bytes and time of one rank, mean over ranks and launches; s over launches."
        " The run: from the first MPI call to MPI_Finalize.",
    )
    return [table] if table else []


def _call_cells(call: CallTotals, totals: CaseTotals) -> list[str | Cell]:
    time = summarise(call.seconds.tolist())
    unit = readable_unit("s", [time.mean])
    common = sorted(sorted(call.sizes, key=lambda size: -call.sizes[size])[:3])
    sizes = ", ".join(f"{bytes_text(size)}: {_number(call.sizes[size])}" for size in common)
    mean = f"{with_spread(time.mean, time.stddev, unit)} {unit.label}"
    longest = f"{call.greatest_s:.9g} s, the greatest of all launches and ranks"
    return [
        _number(call.count),
        _number(call.bytes) if call.sizes else "–",
        Cell(mean, title=f"n = {time.n}, mean {time.mean:.9g} s"),
        percent(time.mean / float(totals.mpi_s.mean())),
        percent(time.mean / float(totals.elapsed_s.mean())),
        Cell(f"{fixed(call.greatest_s * 1e6, 1)} µs", title=longest),
        sizes + (" …" if len(call.sizes) > len(common) else ""),
    ]


def _number(value: float) -> str:
    return fixed(value, 0 if value >= 100 or value == int(value) else 1)


def profile_pictures(analysis: Analysis, check: str) -> list[Picture]:
    """Pictures of one check; empty when none of its cases was profiled."""
    groups: dict[str, dict[str, CaseTotals]] = {}
    shares: dict[str, float] = {}
    for case, label, profile in sorted(_profiled(analysis, check), key=lambda item: item[0].ranks):
        totals = groups.setdefault(label, {})[case.environment] = case_totals(profile)
        for call in totals.calls:
            share = float(call.seconds.mean() / totals.elapsed_s.mean())
            shares[call.call] = shares.get(call.call, 0.0) + share
    costliest = sorted(shares, key=lambda name: -shares[name])[:MOST_CALLS]
    colours = dict(zip(costliest, _CALL_COLOURS, strict=False))
    picture = picture_of(
        analysis,
        groups.items(),
        lambda group: _time_panel(analysis, colours, *group),
        anchor=f"picture-profile-{check}",
        title="Time in MPI calls and outside",
        caption="Mean over ranks and launches, from the first MPI call to MPI_Finalize.",
        names=[name for found in groups.values() for name in found],
    )
    return [picture] if picture else []


def _time_panel(
    analysis: Analysis, colours: dict[str, str], label: str, found: dict[str, CaseTotals]
) -> Panel:
    """A bar for the time of a rank in each environment, in its parts, with the share of MPI."""
    elapsed = {name: float(item.elapsed_s.mean()) for name, item in found.items()}
    unit = readable_unit("s", elapsed.values())
    marks: list[Mark] = []
    told = []
    for row, (name, item) in enumerate(found.items()):
        mpi_s, left = float(item.mpi_s.mean()), 0.0
        share = mpi_s / elapsed[name] if elapsed[name] else None
        seconds = {call.call: float(call.seconds.mean()) for call in item.calls}
        pieces = {colour: seconds.get(call, 0.0) for call, colour in colours.items()}
        pieces[_OTHER_MPI] = mpi_s - sum(pieces.values())
        pieces[_OUTSIDE] = elapsed[name] - mpi_s
        for colour, value in pieces.items():
            width = max(value, 0.0) / unit.factor
            bar: Any = {"y": row, "width": width, "height": 0.62, "left": left}
            marks.append(partial(Axes.barh, color=colour, linewidth=0, **bar))
            left += width
        text = f"MPI {percent(share, 0)}"
        marks.append(written(text, (left, row), INK, 8.5, xytext=(4, 0), va="center"))
        told.append(f"{name}: {percent(share)} of the time in MPI")
    return Panel(
        label,
        marks,
        f"{label}: {'; '.join(told)}",
        Axis(
            f"time of a rank, {unit.label}", low=0, high=1.24 * max(elapsed.values()) / unit.factor
        ),
        rows_axis([*found]),
        counted_footer(analysis, [len(item.elapsed_s) for item in found.values()]),
        1.6 + 0.34 * len(found),
        key={**colours, "other MPI": _OTHER_MPI, "outside MPI": _OUTSIDE},
    )


def check_parts(
    analysis: Analysis, check: str
) -> tuple[Callable[[], list[Picture]], Callable[[], list[Table]]]:
    """Functions that make the pictures and the tables of a check."""
    return partial(profile_pictures, analysis, check), partial(profile_tables, analysis, check)
