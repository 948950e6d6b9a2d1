# SPDX-License-Identifier: Apache-2.0
"""Items made from evidence by what the criteria ask of bounds; answers, limits, ratios and
efficiencies judged: each value by bounds of its own."""

import dataclasses
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from math import inf
from statistics import median
from typing import Any, NamedTuple

import numpy as np
from msgspec.structs import astuple, replace

from records import criteria as kinds
from records.flags import DISTURBED, UNPROVEN
from records.run.plan import PlannedCase
from records.site.pair_scans import Indices
from reports.answers import limit_text
from reports.judgement import Item, JudgedCriterion, LaunchKey, margin_of, verdict_of
from reports.notation.labels import CheckLabels, check_labels
from reports.notation.units import as_stated, count_text, significant
from reports.statistics import bounds
from reports.statistics.descriptive import Matrix
from reports.statistics.levels import MOST_MISSES, row_medians
from reports.verdicts.acceptance.values import CriterionEvidence, Rows, Values

#: Of more rows than these the open and the bad ones get an item, and the lowest of the others.
MOST_KEPT, LOWEST_KEPT = 3000, 50
#: Re-runs that must show a suspect before it fails.
CONFIRMATIONS = 2
#: Fresh launches that clear a suspect, when they alone keep to the limit.
CLEARING = 5
#: Why launches without evidence decide nothing, and what to do.
NOT_COUNTED = "unproven, which count only where the criteria say `unproven: accept`"
BUSY = "disturbed by other programs, more than 25 % of their cores; run on idle nodes"


class ShownItems(NamedTuple):
    """Items of a criterion; how many `further` ones pass, and how many a cause among the items has
    `explained`, that have none."""

    items: Sequence[Item]
    further: int = 0
    explained: int = 0


def shown(
    make: Callable[[int], Item],
    plain: bounds.Flags,
    centres: Matrix,
    limits: bounds.Limits = (None, None),
    cause: Indices | None = None,
) -> ShownItems:
    """Items of rows, made by their numbers. Of more than MOST_KEPT rows the `plain` ones, which
    pass or have a `cause` (its number; −1: none), get one where they are the LOWEST_KEPT by their
    margins to the limits; without limits the greatest centres."""
    left = np.zeros(len(plain), dtype=bool)
    if len(plain) > MOST_KEPT:
        (least, most), rows = limits, np.flatnonzero(plain)
        margins = [centres / least - 1] if least else []
        margins += [1 - centres / most] if most else []
        lowness = np.minimum.reduce(margins or [-centres])[rows]
        left[rows[np.argsort(lowness, kind="stable")[LOWEST_KEPT:]]] = True
    explained = 0 if cause is None else int(np.count_nonzero(left & (cause >= 0)))
    items = [make(row) for row in np.flatnonzero(~left).tolist()]
    return ShownItems(items, int(left.sum()) - explained, explained)


@dataclass(frozen=True)
class Context:
    """kinds.Criteria and evidence; all items and judged criteria are made here."""

    criteria: kinds.Criteria
    evidence: CriterionEvidence

    @cached_property
    def labels(self) -> dict[str, CheckLabels]:
        """Short names of the cases of each check."""
        return check_labels(self.evidence.planned)

    @cached_property
    def _launches(self) -> dict[str, list[LaunchKey]]:
        """The launches of each case."""
        launches: dict[str, list[LaunchKey]] = {}
        for key in self.evidence.launches:
            launches.setdefault(key[0], []).append(key)
        return launches

    def lacks_proof(self, key: LaunchKey) -> bool:
        """True where a launch does not count because it is unproven."""
        flags = self.evidence.launches[key].flags
        return self.criteria.unproven != "accept" and UNPROVEN in flags

    def metric_title(self, name: str) -> str:
        """Readable name of a metric."""
        return self.evidence.register.metric_title(name)

    def bounds_of(self, values: Sequence[float]) -> bounds.Bounds:
        """bounds.Bounds of the median as the criteria ask for them; of nothing, none."""
        level = self.level(len(values))
        return bounds.median_bounds(values or [0.0], level, self.criteria.least_launches)

    def level(self, n: int) -> float:
        """The level of bounds of n launches."""
        return bounds.level_of_look(self.criteria, self.evidence.fresh - 1, n)

    def point(self, values: Values, without: Sequence[str] = ()) -> str:
        """A value's case and point in words; "" where nothing tells them from others."""
        parts = self.labels[values.case.check].parts(values.case, without)
        parts += [f"{name} {value}" for name, value in values.at.items() if name not in without]
        return ", ".join(parts)

    def item(
        self,
        case: PlannedCase,
        metric: str,
        subject: str,
        interval: bounds.Bounds,
        limits: bounds.Limits = (None, None),
        *,
        counted: str = "launches",
        all_count: bool = False,
        **more: Any,
    ) -> Item:
        """An item judged by its bounds; `more` are further fields, which may replace the verdict
        and its note. `counted` is the noun of n; `all_count`: disturbed launches count too."""
        least = self.criteria.least_launches
        verdict, note = bounds.decide(interval, *limits, least, counted)
        if interval.n < least and not all_count:
            why = self._disturbed(self._launches.get(case.id, []))
            note += f"; {why}" if why else ""
        return Item(
            *astuple(interval),
            subject=subject,
            environment=case.environment,
            at_least=limits[0],
            at_most=limits[1],
            margin=margin_of(interval.centre, *limits),
            metric=metric,
            **{"verdict": verdict, "note": note, **more},
        )

    def value_item(
        self,
        values: Values,
        numbers: Sequence[float],
        limits: bounds.Limits,
        *,
        interval: bounds.Bounds | None = None,
        others: Sequence[Values] = (),
        **more: Any,
    ) -> Item:
        """A value judged by `numbers`, one a launch, that `others` may enter too."""
        launches = [(v.case.id, int(block)) for v in (values, *others) for block in v.blocks]
        return self.item(
            values.case,
            values.metric,
            self.point(values) or values.case.check,
            interval or self.bounds_of(numbers),
            limits,
            launches=tuple(dict.fromkeys(launches)),
            place=values.place,
            shares=tuple(numbers),
            **more,
        )

    def missing(
        self,
        criterion: kinds.Criterion,
        case: PlannedCase,
        subject: str,
        place: tuple[str, ...] = (),
    ) -> Item:
        """An item for what was planned to have a value and has none that counts."""
        launches = self._launches.get(case.id, [])
        doubtful = sum(map(self.lacks_proof, launches))
        note = f"planned, but no launch has its {self.metric_title(criterion.metric)}"
        note = self._disturbed(launches) or note
        return self.item(
            case,
            criterion.metric,
            subject,
            bounds.Bounds(0, 0.0, None, None, self.criteria.confidence, "none"),
            note=f"{doubtful} {NOT_COUNTED}" if doubtful else note,
            launches=tuple(launches),
            place=place,
            state="missing",
            about="missing",
            decidable=not doubtful,
        )

    def _disturbed(self, keys: Sequence[LaunchKey]) -> str:
        """That some of these launches were disturbed; "" where none was."""
        count = sum(DISTURBED in self.evidence.launches[key].flags for key in keys)
        return f"{count_text(count, 'launch')} {BUSY}" if count else ""

    def judged(
        self,
        criterion: kinds.Criterion,
        statement: str,
        parts: Iterable[ShownItems],
        needs: str = "",
        **more: Any,
    ) -> JudgedCriterion:
        """The criterion with its items and those of cases without a value, or why there is none;
        `needs` is what it would take, `more` are further fields."""
        every = [*parts, ShownItems(self._absent(criterion))]
        items = [item for part in every for item in part.items]
        note = "" if items else self.lacking(criterion, needs)
        more |= {
            "further": sum(part.further for part in every),
            "explained": sum(part.explained for part in every),
        }
        return judged(criterion, statement, items, note, **more)

    def _absent(self, criterion: kinds.Criterion) -> list[Item]:
        """Items for planned cases of a criterion that have no value of its metric at all.

        A case that reports other metrics is left out when none with the same parameters has a
        value of this one: it does not measure it.
        """
        chosen = self.evidence.cases_of(criterion)
        have = {case.id for case in chosen}
        params = [case.params for case in chosen]
        others = {values.case.id for values in self.evidence.values} - have
        items = []
        for case in self.evidence.planned if chosen else ():
            if (
                case.check != criterion.check
                or case.skipped is not None
                or case.id in have
                or criterion.environment not in (None, case.environment)
                or any(case.params.get(k, v) != v for k, v in criterion.where.items())
                or case.params.get("reply_before_wait")  # wrong on purpose: it is never judged
            ):
                continue
            if case.id not in others or case.params in params:
                subject = ", ".join(self.labels[case.check].parts(case)) or case.check
                items.append(self.missing(criterion, case, subject))
        return items

    def lacking(self, chosen: kinds.Selection, needs: str = "") -> str:
        """Why a selection has no value: no case, none that can run, no ok launch; and what it
        `needs`, unless idle nodes are all that it needs."""
        cases = [case for case in self.evidence.planned if case.check == chosen.check]
        if not cases:
            return f"the campaign has no case of check {chosen.check}{needs}"
        ran = [case for case in cases if case.skipped is None]
        if not ran:
            return f"every case of check {chosen.check} is skipped: {cases[0].skipped}{needs}"
        keys = [key for case in ran for key in self._launches.get(case.id, ())]
        if doubtful := sum(map(self.lacks_proof, keys)):
            return f"{doubtful} {NOT_COUNTED}{needs}"
        if disturbed := self._disturbed(keys):
            return disturbed
        counts = Counter(self.evidence.launches[key].status for key in keys)
        launches = ", ".join(f"{count} {status}" for status, count in sorted(counts.items()))
        return (
            f"no ok launch of {chosen.check} has {chosen.metric} as selected"
            f" ({count_text(len(cases), 'case')} planned, {len(cases) - len(ran)} of them skipped;"
            f" launches: {launches or 'none'}){needs}"
        )


def judged(
    criterion: kinds.Criterion, statement: str, items: Iterable[Item], note: str = "", **more: Any
) -> JudgedCriterion:
    """A criterion with its items; without any, `note` says why. `more` are further fields."""
    every = tuple(items)
    return JudgedCriterion(
        id=criterion.id,
        kind=criterion.kind,
        title=criterion.title,
        statement=statement,
        items=every,
        verdict=verdict_of(every),
        effective=verdict_of(every),
        note=note,
        **more,
    )


def settled(item: Item, again: Sequence[float], *, at_once: bool = False) -> Item:
    """A suspect with what its shares in re-runs, `again`, say of it: they confirm it, clear it by
    their median and by most of them, or leave it open.

    `at_once`: so much of the machine is concerned that it fails before it is confirmed.
    """
    if not again:
        note = "suspected: it fails when re-runs confirm it"
        if at_once:
            note = "suspected; it fails unless re-runs clear it"
        verdict = item.verdict if at_once else "SUSPECT"
        return replace(item, verdict=verdict, state="suspected", note=note)
    least = -inf if item.at_least is None else item.at_least
    most = inf if item.at_most is None else item.at_most
    beyond, every = sum(not least <= share <= most for share in again), len(again)
    if beyond >= CONFIRMATIONS and 2 * beyond > every:
        note = f"confirmed by {beyond} of {count_text(every, 're-run')}"
        return replace(item, verdict="FAIL", state="confirmed", note=note)
    if every >= CLEARING and least <= median(again) <= most and beyond <= MOST_MISSES * every:
        return replace(item, verdict="PASS", state="not confirmed", note="cleared by re-runs")
    note = f"not confirmed: {beyond} of {count_text(every, 're-run')} beyond the limit"
    return replace(item, verdict="INCONCLUSIVE", state="not confirmed", note=note)


#: A rate over the nominal one beyond which the nominal one is wrong: a turbo clock gives less.
MOST_OF_NOMINAL = 2.0


def _shown_rows(
    rows: Rows,
    limits: bounds.Limits,
    context: Context,
    make: Callable[[int], Item],
    *,
    most: float = np.inf,
) -> ShownItems:
    """Items of rows; above `most` no value is good."""
    least, matrix = context.criteria.least_launches, rows.matrix
    counts = np.isfinite(matrix).sum(axis=1)
    ends = np.full((2, len(matrix)), np.nan)
    for n in np.unique(counts[counts >= least]).tolist():
        alike = counts == n
        ends[:, alike] = bounds.row_bounds(matrix[alike], context.level(n), least)
    medians = row_medians(matrix)
    plain = bounds.decided(ends, limits)[0] & (medians <= most) & bool(rows.values(0).place)
    return shown(make, plain, medians, limits)


def judge_limit(criterion: kinds.LimitCriterion, context: Context) -> JudgedCriterion:
    """Every selected value against a limit in its own unit."""
    limits = criterion.at_least, criterion.at_most

    def item(rows: Rows, row: int) -> Item:
        values = rows.values(row)
        return context.value_item(values, values.values.tolist(), limits, unit=criterion.unit)

    parts = (
        _shown_rows(rows, limits, context, partial(item, rows))
        for rows in context.evidence.rows(criterion)
    )
    statement = f"{context.metric_title(criterion.metric)} {limit_text(*limits, criterion.unit)}"
    absolute = is_absolute(criterion, context)
    return context.judged(criterion, statement, parts, absolute=absolute)


def is_absolute(criterion: kinds.UnitCriterion, context: Context) -> bool:
    """True unless every machine keeps to the limit."""
    known = context.evidence.register.metrics.get(criterion.metric)
    bad = criterion.at_most if known and known.better == "lower" else criterion.at_least
    return bad is not None and bad > 0


def judge_ratio(
    criterion: kinds.RatioCriterion | kinds.EfficiencyCriterion, context: Context
) -> JudgedCriterion:
    """Every selected value over that of a reference in the same block: a value of the environment,
    or the peak of its ranks, that is their number × a rank's mean DGEMM rate over the nodes.

    A node's own rate does not depend on the message-passing library: it is that of the same
    environment, or of the only one that measured it.
    """
    evidence, title, reference = context.evidence, context.metric_title, criterion.reference
    assert reference is not None
    limits: bounds.Limits = (criterion.at_least, None)
    if isinstance(criterion, kinds.RatioCriterion):
        limits = (criterion.at_least, criterion.at_most)
        other = f"{title(reference.metric)} of {reference.check} {limit_text(*limits, '1')}"
        statement = f"{title(criterion.metric)} over {other}"
    else:
        statement = _efficiency(criterion, context, "measured DGEMM peak")
    parts = []
    for rows in evidence.rows(criterion):
        case = rows.values(0).case
        below = evidence.select(reference, case.environment)
        if isinstance(criterion, kinds.EfficiencyCriterion):
            below = below or evidence.select(reference)
            count = len({node.case.id for node in below})
        else:
            count = len(below)
        if count != 1:
            why = f": {context.lacking(reference)}" if not count else ""
            note = (
                f"the reference {reference.metric} of {reference.check} selects {count} values in"
                f" {case.environment}; it must select one{why}"
            )
            return judged(criterion, statement, (), note)
        denominators = below[0].by_block()
        if isinstance(criterion, kinds.EfficiencyCriterion):
            denominators = {block: case.ranks * r for block, r in _rank_rates(below).items()}
        parts.append(_ratios(rows, denominators, limits, context, others=below))
    return context.judged(criterion, statement, parts)


def judge_efficiency(criterion: kinds.EfficiencyCriterion, context: Context) -> JudgedCriterion:
    """A rate over a measured peak, or over the nominal one that the site states: the latter is an
    absolute limit."""
    if criterion.peak == "measured":
        return judge_ratio(criterion, context)
    evidence, limits = context.evidence, (criterion.at_least, None)
    statement = _efficiency(criterion, context, "nominal peak")
    parts = []
    for rows in evidence.rows(criterion):
        peak, stated = evidence.nominal_rate(rows.values(0))
        if peak is None:
            note = f"the site declares no {stated} in its site.yaml"
            return judged(criterion, statement, (), note, absolute=True, lacks_rate=True)
        peaks = dict.fromkeys(rows.blocks.tolist(), peak)
        parts.append(_ratios(rows, peaks, limits, context, stated=stated))
    return context.judged(criterion, statement, parts, absolute=True)


def _ratios(
    rows: Rows,
    denominators: Mapping[int, float],
    limits: bounds.Limits,
    context: Context,
    *,
    others: Sequence[Values] = (),
    stated: str = "",
) -> ShownItems:
    """Values judged by their ratios, one a block; `others` gave the denominators, or the key of
    site.yaml that is `stated` did."""
    below = np.array([denominators.get(block, 0.0) for block in rows.blocks.tolist()])
    matrix = rows.matrix / np.where(below > 0, below, np.nan)

    def item(row: int) -> Item:
        values = rows.values(row)
        ratios = matrix[row][np.isfinite(matrix[row])].tolist()
        unit = context.evidence.register.metrics[values.metric].unit
        measured = median(values.values.tolist() or [0.0])
        more = {"others": others, "measured": measured, "measured_unit": unit}
        judged_item = context.value_item(values, ratios, limits, **more)
        if not ratios:
            note = "no block has a value to compare with"
            return replace(judged_item, verdict="INCONCLUSIVE", note=note)
        if stated and judged_item.centre > MOST_OF_NOMINAL:
            wrong = f"the site declares a wrong {stated}"
            note = f"{significant(judged_item.centre)} times the nominal rate: {wrong}"
            return replace(judged_item, verdict="INCONCLUSIVE", note=note, decidable=False)
        return judged_item

    most = MOST_OF_NOMINAL if stated else np.inf
    return _shown_rows(dataclasses.replace(rows, matrix=matrix), limits, context, item, most=most)


def _efficiency(criterion: kinds.EfficiencyCriterion, context: Context, peak: str) -> str:
    title = context.metric_title(criterion.metric)
    return f"{title} of {criterion.check} over {peak} at least {as_stated(criterion.at_least)}"


def _rank_rates(nodes: Sequence[Values]) -> dict[int, float]:
    """The arithmetic mean over nodes of the rate of one rank, by block: times the ranks it is what
    all of them do at once."""
    case = nodes[0].case
    ranks_a_node = -(-case.ranks // max(case.nodes, 1))
    rates: dict[int, list[float]] = {}
    for node in nodes:
        for block, value in node.by_block().items():
            rates.setdefault(block, []).append(value / ranks_a_node)
    return {block: sum(row) / len(row) for block, row in rates.items()}


def judge_answers(context: Context) -> JudgedCriterion:
    """Every launch gave the right answer: one item for each check and environment of the run.

    Counts have no interval. FAIL: a wrong answer, or more launches without an answer than the
    criteria allow. INCONCLUSIVE: launches lost to the machine, not run yet, or unproven.
    """
    evidence = context.evidence
    cases: dict[tuple[str, str], list[PlannedCase]] = {}
    for case in evidence.planned:
        cases.setdefault((case.check, case.environment), []).append(case)
    group_of = {case.id: group for group, members in cases.items() for case in members}
    by_status: dict[tuple[str, str], dict[str, list[LaunchKey]]] = {}
    for key, launch in evidence.launches.items():
        group = group_of.get(key[0])
        if group is not None and launch.status != "skipped":
            by_status.setdefault(group, {}).setdefault(launch.status, []).append(key)
    items = [_answers(cases[at], by_status[at], context) for at in cases if at in by_status]
    allowed = context.criteria.failed_launches_at_most
    without = f"at most {count_text(allowed, 'launch')} of a check without an answer"
    return JudgedCriterion(
        id="answers",
        kind="answers",
        title="Every launch ran to its end with the right answer",
        statement=f"no wrong answer, {without if allowed else 'and no launch without an answer'}",
        items=tuple(items),
        verdict=verdict_of(items),
        effective=verdict_of(items),
        note="" if items else "no launch has been recorded",
    )


def _answers(
    cases: Sequence[PlannedCase], by_status: Mapping[str, Sequence[LaunchKey]], context: Context
) -> Item:
    """The launches of one check in one environment."""
    missing = sum(
        (case.id, block) not in context.evidence.launches
        for case in cases
        if case.skipped is None and not case.params.get("reply_before_wait")
        for block in range(1, context.evidence.fresh)
    )
    counts = Counter({status: len(keys) for status, keys in by_status.items()})
    doubtful = [key for key in by_status.get("ok", ()) if context.lacks_proof(key)]
    is_open = counts["lost"] or missing or doubtful
    verdict: bounds.Verdict = "INCONCLUSIVE" if is_open else "PASS"
    if counts["failed"] > context.criteria.failed_launches_at_most or counts["wrong"]:
        verdict = "FAIL"
    notes = [f"{count} {status}" for status, count in counts.items() if status != "ok"]
    notes += [f"{missing} not run"] if missing else []
    notes += [f"{len(doubtful)} {NOT_COUNTED}"] if doubtful else []
    bad = [key for status, keys in by_status.items() if status != "ok" for key in keys] + doubtful
    total = counts.total()
    return context.item(
        cases[0],
        "answers",
        cases[0].check,
        bounds.Bounds(total, counts["ok"] / total, None, None, 1.0, "count"),
        verdict=verdict,
        note=", ".join(notes) or f"all {total} ok",
        launches=tuple(bad or by_status["ok"]),
    )
