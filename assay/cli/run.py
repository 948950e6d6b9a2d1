# SPDX-License-Identifier: Apache-2.0
"""`assay run`: run a campaign on a site, or go on with a run."""

from __future__ import annotations

import argparse
import signal
from typing import Any

from assay.cli.narrowing import add_narrowing, narrowing_of
from assay.cli.options import DEFAULT_SITE, add_builder, add_campaign, add_json, add_site
from assay.plan import WHOLE
from assay.run.start import resume_run, start_run
from checks.common.slurm.text import seconds_of
from records.errors import AssayError, ExitStatus


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_campaign(parser, optional=True)
    text = f"a folder of site-config/; default: {DEFAULT_SITE}, or where the resumed run began"
    add_site(parser, None, text)
    add_narrowing(parser)
    parser.add_argument("--resume", metavar="RUN", help="go on with this run")
    parser.add_argument("--plain", action="store_true", help="plain lines even on a terminal")
    parser.add_argument("--no-report", action="store_true", help="write no report at the end")
    add_json(parser)
    add_builder(parser)
    parser.add_argument(
        "--in-one-job",
        action="store_true",
        help="ask Slurm once for nodes, and run all launches there as steps; inside a job with"
        " enough nodes (salloc, a batch script) that is always so",
    )
    parser.add_argument(
        "--time",
        metavar="TIME",
        type=_time,
        help="with --in-one-job: how long to hold the nodes, in minutes or as [D-]HH:MM:SS; when it"
        " is used up they are asked for again; default: what the plan needs",
    )
    parser.set_defaults(run=_run)


def _run(arguments: argparse.Namespace) -> int:
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
    from assay.cli.run_ending import end  # slow: SciPy, Matplotlib

    end(status, code, report=not arguments.no_report, as_json=arguments.json)
    return code


def _time(text: str) -> float:
    seconds = 60 * int(text) if text.isascii() and text.isdigit() else seconds_of(text)
    if not seconds:
        raise argparse.ArgumentTypeError(
            f"found {text!r:.40}; allowed are minutes, e.g. 30, or sbatch's forms, e.g. 1-12:30"
        )
    return float(seconds)
