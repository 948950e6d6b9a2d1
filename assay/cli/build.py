# SPDX-License-Identifier: Apache-2.0
"""`assay build`: build a site's MPI libraries and our programs on each."""

from __future__ import annotations

import argparse

from assay.build.builder import BuildRequest, build, spack_section
from assay.build.commands import say_with_time
from assay.build.home_lock import building
from assay.build.local_sources import local_sources
from assay.build.spack import find_spack
from assay.cli.doctor import tell
from assay.cli.options import add_site
from assay.requirements import cluster_machine, site_machine
from assay.sites.builds import spack_home
from records.errors import AssayError, ExitStatus


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
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
    parser.set_defaults(run=_build)


def _build(arguments: argparse.Namespace) -> int:
    if arguments.builder == "distribution":
        if arguments.offline or arguments.environments or arguments.source:
            raise AssayError(
                "--with distribution takes no --offline, --environments, --source: its packages are"
                " installed as a whole by make packages, and our programs compiled as a run begins"
            )
        return tell([*site_machine(), *cluster_machine()])
    asked = tuple(word for word in arguments.environments.split(",") if word)
    request = BuildRequest(
        arguments.site,
        spack_section(arguments.site),
        asked,
        arguments.offline,
        arguments.anew,
        arguments.jobs,
        local_sources(arguments.source, spack_home()),
    )
    request.views()
    spack = find_spack()
    with building(spack.home):
        build(spack, request, say_with_time)
    return ExitStatus.PASS
