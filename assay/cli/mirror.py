# SPDX-License-Identifier: Apache-2.0
"""`assay mirror create`: fill the source mirror, for builds without the web."""

from __future__ import annotations

import argparse

from assay.build.builder import BuildRequest, prepare, resolve, spack_section
from assay.build.commands import say_with_time
from assay.build.home_lock import building
from assay.build.mirror import fill_from_distribution, fill_from_web
from assay.build.spack import find_spack
from assay.cli.options import add_site
from assay.sites.builds import spack_home
from records.errors import ExitStatus


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
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
    create.set_defaults(run=_create)


def _create(arguments: argparse.Namespace) -> int:
    built = spack_section(arguments.site)
    with building(spack_home()):
        if arguments.origin == "distribution":
            fill_from_distribution(spack_home(), built, say_with_time)
        else:
            commands = prepare(find_spack(), BuildRequest(arguments.site, built), say_with_time)
            resolve(commands)
            fill_from_web(commands)
    return ExitStatus.PASS
