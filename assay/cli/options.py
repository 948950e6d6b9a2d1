# SPDX-License-Identifier: Apache-2.0
"""Arguments that several commands share. Completion offers names by an argument's metavar."""

from __future__ import annotations

import argparse
from pathlib import Path

from assay.cli.pictures import add_pictures
from records.history import DEFAULT_HISTORY, USUAL_FINDS

DEFAULT_SITE = "virtual"
#: More nodes than any machine has.
MOST_NODES = 1_000_000


def added_checks(path: str) -> str:
    """The path, once the checks of the folder are there."""
    from checks.common.registry import add_folder  # slow: every check

    add_folder(path)
    return path


def add_campaign(parser: argparse.ArgumentParser, *, optional: bool = False) -> None:
    """The positional CAMPAIGN."""
    text = "a name in campaigns/ or a campaign file"
    nargs = "?" if optional else None
    parser.add_argument("campaign", metavar="CAMPAIGN", nargs=nargs, help=text)


def add_run(parser: argparse.ArgumentParser, *, optional: bool = False) -> None:
    """The positional RUN; where optional, the newest run is meant."""
    text = "a run directory or a run id" + ("; default: the newest" if optional else "")
    nargs = "?" if optional else None
    parser.add_argument("run_name", metavar="RUN", nargs=nargs, help=text)


def add_site(
    parser: argparse.ArgumentParser,
    default: str | None = DEFAULT_SITE,
    text: str = "a folder of site-config/; SITE:PARTITION chooses one of its partitions",
) -> None:
    """--site SITE."""
    parser.add_argument("--site", metavar="SITE", default=default, help=text)


def add_builder(parser: argparse.ArgumentParser) -> None:
    """--with spack or distribution."""
    text = "whose builds stand behind the campaign's environments; default: as the site says"
    parser.add_argument("--with", dest="builder", choices=["spack", "distribution"], help=text)


def add_json(parser: argparse.ArgumentParser) -> None:
    """--json."""
    parser.add_argument("--json", action="store_true", help="the machine form on stdout")


def add_checks(parser: argparse.ArgumentParser) -> None:
    """--checks DIR; the checks of the folder are there once the command line is parsed."""
    text = "a folder of checks outside the tree; may be repeated; ASSAY_CHECKS names more"
    parser.add_argument("--checks", metavar="DIR", action="append", type=added_checks, help=text)


def add_history(parser: argparse.ArgumentParser) -> None:
    """--history FILE."""
    text = f"default: {DEFAULT_HISTORY}"
    parser.add_argument("--history", type=Path, default=DEFAULT_HISTORY, help=text)


def add_judging(parser: argparse.ArgumentParser) -> None:
    """How nights are judged, and where the findings are written."""
    parser.add_argument("--rerun", action="store_true", help="run suspicious cases again, now")
    parser.add_argument("--alarms-a-month", type=float, default=1.0, help="false ones, at most")
    text = "the least change to be found, %%; PASS needs limits of this size; default: 10"
    parser.add_argument("--find", type=float, default=100 * USUAL_FINDS, help=text)
    parser.add_argument("--out", type=Path, help="folder for pages, JSON and JUnit XML")
    add_pictures(parser, "of the page")
    add_json(parser)
