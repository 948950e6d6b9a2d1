# SPDX-License-Identifier: Apache-2.0
"""`assay plan`: what would run on a site, and what it costs."""

from __future__ import annotations

import argparse

from assay.cli.narrowing import add_narrowing, narrowing_of
from assay.cli.options import add_builder, add_campaign, add_json, add_site
from assay.plan import make_plan, measured_in, render_plan
from assay.schema import load_campaign
from assay.sites.loading import add_checks_of, load_site
from assay.terminal import say
from records.errors import ExitStatus
from records.run.run_directory import open_run


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_campaign(parser)
    add_site(parser)
    add_narrowing(parser)
    add_builder(parser)
    parser.add_argument(
        "--measured", metavar="RUN", help="judge by this run's times which launches are too short"
    )
    parser.add_argument(
        "--criteria",
        metavar="CRITERIA",
        help="also what judging it by these criteria risks: how often a good machine does not pass,"
        " and a bad one does",
    )
    add_json(parser)
    parser.set_defaults(run=_plan)


def _plan(arguments: argparse.Namespace) -> int:
    add_checks_of(arguments.site)
    campaign = load_campaign(arguments.campaign)
    site = load_site(arguments.site).with_builds(arguments.builder)
    site = site.with_possible_variants(campaign.variants)
    measured = measured_in(open_run(arguments.measured)) if arguments.measured else None
    plan = make_plan(campaign, site.facts(), narrowing_of(arguments), measured)
    if arguments.criteria is None:
        if arguments.json:
            print(plan.to_json())
        else:
            say(render_plan(plan))
        return ExitStatus.PASS
    from assay.cli.plan_risks import print_risks  # slow: SciPy

    print_risks(plan, arguments.criteria, site, as_json=arguments.json)
    return ExitStatus.PASS
