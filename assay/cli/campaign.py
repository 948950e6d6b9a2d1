# SPDX-License-Identifier: Apache-2.0
"""`assay plan` and `assay run`: what a campaign would run on a site and what it costs; its run."""

from __future__ import annotations

import argparse
import json
import signal
from typing import Any

from assay.cli.arguments import DEFAULT_SITE
from assay.loading import ended_by_ctrl_c
from assay.plan import (
    WHOLE,
    Durations,
    Narrowing,
    earlier_runs,
    make_plan,
    measured_in,
    render_plan,
)
from assay.schema import load_campaign
from assay.sites.loading import add_checks_of, load_site
from assay.sites.site import Site
from assay.terminal import say
from records.errors import AssayError, ExitStatus
from records.forms import as_text
from records.run.plan import Plan
from records.run.run_directory import open_run


def plan_command(arguments: argparse.Namespace) -> int:
    """`assay plan`: print the plan, or with --criteria also what judging it risks."""
    add_checks_of(arguments.site)
    campaign = load_campaign(arguments.campaign)
    site = load_site(arguments.site).with_builds(arguments.builder)
    site = site.with_possible_variants(campaign.variants)
    measured = measured_in(open_run(arguments.measured)) if arguments.measured else None
    durations = Durations(earlier_runs(site.provenance()))
    plan = make_plan(campaign, site.facts(), narrowing_of(arguments), measured, durations)
    if arguments.criteria is None:
        if arguments.json:
            print(plan.to_json())
        else:
            say(render_plan(plan))
        return ExitStatus.PASS
    _print_risks(plan, arguments.criteria, site, as_json=arguments.json)
    return ExitStatus.PASS


def _print_risks(plan: Plan, criteria_file: str, site: Site, *, as_json: bool) -> None:
    """Print the plan and its risks. Raises AssayError for faulty criteria."""
    # slow: SciPy
    from assay.criteria.loading import load_criteria
    from assay.criteria.risks import PlanRisksForm, rendered, risks  # slow: SciPy
    from reports.verdicts.acceptance.values import stated_rates  # slow: SciPy

    criteria, _ = load_criteria(criteria_file)
    found = risks(plan, criteria, stated_rates(site.provenance()))
    if as_json:
        print(as_text(PlanRisksForm(plan=json.loads(plan.to_json()), risks=found)), end="")
    else:
        say(render_plan(plan))
        say(rendered(plan, criteria, found))


def run_command(arguments: argparse.Namespace) -> int:
    """`assay run`: begin a campaign, or go on with a run, and report on it."""
    with ended_by_ctrl_c():
        from assay.run.start import resume_run, start_run  # slow: ReFrame

    if (arguments.campaign is None) == (arguments.resume is None):
        raise AssayError("give a campaign to begin, or --resume RUN to go on with one; not both")
    narrowing = narrowing_of(arguments)
    if arguments.resume and narrowing != WHOLE:
        options = ", ".join(f"--{option}" for option in narrowing.as_plain())
        raise AssayError(
            f"{options}: a run goes on as it was begun; leave the options out, or begin another"
        )
    if arguments.time is not None and not arguments.in_one_job:
        raise AssayError("--time is the length of the job of --in-one-job; give both, or neither")
    shared: dict[str, Any] = {"in_one_job": arguments.in_one_job, "allocation_s": arguments.time}
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    live = False if arguments.plain or arguments.json else None
    if arguments.resume:
        status = resume_run(arguments.resume, arguments.site, live, **shared)
    else:
        site = arguments.site or DEFAULT_SITE
        status = start_run(
            arguments.campaign, site, live, arguments.builder, narrowing=narrowing, **shared
        )
    code = ExitStatus.FAIL if status.failed or not status.complete else ExitStatus.PASS
    from assay.cli.report import end  # slow: SciPy, Matplotlib

    end(status, code, report=not arguments.no_report, as_json=arguments.json)
    return code


def narrowing_of(arguments: argparse.Namespace) -> Narrowing:
    """What the options of `add_narrowing` say."""
    checks = tuple(name for names in arguments.checks or () for name in names)
    return Narrowing(
        arguments.environments, checks, arguments.nodes, arguments.blocks, arguments.scale
    )
