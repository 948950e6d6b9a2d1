# SPDX-License-Identifier: Apache-2.0
"""Rules that must hold between the parts of a campaign, beyond the form of each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from pydantic import BaseModel, TypeAdapter, ValidationError

from assay import criteria_files
from assay.schema.combinations import axis_settings, probes
from assay.schema.document import Location, Problem
from assay.schema.model import AnyEntry, Campaign, CaseGroup, CommandEntry, ReframeEntry
from assay.schema.problems import found, model_problems, one_of
from checks.common.definition import CheckDefinition
from checks.common.registry import CHECKS, Checks
from checks.common.sizing import SizingKeys, is_relative, probed

_NO_CRITERIA = (
    "a campaign holds no criteria; write them into a file like those in campaigns/criteria/ and"
    " judge the run by it: assay accept RUN --criteria FILE"
)

_ENTRY: TypeAdapter[AnyEntry] = TypeAdapter(AnyEntry)


def campaign_problems(
    value: dict[str, Any], folder: Path, checks: dict[str, CheckDefinition[Any]]
) -> Iterator[Problem]:
    """Every fault of a campaign file's value; `folder` is the one of its files. `checks` are those
    that it may name; those that it brings are added.

    The parts that are well-formed are judged even when others are not, so that one run shows all.
    """
    try:
        Campaign.model_validate(value)
    except ValidationError as error:
        for problem in model_problems(error, Campaign, value):
            criteria = problem.location == ("criteria",)
            yield Problem(problem.location, _NO_CRITERIA) if criteria else problem
    environments, otherwise = value.get("environments"), value.get("otherwise")
    names = [*_words(environments), *_words(otherwise)]
    yield from _environment_problems(environments, otherwise, value.get("variants"))
    used: set[str] = set()
    cases = value.get("cases")
    for index, part in enumerate(cases if isinstance(cases, list) else ()):
        yield from _entry_problems(
            part, ("cases", index), names, used, folder=folder, checks=checks
        )
    weights = value.get("weights")
    for name in weights if used and isinstance(weights, dict) else ():
        yield from one_of(name, used, ("weights", name))
    judged_by = value.get("judged_by")
    for kind, name in judged_by.items() if isinstance(judged_by, dict) else ():
        if isinstance(name, str):
            yield from one_of(name, criteria_files(), ("judged_by", kind))


def _entry_problems(
    part: object,
    place: Location,
    environments: list[str],
    used: set[str],
    *,
    folder: Path,
    checks: dict[str, CheckDefinition[Any]],
) -> Iterator[Problem]:
    """Faults of an entry of `cases` that is well-formed; adds its check to those `used`."""
    used |= checks.keys() & set(_words([part.get("check")] if isinstance(part, dict) else []))
    try:
        entry = _ENTRY.validate_python(part)
    except ValidationError:
        return
    if isinstance(entry, ReframeEntry):
        yield from _test_problems(entry, place, used)
        used.add(entry.check)
    elif isinstance(entry, CommandEntry):
        if entry.name in used:
            yield Problem((*place, "name"), f"the name {entry.name} is taken; give another")
            return
        used.add(entry.name)
        from assay.schema.command import bring_command  # optional: expressions and their readers

        problems = list(bring_command(entry, folder, place, checks))
        yield from problems
        if problems:
            return
    yield from _repeated(entry.environments, (*place, "environments"))
    for number, name in enumerate((environments and entry.environments) or ()):
        yield from one_of(name, environments, (*place, "environments", number))
    if isinstance(entry, ReframeEntry):
        return
    yield from _parameter_problems(entry.at("paper"), checks, place)
    if entry.small is not None:
        yield from _parameter_problems(entry.at("small"), checks, (*place, "small"))


def _test_problems(entry: ReframeEntry, place: Location, used: set[str]) -> Iterator[Problem]:
    """Faults of a ReFrame test that are seen without its suite."""
    if entry.check in used or entry.check in CHECKS:
        yield Problem((*place, "name"), f"the name {entry.check} is taken; give another")
    for name in ("matrix", "fixed", "small"):
        if getattr(entry, name):
            yield Problem((*place, name), "is not for ReFrame tests; use reframe.params and vars")


def _environment_problems(
    environments: object, otherwise: object, variants: object
) -> Iterator[Problem]:
    yield from _repeated(environments, ("environments",))
    yield from _repeated(otherwise, ("otherwise",))
    named, others = _words(environments), _words(otherwise)
    for index, name in enumerate(others):
        if name in named:
            text = f"{found(name)} is listed in environments too; keep it in one of them"
            yield Problem(("otherwise", index), text)
    if isinstance(variants, dict) and isinstance(environments, list):
        for name in variants:
            if name not in (*named, *others):
                text = "is not listed in environments; list it there, or remove it"
                yield Problem(("variants", name), text)


def _words(values: object) -> list[str]:
    """The words of a list; an ill-formed list has none, and is reported by its model."""
    return [v for v in values if isinstance(v, str)] if isinstance(values, list) else []


def _repeated(values: Iterable[object] | object, place: Location) -> Iterator[Problem]:
    """A problem for each value of a list that comes in it before."""
    first: dict[str, int] = {}
    for index, value in enumerate(values if isinstance(values, list) else ()):
        earlier = first.setdefault(repr(value), index)
        if earlier != index:
            yield Problem(
                (*place, index), f"{found(value)} is listed twice, first at [{earlier}]; keep one"
            )


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
        names = {name for value in values for name in axis_settings(check, axis, value)}
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
    found = dict[Problem, None]()
    for params, places in probes(entry, check, place):
        for problem in _faults(check, params):
            name, *inside = problem.location or ("",)
            if name in places:
                found[Problem((*places[name], *inside), problem.message)] = None
            else:
                text = f"the parameter {name} {problem.message}" if name else problem.message
                found[Problem(place, text)] = None
    yield from found


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
