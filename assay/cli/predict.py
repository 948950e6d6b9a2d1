# SPDX-License-Identifier: Apache-2.0
"""`assay predict` and `assay advise`: what a run measured, on node counts that it did not measure;
and which environment an application should use, from its profile and the run's curves."""

from __future__ import annotations

import argparse
import math
import sys

import msgspec

from assay.cli.arguments import MOST_NODES
from assay.plan import Durations, Narrowing, earlier_runs, make_plan
from assay.run.named_runs import run_of
from assay.schema import load_campaign
from assay.screens.pages import print_result, show_as_asked
from assay.sites.loading import site_to_plan_for
from records.errors import AssayError, ExitStatus
from records.run.run_directory import RunDirectory
from reports.analysis.run import Analysis, analyse
from reports.load.loading import load_run
from reports.load.mpip import any_profile
from reports.show.slides import write_pictures
from reports.verdicts.advice.advise import CAMPAIGN, CURVES, advise
from reports.verdicts.advice.outcome import ConfirmPart
from reports.verdicts.advice.result import advice_result
from reports.verdicts.prediction.predict import CHECKS, predict
from reports.verdicts.prediction.result import prediction_result

#: What a profile may be scaled by, and to.
MOST_SIZES, MOST_RANKS = 1e6, 10**6


def predict_command(arguments: argparse.Namespace) -> int:
    """Predict; INCONCLUSIVE where nothing can be predicted."""
    nodes, left_out = sorted(set(arguments.nodes)), sorted(set(arguments.leave_out))
    if not nodes and not left_out:
        raise AssayError("predict: for how many nodes? Give --nodes N, or --leave-out N")
    for count in (*nodes, *left_out):
        if not 1 <= count <= MOST_NODES:
            raise AssayError(f"predict: {count} nodes; allowed are 1 to {MOST_NODES}")
    if unknown := set(arguments.check) - set(CHECKS):
        raise AssayError(f"--check {min(unknown)}: allowed are {', '.join(CHECKS)}")
    found = run_of(
        arguments.run_name,
        lambda run: any(case.check in CHECKS for case in run.plan().cases),
        f"run of {' or '.join(CHECKS)}",
    )
    analysis = analyse(load_run(found.path))
    _check_names(analysis, left_out, arguments.environment)
    checks = [name for name in CHECKS if name in arguments.check or not arguments.check]
    outcome = predict(analysis, nodes, left_out, environments=arguments.environment, checks=checks)
    result = prediction_result(analysis, outcome, nodes, left_out)
    if arguments.pictures is not None:
        written = write_pictures(result.pictures(), analysis.looks, arguments.pictures)
        result.data.pictures += map(str, written)
    print_result(result, as_json=arguments.json)
    if not arguments.json:
        for path in result.data.pictures:
            print(path, file=sys.stderr)
    return ExitStatus.PASS if outcome.predicted else ExitStatus.INCONCLUSIVE


def _check_names(analysis: Analysis, left_out: list[int], environments: list[str]) -> None:
    """Raise AssayError for a count or an environment that the run does not have."""
    counts = {case.nodes for case in analysis.run.plan.cases}
    if unknown := set(left_out) - counts:
        raise AssayError(
            f"--leave-out {min(unknown)}: the run has no case on so many nodes; it has"
            f" {', '.join(map(str, sorted(counts)))}"
        )
    if odd := [name for name in environments if name not in analysis.looks]:
        raise AssayError(
            f"--environment {odd[0]}: not in the run; it has {', '.join(analysis.looks)}"
        )


def advise_command(arguments: argparse.Namespace) -> int:
    """Advise; INCONCLUSIVE where the profile or the run does not tell."""
    if not (math.isfinite(arguments.sizes) and 1 / MOST_SIZES <= arguments.sizes <= MOST_SIZES):
        raise AssayError(f"--sizes {arguments.sizes}: allowed are 1e-6 to 1e6")
    if arguments.ranks is not None and not 2 <= arguments.ranks <= MOST_RANKS:
        raise AssayError(f"--ranks {arguments.ranks}: allowed are 2 to {MOST_RANKS}")
    profile = any_profile(arguments.profile)
    found = run_of(
        arguments.run_name,
        lambda run: any(case.check in CURVES for case in run.plan().cases),
        f"run of {' or '.join(CURVES)}",
        f"assay run {CAMPAIGN}",
    )
    advice = advise(
        analyse(load_run(found.path)),
        profile,
        sizes=arguments.sizes,
        ranks=arguments.ranks,
        environment=arguments.environment or "",
    )
    confirm = advice.confirm and _costed(advice.confirm, found)
    result = advice_result(advice, confirm)
    show_as_asked(result, arguments)
    return ExitStatus.PASS if not advice.refused else ExitStatus.INCONCLUSIVE


def _costed(confirm: ConfirmPart, run: RunDirectory) -> ConfirmPart:
    """The confirming run with the environments that its campaign has, and with its cases and time
    where the run's site is known here."""
    began = run.provenance().site
    try:
        campaign = load_campaign(confirm.campaign)
        known = [*campaign.environments, *campaign.otherwise]
        names = [name for name in confirm.environments if name in known]
        confirm = msgspec.structs.replace(confirm, environments=names if len(names) > 1 else [])
        site, _ = site_to_plan_for(began.asked_as or run.plan().site)
        site = site.with_builds(began.builds).with_possible_variants(campaign.variants)
        narrowed = Narrowing(
            tuple(confirm.environments), tuple(confirm.checks), blocks=confirm.blocks
        )
        durations = Durations(earlier_runs(site.provenance()))
        plan = make_plan(campaign, site.facts(), narrowed, None, durations)
    except AssayError:
        return confirm
    cases = sum(case.skipped is None for case in plan.cases)
    return msgspec.structs.replace(confirm, cases=cases, time_s=plan.totals.wall_s)
