# SPDX-License-Identifier: Apache-2.0
"""Every case of a campaign, whatever the site: parameters complete and validated, each once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from assay.schema import Campaign
from assay.schema.combinations import combinations, refuse_too_many_cases
from assay.schema.problems import model_problems
from checks.common.definition import Parameters
from checks.common.registry import CHECKS
from records.errors import AssayError
from records.identity import canonical_json, case_digest, case_ids


@dataclass(frozen=True, slots=True)
class Combination:
    """One set of parameters of an entry of `cases`, for one or more environments."""

    entry: int
    check: str
    parameters: Parameters
    params: dict[str, Any]
    environments: list[str]


@dataclass(frozen=True, slots=True)
class Case:
    """One case: a combination in one environment."""

    id: str
    environment: str
    combination: Combination


def expand(campaign: Campaign) -> list[Case]:
    """The cases in the campaign's order: entries, combinations, environments.

    Raises AssayError for parameters that are wrong together, for a case that comes twice, and for
    more cases than allowed.
    """
    refuse_too_many_cases(campaign)
    pairs: list[tuple[Combination, str]] = []
    digests: list[str] = []
    owners: dict[str, int] = {}
    for combination in _combinations(campaign):
        params_json = canonical_json(combination.params)
        for environment in combination.environments:
            digest = case_digest(combination.check, environment, params_json)
            if digest in owners:
                raise _duplicate(campaign, combination, environment, owners[digest])
            owners[digest] = combination.entry
            pairs.append((combination, environment))
            digests.append(digest)
    ids = case_ids([combination.check for combination, _ in pairs], digests)
    return [
        Case(id_, environment, combination)
        for id_, (combination, environment) in zip(ids, pairs, strict=True)
    ]


def _combinations(campaign: Campaign) -> Iterator[Combination]:
    for index, entry in enumerate(campaign.cases):
        if entry.check not in CHECKS:
            raise AssayError(
                f"{campaign.place(index)}: no check {entry.check!r}; allowed is {', '.join(CHECKS)}"
            )
        model = CHECKS[entry.check].parameters
        environments = campaign.environments_of(entry)
        for given in combinations(entry):
            try:
                parameters = model.model_validate(given)
            except ValidationError as error:
                raise _wrong_together(campaign, index, given, error) from None
            # Parameters are flat, so their fields are the dump: four times as fast as model_dump.
            yield Combination(index, entry.check, parameters, parameters.complete(), environments)


def _wrong_together(
    campaign: Campaign, index: int, given: dict[str, Any], error: ValidationError
) -> AssayError:
    model = CHECKS[campaign.cases[index].check].parameters
    problem = next(model_problems(error, model, given))
    name = f"{problem.location[0]}: " if problem.location else ""
    return AssayError(f"{campaign.place(index)}: {name}{problem.message} (with {brief(given)})")


def _duplicate(
    campaign: Campaign, combination: Combination, environment: str, first: int
) -> AssayError:
    return AssayError(
        f"{campaign.place(combination.entry)} gives a case that {campaign.place(first)} gives too:"
        f" {combination.check} in {environment} with {brief(combination.params)}; keep one"
    )


def brief(params: dict[str, Any]) -> str:
    """Parameters on one short line: "p=1 q=2 n=2000"; lists by their length and ends."""
    return " ".join(f"{name}={_brief_value(value)}" for name, value in params.items())


def _brief_value(value: object) -> str:
    if isinstance(value, list) and len(value) > 2:
        return f"{len(value)}×[{value[0]}…{value[-1]}]"
    if isinstance(value, list):
        return f"[{','.join(map(str, value))}]"
    return str(value).lower() if isinstance(value, bool) else f"{value}"
