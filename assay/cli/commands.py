# SPDX-License-Identifier: Apache-2.0
"""The commands of `assay`, each a small function from arguments to an exit status."""

from __future__ import annotations

import argparse
import json
import signal
import sys
from pathlib import Path
from typing import Any

from assay.cli import history, nightly
from records.errors import AssayError, ExitStatus

_DEFAULT_SITE = "virtual"
_REPORT_FORMATS = ("html", "md", "csv", "junit", "json", "parquet", "pdf")


def add_parsers(subparsers: Any) -> None:
    """Add every command to the parser."""
    _add_doctor(subparsers)
    _add_cluster(subparsers)
    _add_plan(subparsers)
    _add_builds(subparsers)
    _add_run(subparsers)
    _add_status(subparsers)
    _add_report(subparsers)
    _add_compare(subparsers)
    history.add_parsers(subparsers)
    nightly.add_parsers(subparsers)
    _add_schema(subparsers)


def _command(subparsers: Any, name: str, run: Any, help_text: str) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = subparsers.add_parser(
        name, help=help_text, description=help_text
    )
    parser.set_defaults(run=run)
    return parser


def _add_doctor(subparsers: Any) -> None:
    parser = _command(subparsers, "doctor", _doctor, "what is missing, and the command that mends")
    parser.add_argument("--site", default=None, help="also look at this site")
    parser.add_argument("--json", action="store_true", help="for machines")


def _doctor(arguments: argparse.Namespace) -> int:
    from assay.doctor import examine, render  # noqa: PLC0415

    findings = examine(arguments.site)
    if arguments.json:
        print(json.dumps([finding.__dict__ for finding in findings], indent=1))
    else:
        print(render(findings))
    missing = any(not finding.found for finding in findings)
    return ExitStatus.INFRASTRUCTURE if missing else ExitStatus.PASS


def _add_cluster(subparsers: Any) -> None:
    from virtual_cluster import command  # noqa: PLC0415

    command.add_parser(subparsers)


def _add_builds(subparsers: Any) -> None:
    from assay.build import command  # noqa: PLC0415

    command.add_parsers(subparsers)


def _add_plan(subparsers: Any) -> None:
    parser = _command(subparsers, "plan", _plan, "what would run on a site, and what it costs")
    _add_campaign(parser)
    parser.add_argument("--json", action="store_true", help="the plan as JSON")


def _add_campaign(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("campaign", help="a name in campaigns/ or a campaign file")
    parser.add_argument("--site", default=_DEFAULT_SITE, help="a folder of site-config/")


def _plan(arguments: argparse.Namespace) -> int:
    from assay.plan import make_plan, render_plan  # noqa: PLC0415
    from assay.schema import load_campaign  # noqa: PLC0415
    from assay.sites.loading import load_site  # noqa: PLC0415

    campaign = load_campaign(arguments.campaign)
    site = load_site(arguments.site).with_variants(campaign.variants)
    plan = make_plan(campaign, site.facts())
    print(plan.to_json() if arguments.json else render_plan(plan))
    return ExitStatus.PASS


def _add_run(subparsers: Any) -> None:
    parser = _command(subparsers, "run", _run, "run a campaign on a site, or go on with a run")
    parser.add_argument("campaign", nargs="?", help="a name in campaigns/ or a campaign file")
    parser.add_argument(
        "--site",
        help=f"a folder of site-config/; default: {_DEFAULT_SITE}, or where the resumed run began",
    )
    parser.add_argument("--resume", metavar="RUN", help="go on with this run")
    parser.add_argument("--plain", action="store_true", help="plain lines even on a terminal")
    parser.add_argument(
        "--with",
        dest="builder",
        choices=["spack", "distribution"],
        help="whose builds stand behind the campaign's environments; default: as the site says",
    )


def _run(arguments: argparse.Namespace) -> int:
    from assay.run.start import resume_run, start_run  # noqa: PLC0415

    if (arguments.campaign is None) == (arguments.resume is None):
        raise AssayError("give a campaign to begin, or --resume RUN to go on with one; not both")
    signal.signal(signal.SIGTERM, _interrupt)
    live = False if arguments.plain else None
    if arguments.resume:
        status = resume_run(arguments.resume, arguments.site, live)
    else:
        site = arguments.site or _DEFAULT_SITE
        status = start_run(arguments.campaign, site, live, arguments.builder)
    good = status.complete and set(status.counts) <= {"ok"}
    return ExitStatus.PASS if good else ExitStatus.FAIL


def _interrupt(signum: int, frame: object) -> None:
    del signum, frame
    raise KeyboardInterrupt


def _add_status(subparsers: Any) -> None:
    parser = _command(subparsers, "status", _status, "progress, failures, time left of a run")
    parser.add_argument("run_name", nargs="?", metavar="RUN", help="default: the newest")
    parser.add_argument("--json", action="store_true", help="for machines")


def _status(arguments: argparse.Namespace) -> int:
    from assay.run.status import render_status, run_status  # noqa: PLC0415
    from records.run_directory import latest_run, open_run  # noqa: PLC0415

    run = open_run(arguments.run_name) if arguments.run_name else latest_run()
    status = run_status(run)
    print(json.dumps(status.to_json(), indent=1) if arguments.json else render_status(status))
    return ExitStatus.PASS


def _add_report(subparsers: Any) -> None:
    parser = _command(subparsers, "report", _report, "tables, plots and verdicts of a run")
    parser.add_argument("run_name", nargs="?", metavar="RUN", help="default: the newest")
    parser.add_argument("--format", action="append", choices=_REPORT_FORMATS)
    parser.add_argument("--out", type=Path, help="folder; default: RUN/report")


def _report(arguments: argparse.Namespace) -> int:
    from records.run_directory import latest_run, open_run  # noqa: PLC0415
    from reports.write.report import build_report, default_formats  # noqa: PLC0415

    run = open_run(arguments.run_name) if arguments.run_name else latest_run()
    formats = tuple(arguments.format or default_formats())
    paths = build_report(run.path, arguments.out, formats)
    for path in paths.written():
        print(path)
    if not arguments.format and "pdf" not in formats:
        print("no report.pdf: no Chromium found (apt-get install chromium)", file=sys.stderr)
    return ExitStatus.PASS


def _add_compare(subparsers: Any) -> None:
    parser = _command(subparsers, "compare", _compare, "two runs of one campaign side by side")
    parser.add_argument("run_a", metavar="RUN")
    parser.add_argument("run_b", metavar="RUN")
    parser.add_argument("--html", type=Path, metavar="FILE", help="also write it as a page")


def _compare(arguments: argparse.Namespace) -> int:
    from records.run_directory import open_run  # noqa: PLC0415
    from reports.comparison.compare import compare  # noqa: PLC0415
    from reports.comparison.page import write_page  # noqa: PLC0415

    found = compare(open_run(arguments.run_a).path, open_run(arguments.run_b).path)
    print(found.markdown())
    if arguments.html:
        write_page(found, arguments.html)
        print(arguments.html, file=sys.stderr)
    return ExitStatus.PASS


def _add_schema(subparsers: Any) -> None:
    parser = _command(subparsers, "schema", _schema, "print the JSON Schema of what people write")
    parser.add_argument("of", nargs="?", choices=["campaign", "criteria"], default="campaign")


def _schema(arguments: argparse.Namespace) -> int:
    from assay.criteria.json_schema import criteria_schema  # noqa: PLC0415
    from assay.schema import campaign_schema  # noqa: PLC0415

    schema = criteria_schema() if arguments.of == "criteria" else campaign_schema()
    json.dump(schema, sys.stdout, indent=2, ensure_ascii=False)
    print()
    return ExitStatus.PASS
