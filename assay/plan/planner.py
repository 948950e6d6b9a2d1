# SPDX-License-Identifier: Apache-2.0
"""Lays the cases of a campaign on a site: what fits, what it costs, what is skipped and why, in
which order each block runs, and after which blocks a sequential design is judged."""

import hashlib
from collections.abc import Iterator, Mapping
from typing import Any

from msgspec.structs import replace

from assay.plan.cases import JOB, WHOLE, Case, Narrowing, expand, present
from assay.plan.times import Clock, Earlier, with_times
from assay.schema.document import listed
from assay.schema.model import Blocks, Campaign, ReframeEntry
from assay.sites.site import Site, SiteFacts
from checks.common.definition import CheckDefinition
from checks.common.parameters import unknown_resource
from checks.common.registry import Checks, brought_by, descriptions_of, folders_of, metrics_of
from records.errors import AssayError
from records.plugins import hooks, plugins
from records.run.plan import Plan, PlannedCase, Sequential, Totals
from reports.notation.labels import case_names

LEAST_LAUNCH_LIMIT_S = 60.0
#: Parameter of cases that plugin profile alone serves.
_PROFILE = "mpi_profile"
LAUNCH_LIMIT_FACTOR = 10.0


def completed(campaign: Campaign, site: Site) -> Campaign:
    """The campaign with cases in place of entries that plugins serve. What a missing plugin would
    serve is in its `left_out`."""
    for complete in hooks("campaign"):
        campaign = complete(campaign, site)
    profiles = any(plugin.name == "profile" for plugin in plugins().values())
    kept, lacking = list[Any](), set[str]()
    for entry in campaign.cases:
        if isinstance(entry, ReframeEntry):  # its plugin would have replaced it
            lacking.add("tests of ReFrame suites: plugin reframe is missing")
            continue
        parts = {"fixed": {**entry.fixed}, "matrix": {**entry.matrix}}
        if not profiles and any(part.pop(_PROFILE, None) is not None for part in parts.values()):
            lacking.add(f"{_PROFILE}: plugin profile is missing")
        kept.append(entry if profiles else entry.model_copy(update=parts))
    if not lacking:
        return campaign
    without = campaign.model_copy(update={"cases": kept})
    without._left_out = [*campaign.left_out, *sorted(lacking)]
    return without


def make_plan(
    campaign: Campaign,
    site: SiteFacts,
    narrowing: Narrowing = WHOLE,
    earlier: Earlier | None = None,
) -> Plan:
    """The plan of what `narrowing` leaves of a campaign on a site.

    `earlier`: a run whose launches tell how long these take. Environments that the site lacks are
    named in the plan. Raises AssayError when nothing is left, for a case given twice, and for an
    estimate above the campaign's limits.
    """
    site = narrowing.of_site(site)
    campaign, absent = present(narrowing.of_campaign(campaign), site)
    cases, unfit = expand(campaign, site)
    left_out = [*campaign.left_out, *unfit]
    planned = [*_lay_out(cases, site, by_option=narrowing.nodes is not None)]
    if not planned:
        reasons = "; ".join([*absent.values(), *left_out])
        raise AssayError(
            f"campaign {campaign.name}: nothing is left of it on site {site.name}: {reasons}"
        )
    used = {name: campaign.checks[name] for name in sorted({case.check for case in planned})}
    planned, times = with_times(planned, used, earlier)
    plan = _with_totals(
        **_stated(campaign, used),
        site=site.name,
        times=times,
        metrics=metrics_of(used.values()),
        checks=descriptions_of(used.values()),
        checks_folders=folders_of(used.values()),
        absent=absent,
        left_out=left_out,
        narrowed=narrowing.as_plain(),
        cases=planned,
    )
    _refuse_above_limits(plan)
    return plan


def _stated(campaign: Campaign, used: Checks) -> dict[str, Any]:
    """Keys of its campaign that a plan repeats; `used`: the checks that are left of it."""
    blocks = campaign.blocks
    return {
        "campaign": campaign.name,
        "question": campaign.question,
        "seed": campaign.seed,
        "blocks": blocks if isinstance(blocks, int) else blocks.greatest,
        "sequential": None if isinstance(blocks, int) else sequential_design(blocks),
        "environments": list(campaign.environments),
        "variants": {name: variant.model_dump() for name, variant in campaign.variants.items()},
        "weights": {check: weight for check, weight in campaign.weights.items() if check in used},
        "limits": campaign.limits.model_dump(),
        "judged_by": dict(campaign.judged_by),
        "brought": brought_by(used),
    }


def _with_totals(**parts: Any) -> Plan:
    """The plan of these parts, with what its launches of all blocks amount to."""
    none = Totals(cases=0, skipped=0, launches=0, node_hours=0.0, wall_s=0.0)
    plan = Plan(**parts, totals=none)
    feasible = [case for case in plan.cases if case.skipped is None]
    node_s = sum(case.nodes * case.estimate_s for case in feasible)
    totals = Totals(
        cases=len(plan.cases),
        skipped=len(plan.cases) - len(feasible),
        launches=len(feasible) * plan.blocks,
        node_hours=round(node_s * plan.blocks / 3600, 3),
        wall_s=round(Clock(plan, blocks=plan.blocks).left_s(), 1),
    )
    return replace(plan, totals=totals)


def launch_limit_s(plan: Plan, case: PlannedCase) -> float:
    """Seconds after which a launch of the case is ended. The campaign's `launch_s` if it has one,
    else ten times the greater of its estimates and at least a minute; of a command at least five
    minutes, of a suite's test its own limit or as much."""
    stated = plan.limits.get("launch_s")
    if stated is not None:
        return float(stated)
    brought = plan.brought.get(case.check)
    least_s = LEAST_LAUNCH_LIMIT_S if brought is None else brought.limit_s
    return max(least_s, LAUNCH_LIMIT_FACTOR * case.generous_s)


def _lay_out(cases: list[Case], site: SiteFacts, by_option: bool) -> Iterator[PlannedCase]:
    """Layout and cost of each case, worked out once for the environments of a combination.
    `by_option`: the command line said how many nodes there are."""
    previous, likely = None, site.likely()
    for case_id, combination, environment in cases:
        if combination is not previous:
            previous = combination
            definition = combination.definition
            cpus, resources = map(combination.job.get, JOB)
            slots = site.with_cpus_per_task(cpus)
            layout = definition.layout(combination.parameters, slots.cores_per_node)
            unfit = definition.infeasible(combination.parameters, layout, slots)
            if unfit and cpus:
                unfit = f"with {cpus} CPUs a rank: {unfit}"
            unfit = unknown_resource(resources or {}, site.resources, site.name) or unfit
            if unfit and by_option and layout.nodes > site.nodes:
                unfit += " by --nodes"
            features = definition.features_of(combination.parameters)
            estimate_s = round(definition.estimate_s(combination.parameters, layout, likely), 3)
        yield PlannedCase(
            id=case_id,
            check=definition.name,
            environment=environment,
            params=combination.params,
            ranks=layout.ranks,
            ranks_per_node=layout.ranks_per_node,
            nodes=layout.nodes,
            memory_bytes_per_node=layout.memory_bytes_per_node,
            estimate_s=estimate_s,
            stored_bytes=definition.bytes_stored(combination.parameters),
            cpus_per_task=cpus,
            resources=resources or {},
            alone=combination.alone,
            skipped=_lacks(definition, environment, features, site) or unfit,
        )


def _lacks(
    check: CheckDefinition[Any], environment: str, needed: frozenset[str], site: SiteFacts
) -> str | None:
    """Features that an environment does not offer, and why not each foreign program, also of one
    that takes the place of ours; None: nothing."""
    reasons, offered = site.missing.get(environment, {}), site.environments[environment]
    if not (features := needed - offered):
        gone = reasons.get(check.site_program)
        return gone and f"programs.{check.site_program} of {environment} in the site.yaml: {gone}"
    if target := next((f[8:] for f in features if f.startswith("storage:")), None):
        known = sorted(f[8:] for f in offered if f.startswith("storage:"))
        return (
            f"site {site.name} declares no storage {target!r}; it has {listed(known) or 'none'}:"
            " give folder and file_system in `storage` of its site.yaml"
        )
    lacking = listed(sorted(features))
    text = f"environment {environment} lacks {lacking}, which check {check.name} needs"
    for program in sorted(f.removeprefix("program:") for f in features if f.startswith("program:")):
        where = f"programs.{program} of the environment in its site.yaml"
        reason = reasons.get(program)
        text += f"; {where}: {reason}" if reason else f"; give its path as {where}"
    return text


def _refuse_above_limits(plan: Plan) -> None:
    """A sequential design ends where limits.node_hours is used up; its least blocks must fit."""
    totals, limits = plan.totals, plan.limits
    blocks = plan.sequential.interims[0] if plan.sequential else plan.blocks
    for key, estimate, unit in (
        ("node_hours", totals.node_hours * blocks / plan.blocks, "node-hours"),
        ("wall_time_s", Clock(plan).left_s(), "s of wall time"),
    ):
        allowed = limits[key]
        if allowed is not None and estimate > allowed:
            raise AssayError(
                f"campaign {plan.campaign}: {totals.launches * blocks // plan.blocks} launches"
                f" ({totals.cases - totals.skipped} cases × {blocks} blocks) are estimated at"
                f" {estimate:.6g} {unit}; limits.{key} allows {allowed:g}: raise it, or lower"
                " blocks or shorten the axes"
            )
    feasible = (case for case in plan.cases if case.skipped is None)
    longest = max(feasible, key=lambda case: case.least_s, default=None)
    if longest is not None and longest.least_s > launch_limit_s(plan, longest):
        named = case_names(plan.cases)[longest.id]
        raise AssayError(
            f"campaign {plan.campaign}: one launch of {named} is estimated at"
            f" {longest.least_s:g} s; limits.launch_s ends it after"
            f" {launch_limit_s(plan, longest):g} s: raise it, or leave such cases out"
        )


def sequential_design(blocks: Blocks) -> Sequential:
    """The blocks after which the questions are judged, fixed before the run. Each is a quarter
    above the one before: judging more often spends the error on questions whose answer has hardly
    changed. The last step takes the rest where that is less than half a step."""
    found = [blocks.least]
    while (last := found[-1]) < blocks.greatest:
        step = max(1, -(-last // 4))
        found.append(last + step if last + 1.5 * step < blocks.greatest else blocks.greatest)
    return Sequential(interims=found, until=list(dict.fromkeys(blocks.until)))


def block_order(cases: Mapping[str, str], seed: int, block: int) -> list[str]:
    """The cases of one block in random order, always the same for one seed and block; `cases` are
    ids with what each asks (`PlannedCase.asked`). Those that ask the same of different environments
    follow each other, in random order, so that a machine that changes from minute to minute is the
    same for all of them. They are sorted by SHA-256 of "seed:block:…": the order needs no state,
    does not depend on the order of `cases`, and a case that is left out does not move the others.
    """

    def drawn(text: str) -> bytes:
        return hashlib.sha256(f"{seed}:{block}:{text}".encode()).digest()

    return sorted(cases, key=lambda one: (drawn(cases[one]), drawn(one)))
