# SPDX-License-Identifier: Apache-2.0
"""`assay site init|check`: a site's configuration, written from what is there and proven."""

from __future__ import annotations

import argparse

from assay.cli.options import add_json


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
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
    init.set_defaults(run="assay.cli.site_init:run")
    text = "repeat the proof of a site, and name what changed"
    check = commands.add_parser("check", help=text, description=text)
    check.add_argument("site", metavar="SITE", help="a folder of site-config/")
    check.add_argument("--accept", action="store_true", help="keep what is there now as the proof")
    add_json(check)
    check.set_defaults(run="assay.cli.site_check:run")
