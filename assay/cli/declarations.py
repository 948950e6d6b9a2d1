# SPDX-License-Identifier: Apache-2.0
"""The arguments of each command, declared without what its work is slow to load.

`run` of a declared command names its work as "module:function"; `assay.cli.main` loads it.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from assay.cli.options import (
    DEFAULT_SITE,
    NAMED,
    add_builder,
    add_campaign,
    add_checks,
    add_history,
    add_json,
    add_judging,
    add_narrowing,
    add_pictures,
    add_run,
    add_site,
    length_s,
)
from assay.nightly.schedule import KINDS
from checks.common.sources import FURTHER_CHECKS
from records.history import DEFAULT_HISTORY

#: The formats of a report, as `reports.write.report` writes them; loading that takes a second.
REPORT_FORMATS = ("html", "md", "csv", "junit", "json", "parquet", "pdf")
#: The kinds of raw files, as in `records.run.run_directory.RAW_SUFFIX`.
RAW_KINDS = ("script", "stdout", "stderr")
EXPORT_FORMATS = ("openmetrics", "influx")


def doctor(parser: argparse.ArgumentParser) -> None:
    """`assay doctor`."""
    parser.add_argument("--site", metavar="SITE", help="check what this site needs")
    add_json(parser)
    parser.set_defaults(run="assay.cli.doctor:doctor_command")


def plan(parser: argparse.ArgumentParser) -> None:
    """`assay plan`."""
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
    parser.set_defaults(run="assay.cli.campaign:plan_command")


def checks(parser: argparse.ArgumentParser) -> None:
    """`assay checks`."""
    parser.add_argument("name", metavar="CHECK", nargs="?", help="explain this one")
    add_checks(parser)
    add_json(parser)
    parser.set_defaults(run="assay.cli.checks:checks_command")


def build(parser: argparse.ArgumentParser) -> None:
    """`assay build`."""
    add_site(parser)
    parser.add_argument(
        "--environments", default="", help="only these, e.g. lam-spack,mpich-spack; default: all"
    )
    parser.add_argument(
        "--with",
        dest="builder",
        choices=["spack", "distribution"],
        default="spack",
        help="spack (default); distribution: its packages, installed by make packages",
    )
    parser.add_argument(
        "--source",
        action="append",
        default=[],
        metavar="NAME=DIR",
        help="build package NAME from this folder, not from what its recipe fetches; repeatable",
    )
    parser.add_argument("--offline", action="store_true", help="sources from the mirror only")
    parser.add_argument("--anew", action="store_true", help="choose all versions anew, not by lock")
    parser.add_argument("--jobs", type=int, default=0, help="at once; default: one a core")
    parser.set_defaults(run="assay.cli.build:build_command")


def mirror(parser: argparse.ArgumentParser) -> None:
    """`assay mirror`."""
    actions = parser.add_subparsers(required=True, metavar="ACTION")
    create = actions.add_parser("create", help="fill the mirror; checksums are verified")
    add_site(create)
    create.add_argument(
        "--from",
        dest="origin",
        choices=["distribution", "web"],
        default="distribution",
        help="the distribution's source packages (default), or each recipe's own place",
    )
    create.set_defaults(run="assay.cli.build:mirror_command")


def run(parser: argparse.ArgumentParser) -> None:
    """`assay run`."""
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
        type=length_s,
        help="with --in-one-job: how long to hold the nodes, in minutes or as [D-]HH:MM:SS; when it"
        " is used up they are asked for again; default: what the plan needs",
    )
    parser.set_defaults(run="assay.cli.campaign:run_command")


def status(parser: argparse.ArgumentParser) -> None:
    """`assay status`."""
    add_run(parser, optional=True)
    add_json(parser)
    parser.set_defaults(run="assay.cli.status:status_command")


def raw(parser: argparse.ArgumentParser) -> None:
    """`assay raw`."""
    told = "a case's id, how it begins, or its check"
    parser.add_argument("case", metavar="CASE", help=told)
    parser.add_argument("block", metavar="BLOCK", type=int, help="from 1")
    parser.add_argument(
        "environment", metavar="ENVIRONMENT", nargs="?", help="where several cases begin so"
    )
    parser.add_argument("--run", dest="run_name", metavar="RUN", help="a run; default: the newest")
    parser.add_argument("--attempt", type=int, help="default: the latest")
    parser.add_argument(
        "--only", choices=RAW_KINDS, help="this file, byte by byte, and nothing else"
    )
    add_json(parser)
    parser.set_defaults(run="assay.cli.status:raw_command")


def report(parser: argparse.ArgumentParser) -> None:
    """`assay report`."""
    add_run(parser, optional=True)
    parser.add_argument("--format", action="append", choices=REPORT_FORMATS)
    parser.add_argument("--out", type=Path, help="folder; default: RUN/report")
    add_pictures(parser, "of the page", only=True)
    parser.add_argument(
        "--checks",
        metavar="DIR",
        action="append",
        type=Path,
        default=[],
        help="a folder of checks outside the tree, for the report.py that they bring; may be"
        f" repeated; {FURTHER_CHECKS} names more",
    )
    add_json(parser)
    parser.set_defaults(run="assay.cli.report:report_command")


def compare(parser: argparse.ArgumentParser) -> None:
    """`assay compare`."""
    parser.add_argument("run_a", metavar="RUN")
    parser.add_argument("run_b", metavar="RUN")
    parser.add_argument("--all", action="store_true", help="every value, what is not resolved too")
    parser.add_argument("--html", type=Path, metavar="FILE", help="also write it as a page")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="also write it as Markdown")
    add_pictures(parser, "of the page")
    add_history(parser)
    add_json(parser)
    parser.set_defaults(run="assay.cli.compare:compare_command")


def paper(parser: argparse.ArgumentParser) -> None:
    """`assay paper`."""
    parser.add_argument(
        "study",
        metavar="STUDY",
        help="a year, as 2003, a name, as ornl-1996, or a folder with a study.yaml",
    )
    parser.add_argument("run_directory", metavar="RUN")
    parser.add_argument("--output", type=Path, metavar="DIR", help="default: RUN/paper")
    add_pictures(parser, "of the document")
    add_json(parser)
    parser.set_defaults(run="assay.cli.compare:paper_command")


def predict(parser: argparse.ArgumentParser) -> None:
    """`assay predict`."""
    add_run(parser, optional=True)
    parser.add_argument(
        "--nodes", metavar="N", type=int, action="append", default=[], help="may be repeated"
    )
    parser.add_argument(
        "--leave-out",
        metavar="N",
        type=int,
        action="append",
        default=[],
        help="predict this measured node count from the others, against the measurement; may be"
        " repeated",
    )
    parser.add_argument(
        "--environment", metavar="NAME", action="append", default=[], help="may be repeated"
    )
    parser.add_argument(
        "--check",
        metavar="NAME",
        action="append",
        default=[],
        help="predict su3_rmd, hpl or collectives alone; may be repeated",
    )
    parser.add_argument(
        "--pictures", metavar="DIR", type=Path, help="write pictures into DIR, as SVG and PNG"
    )
    add_json(parser)
    parser.set_defaults(run="assay.cli.predict:predict_command")


def export(parser: argparse.ArgumentParser) -> None:
    """`assay export`."""
    parser.add_argument(
        "source",
        metavar="RUN",
        nargs="?",
        default=str(DEFAULT_HISTORY),
        help=f"a run directory, a run id, or a history; default: {DEFAULT_HISTORY}",
    )
    parser.add_argument(
        "--format", choices=EXPORT_FORMATS, default=EXPORT_FORMATS[0], help="default: %(default)s"
    )
    parser.add_argument(
        "--every", action="store_true", help="of a run all metrics, not the deciding ones alone"
    )
    text = "of a history only this one; default: all"
    parser.add_argument("--campaign", metavar="CAMPAIGN", help=text)
    add_site(parser, None, text)
    parser.add_argument(
        "--output", metavar="FILE", type=Path, help="write it there, whole or not at all"
    )
    parser.set_defaults(run="assay.cli.export:export_command")


def history(parser: argparse.ArgumentParser) -> None:
    """`assay history`."""
    commands = parser.add_subparsers(dest="history_command", required=True, metavar="COMMAND")
    add = _history_command(commands, "add", "add a run to the history")
    add_run(add)
    add.add_argument("--rerun-of", metavar="RUN", help="it ran suspicious cases of this run again")
    add.add_argument("--elsewhere", action="store_true", help="and did so on other nodes")
    check = _history_command(commands, "check", "judge the nights not judged yet")
    _add_group(check)
    add_judging(check)
    text = "tell those whom the history names (docs/monitoring.md)"
    check.add_argument("--notify", action="store_true", help=text)
    silent = _history_command(commands, "silent", "whether a night did not come")
    silent.add_argument(
        "--after",
        metavar="TIME",
        default="36h",
        help="silent from so long on; default: %(default)s",
    )
    silent.add_argument("--notify", action="store_true", help=text)
    silent.add_argument("--campaign", metavar="CAMPAIGN", help="default: all")
    add_site(silent, None, "default: all")
    show = _history_command(commands, "show", "what the history holds")
    _add_group(show)
    show.add_argument("--changes", action="store_true", help="the changes that were found")
    accept = _history_command(commands, "accept-change", "take changes as the new reference")
    accept.add_argument("changes", metavar="CHANGE", type=int, nargs="+", help="as check names it")
    accept.add_argument("--author", help="who accepts; default: the user's name")
    accept.add_argument(
        "--reason", help="why the change is accepted; prompted for on a terminal if omitted"
    )
    for command in (add, silent, show, accept):
        add_json(command)


def _history_command(commands: Any, name: str, text: str) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = commands.add_parser(name, help=text, description=text)
    add_history(parser)
    parser.set_defaults(run=f"assay.cli.history:{name.partition('-')[0]}_command")
    return parser


def _add_group(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--campaign", metavar="CAMPAIGN", help="default: the one added last")
    add_site(parser, None, "default: the one added last")


def site(parser: argparse.ArgumentParser) -> None:
    """`assay site`."""
    commands = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    text = "ask Slurm and you, prove the answers by jobs, write site-config/NAME/site.yaml"
    init = commands.add_parser("init", help=text, description=text)
    init.add_argument("name", metavar="NAME", nargs="?", help="default: Slurm's cluster name")
    init.add_argument(
        "--yes", action="store_true", help="accept detected defaults without prompting"
    )
    init.add_argument("--account", help="Slurm account of the jobs")
    init.add_argument("--qos", help="QOS of the jobs")
    init.add_argument("--access", metavar="OPTION", action="append", help="further sbatch option")
    init.add_argument("--partition", action="append", help="only this partition; may be repeated")
    init.add_argument("--environments", metavar="LIST", help="only these, with commas between")
    init.add_argument("--work-dir", metavar="DIR", help="folder that all nodes see")
    init.add_argument("--overwrite", action="store_true", help="replace a site.yaml that exists")
    add_json(init)
    init.set_defaults(run="assay.cli.site:init_command")
    text = "repeat the proof of a site, and name what changed"
    check = commands.add_parser("check", help=text, description=text)
    check.add_argument("site", metavar="SITE", help="a folder of site-config/")
    check.add_argument("--accept", action="store_true", help="keep what is there now as the proof")
    add_json(check)
    check.set_defaults(run="assay.cli.site:check_command")


def nightly(parser: argparse.ArgumentParser) -> None:
    """`assay nightly`."""
    commands = parser.add_subparsers(dest="nightly_command", required=True, metavar="COMMAND")
    run = commands.add_parser("run", help="run the campaign, add it to the history, judge it")
    _add_night(run)
    add_history(run)
    add_judging(run)
    run.set_defaults(run="assay.cli.nightly:run_command", rerun=True)
    install = commands.add_parser("install", help="show a schedule, and with --yes write it")
    install.add_argument("--with", dest="kind", required=True, choices=KINDS, help="what starts it")
    _add_night(install)
    install.add_argument("--at", default="02:30", help="when it starts, e.g. 02:30")
    install.add_argument("--yes", action="store_true", help="write it; without, it is only shown")
    install.add_argument("--remove", action="store_true", help="remove the schedule")
    install.set_defaults(run="assay.cli.nightly:install_command")


def _add_night(parser: argparse.ArgumentParser) -> None:
    text = "a name in campaigns/ or a file"
    parser.add_argument("--campaign", metavar="CAMPAIGN", default="nightly", help=text)
    add_site(parser)
    add_checks(parser)


def verify(parser: argparse.ArgumentParser) -> None:
    """`assay verify`."""
    parser.add_argument("target", metavar="DOCUMENT|RUN", help="a document, or its run")
    parser.add_argument("--run", dest="run_name", metavar="RUN", help="the run of the document")
    parser.add_argument("--seal", help="the seal on the signed paper, eight digits or more")
    parser.add_argument(
        "--signers", type=Path, metavar="FILE", help="allowed signers, as ssh-keygen(1) has them"
    )
    add_checks(parser)
    add_json(parser)
    parser.set_defaults(run="assay.cli.verify:verify_command")


def schema(parser: argparse.ArgumentParser) -> None:
    """`assay schema`."""
    text = "campaign, criteria, site (default: campaign), or a form; `forms` lists those"
    parser.add_argument("of", metavar="OF", nargs="?", default="campaign", help=text)
    text = "the keys of a site.yaml, or of a form, as tables in place of the schema"
    parser.add_argument("--markdown", action="store_true", help=text)
    add_checks(parser)
    parser.set_defaults(run="assay.cli.schema:schema_command")


def completion(parser: argparse.ArgumentParser) -> None:
    """`assay completion`."""
    parser.add_argument(
        "of",
        choices=["bash", "zsh", *NAMED.values()],
        metavar="bash|zsh",
        help="the script, for: source <(assay completion bash); the script itself also asks for"
        f" {', '.join(NAMED.values())}",
    )
    parser.set_defaults(run="assay.cli.completion:completion_command")
