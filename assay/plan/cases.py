# SPDX-License-Identifier: Apache-2.0
"""Cases of a campaign on a site: what the command line and the site's environments leave of it,
and every case of that, parameters complete and validated, each once."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from assay.schema.document import did_you_mean, listed, model_problems
from assay.schema.loading import combinations, refuse_too_many_cases
from assay.schema.model import Campaign, Scale, Variant
from assay.sites.site import SiteFacts
from checks.common.definition import CheckDefinition
from checks.common.parameters import Parameters
from checks.common.sizing import is_relative, sized
from records.errors import AssayError
from records.input_files import line_with, read_whole
from records.run.plan import Plan, canonical_json, case_digest, case_ids

#: Keys of an entry that ask something of a job beside ranks.
JOB = ("cpus_per_task", "resources")


@dataclass(frozen=True)
class Narrowing:
    """Part of a campaign that a command line leaves; where nothing is said, all of it. `nodes` is
    the greatest number that a launch may use."""

    environments: tuple[str, ...] = ()
    checks: tuple[str, ...] = ()
    nodes: int | None = None
    blocks: int | None = None
    scale: Scale | None = None

    def as_plain(self) -> dict[str, list[str] | int]:
        """Values that are said, by option, as a plan keeps them."""
        said = vars(self) | {"scale": [self.scale] if self.scale else []}
        return {name: v if isinstance(v, int) else [*v] for name, v in said.items() if v}

    def of_campaign(self, campaign: Campaign) -> Campaign:
        """The campaign with these environments, checks and blocks only. Raises AssayError for a
        name that the campaign does not have."""
        environments = [*campaign.environments, *campaign.otherwise]
        checks = list(dict.fromkeys(entry.check for entry in campaign.cases))
        for option, asked, known in (
            ("--environments", self.environments, environments),
            ("--checks", self.checks, checks),
        ):
            for name in asked:
                if name not in known:
                    raise AssayError(
                        f"{option} {name}: campaign {campaign.name} has no such name"
                        f"{did_you_mean(name, known)}; it has {listed(known)}"
                    )
        kept, scale = self.environments or environments, self.scale or campaign.scale
        # Entries keep their places, by which messages name them.
        cases = [
            entry if entry.check in (self.checks or checks) else entry.model_copy(update=_NOWHERE)
            for entry in (whole.at(scale) for whole in campaign.cases)
        ]
        return campaign.model_copy(
            update={
                "environments": [name for name in campaign.environments if name in kept],
                "otherwise": [name for name in campaign.otherwise if name in kept],
                "blocks": self.blocks or campaign.blocks,
                "cases": cases,
            }
        )

    def of_site(self, site: SiteFacts) -> SiteFacts:
        """The site with so many of its nodes. Raises AssayError for more than it has."""
        if self.nodes is None:
            return site
        if self.nodes > site.nodes:
            raise AssayError(
                f"--nodes {self.nodes}: site {site.name} has {site.nodes} nodes; give at most"
                f" {site.nodes}, or leave the option out"
            )
        return replace(site, nodes=self.nodes)


WHOLE = Narrowing()
_NOWHERE: dict[str, list[str]] = {"environments": []}


def present(campaign: Campaign, site: SiteFacts) -> tuple[Campaign, dict[str, str]]:
    """The campaign with those environments only that the site has, and why not the others; its
    entries as they are on a site of one node. Raises AssayError when none is left."""
    absent = {
        name: site.absent.get(name)
        or f"site {site.name} has no environment {name!r}{did_you_mean(name, site.environments)}"
        for name in (*campaign.environments, *campaign.otherwise)
        if name not in site.environments
    }
    asked = [name for name in campaign.environments if name not in absent]
    found = asked or [name for name in campaign.otherwise if name not in absent]
    if not found:
        reasons = "; ".join(absent[name] for name in campaign.environments if name in absent)
        raise AssayError(
            f"campaign {campaign.name}: none of its environments is there: {reasons}; site"
            f" {site.name} has {listed(sorted(site.environments)) or 'none'}"
        )
    if asked:
        absent = {name: absent[name] for name in campaign.environments if name in absent}
    update: dict[str, Any] = {
        "environments": found,
        "variants": {name: one for name, one in campaign.variants.items() if name in found},
    }
    if site.nodes == 1:
        update["cases"] = [entry.on_one_node() for entry in campaign.cases]
    return campaign.model_copy(update=update), absent


@dataclass(frozen=True, slots=True)
class Combination:
    """A set of parameters of an entry of `cases`, for one or more environments; `relative`: its
    sizes follow the site. `job` is what its jobs ask for besides ranks, `alone` whether others may
    run meanwhile."""

    entry: int
    definition: CheckDefinition[Any]
    parameters: Parameters
    params: dict[str, Any]
    environments: list[str]
    relative: bool
    job: dict[str, Any]
    alone: bool | None = None


#: Id, combination and environment of a case.
Case = tuple[str, Combination, str]


def expand(campaign: Campaign, site: SiteFacts) -> tuple[list[Case], list[str]]:
    """The cases in the campaign's order: entries, combinations, environments of the site; and what
    was left out because its sizes, which follow the site, make no case there.

    Of sizes that follow the site and give one case twice, the first is kept. Raises AssayError for
    parameters that are wrong together, for another case that comes twice, and for more cases than
    allowed.
    """
    refuse_too_many_cases(campaign)
    pairs: list[tuple[Combination, str]] = []
    digests: list[str] = []
    owners: dict[str, Combination] = {}
    left_out: list[str] = []
    for combination in _combinations(campaign, site, left_out):
        check, job = combination.definition.name, combination.job
        params_json = canonical_json(combination.params)
        for environment in combination.environments:
            digest = case_digest(check, environment, params_json)
            owner = owners.setdefault(digest, combination)
            if owner is combination:
                pairs.append((combination, environment))
                digests.append(case_digest(check, environment, params_json, job) if job else digest)
                continue
            here, there = campaign.place(combination.entry), campaign.place(owner.entry)
            case = f"{check} in {environment} with {brief(combination.params)}"
            if owner.job != job:
                raise AssayError(
                    f"{here} and {there} differ in resources or cpus_per_task only:"
                    f" {case}; a report could not tell them apart: write two campaigns"
                )
            if not (owner.relative or combination.relative):
                raise AssayError(f"{here} gives a case that {there} gives too: {case}; keep one")
    ids = case_ids([combination.definition.name for combination, _ in pairs], digests)
    return [(case_id, *pair) for case_id, pair in zip(ids, pairs, strict=True)], left_out


def _combinations(
    campaign: Campaign, whole_site: SiteFacts, left_out: list[str]
) -> Iterator[Combination]:
    for index, entry in enumerate(campaign.cases):
        place = campaign.place(index)
        if entry.check not in campaign.checks:
            there = ", ".join(campaign.checks)
            raise AssayError(f"{place}: no check {entry.check!r}; allowed is {there}")
        definition = campaign.checks[entry.check]
        environments = campaign.environments_of(entry)
        if not environments:
            continue
        job = {name: value for name in JOB if (value := getattr(entry, name))}
        site = whole_site.with_cpus_per_task(entry.cpus_per_task)
        for given in combinations(entry, definition):
            relative = is_relative(definition, given)
            for found in _parameters(definition, given, site, relative):
                if isinstance(found, str):
                    if not relative:
                        raise AssayError(f"{place}: {found}")
                    left_out.append(f"cases[{index}] ({entry.check}): {found}")
                    continue
                names = environments
                if entry.in_one:
                    needed = definition.features_of(found)
                    able = (name for name in environments if needed <= site.environments[name])
                    names = [next(able, environments[0])]
                # Parameters are flat, so their fields are the dump: four times as fast as
                # model_dump.
                yield Combination(
                    *(index, definition, found, found.complete(), names, relative),
                    *(job, entry.alone),
                )


def _parameters(
    definition: CheckDefinition[Any], given: dict[str, Any], site: SiteFacts, relative: bool
) -> Iterator[Parameters | str]:
    """The parameters that `given` stands for on the site, or what is wrong with them."""
    try:
        every = list(sized(definition, given, site)) if relative else [given]
    except ValueError as error:
        yield f"{_first_fault(error, definition, given)} (with {brief(given)})"
        return
    if not every:
        yield f"site {site.name} has {site.nodes} nodes (with {brief(given)})"
    for params in every:
        try:
            yield definition.parameters.model_validate(params)
        except ValidationError as error:
            yield f"{_first_fault(error, definition, params)} (with {brief(params)})"


def _first_fault(error: ValueError, definition: CheckDefinition[Any], value: object) -> str:
    if not isinstance(error, ValidationError):
        return str(error)
    problem = next(model_problems(error, definition.parameters, value))
    return f"{problem.location[0]}: {problem.message}" if problem.location else problem.message


def brief(params: dict[str, Any]) -> str:
    """Parameters on one short line: "p=1 q=2 n=2000"; lists by their length and ends."""

    def short(value: object) -> str:
        if isinstance(value, list) and len(value) > 2:
            return f"{len(value)}×[{value[0]}…{value[-1]}]"
        if isinstance(value, list):
            return f"[{','.join(map(str, value))}]"
        return str(value).lower() if isinstance(value, bool) else f"{value}"

    return " ".join(f"{name}={short(value)}" for name, value in params.items())


def planned_variants(plan: Plan, file: Path) -> dict[str, Variant]:
    """The variants that the plan's environments are. Raises AssayError for others than a
    campaign could have asked for. Cases are validated by the session that runs them."""
    variants: dict[str, Variant] = {}
    for name, value in plan.variants.items():
        try:
            variants[name] = Variant.model_validate(value)
        except ValidationError as error:
            problem = next(model_problems(error, Variant, value))
            where = f"{file}:{line_with(read_whole(file), 'variants', name)}"
            named = ".".join(map(str, (name, *problem.location)))
            raise AssayError(f"{where}: {named}: {problem.message}") from error
    return variants
