# SPDX-License-Identifier: Apache-2.0
"""`assay advise`: which environment an application should use, from its profile and a run."""

from __future__ import annotations

import argparse
import math
import sys

import msgspec

from assay.cli.arguments import tell_pictures
from assay.plan import Durations, Narrowing, earlier_runs, make_plan
from assay.run.named_runs import run_of
from assay.schema import load_campaign
from assay.screens.screen import Screen
from assay.sites.loading import site_to_plan_for
from records.application_profile import read_profile
from records.errors import AssayError, ExitStatus
from records.forms import as_text
from records.run.run_directory import RunDirectory
from reports.analysis.run import analyse
from reports.load.loading import load_run
from reports.render import html, markdown
from reports.render.files import write_file
from reports.render.terminal import show
from reports.show.slides import write_pictures
from reports.verdicts.advice.advise import CAMPAIGN, CURVES, advise
from reports.verdicts.advice.outcome import ConfirmPart
from reports.verdicts.advice.result import advice_result

#: What a profile may be scaled by.
MOST_SIZES, MOST_RANKS = 1e6, 10**6


def advise_command(arguments: argparse.Namespace) -> int:
    """Advise; INCONCLUSIVE where the profile or the run does not tell."""
    if not (math.isfinite(arguments.sizes) and 1 / MOST_SIZES <= arguments.sizes <= MOST_SIZES):
        raise AssayError(f"--sizes {arguments.sizes}: allowed are 1e-6 to 1e6")
    if arguments.ranks is not None and not 2 <= arguments.ranks <= MOST_RANKS:
        raise AssayError(f"--ranks {arguments.ranks}: allowed are 2 to {MOST_RANKS}")
    profile = read_profile(arguments.profile)
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
    result = advice_result(advice, profile, confirm)
    if arguments.json:
        print(as_text(result.data), end="")
    else:
        show(result, Screen())
    for path, render in ((arguments.html, html.page), (arguments.markdown, markdown.text)):
        if path:
            write_file(render(result), path)
            print(path, file=sys.stderr)
    if arguments.pictures:
        written = write_pictures(result.pictures(), result.looks, arguments.pictures)
        tell_pictures(written, as_json=arguments.json)
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
