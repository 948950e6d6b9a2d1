# SPDX-License-Identifier: Apache-2.0
"""`assay site`: a site described and proven, and a folder for files of your own; `assay build`: a
site's MPI libraries and our programs, and their sources."""

import argparse
import json
import os
import signal
import sys
from pathlib import Path

from assay import ROOT
from assay.build import builder
from assay.build.spack import find_spack, locked, say_with_time
from assay.cli.arguments import argument, declared, flag, repeated, site, verbs
from assay.onboarding.init import init_site
from assay.schema.loading import load_campaign
from assay.screens.screen import Screen
from assay.sites.loading import site_to_plan_for
from assay.sites.site_file import facts_file, spack_home
from assay.terminal import say
from checks.common.registry import FOLDERS
from checks.common.sources import CHECKS as SHIPPED
from checks.common.sources import FURTHER_CHECKS
from records.errors import AssayError, ExitStatus, InfrastructureError
from records.files import write_whole
from reports.commands import first_run, site_init
from reports.render.terminal import show_command

#: What `assay site folder` writes.
_LAID_OUT = {
    "README.md": """\
# Sites and campaigns
Call `assay` in this folder, and keep it in a git repository.

- `site-config/SITE/`: a site. `assay site init SITE` writes it and proves it by jobs.
- `campaigns/NAME.yaml`: a campaign, run by `assay run NAME --site SITE`. `assay schema` prints the
  JSON Schema of such files.
- `campaigns/criteria/NAME.yaml`: criteria, used by `assay accept RUN --criteria NAME`.
- `results/`: runs. `build/`: what is built for them. git ignores both.

A name that is not here is one that comes with Assay: `assay plan quick --site SITE`.
""",
    ".gitignore": "/build/\n/results/\n",
    "campaigns/criteria/.gitkeep": "",
    "site-config/.gitkeep": "",
}


def folder_command(arguments: argparse.Namespace) -> int:
    """`assay site folder`: lay out the folder; gives the exit status."""
    folder: Path = arguments.folder
    places = [folder / Path(name).parts[0] for name in _LAID_OUT]
    if there := [place for place in places if os.path.lexists(place)]:
        raise AssayError(f"{there[0]} exists and is kept; give a folder without it")
    try:
        for name, text in _LAID_OUT.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text)
    except OSError as error:
        raise AssayError(f"{error.filename}: cannot be written ({error.strerror})") from error
    say(f"written: {folder}")
    show_command(site_init(str(folder)), Screen(), indent=0)
    return ExitStatus.PASS


def init_command(arguments: argparse.Namespace) -> int:
    """Write the site; gives the exit status."""
    access = [
        f"--{key}={value}" for key in ("account", "qos") if (value := getattr(arguments, key))
    ]
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, signal.default_int_handler)
    try:
        file, written = init_site(
            say,
            name=arguments.name,
            access=[*access, *arguments.access],
            partitions=arguments.partition,
            environments=(arguments.environments or "").replace(",", " ").split(),
            work_dir=arguments.work_dir,
            overwrite=arguments.overwrite,
        )
    except KeyboardInterrupt:
        raise InfrastructureError("ended; its jobs are cancelled, nothing is written") from None
    say(f"written: {file}")
    name, (first, *others) = written["name"], written["partitions"]
    show_command(first_run(name), Screen(), indent=0)
    if others:
        sites = " or ".join(f"`--site {name}:{partition}`" for partition in others)
        say(f"`--site {name}` is partition {first}; on other nodes: {sites}")
    return ExitStatus.PASS


#: File of `assay site reframe`. What checks import lies last on Python's path: ReFrame is its own.
_REFRAME = """\
# Written by `assay site reframe {name}`; write it again where the site changes.
#   reframe -C {file} -c {checks} -R -l
import json, os, sys
sys.path += {path!r}
os.environ |= {variables!r}
from checks.common.session.settings import by_hand
site_configuration = by_hand(json.loads({site!r}), {prefix!r}, json.loads({sweep!r}))
"""


def reframe_command(arguments: argparse.Namespace) -> int:
    """`assay site reframe`: the configuration by which ReFrame runs the checks; gives the exit
    status."""
    site, assumed = site_to_plan_for(arguments.name)
    all_ = site.description.environments.items()
    built = {
        n: e for n, e in all_ if not e.spack_view or facts_file(site.name, e.spack_view).exists()
    }
    entries = [one.at("paper") for one in load_campaign(arguments.campaign).cases]
    sweep = [{"check": e.check, "matrix": e.matrix, "fixed": e.fixed} for e in entries]
    file = arguments.output or site.work_dir(Path("results"), "reframe") / "settings.py"
    outside = os.pathsep.join(map(str, FOLDERS))
    text = _REFRAME.format(
        name=arguments.name,
        file=(file := file.absolute()),
        checks=SHIPPED,
        path=[str(ROOT), *(path for path in sys.path if path.endswith("-packages"))],
        variables={"ASSAY_HPL_ARCHIVE": site.hpl_source(), FURTHER_CHECKS: outside},
        site=json.dumps(site.changed(environments=built).session_data()),
        prefix=str(file.parent),
        sweep=json.dumps(sweep),
    )
    file.parent.mkdir(parents=True, exist_ok=True)
    write_whole(file, text.encode())
    say(f"written: {file}")
    say(f"list its checks: `reframe -C {file} -c {SHIPPED} -R -l`")
    if assumed:
        say(assumed)
    return ExitStatus.PASS


declare = verbs(
    (
        "folder",
        "lay out a folder for the sites and campaigns of your own",
        folder_command,
        argument("folder FOLDER", "made if it is not there", type=Path),
    ),
    (
        "init",
        "ask Slurm, prove the answers by jobs, write site-config/NAME/site.yaml",
        init_command,
        argument("name NAME", "local: this machine alone; default: Slurm's name", nargs="?"),
        argument("--account", "Slurm account of the jobs"),
        argument("--qos", "QOS of the jobs"),
        repeated("--access OPTION", "further sbatch option"),
        repeated("--partition", "only this partition; may be repeated"),
        argument("--environments LIST", "only these, with commas between"),
        argument("--work-dir DIR", "folder that all nodes see"),
        flag("--overwrite", "replace a site.yaml that exists"),
    ),
    (
        "reframe",
        "write ReFrame's configuration of a site, by which ReFrame itself runs the checks",
        reframe_command,
        argument("name SITE", "as --site of other commands"),
        argument("--campaign CAMPAIGN", "whose entries are swept", default="measurements"),
        argument("--output FILE", "default: reframe/settings.py in the work folder", type=Path),
    ),
)


def build_command(arguments: argparse.Namespace) -> int:
    """`assay build`."""
    if arguments.mirror is not None:
        return _fill_mirror(arguments)
    asked = tuple(word for word in arguments.environments.split(",") if word)
    built = builder.spack_section(arguments.site)
    request = builder.BuildRequest(arguments.site, built, asked, arguments.offline)
    request.views()
    spack = find_spack()
    with locked(spack.home):
        builder.build(spack, request, say_with_time)
    return ExitStatus.PASS


def _fill_mirror(arguments: argparse.Namespace) -> int:
    """`assay build --mirror`."""
    built = builder.spack_section(arguments.site)
    with locked(spack_home()):
        if arguments.mirror == "distribution":
            builder.fill_from_distribution(spack_home(), built, say_with_time)
        else:
            commands = builder.prepare(
                find_spack(), builder.BuildRequest(arguments.site, built), say_with_time
            )
            builder.fill_from_web(commands)
    return ExitStatus.PASS


declare_build = declared(
    build_command,
    site(),
    argument("--environments", "only these, e.g. lam-spack,mpich-spack; default: all", default=""),
    argument(
        "--mirror",
        "only fill the source mirror, for builds without the web, from the distribution's"
        " source packages or from each recipe's own place; checksums are verified",
        choices=["distribution", "web"],
    ),
    flag("--offline", "sources from the mirror only"),
)
