# SPDX-License-Identifier: Apache-2.0
"""Rules that must hold between the parts of a campaign, and the combinations of parameters that an
entry of `cases` stands for."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from assay import criteria_files
from assay.schema.document import Location, Problem
from assay.schema.model import AnyEntry, Campaign, CaseGroup, CommandEntry, ReframeEntry
from assay.schema.problems import found, model_problems, one_of
from checks.common.definition import CheckDefinition
from checks.common.registry import CHECKS, Checks
from checks.common.sizing import SizingKeys, is_relative, probed
from records.errors import AssayError

MAX_CASES = 1_000_000

_NO_CRITERIA = (
    "a campaign holds no criteria; write them into a file like those in campaigns/criteria/ and"
    " judge the run by it: assay accept RUN --criteria FILE"
)


def campaign_problems(
    value: dict[str, Any], folder: Path, checks: dict[str, CheckDefinition[Any]]
) -> Iterator[Problem]:
    """Faults of a campaign file's value; `folder` is the one of its files. `checks` are those that
    it may name; those that it brings are added.

    Rules between the parts are asked once each part has its form.
    """
    try:
        campaign = Campaign.model_validate(value)
    except ValidationError as error:
        for problem in model_problems(error, Campaign, value):
            criteria = problem.location == ("criteria",)
            yield Problem(problem.location, _NO_CRITERIA) if criteria else problem
        return
    yield from _environment_problems(campaign)
    used: set[str] = set()
    for index, entry in enumerate(campaign.cases):
        place = ("cases", index)
        known = used | (CHECKS.keys() if isinstance(entry, ReframeEntry) else set())
        if isinstance(entry, CommandEntry | ReframeEntry) and entry.check in known:
            yield Problem((*place, "name"), f"the name {entry.check} is taken; give another")
        else:
            yield from _entry_problems(entry, place, campaign, folder, checks)
        used.add(entry.check)
    for name in campaign.weights:
        yield from one_of(name, used, ("weights", name))
    for kind, name in campaign.judged_by.items():
        yield from one_of(name, criteria_files(), ("judged_by", kind))


def _environment_problems(campaign: Campaign) -> Iterator[Problem]:
    named, others = campaign.environments, campaign.otherwise
    yield from _repeated(named, ("environments",))
    yield from _repeated(others, ("otherwise",))
    for index, name in enumerate(others):
        if name in named:
            text = f"{found(name)} is listed in environments too; keep it in one of them"
            yield Problem(("otherwise", index), text)
    for name in campaign.variants:
        if name not in (*named, *others):
            text = "is not listed in environments; list it there, or remove it"
            yield Problem(("variants", name), text)


def _entry_problems(
    entry: AnyEntry,
    place: Location,
    campaign: Campaign,
    folder: Path,
    checks: dict[str, CheckDefinition[Any]],
) -> Iterator[Problem]:
    """Faults of an entry of `cases`."""
    if isinstance(entry, CommandEntry):
        from assay.schema.command import bring_command  # optional: expressions and their readers

        problems = list(bring_command(entry, folder, place, checks))
        yield from problems
        if problems:
            return
    names = [*campaign.environments, *campaign.otherwise]
    yield from _repeated(entry.environments or (), (*place, "environments"))
    for number, name in enumerate(entry.environments or ()):
        yield from one_of(name, names, (*place, "environments", number))
    if isinstance(entry, ReframeEntry):
        for name in ("matrix", "fixed", "small"):
            if getattr(entry, name):
                text = "is not for ReFrame tests; use reframe.params and vars"
                yield Problem((*place, name), text)
        return
    yield from _parameter_problems(entry.at("paper"), checks, place)
    if entry.small is not None:
        yield from _parameter_problems(entry.at("small"), checks, (*place, "small"))


def _repeated(values: Sequence[object], place: Location) -> Iterator[Problem]:
    """A problem for each value of a list that comes in it before."""
    first: dict[str, int] = {}
    for index, value in enumerate(values):
        earlier = first.setdefault(repr(value), index)
        if earlier != index:
            text = f"{found(value)} is listed twice, first at [{earlier}]; keep one"
            yield Problem((*place, index), text)


def _parameter_problems(entry: CaseGroup, checks: Checks, place: Location) -> Iterator[Problem]:
    """Faults of the parameters of an entry of `cases`, found without expanding it."""
    if (check := checks.get(entry.check)) is None:
        yield from one_of(entry.check, checks, (*place, "check"))
        return
    owners = dict.fromkeys(entry.fixed, "fixed")
    twice = False
    for axis, values in entry.matrix.items():
        here = (*place, "matrix", axis)
        yield from _repeated(values, here)
        names = {name for value in values for name in _axis_settings(check, axis, value)}
        for name in sorted(names & owners.keys()):
            twice = True
            yield Problem(here, f"sets {name}, which {owners[name]} sets too; keep one")
        owners |= dict.fromkeys(names, f"matrix.{axis}")
    if not twice:
        yield from _probe_problems(entry, check, place)


def _probe_problems(
    entry: CaseGroup, check: CheckDefinition[Any], place: Location
) -> Iterator[Problem]:
    """Faults that the check's model finds, each once, where the file gives the parameter."""
    problems = dict[Problem, None]()
    for params, places in _probes(entry, check, place):
        for problem in _faults(check, params):
            name, *inside = problem.location or ("",)
            if name in places:
                problems[Problem((*places[name], *inside), problem.message)] = None
            else:
                text = f"the parameter {name} {problem.message}" if name else problem.message
                problems[Problem(place, text)] = None
    yield from problems


def _faults(definition: CheckDefinition[Any], params: dict[str, Any]) -> Iterator[Problem]:
    """Faults of parameters on any site; sizes that follow the site are tried on one."""
    model: type[BaseModel] = SizingKeys
    try:
        try:
            params = probed(definition, params) if is_relative(definition, params) else params
        except (KeyError, TypeError):  # for want of a parameter, which its model names
            params = {k: v for k, v in params.items() if k not in definition.sizing}
        model = definition.parameters
        model.model_validate(params)
    except ValidationError as error:
        yield from model_problems(error, model, params)
    except ValueError as error:
        yield Problem((), str(error))


def _probes(
    entry: CaseGroup, check: CheckDefinition[Any], place: Location
) -> Iterator[tuple[dict[str, Any], dict[str, Location]]]:
    """Combinations that use every value of every axis at least once, with the location of each
    parameter; the entry is at `place`.

    The first combination, then each further value of each axis with the others at their first:
    their number grows with the values, not with the combinations.
    """
    first = dict.fromkeys(entry.matrix, 0)
    further = [(axis, i) for axis, values in entry.matrix.items() for i in range(1, len(values))]
    for choice in [first, *(first | {axis: index} for axis, index in further)]:
        params = dict(entry.fixed)
        places: dict[str, Location] = {name: (*place, "fixed", name) for name in params}
        for axis, index in choice.items():
            for name, value in _axis_settings(check, axis, entry.matrix[axis][index]).items():
                inside: Location = (axis,) if name == axis else (axis, index, name)
                if name == axis and axis in _parameters(check):
                    inside = (axis, index)
                params[name], places[name] = value, (*place, "matrix", *inside)
        yield params, places


def _axis_settings(check: CheckDefinition[Any], axis: str, value: object) -> dict[str, Any]:
    """Settings of one value of an axis: a mapping sets its keys, unless the axis is a parameter."""
    if isinstance(value, Mapping) and axis not in _parameters(check):
        return dict(value)
    return {axis: value}


def _parameters(check: CheckDefinition[Any]) -> set[str]:
    return {*check.parameters.model_fields, *check.sizing}


def combinations(entry: CaseGroup, check: CheckDefinition[Any]) -> Iterator[dict[str, Any]]:
    """Each combination's parameters as given, in the file's order, the last axis fastest."""
    axes = [
        [_axis_settings(check, axis, value) for value in values]
        for axis, values in entry.matrix.items()
    ]
    for choice in itertools.product(*axes):
        params = dict(entry.fixed)
        for settings in choice:
            params.update(settings)
        yield params


def refuse_too_many_cases(campaign: Campaign) -> None:
    """Raise AssayError with the arithmetic when the entries stand for more than MAX_CASES cases."""
    counts = []
    for index, entry in enumerate(campaign.cases):
        lengths = [len(values) for values in entry.matrix.values()]
        environments = len(campaign.environments_of(entry))
        counts.append((math.prod(lengths) * environments, index, lengths, environments))
    total = sum(count for count, *_ in counts)
    if total > MAX_CASES:
        count, index, lengths, environments = max(counts, key=lambda counted: counted[0])
        raise AssayError(
            f"{campaign.place(index)}: {' × '.join(map(str, lengths)) or '1'} × {environments}"
            f" environments = {count} cases, {total} in the whole campaign; allowed are at most"
            f" {MAX_CASES}; shorten the axes or split the campaign"
        )
