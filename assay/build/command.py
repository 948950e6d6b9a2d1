# SPDX-License-Identifier: Apache-2.0
"""`assay build` and `assay mirror create`: arguments, and what they do."""

from __future__ import annotations

import argparse
import time
from typing import TYPE_CHECKING, Any

from records.errors import AssayError, ExitStatus

if TYPE_CHECKING:
    from assay.sites.description import SpackDescription

_DEFAULT_SITE = "virtual"


def add_parsers(subparsers: Any) -> None:
    """Add both commands to the parser of `assay`."""
    _add_build(subparsers)
    _add_mirror(subparsers)


def _add_build(subparsers: Any) -> None:
    text = "build a site's MPI libraries and our programs on each"
    parser = subparsers.add_parser("build", help=text, description=text)
    parser.add_argument("--site", default=_DEFAULT_SITE, help="a folder of site-config/")
    parser.add_argument(
        "--environments", default="", help="only these, e.g. lam-spack,mpich-spack; default: all"
    )
    parser.add_argument(
        "--with",
        dest="builder",
        choices=["spack", "distribution"],
        default="spack",
        help="spack (default); distribution: its packages, installed by make setup",
    )
    parser.add_argument("--offline", action="store_true", help="sources from the mirror only")
    parser.add_argument("--anew", action="store_true", help="choose all versions anew, not by lock")
    parser.add_argument("--jobs", type=int, default=0, help="at once; default: one a core")
    parser.set_defaults(run=_build)


def _build(arguments: argparse.Namespace) -> int:
    if arguments.builder == "distribution":
        return _distribution(arguments)
    from assay.build.builder import BuildRequest, build  # noqa: PLC0415
    from assay.build.home_lock import building  # noqa: PLC0415
    from assay.build.paths import find_spack  # noqa: PLC0415

    asked = tuple(word for word in arguments.environments.split(",") if word)
    built = _described(arguments.site)
    request = BuildRequest(
        arguments.site, built, asked, arguments.offline, arguments.anew, arguments.jobs
    )
    request.views()
    spack = find_spack()
    with building(spack.home):
        build(spack, request, _say)
    return ExitStatus.PASS


def _distribution(arguments: argparse.Namespace) -> int:
    from assay.doctor import examine, render  # noqa: PLC0415

    if arguments.offline or arguments.environments:
        raise AssayError(
            "--with distribution takes neither --offline nor --environments: its packages are"
            " installed as a whole by make setup, and our programs are compiled as a run begins"
        )
    findings = examine(None)
    print(render(findings))
    missing = any(not finding.found for finding in findings)
    return ExitStatus.INFRASTRUCTURE if missing else ExitStatus.PASS


def _add_mirror(subparsers: Any) -> None:
    text = "the source mirror, for builds without the web"
    parser = subparsers.add_parser("mirror", help=text, description=text)
    actions = parser.add_subparsers(required=True, metavar="ACTION")
    create = actions.add_parser("create", help="fill the mirror; checksums are verified")
    create.add_argument("--site", default=_DEFAULT_SITE, help="a folder of site-config/")
    create.add_argument(
        "--from",
        dest="origin",
        choices=["distribution", "web"],
        default="distribution",
        help="the distribution's source packages (default), or each recipe's own place",
    )
    create.set_defaults(run=_mirror)


def _mirror(arguments: argparse.Namespace) -> int:
    from assay.build.builder import BuildRequest, prepare, resolve  # noqa: PLC0415
    from assay.build.home_lock import building  # noqa: PLC0415
    from assay.build.mirror import fill_from_distribution, fill_from_web  # noqa: PLC0415
    from assay.build.paths import find_spack, spack_home  # noqa: PLC0415

    built = _described(arguments.site)
    with building(spack_home()):
        if arguments.origin == "distribution":
            fill_from_distribution(spack_home(), built, _say)
        else:
            commands = prepare(find_spack(), BuildRequest(arguments.site, built), _say)
            resolve(commands)
            fill_from_web(commands)
    return ExitStatus.PASS


def _described(site: str) -> SpackDescription:
    from assay.sites.site_file import read_description  # noqa: PLC0415

    built = read_description(site).spack
    if built is None:
        raise AssayError(
            f"site {site}: its site.yaml has no section `spack`, so nothing is built there; see"
            " site-config/virtual/site.yaml for one"
        )
    return built


def _say(line: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {line}", flush=True)
