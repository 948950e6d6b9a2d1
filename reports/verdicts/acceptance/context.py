# SPDX-License-Identifier: Apache-2.0
"""Items and judged criteria: made from evidence, by what the criteria ask of bounds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import inf
from statistics import median
from typing import Any, NamedTuple

import numpy as np
from msgspec.structs import astuple, replace

from records.criteria import Criteria, Criterion, Selection
from records.flags import DISTURBED, UNPROVEN
from records.run.plan import PlannedCase
from records.site.pair_scans import Indices
from reports.judgement import Item, JudgedCriterion, LaunchKey, margin_of, verdict_of
from reports.notation.labels import CheckLabels, check_labels
from reports.notation.units import count_text
from reports.statistics.bounds import (
    Bounds,
    Flags,
    Limits,
    decide,
    level_of_look,
    median_bounds,
)
from reports.statistics.descriptive import Matrix
from reports.statistics.levels import MOST_MISSES
from reports.verdicts.acceptance.values import CriterionEvidence, Values

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
    plain: Flags,
    centres: Matrix,
    limits: Limits = (None, None),
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

    def _absent(self, criterion: Criterion) -> list[Item]:
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

    def lacking(self, chosen: Selection, needs: str = "") -> str:
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
