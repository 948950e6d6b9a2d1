# SPDX-License-Identifier: Apache-2.0
"""Pictures of lines: one panel a group of cases, one line an environment, launches as dots."""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import zip_longest
from typing import Any, TypeVar

from matplotlib.axes import Axes

from reports.analysis.run import Analysis, Row
from reports.load.loading import AtKey
from reports.notation import units
from reports.notation.labels import QUIET, Look, point_text, value_text
from reports.show.panel import Axis, Mark, Panel, Picture, Series, written
from reports.show.rows import environments

T = TypeVar("T")

#: Panels of one picture; what is beyond is in the tables, and the caption says how many.
MOST_PANELS = 8
#: Parameters that tell how well a value is known, not what it is of: one curve goes over cases that
#: differ in these.
EFFORT = (
    *("sizes", "iterations", "warmup", "seed"),
    *("least_bytes", "greatest_bytes", "perturbation_bytes", "repeats", "suite_sizes"),
)
#: What is written below an axis of message lengths.
MESSAGE_LENGTH = "message length"
BY_LENGTH = Axis(MESSAGE_LENGTH, scale="bytes")
#: More launch points than this in one panel are not drawn one by one; the caption says so.
MOST_POINTS = 400
#: A line of more points is thinned to every k-th; the caption says so.
MOST_LINE_POINTS = 250


@dataclass(frozen=True, slots=True)
class Curves:
    """Rows of a panel, with its title."""

    title: str
    rows: list[Row]


def picture_of(
    analysis: Analysis,
    groups: Iterable[T],
    draw: Callable[[T], Panel],
    *,
    anchor: str,
    title: str,
    caption: str,
    most: int = MOST_PANELS,
    names: Iterable[str] = (),
) -> Picture | None:
    """Picture with a panel for each group, at most `most`; None without any. Its legend has these
    names and those of the series."""
    every = list(groups)
    panels = [draw(item) for item in every[:most]]
    if not panels:
        return None
    if len(every) > most:
        caption += f" The first {most} of {len(every)} panels; the tables have the others."
    legend = environments(analysis, {*names}.union(*(panel.names for panel in panels)))
    return Picture(anchor, title, caption, panels, legend)


def lines_picture(
    analysis: Analysis,
    rows: Iterable[Row],
    place: Callable[[Row], float],
    axis: Axis,
    *,
    without: Sequence[str] = (),
    anchor: str,
    title: str,
    caption: str,
    log_y: bool = False,
    from_zero: bool = False,
    most: int = MOST_PANELS,
) -> Picture | None:
    """Picture of rows at their `place` on `axis`, or None: a panel for each metric and what else
    varies but `without`.

    `log_y` is for times, else `from_zero`; the line rate is drawn across rates by length.
    """
    sizes = axis.scale == "bytes"
    curves = grouped(
        analysis, rows, (*without, *(EFFORT if sizes else ())), place if sizes else None
    )
    means: dict[str, list[float]] = {}
    for row in (row for item in curves for row in item.rows):
        means.setdefault(row.unit, []).append(row.summary.mean)
    readable = {si: units.readable_unit(si, of_unit) for si, of_unit in means.items()}
    alone = len({item.rows[0].series.metric for item in curves}) == 1

    def panel(item: Curves) -> Panel:
        first = item.rows[0]
        unit, name = readable[first.unit], analysis.register.metric_title(first.series.metric)
        is_log = log_y and first.unit == "s"
        lines = lines_of(analysis, item.rows, place, unit, log=is_log)
        on_node = analysis.case(first).params.get("placement") == "within-node"
        by_length = first.unit == "bytes/s" and sizes and not on_node
        rate = line_rate(analysis) if by_length else None
        heading = item.title if alone else joined(units.sentence_case(name), item.title)
        return Panel(
            heading,
            [*lines, *_line_rate_marks(rate, unit)],
            f"{title}, {heading}: {ranges_text(lines, unit.label)}",
            axis,
            Axis(
                joined(name, unit.label) if alone else unit.label,
                scale="log" if is_log else "linear",
                low=0.0 if from_zero and not is_log else None,
            ),
            footer(analysis, item.rows),
        )

    caption += (
        " Lines: means; bands: ± s, on a logarithmic axis no lower than the least launch; dots:"
        f" single launches, of panels with at most {MOST_POINTS}."
    )
    return picture_of(
        analysis, curves, panel, anchor=anchor, title=title, caption=caption, most=most
    )


def _line_rate_marks(rate_si: float | None, unit: units.ReadableUnit) -> list[Mark]:
    """The line rate across, with its name; none without."""
    if not rate_si:
        return []
    rate = rate_si / unit.factor
    name = f"line rate {units.as_stated(rate)} {unit.label}"
    at_edge: Any = {"xycoords": ("axes fraction", "data"), "xytext": (0, 3), "ha": "right"}
    line = partial(Axes.axhline, y=rate, color=QUIET, linewidth=1.1, linestyle=(0, (4, 3)))
    return [line, written(name, (1, rate), QUIET, 8.5, **at_edge)]


def grouped(
    analysis: Analysis,
    rows: Iterable[Row],
    without: Sequence[str] = (),
    place: Callable[[Row], float] | None = None,
) -> list[Curves]:
    """Rows by metric, and all varying parameters and points but `without`; by ranks and N, smallest
    first, of the metrics in turn.

    With `place` each environment has one row a place: of several that of most iterations.
    """
    titles: dict[tuple[int, AtKey], str] = {}
    groups: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        key = analysis.run.first_alike[row.series.case], row.series.at
        if key not in titles:
            case = analysis.case(row)
            point = ", ".join(
                point_text(name, value)
                for name, value in row.series.at
                if name not in without and case.params.get(name) != value
            )
            titles[key] = joined(point, *analysis.labels[case.check].parts(case, without))
        groups.setdefault((row.series.metric, titles[key]), []).append(row)

    def size(item: Curves) -> tuple[float, float]:
        params = analysis.case(item.rows[0]).params
        n = params.get("n", 0)
        ranks = 0 if "p" in without else params.get("p", 0) * params.get("q", 0)
        return ranks, n if isinstance(n, int | float) and "n" not in without else 0

    every = (
        Curves(title or "all cases", _longest(analysis, members, place) if place else members)
        for (_, title), members in groups.items()
    )
    by_metric: dict[str, list[Curves]] = {metric: [] for metric, _ in groups}
    for item in sorted(every, key=size):
        by_metric[item.rows[0].series.metric].append(item)
    return [item for together in zip_longest(*by_metric.values()) for item in together if item]


def _longest(analysis: Analysis, rows: Iterable[Row], place: Callable[[Row], float]) -> list[Row]:
    """Of the rows of an environment at a place that of most iterations."""
    ordered = sorted(rows, key=lambda row: iterations(analysis, row))
    kept = {(analysis.case(row).environment, place(row)): row for row in ordered}
    return list(kept.values())


def iterations(analysis: Analysis, row: Row) -> int:
    """Number of times that a launch took the value; 0 where its case does not say."""
    params = analysis.case(row).params
    return int(params.get("iterations") or params.get("repeats") or 0)


def lines_of(
    analysis: Analysis,
    rows: Iterable[Row],
    x: Callable[[Row], float],
    unit: units.ReadableUnit,
    *,
    log: bool = False,
) -> list[Series]:
    """A line for each environment: means, bands of ± s, launches as points; x ascending. `log`:
    bands for a logarithmic y axis. More than MOST_POINTS launches are not drawn."""
    by_environment: dict[str, list[Row]] = {}
    for row in rows:
        by_environment.setdefault(analysis.case(row).environment, []).append(row)
    kept: dict[str, list[tuple[float, Row]]] = {}
    for name in environments(analysis, by_environment):
        ordered = sorted(by_environment[name], key=x)
        thinned = ordered[:: -(-len(ordered) // MOST_LINE_POINTS)]
        kept[name] = [(x(row), row) for row in thinned]
    few = sum(row.summary.n for placed in kept.values() for _, row in placed) <= MOST_POINTS
    return [
        line_of(analysis.looks[name], name, placed, unit, log=log, points=few)
        for name, placed in kept.items()
    ]


def line_of(
    look: Look,
    name: str,
    rows: Sequence[tuple[float, Row]],
    unit: units.ReadableUnit,
    *,
    log: bool = False,
    points: bool = False,
) -> Series:
    """The line of an environment's rows at their places."""
    low, high = [], []
    for _, row in rows:
        summary, s = row.summary, row.summary.stddev or 0.0
        # A logarithmic axis has no place for what is below 0.
        low.append(max(summary.mean - s, summary.least if log else -math.inf) / unit.factor)
        high.append((summary.mean + s) / unit.factor)
    dots = rows if points else ()
    return Series(
        [place for place, _ in rows],
        [row.summary.mean / unit.factor for _, row in rows],
        look,
        name,
        low,
        high,
        [(place, v / unit.factor) for place, row in dots for v in row.series.values.tolist()],
    )


def ranges_text(lines: Iterable[Series], unit: str) -> str:
    """Each line's least and greatest value, for those who cannot see the picture."""
    ends = ((line.name, *map(units.significant, (min(line.y), max(line.y)))) for line in lines)
    return "; ".join(f"{name} {low} to {high} {unit}".rstrip() for name, low, high in ends)


def footer(analysis: Analysis, rows: Iterable[Row]) -> str:
    """n, nodes, date, seed and run, in two lines."""
    return counted_footer(analysis, [row.summary.n for row in rows])


def counted_footer(analysis: Analysis, launches: Sequence[int]) -> str:
    """Footer of counts of launches."""
    run = analysis.run
    least, most = min(launches, default=0), max(launches, default=0)
    n = f"{least}" if least == most else f"{least}–{most}"
    nodes = value_text(", ".join(run.nodes[:4]) + (" …" if len(run.nodes) > 4 else ""))
    date = (run.provenance.started_at or "")[:10] or "date not recorded"
    first = f"n = {n} {'launch' if most == 1 else 'launches'} a point · nodes {nodes} · {date}"
    return f"{first} · seed {run.plan.seed} · run {run.run_id[:48]}"


def line_rate(analysis: Analysis) -> float | None:
    """The network's rate in bytes/s when the provenance tells it (`bits_per_second`)."""
    bits = analysis.run.provenance.site.network.bits_per_second
    return bits / 8 if bits and bits > 0 else None


def joined(*texts: str) -> str:
    """The texts with commas, without what says nothing."""
    return ", ".join(part for part in texts if part and part != "all cases")
