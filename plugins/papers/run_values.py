# SPDX-License-Identifier: Apache-2.0
"""Values of a run by the places that tell its points apart, and why it has none."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any, Literal

from plugins.papers.fields import BlockValues, Field, Point, plain_value
from records.run.plan import PlannedCase
from reports.analysis.run import Analysis, Row, flags_of
from reports.show.lines import line_rate

#: Checks that run now what a check ran in earlier versions.
SINCE = {"echo": ("echo", "socket_echo")}
#: What a case has of a parameter that it does not state: cases state what was there from the first
#: version of their check on, and of later parameters what differs from this.
DEFAULTS = {"transport": "library", "hops": 0, "mpi_profile": False, "cpus_per_task": 1}

ShareOf = Literal["", "network", "cores"]
#: The name of what is measured without a message library, in whichever environment.
NO_LIBRARY = "no library"


def uses_library(case: PlannedCase) -> bool:
    """False of what a node does alone, and of messages by sockets."""
    return case.check != "node" and case.params.get("transport", "library") == "library"


@dataclass(frozen=True)
class Request:
    """A metric of a check, asked of the cases and points with these values.

    `on_purpose`: of launches that are wrong on purpose; `share_of`: to be divided by a nominal rate
    of the site; of its network, by launches on more nodes than one.
    """

    analysis: Analysis
    check: str
    metric: str
    where: Mapping[str, Any]
    on_purpose: bool = False
    share_of: ShareOf = ""

    @property
    def nominal(self) -> float | None:
        """The nominal rate to divide by, if the site states it."""
        site = self.analysis.run.provenance.site
        return line_rate(self.analysis) if self.share_of == "network" else site.core_peak_flop_per_s

    @property
    def rows(self) -> list[Row]:
        """The rows of the run that hold these values."""
        analysis, wanted = self.analysis, {k: _texts(v) for k, v in self.where.items()}
        rows = [row for one in self._checks for row in analysis.rows_of(one, self.metric)]
        if self.on_purpose:
            rows = [
                row
                for row in analysis.invalid
                if analysis.case(row).check in self._checks and row.series.metric == self.metric
            ]
        return [
            row
            for row in rows
            if all(plain_value(found_at(analysis, row, place)) in v for place, v in wanted.items())
            and (analysis.case(row).nodes > 1 or self.share_of != "network")
        ]

    @property
    def _checks(self) -> tuple[str, ...]:
        return SINCE.get(self.check, (self.check,))

    def why_absent(self) -> str:
        """Reason why the run lacks it: no nominal rate, or that of its first skipped case."""
        if self.share_of and not self.nominal:
            return (
                f"site {self.analysis.run.plan.site} states no nominal rate of its {self.share_of}"
            )
        return next((case.skipped for case in self._cases() if case.skipped is not None), "")

    def why_nothing(self) -> str:
        """Reason why the run has nothing of it, with cases planned in vain."""
        in_vain = "no launch of its cases has a value" if any(self._cases()) else ""
        return self.why_absent() or in_vain

    def _cases(self) -> Iterator[PlannedCase]:
        wanted = {k.removeprefix("params."): v for k, v in self.where.items() if "at." not in k}
        for case in self.analysis.run.plan.cases:
            known = {**DEFAULTS, **case.params, "ranks": case.ranks}
            known |= {"environment": case.environment}
            if case.check in self._checks and all(
                plain_value(known.get(name)) in _texts(value) for name, value in wanted.items()
            ):
                yield case

    def __str__(self) -> str:
        asked = {k: v if isinstance(v, list) else [v] for k, v in self.where.items()}
        told = ", ".join(f"{k.split('.')[-1]} {' or '.join(map(str, v))}" for k, v in asked.items())
        return f"{self.metric} of {self.check}" + (f" with {told}" if told else "")


@dataclass(frozen=True)
class RunValues:
    """A run, of which a quantity asks values at places such as params.n, at.message_bytes or ranks.

    `axes`: name and place of the coordinates that the quantity is to have; None: the run has no
    such place. `held`: places at one value. `requests` has what was asked.
    """

    analysis: Analysis
    axes: Mapping[str, str | None]
    held: Mapping[str, Any] = field(default_factory=dict)
    requests: list[Request] = field(default_factory=list)

    def values(
        self,
        check: str,
        metric: str,
        where: Mapping[str, Any] | None = None,
        by: Sequence[str] = (),
        *,
        on_purpose: bool = False,
        share_of: ShareOf = "",
    ) -> Field:
        """A metric by these axes, and by those of `by` that a calculation takes away again.

        Where several cases share a point that of most launches counts, and of its points in a
        launch the median.
        """
        analysis = self.analysis
        asked = Request(
            analysis, check, metric, {**(where or {}), **self.held}, on_purpose, share_of
        )
        self.requests.append(asked)
        axes = {**self.axes, **{place: place for place in by if place not in self.axes}}
        groups: dict[tuple[Point, str], dict[int, list[Row]]] = {}
        for row in asked.rows:
            point = tuple(
                plain_value(found_at(analysis, row, place)) if place else ""
                for place in axes.values()
            )
            cases = groups.setdefault((point, analysis.case(row).environment), {})
            cases.setdefault(row.series.case, []).append(row)
        found: dict[Point, dict[str, BlockValues]] = {}
        for (point, name), cases in groups.items():
            rows = max(cases.values(), key=lambda one: one[0].summary.n)
            found.setdefault(point, {})[name] = _together(rows)
        return Field(tuple(axes), found)


def of_run(
    check: str, metric: str, where: Mapping[str, Any] | None = None
) -> Callable[[RunValues], Field]:
    """Quantity: a metric of a check, where cases and points have these values."""
    return lambda run: run.values(check, metric, where)


def share_of(
    of: ShareOf, check: str, metric: str, where: Mapping[str, Any] | None = None
) -> Callable[[RunValues], Field]:
    """Quantity: a rate between nodes as a share of the network's nominal rate, or one of a core as
    a share of the cores' peak, if that is known."""

    def share(run: RunValues) -> Field:
        rates, most = run.values(check, metric, where, share_of=of), run.requests[-1].nominal
        return rates.each(lambda rate: rate / most) if most else Field(rates.axes, {})

    return share


def found_at(analysis: Analysis, row: Row, place: str) -> Any:
    """Value of a row at a place; None without it."""
    case = analysis.case(row)
    kind, _, name = place.partition(".")
    if kind == "params":
        return case.params.get(name, DEFAULTS.get(name))
    return row.series.at_value(name) if kind == "at" else getattr(case, kind)


def _together(rows: Sequence[Row]) -> BlockValues:
    """The median over rows of a case, block by block."""
    flags = rows[0].flags if len(rows) == 1 else flags_of(rows)
    values: dict[int, list[float]] = {}
    for row in rows:
        for block, value in row.series.by_block().items():
            values.setdefault(block, []).append(value)
    medians = {block: median(values[block]) for block in sorted(values)}
    return BlockValues(medians, flags, rows[0].series.case)


def _texts(value: Any) -> set[str]:
    return {plain_value(one) for one in (value if isinstance(value, list) else [value])}
