# SPDX-License-Identifier: Apache-2.0
"""From a loaded run to everything the renderings show: summaries, flags, counts, holes."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import msgspec
import numpy as np

from records.flags import BEYOND_LIMIT, INVALID_ON_PURPOSE, OVERSUBSCRIBED
from records.metric import Register
from records.run.plan import PlannedCase
from records.run.record import Status
from records.site.limits import Nominal, bound, is_beyond
from reports.analysis.compare import Comparisons, compare_environments
from reports.load.loading import Launch, Run, Series, stacked
from reports.notation.labels import CheckLabels, Look, check_labels, looks
from reports.statistics.descriptive import Summary, summarise_rows

OUTLIER = "outlier"
#: Statuses of launches that ended without a value.
BAD: tuple[Status, ...] = ("failed", "wrong", "lost")
STATUSES: tuple[str, ...] = ("ok", *BAD, "skipped")
_MANY_ROWS = 200_000


class Row(msgspec.Struct, frozen=True, eq=False, gc=False):
    """Values of a (case, metric, point) with statistics in SI unit `unit`; `flags` stay with it."""

    series: Series
    unit: str
    summary: Summary
    flags: tuple[str, ...]


def flags_of(rows: Iterable[Row]) -> tuple[str, ...]:
    """The flags of the launches behind rows, each once; outliers are a row's own."""
    flags = (flag for row in rows for flag in row.flags if not flag.startswith(OUTLIER))
    return tuple(dict.fromkeys(flags))


@dataclass(frozen=True, slots=True)
class Hole:
    """A planned (case, block) without a record, and why."""

    case: PlannedCase
    block: int
    reason: str


@dataclass(frozen=True, eq=False)
class Analysis:
    """A run with its statistics. `holes` has one entry for each planned launch not recorded."""

    run: Run
    rows: list[Row]
    invalid: list[Row]
    labels: dict[str, CheckLabels]
    looks: dict[str, Look]
    comparisons: Comparisons
    counts: Counter[str]
    holes: list[Hole]

    @property
    def register(self) -> Register:
        """The metrics and checks that the run's plan defines."""
        return self.run.plan.register

    @property
    def complete(self) -> bool:
        """True where every planned launch has its record."""
        return not self.holes

    @cached_property
    def bad_launches(self) -> list[Launch]:
        """All launches that are not ok, replaced attempts too, in recorded order."""
        launches = self.run.launches
        return [*launches.where(~launches.of_status("ok"))]

    @cached_property
    def replaced(self) -> int:
        """Number of launches that a later attempt replaced."""
        return int((~self.run.launches.counted).sum())

    def flagged(self, flag: str) -> int:
        """The number of counted ok launches that have a flag."""
        ok = self.run.launches.counted & self.run.launches.of_status("ok")
        return int((ok & self.run.launches.flagged(flag)).sum())

    @property
    def oversubscribed(self) -> int:
        """Counted ok launches whose busy ranks shared cores."""
        return self.flagged(OVERSUBSCRIBED)

    @property
    def on_purpose(self) -> int:
        """Counted launches that are wrong on purpose."""
        launches = self.run.launches
        return int((launches.counted & launches.flagged(INVALID_ON_PURPOSE)).sum())

    @property
    def launches_text(self) -> str:
        """Number of launches by end: "20 ok, 1 failed"; ends that did not occur are left out."""
        ended = {
            **{status: self.counts[status] for status in STATUSES},
            "wrong": self.counts["wrong"] - self.on_purpose,
            "wrong on purpose": self.on_purpose,
            "not run": len(self.holes),
            "replaced by a later attempt": self.replaced,
        }
        return ", ".join(f"{count} {word}" for word, count in ended.items() if count) or "none yet"

    @cached_property
    def _by_check(self) -> dict[str, dict[str, list[Row]]]:
        cases = self.run.plan.cases
        found: dict[str, dict[str, list[Row]]] = {}
        for row in self.rows:
            metrics = found.setdefault(cases[row.series.case].check, {})
            metrics.setdefault(row.series.metric, []).append(row)
        return found

    def metrics_of(self, check: str) -> list[str]:
        """Metrics with values, in the order of the register."""
        return [name for name in self.register.metrics if name in self._by_check.get(check, {})]

    def rows_of(self, check: str, *metrics: str) -> list[Row]:
        """Rows of one check, of the metrics named or of all."""
        found = self._by_check.get(check, {})
        return [row for name in metrics or found for row in found.get(name, ())]

    def deciding_metric(self, check: str) -> str:
        """Metric that a check is read by: the deciding one, the shown one, or the first it has."""
        known = self.register.checks.get(check)
        wanted = (known.deciding, known.shown) if known else ()
        metrics = self.register.metrics
        measured = (name for name in self.metrics_of(check) if metrics[name].measured)
        names = (*(name for name in wanted if self.rows_of(check, name)), *measured)
        return next(iter(names), "")

    def case(self, row: Row) -> PlannedCase:
        """The planned case of a row."""
        return self.run.plan.cases[row.series.case]

    def title(self, case: PlannedCase) -> str:
        """The check of a case and what tells the case from the check's others."""
        return f"{self.register.check_title(case.check)}: {self.labels[case.check].label(case)}"

    @cached_property
    def checks(self) -> list[str]:
        """Checks in the order of the plan."""
        return list(dict.fromkeys(case.check for case in self.run.plan.cases))


def bad_launches(run: Run) -> list[Launch]:
    """Launches that count and ended badly, those on purpose aside."""
    wrong = run.launches.of_status(*BAD) & ~run.launches.flagged(INVALID_ON_PURPOSE)
    return [*run.launches.where(wrong & run.launches.counted)]


def analyse(run: Run) -> Analysis:
    """Compute the statistics of a run."""
    labels = check_labels(run.plan.cases)
    counts: Counter[str] = Counter()
    for (_, status, _), count in run.tally.items():
        counts[status] += count
    return Analysis(
        run=run,
        rows=summary_rows(run, run.series, on_purpose=False),
        invalid=summary_rows(run, run.invalid, on_purpose=True),
        labels=labels,
        looks=looks([*run.plan.environments, *(case.environment for case in run.plan.cases)]),
        comparisons=compare_environments(run, labels),
        counts=counts,
        holes=list(_holes(run)),
    )


def summary_rows(run: Run, series: Sequence[Series], *, on_purpose: bool) -> list[Row]:
    """Summaries of many series of a run, computed together for each n."""
    lengths = np.array([len(item.values) for item in series], dtype=np.int64)
    summaries = np.empty(len(series), dtype=object)
    for n in np.unique(lengths):
        positions = np.flatnonzero(lengths == n)
        for start in range(0, len(positions), _MANY_ROWS):
            part = positions[start : start + _MANY_ROWS]
            summaries[part] = summarise_rows(stacked([series[position] for position in part]))
    flags = _case_flags(run, on_purpose=on_purpose)
    metrics = run.plan.register.metrics
    rates = run.provenance.site.rates
    result = []
    for position, item in enumerate(series):
        summary, marks = summaries[position], flags.get(item.case, ())
        if metrics[item.metric].limit:
            marks = (*marks, *_beyond_limit(run, item, rates))
        if summary.outliers:
            blocks = ", ".join(str(item.blocks[place]) for place in summary.outliers)
            marks = (*marks, f"{OUTLIER} in block {blocks}")
        result.append(Row(item, metrics[item.metric].unit, summary, marks))
    return result


def _beyond_limit(run: Run, item: Series, rates: Nominal) -> tuple[str, ...]:
    """The mark of a series with values that are better than the site's nominal rates allow."""
    case, metric = run.plan.cases[item.case], run.plan.register.metrics[item.metric]
    layout = (case.ranks, case.ranks_per_node)
    limit = bound(metric, dict(item.at), *layout, rates, cpus_per_task=case.cpus_per_task)
    if limit is None:
        return ()
    beyond = sum(is_beyond(metric, value, limit) for value in item.values.tolist())
    if not beyond:
        return ()
    n = len(item.values)
    return (BEYOND_LIMIT if beyond == n else f"{BEYOND_LIMIT} in {beyond} of {n}",)


def _case_flags(run: Run, *, on_purpose: bool) -> dict[int, tuple[str, ...]]:
    """Flags of each case over its ok launches, or those wrong on purpose; with counts if not of
    all. BEYOND_LIMIT is shown with its values."""
    flagged = {case for case, _, flags in run.tally if flags}
    known: dict[int, dict[str, int]] = {}
    launched: Counter[int] = Counter()
    for (case, status, flags), count in run.tally.items():
        if case in flagged and (INVALID_ON_PURPOSE in flags if on_purpose else status == "ok"):
            launched[case] += count
            of_case = known.setdefault(case, {})
            for flag in flags:
                if flag != BEYOND_LIMIT:
                    of_case[flag] = of_case.get(flag, 0) + count
    return {
        case: tuple(
            flag if count == launched[case] else f"{flag} in {count} of {launched[case]}"
            for flag, count in sorted(of_case.items())
        )
        for case, of_case in known.items()
    }


def _holes(run: Run) -> Iterator[Hole]:
    """Launches that were asked for without a record, by case and block; a skipped case has block
    0."""
    asked = [run.asked[case.environment, case.check] for case in run.plan.cases]
    counted: Counter[int] = Counter()
    for (place, status, _), count in run.tally.items():
        counted[place] += asked[place] if status == "skipped" else count
    have: dict[int, set[int]] = {
        place: set() for place in range(len(run.plan.cases)) if counted[place] < asked[place]
    }
    for place, block in run.launches.places(np.isin(run.launches.case, [*have])):
        have[place].add(block)
    for place, blocks in have.items():
        case = run.plan.cases[place]
        if case.skipped is not None:
            yield Hole(case, 0, f"to be skipped, not recorded yet: {case.skipped}")
        else:
            missing = (block for block in range(1, asked[place] + 1) if block not in blocks)
            yield from (Hole(case, block, "not run yet") for block in missing)
