# SPDX-License-Identifier: Apache-2.0
"""`assay build`: a site's MPI libraries and our programs, and their sources."""

from __future__ import annotations

import argparse

from assay.build.builder import BuildRequest, build, prepare, resolve, spack_section
from assay.build.sources import fill_from_distribution, fill_from_web
from assay.build.spack import find_spack, locked, say_with_time
from assay.cli import arguments as shared
from assay.cli.arguments import argument, flag, site
from assay.sites.builds import spack_home
from records.errors import ExitStatus


def build_command(arguments: argparse.Namespace) -> int:
    """`assay build`."""
    if arguments.mirror is not None:
        return _fill_mirror(arguments)
    asked = tuple(word for word in arguments.environments.split(",") if word)
    built = spack_section(arguments.site)
    request = BuildRequest(arguments.site, built, asked, arguments.offline)
    request.views()
    spack = find_spack()
    with locked(spack.home):
        build(spack, request, say_with_time)
    return ExitStatus.PASS


def _fill_mirror(arguments: argparse.Namespace) -> int:
    """`assay build --mirror`."""
    built = spack_section(arguments.site)
    with locked(spack_home()):
        if arguments.mirror == "distribution":
            fill_from_distribution(spack_home(), built, say_with_time)
        else:
            commands = prepare(find_spack(), BuildRequest(arguments.site, built), say_with_time)
            resolve(commands)
            fill_from_web(commands)
    return ExitStatus.PASS


def declare(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `assay build`."""
    shared.declare(
        parser,
        build_command,
        site(),
        argument(
            "--environments", "only these, e.g. lam-spack,mpich-spack; default: all", default=""
        ),
        argument(
            "--mirror",
            "only fill the source mirror, for builds without the web, from the distribution's"
            " source packages or from each recipe's own place; checksums are verified",
            choices=["distribution", "web"],
        ),
        flag("--offline", "sources from the mirror only"),
    )
