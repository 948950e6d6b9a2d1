# SPDX-License-Identifier: Apache-2.0
"""A contract on a site before anything runs: the plan of each stage, the spreads that earlier runs
show, and what the contract risks."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from datetime import date
from math import sqrt
from pathlib import Path

import numpy as np

from assay.plan import Narrowing, completed, earlier_times, make_plan
from assay.run.status import fitting
from assay.sites.loading import site_to_plan_for
from assay.sites.site import Site
from plugins.contract.forms import ContractRisk
from plugins.contract.loading import LoadedStage, loaded_stage
from plugins.contract.mixes import NO_MIX
from plugins.contract.model import Contract, Stage
from plugins.contract.risks import contract_risks
from records.criteria import MixCriterion, SpreadCriterion, SuccessCriterion
from records.errors import AssayError
from records.run.plan import Plan
from reports.load.loading import load_run
from reports.verdicts.acceptance.judge import judge
from reports.verdicts.acceptance.values import gather, stated_rates

#: Launches of a case below which an earlier run shows no spread.
LEAST_LAUNCHES = 3


def narrowing_of(stage: Stage) -> Narrowing:
    """Part of its campaign that a stage leaves."""
    return Narrowing(
        tuple(stage.environments), tuple(stage.checks), blocks=stage.repeats, scale=stage.scale
    )


def planned(
    contract: Contract, folder: Path, site_name: str
) -> tuple[list[LoadedStage], list[ContractRisk]]:
    """The stages that are campaigns, and the risks of all. Raises AssayError for a fault in what a
    stage names, a stage that cannot be planned, and a promise beyond what the site can give."""
    site, note = site_to_plan_for(site_name)
    if note:
        print(note, file=sys.stderr)
    stages = [loaded_stage(contract, one, folder) for one in contract.stages if one.campaign]
    plans = [(one, _plan(one, site)) for one in stages]
    seen = {
        (loaded.stage.name, name): told
        for loaded, plan in plans
        for name, told in _seen(loaded, plan)
    }
    rates = stated_rates(site.provenance())
    return stages, contract_risks(contract, plans, rates, site.facts().nodes, seen)


def _plan(loaded: LoadedStage, site: Site) -> Plan:
    """The plan of a stage; a criterion that judges nothing of it is a fault."""
    name, campaign = loaded.stage.name, loaded.campaign
    try:
        varied = site.with_possible_variants(campaign.variants)
        durations = earlier_times(varied.provenance(), campaign.name)
        whole = completed(campaign, varied)
        plan = make_plan(whole, varied.facts(), narrowing_of(loaded.stage), durations=durations)
    except AssayError as error:
        raise AssayError(f"stage {name}: {error}", error.status) from error
    checks = {case.check for case in plan.cases}
    for one in loaded.criteria.criteria:
        if isinstance(one, MixCriterion) and not plan.mix_blocks:
            raise AssayError(
                f"stage {name}, criterion {one.id}: judges a mix, and campaign {campaign.name}"
                f" {NO_MIX}"
            )
        if one.check not in checks and not (isinstance(one, MixCriterion) and not one.check):
            raise AssayError(
                f"stage {name}, criterion {one.id}: judges check {one.check}, which campaign"
                f" {campaign.name} does not run in this stage; it runs {', '.join(sorted(checks))}"
            )
    return plan


def _seen(loaded: LoadedStage, plan: Plan) -> Iterator[tuple[str, tuple[float, str]]]:
    """By criterion the pooled coefficient of variation of what it judged, in the newest run of the
    same campaign on the same site, and how that is called."""
    like = fitting(lambda run: (run.plan().campaign, run.plan().site) == (plan.campaign, plan.site))
    run = next(like, None)
    if run is None:
        return
    try:
        judgement = judge(loaded.criteria, gather(load_run(run.path), []), date.today(), 0)
    except AssayError:  # damaged: it shows nothing
        return
    kinds = {one.id: one for one in loaded.criteria.criteria}
    for result in judgement.criteria:
        if isinstance(kinds.get(result.id), SpreadCriterion | SuccessCriterion | None):
            continue
        shares = [np.array(item.shares) for item in result.items]
        shares = [one for one in shares if len(one) >= LEAST_LAUNCHES and one.mean()]
        if shares:
            cv = sqrt(np.mean([(one.std(ddof=1) / one.mean()) ** 2 for one in shares]))
            yield result.id, (max(cv, 1e-6), f"in run {run.run_id}")
