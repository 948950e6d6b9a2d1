# SPDX-License-Identifier: Apache-2.0
"""Limits, ratios and efficiencies judged: a criterion and the evidence in, a judged one out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import median
from typing import Any

import numpy as np
from msgspec.structs import astuple, replace

from records.criteria import (
    Criteria,
    Criterion,
    EfficiencyCriterion,
    LimitCriterion,
    MixCriterion,
    RatioCriterion,
    Selection,
    UnitCriterion,
)
from records.flags import DISTURBED, UNPROVEN
from records.run.plan import PlannedCase
from records.site.pair_scans import NODE, PEER
from reports.headline import limit_text
from reports.judgement import Item, JudgedCriterion, LaunchKey, margin_of, verdict_of
from reports.notation.labels import CheckLabels, check_labels
from reports.notation.units import as_stated, count_text, significant
from reports.statistics.bounds import (
    Bounds,
    Limits,
    decide,
    level_of_look,
    median_bounds,
    rows_by_medians,
)
from reports.verdicts.acceptance.values import CriterionEvidence, Values

#: A rate over the nominal one beyond which the nominal one is wrong: a turbo clock gives less.
MOST_OF_NOMINAL = 2.0
#: Why launches without evidence decide nothing, and what to do.
NOT_COUNTED = "unproven, which count only where the criteria say `unproven: accept`"
BUSY = "disturbed by other programs, more than 25 % of their cores; run on idle nodes"


@dataclass(frozen=True)
class Context:
    """Criteria and evidence; all items and judged criteria are made here."""

    criteria: Criteria
    evidence: CriterionEvidence

    @cached_property
    def labels(self) -> dict[str, CheckLabels]:
        """Short names of the cases of each check."""
        return check_labels(self.evidence.planned)

    @cached_property
    def _launches(self) -> dict[str, list[LaunchKey]]:
        """The launches of each case."""
        found: dict[str, list[LaunchKey]] = {}
        for key in self.evidence.launches:
            found.setdefault(key[0], []).append(key)
        return found

    def lacks_proof(self, key: LaunchKey) -> bool:
        """Whether a launch does not count because it is unproven."""
        flags = self.evidence.launches[key].flags
        return self.criteria.unproven != "accept" and UNPROVEN in flags

    def metric_title(self, name: str) -> str:
        """Readable name of a metric."""
        return self.evidence.register.metric_title(name)

    def bounds(self, values: Sequence[float]) -> Bounds:
        """Bounds of the median as the criteria ask for them; of nothing, none."""
        level = self.level(len(values))
        return median_bounds(values or [0.0], level, self.criteria.least_launches)

    def level(self, n: int) -> float:
        """The level of bounds of n launches."""
        return level_of_look(self.criteria, self.evidence.fresh - 1, n)

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
        bounds: Bounds,
        limits: Limits = (None, None),
        *,
        counted: str = "launches",
        all_count: bool = False,
        **more: Any,
    ) -> Item:
        """An item judged by its bounds; `more` are further fields, which may replace the verdict
        and its note. `counted` is the noun of n; `all_count`: disturbed launches count too."""
        least = self.criteria.least_launches
        verdict, note = decide(bounds, *limits, least, counted)
        if bounds.n < least and not all_count:
            why = self._disturbed(self._launches.get(case.id, []))
            note += f"; {why}" if why else ""
        return Item(
            *astuple(bounds),
            subject=subject,
            environment=case.environment,
            at_least=limits[0],
            at_most=limits[1],
            margin=margin_of(bounds.centre, *limits),
            metric=metric,
            **{"verdict": verdict, "note": note, **more},
        )

    def value_item(
        self,
        values: Values,
        numbers: Sequence[float],
        limits: Limits,
        *,
        bounds: Bounds | None = None,
        others: Sequence[Values] = (),
        **more: Any,
    ) -> Item:
        """A value judged by `numbers`, one a launch, that `others` may enter too."""
        launches = [(v.case.id, int(block)) for v in (values, *others) for block in v.blocks]
        return self.item(
            values.case,
            values.metric,
            self.point(values) or values.case.check,
            bounds or self.bounds(numbers),
            limits,
            launches=tuple(dict.fromkeys(launches)),
            place=values.place,
            shares=tuple(numbers),
            **more,
        )

    def ratio_item(
        self,
        values: Values,
        denominators: Mapping[int, float],
        limits: Limits,
        others: Sequence[Values] = (),
    ) -> Item:
        """A value judged by its ratios, one a block; `others` gave the denominators."""
        by_block = values.by_block()
        ratios = [
            value / denominators[block]
            for block, value in by_block.items()
            if denominators.get(block, 0.0) > 0
        ]
        item = self.value_item(
            values,
            ratios,
            limits,
            others=others,
            measured=median([*by_block.values()] or [0.0]),
            measured_unit=self.evidence.register.metrics[values.metric].unit,
        )
        if ratios:
            return item
        return replace(item, verdict="INCONCLUSIVE", note="no block has a value to compare with")

    def missing(
        self, criterion: Criterion, case: PlannedCase, subject: str, place: tuple[str, ...] = ()
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
            Bounds(0, 0.0, None, None, self.criteria.confidence, "none"),
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
        criterion: Criterion,
        statement: str,
        items: Iterable[Item],
        needs: str = "",
        **more: Any,
    ) -> JudgedCriterion:
        """The criterion with its items and those of cases without a value, or why there is none;
        `needs` is what it would take, `more` are further fields."""
        found = [*items, *self._absent(criterion)]
        note = "" if found else self.lacking(criterion, needs)
        return judged(criterion, statement, found, note, **more)

    def _absent(self, criterion: Criterion) -> list[Item]:
        """Items for planned cases of a criterion that have no value of its metric at all.

        A case that reports other metrics is left out when none with the same parameters has a
        value of this one: it does not measure it.
        """
        chosen = self.evidence.cases_of(criterion)
        have = {case.id for case in chosen}
        params = [case.params for case in chosen]
        others = {values.case.id for values in self.evidence.values} - have
        found = []
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
                found.append(self.missing(criterion, case, subject))
        return found

    def lacking(self, chosen: Selection, needs: str = "") -> str:
        """Why a selection has no value: no case, none that can run, no ok launch; and what it
        `needs`, unless idle nodes are all that it needs."""
        cases = [case for case in self.evidence.planned if case.check == chosen.check]
        if not cases:
            return f"the campaign has no case of check {chosen.check}{needs}"
        skipped = [case.skipped for case in cases if case.skipped is not None]
        if len(skipped) == len(cases):
            return f"every case of check {chosen.check} is skipped: {skipped[0]}{needs}"
        found = [
            key for case in cases if case.skipped is None for key in self._launches.get(case.id, ())
        ]
        if doubtful := sum(map(self.lacks_proof, found)):
            return f"{doubtful} {NOT_COUNTED}{needs}"
        if disturbed := self._disturbed(found):
            return disturbed
        counts = Counter(self.evidence.launches[key].status for key in found)
        launches = ", ".join(f"{count} {status}" for status, count in sorted(counts.items()))
        return (
            f"no ok launch of {chosen.check} has {chosen.metric} as selected"
            f" ({count_text(len(cases), 'case')} planned, {len(skipped)} of them skipped; launches:"
            f" {launches or 'none'}){needs}"
        )


def judged(
    criterion: Criterion, statement: str, items: Iterable[Item], note: str = "", **more: Any
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


def judge_limit(criterion: LimitCriterion, context: Context) -> JudgedCriterion:
    """Every selected value against a limit in its own unit."""
    limits = criterion.at_least, criterion.at_most
    chosen, further = _chosen(criterion, context, limits)
    items = (
        context.value_item(values, values.values.tolist(), limits, unit=criterion.unit)
        for values in chosen
    )
    statement = f"{context.metric_title(criterion.metric)} {limit_text(*limits, criterion.unit)}"
    absolute = _is_absolute(criterion, context)
    return context.judged(criterion, statement, items, further=further, absolute=absolute)


def judge_mix(criterion: MixCriterion, context: Context) -> JudgedCriterion:
    """What each whole mix came to, a value a mix, against a limit: the throughput of all jobs, or
    the mean rate of those of a check."""
    evidence, limits = context.evidence, (criterion.at_least, criterion.at_most)
    what = "throughput of a mix, work a node and second,"
    if criterion.check:
        what = f"{context.metric_title(criterion.metric)}, mean over the jobs of a mix,"
    statement, size = f"{what} {limit_text(*limits, criterion.unit)}", evidence.mix_blocks
    if not (size and evidence.throughputs):
        note = "no mix of the run is whole" if size else "the jobs were not handed in at once"
        return judged(criterion, statement, (), note)
    criteria, items = context.criteria.by_mix(size), list[Item]()
    for subject, case, mixes, launches in _by_mix(criterion, context):
        level = level_of_look(criteria, (evidence.fresh - 1) // size, len(mixes))
        numbers = [*mixes.values()]
        bounds = median_bounds(numbers or [0.0], level, criteria.least_launches)
        item = context.item(
            case,
            criterion.metric,
            subject,
            bounds,
            limits,
            counted="mixes",
            all_count=True,
            unit=criterion.unit,
            launches=launches,
            shares=tuple(numbers),
        )
        items.append(item)
    return context.judged(criterion, statement, items, absolute=_is_absolute(criterion, context))


def _by_mix(
    criterion: MixCriterion, context: Context
) -> Iterator[tuple[str, PlannedCase, Mapping[int, float], tuple[LaunchKey, ...]]]:
    """What each mix came to, by its first block: of all jobs, or of each kind of a check, on
    whichever nodes its jobs were; its name, case and launches."""
    evidence = context.evidence
    if not criterion.check:
        yield "all jobs", evidence.planned[0], evidence.throughputs, tuple(evidence.launches)
        return
    kinds: dict[tuple[str, str], list[Values]] = {}
    for values in evidence.selected(criterion):
        point = context.point(values, (NODE, PEER)) or criterion.check
        kinds.setdefault((values.case.id, point), []).append(values)
    for (case_id, name), jobs in kinds.items():
        launches = tuple(key for key in evidence.launches if key[0] == case_id)
        yield name, jobs[0].case, evidence.mixes_of(jobs), launches


def _is_absolute(criterion: UnitCriterion, context: Context) -> bool:
    """Whether not every machine keeps to the limit."""
    known = context.evidence.register.metrics.get(criterion.metric)
    bad = criterion.at_most if known and known.better == "lower" else criterion.at_least
    return bad is not None and bad > 0


def judge_ratio(
    criterion: RatioCriterion | EfficiencyCriterion, context: Context
) -> JudgedCriterion:
    """Every selected value over that of a reference in the same block: a value of the environment,
    or the peak of its ranks, that is their number × a rank's mean DGEMM rate over the nodes.

    A node's own rate does not depend on the message-passing library: it is that of the same
    environment, or of the only one that measured it.
    """
    evidence, title, reference = context.evidence, context.metric_title, criterion.reference
    assert reference is not None
    limits: Limits = (criterion.at_least, None)
    if isinstance(criterion, RatioCriterion):
        limits = (criterion.at_least, criterion.at_most)
        other = f"{title(reference.metric)} of {reference.check} {limit_text(*limits, '1')}"
        statement = f"{title(criterion.metric)} over {other}"
    else:
        statement = _efficiency(criterion, context, "measured DGEMM peak")
    items = []
    for values in evidence.selected(criterion):
        found = evidence.select(reference, values.case.environment)
        if isinstance(criterion, EfficiencyCriterion):
            found = found or evidence.select(reference)
            count = len({node.case.id for node in found})
        else:
            count = len(found)
        if count != 1:
            why = f": {context.lacking(reference)}" if not count else ""
            note = (
                f"the reference {reference.metric} of {reference.check} selects {count} values in"
                f" {values.case.environment}; it must select one{why}"
            )
            return judged(criterion, statement, (), note)
        below = found[0].by_block()
        if isinstance(criterion, EfficiencyCriterion):
            below = {block: values.case.ranks * rate for block, rate in _rank_rates(found).items()}
        items.append(context.ratio_item(values, below, limits, found))
    return context.judged(criterion, statement, items)


def judge_efficiency(criterion: EfficiencyCriterion, context: Context) -> JudgedCriterion:
    """A rate over a measured peak, or over the nominal one that the site states: the latter is an
    absolute limit."""
    if criterion.peak == "measured":
        return judge_ratio(criterion, context)
    evidence, limits = context.evidence, (criterion.at_least, None)
    chosen, further = _chosen(criterion, context, limits)
    statement = _efficiency(criterion, context, "nominal peak")
    items = []
    for values in chosen:
        peak, stated = evidence.nominal_rate(values)
        if peak is None:
            note = f"the site declares no {stated} in its site.yaml"
            return judged(criterion, statement, (), note, absolute=True, lacks_rate=True)
        item = context.ratio_item(values, dict.fromkeys(values.by_block(), peak), limits)
        if item.centre > MOST_OF_NOMINAL:
            wrong = f"the site declares a wrong {stated}"
            note = f"{significant(item.centre)} times the nominal rate: {wrong}"
            item = replace(item, verdict="INCONCLUSIVE", note=note, decidable=False)
        items.append(item)
    return context.judged(criterion, statement, items, further=further, absolute=True)


def _efficiency(criterion: EfficiencyCriterion, context: Context, peak: str) -> str:
    title = context.metric_title(criterion.metric)
    return f"{title} of {criterion.check} over {peak} at least {as_stated(criterion.at_least)}"


def _chosen(
    criterion: LimitCriterion | EfficiencyCriterion, context: Context, limits: Limits
) -> tuple[list[Values], int]:
    """The values that get an item, and how many more there are: of very many pairs of a scan those
    that plainly pass are counted. Limits of an efficiency are shares of the nominal rate."""
    evidence, criteria = context.evidence, context.criteria
    chosen: list[Values] = []
    further = 0
    for environment in evidence.environments_of(criterion):
        chosen += evidence.inside(criterion, environment)
        for scan in evidence.scans_of(criterion, environment):
            values = scan.columns.values.astype(np.float64)
            level = context.level(values.shape[1])
            if isinstance(criterion, EfficiencyCriterion):
                values /= evidence.nominal_rate(scan.row(0))[0] or 1.0
            rows = rows_by_medians(values, limits, level, criteria.least_launches)
            chosen += map(scan.row, rows.tolist())
            further += len(values) - len(rows)
    return chosen, further


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
