# SPDX-License-Identifier: Apache-2.0
"""`assay site`: a site described and proven, and a folder for files of your own."""

from __future__ import annotations

import argparse
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import NoReturn

from assay.cli.arguments import JSON, Verbs, argument, flag, repeated
from assay.onboarding.init import Wishes, init_site
from assay.onboarding.proof import check_site
from assay.plan import make_plan
from assay.schema import load_campaign
from assay.screens.screen import Screen
from assay.sites.loading import load_site
from assay.terminal import say
from records.errors import AssayError, ExitStatus, InfrastructureError
from records.forms import as_text
from reports.commands import NextCommand, doctor, first_run, site_init
from reports.render.terminal import show_command

#: Where the text of a finding begins.
_HANG = len("not proven  ")
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
    wishes = Wishes(
        name=arguments.name,
        access=[*access, *arguments.access],
        partitions=arguments.partition,
        environments=(arguments.environments or "").replace(",", " ").split(),
        work_dir=arguments.work_dir,
        overwrite=arguments.overwrite,
    )
    with _ended_by_signals():
        written = init_site(wishes, _progress)
    if arguments.json:
        print(as_text(written), end="")
        return ExitStatus.PASS
    say(f"written: {written.file}")
    show_command(_leads_to(written.site), Screen(), indent=0)
    first, *others = written.description["partitions"]
    if others:
        sites = " or ".join(f"`--site {written.site}:{one}`" for one in others)
        say(f"`--site {written.site}` is partition {first}; on other nodes: {sites}")
    return ExitStatus.PASS


def _leads_to(site: str) -> NextCommand:
    """The first campaign, where the site can run it; else what the site lacks."""
    try:
        make_plan(load_campaign("quick"), load_site(site).facts())
    except AssayError:
        return doctor(site)
    return first_run(site)


def check_command(arguments: argparse.Namespace) -> int:
    """Prove the site again; gives the exit status: FAIL where something changed."""
    with _ended_by_signals():
        found = check_site(arguments.site, _progress, accept=arguments.accept)
    if arguments.json:
        print(as_text(found), end="")
    else:
        for fault in found.faults:
            say(f"not proven  {fault}", hang=_HANG)
        for change in found.changes:
            say(f"changed     {change.text}", hang=_HANG)
        if not found.faults and not found.changes:
            say(f"site {found.site}: proven, nothing changed")
        elif arguments.accept and found.proof is not None:
            say(f"kept as the proof of site {found.site}")
    return ExitStatus.FAIL if found.faults or found.changes else ExitStatus.PASS


def _progress(text: str) -> None:
    """Progress: not part of what a machine reads."""
    print(text, file=sys.stderr, flush=True)


@contextmanager
def _ended_by_signals() -> Iterator[None]:
    """Within this TERM, INT and HUP raise an InfrastructureError wherever the program is, so that
    jobs are cancelled and the folder is removed on the way out.

    Once: a second signal does not disturb the tidying up.
    """

    def stop(number: int, _: FrameType | None) -> NoReturn:
        for one in before:
            signal.signal(one, signal.SIG_IGN)
        name = signal.Signals(number).name
        raise InfrastructureError(f"ended by {name}; its jobs are cancelled, nothing is written")

    kinds = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
    heeded = [one for one in kinds if signal.getsignal(one) is not signal.SIG_IGN]
    before = {one: signal.signal(one, stop) for one in heeded}
    try:
        yield
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)


def declare(parser: argparse.ArgumentParser) -> None:
    """Declare the commands below `assay site`."""
    verbs = Verbs(parser)
    verbs.add(
        "folder",
        "lay out a folder for the sites and campaigns of your own",
        folder_command,
        argument("folder FOLDER", "made if it is not there", type=Path),
    )
    verbs.add(
        "init",
        "ask Slurm, prove the answers by jobs, write site-config/NAME/site.yaml",
        init_command,
        argument("name NAME", "default: Slurm's cluster name", nargs="?"),
        argument("--account", "Slurm account of the jobs"),
        argument("--qos", "QOS of the jobs"),
        repeated("--access OPTION", "further sbatch option"),
        repeated("--partition", "only this partition; may be repeated"),
        argument("--environments LIST", "only these, with commas between"),
        argument("--work-dir DIR", "folder that all nodes see"),
        flag("--overwrite", "replace a site.yaml that exists"),
        JSON,
    )
    verbs.add(
        "check",
        "repeat the proof of a site, and name what changed",
        check_command,
        argument("site SITE", "a folder of site-config/"),
        flag("--accept", "keep what is there now as the proof"),
        JSON,
    )
