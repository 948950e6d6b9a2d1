# SPDX-License-Identifier: Apache-2.0
"""`assay plan` and `assay run`: what can be asked, what it costs on a site, and its run."""

import argparse
import signal
import sys
from dataclasses import replace

from assay.cli import arguments as shared
from assay.loading import ended_by_ctrl_c
from assay.plan.cases import WHOLE, Narrowing
from assay.plan.planner import completed, make_plan
from assay.plan.render import render_plan
from assay.plan.times import earlier_times
from assay.schema.loading import campaign_names, load_campaign
from assay.screens.screen import Screen
from assay.sites.loading import add_checks_of, site_to_plan_for
from assay.terminal import say
from records.errors import AssayError, ExitStatus
from reports.show.tables import Column


def _list_campaigns() -> int:
    """Print the campaigns, each with its question; a faulty one with its fault."""
    rows = []
    for name in campaign_names():
        try:
            rows.append((name, " ".join(load_campaign(name).question.split())))
        except AssayError as error:
            rows.append((name, f"faulty: {str(error).splitlines()[0]}"))
    screen = Screen()
    screen.table([Column("campaign"), Column("asks")], rows)
    screen.line("what one would run, and what it costs: assay plan CAMPAIGN")
    return ExitStatus.PASS


def plan_command(arguments: argparse.Namespace) -> int:
    """`assay plan`: print the plan."""
    if arguments.campaign is None:
        if arguments.json:
            raise AssayError("plan: --json has the plan of a campaign: give a CAMPAIGN")
        return _list_campaigns()
    add_checks_of(arguments.site)
    campaign = load_campaign(arguments.campaign)
    found, note = site_to_plan_for(arguments.site)
    if note:
        print(note, file=sys.stderr)
    site = found.with_builds(arguments.builder).with_possible_variants(campaign.variants)
    campaign = completed(campaign, site)
    earlier = earlier_times(site.provenance(), campaign.name)
    plan = make_plan(campaign, site.facts(), narrowing_of(arguments), earlier)
    if arguments.json:
        print(plan.to_json())
    else:
        say(render_plan(plan))
    return ExitStatus.PASS


def run_command(arguments: argparse.Namespace) -> int:
    """`assay run`: begin a campaign, or go on with a run, and report on it."""
    with ended_by_ctrl_c():
        from assay.run.start import resume_run, start_run  # slow: ReFrame

    if arguments.campaign is None and arguments.resume is None:
        raise AssayError("run: give a CAMPAIGN (`assay plan` lists them), or --resume RUN")
    if arguments.campaign is not None and arguments.resume is not None:
        raise AssayError("give a campaign to begin, or --resume RUN to go on with one; not both")
    narrowing = narrowing_of(arguments)
    _refuse_narrowed(arguments, narrowing)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    live = False if arguments.plain or arguments.json else None
    if arguments.resume:
        added = {"blocks": arguments.blocks, "until_decided": arguments.until is not None}
        status = resume_run(arguments.resume, arguments.site, live, **added)
    else:
        site = arguments.site or shared.DEFAULT_SITE
        status = start_run(arguments.campaign, site, live, arguments.builder, narrowing=narrowing)
    code = ExitStatus.FAIL if status.failed or not status.complete else ExitStatus.PASS
    from assay.cli.report import end  # slow: SciPy, Matplotlib

    end(status, code, report=not arguments.no_report, as_json=arguments.json)
    return code


def _refuse_narrowed(arguments: argparse.Namespace, narrowing: Narrowing) -> None:
    """Raise AssayError for options that narrow a run that is resumed, or extend one that is not."""
    if not arguments.resume:
        if arguments.until:
            raise AssayError(
                "--until adds blocks to a run that has ended: give --resume RUN; a campaign says in"
                " `blocks` how many a new run may have"
            )
        return
    narrowing = replace(narrowing, blocks=None)
    if narrowing != WHOLE:
        options = ", ".join(f"--{option}" for option in narrowing.as_plain())
        raise AssayError(
            f"{options}: a run goes on as it was begun; leave the options out, or begin another"
        )


def narrowing_of(arguments: argparse.Namespace) -> Narrowing:
    """Narrowing that the options of `add_narrowing` ask for."""
    checks = tuple(name for names in arguments.checks or () for name in names)
    return Narrowing(
        arguments.environments, checks, arguments.nodes, arguments.blocks, arguments.scale
    )


declare_plan = shared.declared(
    plan_command,
    *(shared.MAYBE_CAMPAIGN, shared.site(), *shared.NARROWING, shared.BUILDER),
    shared.JSON,
)


declare_run = shared.declared(
    run_command,
    shared.MAYBE_CAMPAIGN,
    shared.site(None, f"default: {shared.DEFAULT_SITE}, or where the resumed run began"),
    *shared.NARROWING,
    shared.argument(
        "--resume RUN", "go on with this run; with --blocks N, add N blocks to one that ended"
    ),
    shared.argument(
        "--until",
        "with --resume: add blocks until what the campaign asks is known, at most --blocks;"
        " default: as many as the run has",
        choices=["decided"],
    ),
    shared.flag("--plain", "plain lines even on a terminal"),
    shared.flag("--no-report", "write no report at the end"),
    *(shared.JSON, shared.BUILDER),
)
