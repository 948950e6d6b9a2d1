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
from assay.sites.facts import SiteFacts
from checks.common.parameters import Parameters
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


def expand(campaign: Campaign, site: SiteFacts) -> list[Case]:
    """The cases in the campaign's order: entries, combinations, environments of the site.

    Raises AssayError for parameters that are wrong together, for a case that comes twice, and for
    more cases than allowed.
    """
    refuse_too_many_cases(campaign)
    pairs: list[tuple[Combination, str]] = []
    digests: list[str] = []
    owners: dict[str, int] = {}
    for combination in _combinations(campaign, site):
        params_json = canonical_json(combination.params)
        for environment in combination.environments:
            digest = case_digest(combination.check, environment, params_json)
            if digest in owners:
                raise AssayError(
                    f"{campaign.place(combination.entry)} gives a case that"
                    f" {campaign.place(owners[digest])} gives too: {combination.check} in"
                    f" {environment} with {brief(combination.params)}; keep one"
                )
            owners[digest] = combination.entry
            pairs.append((combination, environment))
            digests.append(digest)
    ids = case_ids([combination.check for combination, _ in pairs], digests)
    return [
        Case(id_, environment, combination)
        for id_, (combination, environment) in zip(ids, pairs, strict=True)
    ]


def _combinations(campaign: Campaign, site: SiteFacts) -> Iterator[Combination]:
    for index, entry in enumerate(campaign.cases):
        place = campaign.place(index)
        if entry.check not in CHECKS:
            raise AssayError(f"{place}: no check {entry.check!r}; allowed is {', '.join(CHECKS)}")
        definition, environments = CHECKS[entry.check], campaign.environments_of(entry)
        model = definition.parameters
        if not environments:
            continue
        for given in combinations(entry):
            try:
                parameters = model.model_validate(given)
            except ValidationError as error:
                problem = next(model_problems(error, model, given))
                name = f"{problem.location[0]}: " if problem.location else ""
                raise AssayError(
                    f"{place}: {name}{problem.message} (with {brief(given)})"
                ) from None
            in_these = environments
            if entry.once:
                needed = definition.features_of(parameters)
                able = (name for name in environments if needed <= site.environments[name])
                in_these = [next(able, environments[0])]
            # Parameters are flat, so their fields are the dump: four times as fast as model_dump.
            yield Combination(index, entry.check, parameters, parameters.complete(), in_these)


def brief(params: dict[str, Any]) -> str:
    """Parameters on one short line: "p=1 q=2 n=2000"; lists by their length and ends."""

    def short(value: object) -> str:
        if isinstance(value, list) and len(value) > 2:
            return f"{len(value)}×[{value[0]}…{value[-1]}]"
        if isinstance(value, list):
            return f"[{','.join(map(str, value))}]"
        return str(value).lower() if isinstance(value, bool) else f"{value}"

    return " ".join(f"{name}={short(value)}" for name, value in params.items())
