# SPDX-License-Identifier: Apache-2.0
"""What must hold between the parts of a campaign, beyond the form of each."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from assay.schema.combinations import axis_settings, probes
from assay.schema.document import Location, Problem
from assay.schema.messages import did_you_mean, found, listed, model_problems
from assay.schema.model import Campaign, CaseEntry, Criterion
from checks.common.registry import CHECKS, REGISTER

Part = TypeVar("Part", bound=BaseModel)


def campaign_problems(value: object) -> Iterator[Problem]:
    """Everything that is wrong with a campaign file's value, each place once.

    Parts are judged even when others are malformed, so that one run shows all faults.
    """
    try:
        Campaign.model_validate(value)
    except ValidationError as error:
        yield from model_problems(error, Campaign, value)
    if not isinstance(value, dict):
        return
    yield from _repeated(value.get("environments"), ("environments",))
    yield from _idle_variants(value.get("variants"), value.get("environments"))
    entries = list(_valid_parts(value, "cases", CaseEntry))
    for place, entry in entries:
        yield from _environment_problems(entry, place, value.get("environments"))
        yield from parameter_problems(entry, place)
    used = set(_checks_named(value.get("cases")))
    for place, criterion in _valid_parts(value, "criteria", Criterion):
        yield from _criterion_problems(criterion, place, used, value.get("environments"))
    yield from _weight_problems(value.get("weights"), used)


def _valid_parts(
    value: dict[str, Any], key: str, model: type[Part]
) -> Iterator[tuple[Location, Part]]:
    parts = value.get(key)
    for index, part in enumerate(parts if isinstance(parts, list) else ()):
        try:
            yield (key, index), model.model_validate(part)
        except ValidationError:
            continue


def _checks_named(entries: object) -> Iterator[str]:
    """Known checks that the entries of `cases` name, right or wrong as these may be."""
    for entry in entries if isinstance(entries, list) else ():
        check = entry.get("check") if isinstance(entry, dict) else None
        if isinstance(check, str) and check in CHECKS:
            yield check


def _repeated(values: object, place: Location) -> Iterator[Problem]:
    """A problem for each value of a list that stands in it before."""
    seen: dict[Hashable, int] = {}
    for index, value in enumerate(values if isinstance(values, list) else ()):
        mark = repr(value)
        if mark in seen:
            yield Problem(
                (*place, index),
                f"{found(value)} is listed twice, first at [{seen[mark]}]; keep one",
            )
        seen.setdefault(mark, index)


def _one_of(value: str, allowed: Iterable[str], place: Location) -> Iterator[Problem]:
    """A problem when a word is none of those allowed; none are when their own list is wrong."""
    allowed = sorted(set(allowed))
    if allowed and value not in allowed:
        hint = did_you_mean(value, allowed)
        yield Problem(place, f"found {found(value)}{hint}; allowed is {listed(allowed)}")


def _idle_variants(variants: object, environments: object) -> Iterator[Problem]:
    """A problem for each variant that is not among the campaign's environments."""
    if isinstance(variants, dict) and isinstance(environments, list):
        for name in variants:
            if name not in environments:
                yield Problem(
                    ("variants", name), "is not listed in environments; list it there, or leave out"
                )


def _environment_problems(entry: CaseEntry, place: Location, all_: object) -> Iterator[Problem]:
    here = (*place, "environments")
    yield from _repeated(entry.environments, here)
    if isinstance(all_, list):
        for index, name in enumerate(entry.environments or ()):
            yield from _one_of(name, (e for e in all_ if isinstance(e, str)), (*here, index))


def parameter_problems(entry: CaseEntry, place: Location) -> Iterator[Problem]:
    """What is wrong with the parameters of an entry of `cases`, found without expanding it."""
    if entry.check not in CHECKS:
        yield from _one_of(entry.check, CHECKS, (*place, "check"))
        return
    twice = list(_set_twice(entry, place))
    yield from twice
    for axis, values in entry.matrix.items():
        yield from _repeated(values, (*place, "matrix", axis))
    if not twice:
        yield from _probe_problems(entry, place)


def _set_twice(entry: CaseEntry, place: Location) -> Iterator[Problem]:
    """Parameters that two axes, or an axis and `fixed`, both set."""
    owners = dict.fromkeys(entry.fixed, "fixed")
    for axis, values in entry.matrix.items():
        names = {name for value in values for name in axis_settings(entry.check, axis, value)}
        for name in sorted(names & owners.keys()):
            yield Problem(
                (*place, "matrix", axis), f"sets {name}, which {owners[name]} sets too; keep one"
            )
        owners |= dict.fromkeys(names, f"matrix.{axis}")


def _probe_problems(entry: CaseEntry, place: Location) -> Iterator[Problem]:
    model = CHECKS[entry.check].parameters
    seen: set[tuple[Location, str]] = set()
    for placed in probes(entry):
        params = {name: value for name, (value, _) in placed.items()}
        try:
            model.model_validate(params)
        except ValidationError as error:
            for problem in model_problems(error, model, params):
                moved = _moved(problem, {name: where for name, (_, where) in placed.items()}, place)
                if (moved.location, moved.message) not in seen:
                    seen.add((moved.location, moved.message))
                    yield moved


def _moved(problem: Problem, places: dict[str, Location], entry: Location) -> Problem:
    """A problem of the merged parameters, moved to where the file gives the parameter."""
    if not problem.location:
        return Problem(entry, problem.message)
    name, *rest = problem.location
    if name not in places:
        return Problem(entry, f"the parameter {name} {problem.message}")
    return Problem((*entry, *places[str(name)], *rest), problem.message)


def _criterion_problems(
    criterion: Criterion, place: Location, used: set[str], environments: object
) -> Iterator[Problem]:
    if criterion.environment is not None and isinstance(environments, list):
        names = [e for e in environments if isinstance(e, str)]
        yield from _one_of(criterion.environment, names, (*place, "environment"))
    if criterion.check in used:
        yield from _metric_problems(criterion, place)
    else:
        yield from _one_of(criterion.check, used, (*place, "check"))
    yield from _limit_problems(criterion, place)


def _metric_problems(criterion: Criterion, place: Location) -> Iterator[Problem]:
    definition = CHECKS[criterion.check]
    selectable = [*definition.points, *definition.parameters.model_fields]
    for key in criterion.where:
        yield from _one_of(key, selectable, (*place, "where", key))
    if criterion.metric in definition.metric_names:
        unit = REGISTER.metrics[criterion.metric].unit
        yield from _one_of(criterion.unit, [unit], (*place, "unit"))
    else:
        yield from _one_of(criterion.metric, definition.metric_names, (*place, "metric"))


def _limit_problems(criterion: Criterion, place: Location) -> Iterator[Problem]:
    least, most = criterion.at_least, criterion.at_most
    if least is None and most is None:
        yield Problem(place, "has neither at_least nor at_most; give one, or both")
    if least is not None and most is not None and least > most:
        yield Problem(place, f"at_least = {least:g} is greater than at_most = {most:g}")


def _weight_problems(weights: object, used: set[str]) -> Iterator[Problem]:
    if isinstance(weights, dict):
        for name in weights:
            yield from _one_of(name, used, ("weights", name))
