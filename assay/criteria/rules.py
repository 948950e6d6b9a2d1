# SPDX-License-Identifier: Apache-2.0
"""What must hold between the parts of a criteria file, beyond the form of each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from pydantic import ValidationError

from assay.schema.document import Location, Problem
from assay.schema.messages import did_you_mean, found, listed, model_problems
from checks.common.registry import CHECKS, REGISTER
from records.criteria import (
    KINDS,
    Criteria,
    Criterion,
    EfficiencyCriterion,
    LimitCriterion,
    LinksCriterion,
    RatioCriterion,
    Selection,
    Waiver,
)

#: Criteria that every acceptance has without asking; a waiver may name them.
IMPLIED = ("answers",)


def criteria_problems(value: object) -> Iterator[Problem]:
    """Everything that is wrong with a criteria file's value, each place once."""
    try:
        Criteria.model_validate(value)
    except ValidationError as error:
        yield from model_problems(error, Criteria, value)
    if not isinstance(value, dict):
        return
    yield from _kind_problems(value.get("criteria"))
    seen: set[str] = set(IMPLIED)
    for place, criterion in _criteria(value.get("criteria")):
        if criterion.id in seen:
            yield Problem((*place, "id"), f"the id {criterion.id} is taken; give another")
        seen.add(criterion.id)
        yield from _selection_problems(criterion, place)
        yield from _limit_problems(criterion, place)
    yield from _waiver_problems(value.get("waivers"), seen)


def _kind_problems(entries: object) -> Iterator[Problem]:
    for index, entry in enumerate(entries if isinstance(entries, list) else ()):
        if not isinstance(entry, dict):
            continue
        place = ("criteria", index, "kind")
        if isinstance(entry.get("kind"), str):
            yield from _one_of(str(entry["kind"]), KINDS, place)


def _criteria(entries: object) -> Iterator[tuple[Location, Criterion]]:
    for index, entry in enumerate(entries if isinstance(entries, list) else ()):
        kind = entry.get("kind") if isinstance(entry, dict) else None
        model = KINDS.get(kind) if isinstance(kind, str) else None
        if model is None:
            continue
        try:
            yield ("criteria", index), model.model_validate(entry)
        except ValidationError:
            continue


def _one_of(value: str, allowed: Iterable[str], place: Location) -> Iterator[Problem]:
    allowed = sorted(set(allowed))
    if value not in allowed:
        hint = did_you_mean(value, allowed)
        yield Problem(place, f"found {found(value)}{hint}; allowed is {listed(allowed)}")


def _selection_problems(chosen: Selection, place: Location) -> Iterator[Problem]:
    reference = getattr(chosen, "reference", None)
    if isinstance(reference, Selection):
        yield from _selection_problems(reference, (*place, "reference"))
    definition = CHECKS.get(chosen.check)
    if definition is None:
        yield from _one_of(chosen.check, CHECKS, (*place, "check"))
        return
    yield from _one_of(chosen.metric, definition.metric_names, (*place, "metric"))
    selectable = [*definition.points, *definition.parameters.model_fields]
    for name in chosen.where:
        yield from _one_of(name, selectable, (*place, "where", name))


def _limit_problems(criterion: Any, place: Location) -> Iterator[Problem]:
    if isinstance(criterion, EfficiencyCriterion):
        yield from _efficiency_problems(criterion, place)
    if not isinstance(criterion, LimitCriterion | RatioCriterion | LinksCriterion):
        return
    least, most = criterion.at_least, criterion.at_most
    if least is None and most is None:
        yield Problem(place, "has neither at_least nor at_most; give one, or both")
    if isinstance(criterion, LinksCriterion):
        yield from _direction_problems(criterion, place)
    elif least is not None and most is not None and least > most:
        yield Problem(place, f"at_least = {least:g} is greater than at_most = {most:g}")
    if isinstance(criterion, LimitCriterion) and criterion.metric in REGISTER.metrics:
        yield from _one_of(
            criterion.unit, [REGISTER.metrics[criterion.metric].unit], (*place, "unit")
        )


def _direction_problems(criterion: LinksCriterion, place: Location) -> Iterator[Problem]:
    metric = REGISTER.metrics.get(criterion.metric)
    if metric is None:
        return
    wrong = "at_most" if metric.better == "higher" else "at_least"
    right = "at_least" if metric.better == "higher" else "at_most"
    if getattr(criterion, wrong) is not None:
        yield Problem(
            (*place, wrong),
            f"limits {criterion.metric} in its good direction ({metric.better} is better); allowed"
            f" is {right}",
        )


def _efficiency_problems(criterion: EfficiencyCriterion, place: Location) -> Iterator[Problem]:
    if criterion.peak == "measured" and criterion.reference is None:
        yield Problem(place, "has peak: measured but no reference; give the per-node rate")
    if criterion.peak == "nominal" and criterion.reference is not None:
        yield Problem((*place, "reference"), "is not used with peak: nominal; remove it")


def _waiver_problems(waivers: object, known: set[str]) -> Iterator[Problem]:
    for index, entry in enumerate(waivers if isinstance(waivers, list) else ()):
        try:
            waiver = Waiver.model_validate(entry)
        except ValidationError:
            continue
        yield from _one_of(waiver.criterion, known, ("waivers", index, "criterion"))
