# SPDX-License-Identifier: Apache-2.0
"""Arguments that several commands share. Nothing here is slow to load."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable
from functools import partial
from pathlib import Path

from checks.common.slurm.text import seconds_of
from records.history import DEFAULT_HISTORY, USUAL_FINDS

DEFAULT_SITE = "virtual"
#: More nodes than any machine has.
MOST_NODES = 1_000_000
#: Greatest number of blocks that an option may ask for.
MOST_BLOCKS = 10_000
#: An argument's metavar → the kind of names that completion offers for it.
NAMED = {
    "CAMPAIGN": "campaigns",
    "CHECK": "checks",
    "CRITERIA": "criteria",
    "RUN": "runs",
    "SITE": "sites",
}


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


def add_pictures(parser: argparse.ArgumentParser, of: str, *, only: bool = False) -> None:
    """--pictures DIR."""
    head = f"write only the pictures {of}" if only else f"write the pictures {of} too,"
    text = f"{head} into DIR, each as SVG and PNG with caption and footer"
    parser.add_argument("--pictures", metavar="DIR", type=Path, help=text)


def tell_pictures(written: Iterable[Path], *, as_json: bool) -> None:
    """Print the files; standard output of a machine form holds nothing else."""
    for path in written:
        print(path, file=sys.stderr if as_json else sys.stdout)


def add_narrowing(parser: argparse.ArgumentParser) -> None:
    """Options that leave a part of a campaign; `campaign.narrowing_of` gives what they say."""
    group = parser.add_argument_group("a part of the campaign only")
    group.add_argument(
        "--environments",
        metavar="NAME,…",
        type=_names,
        default=(),
        help="only these environments of the campaign",
    )
    group.add_argument(
        "--checks",
        metavar="CHECK,…|DIR",
        action="append",
        type=_checks_or_folder,
        help="only these checks of the campaign; a folder (with a / in it, or there) instead adds"
        " the checks of that folder outside the tree, as does ASSAY_CHECKS; may be repeated",
    )
    group.add_argument(
        "--nodes",
        metavar="N",
        type=partial(_count, most=MOST_NODES),
        help="maximum nodes per launch; with --in-one-job, allocation size",
    )
    group.add_argument(
        "--blocks", metavar="N", type=partial(_count, most=MOST_BLOCKS), help="number of blocks"
    )
    group.add_argument(
        "--scale",
        choices=("paper", "small"),
        help="cases as they stand, or in their small form; default: as the campaign says",
    )


def _names(text: str) -> tuple[str, ...]:
    return tuple(name for name in dict.fromkeys(text.split(",")) if name)


def _checks_or_folder(text: str) -> tuple[str, ...]:
    from checks.common.registry import CHECKS  # slow: every check

    names = _names(text)
    known = names and all(name in CHECKS for name in names)
    if "/" in text or (not known and Path(text).is_dir()):
        added_checks(text)
        return ()
    return names


def _count(text: str, most: int) -> int:
    if not text.isascii() or not text.isdigit() or not 1 <= int(text) <= most:
        raise argparse.ArgumentTypeError(
            f"found {text!r:.40}; allowed is a number from 1 to {most}"
        )
    return int(text)


def length_s(text: str) -> float:
    """Seconds of a length in minutes or in a form of sbatch; raises ArgumentTypeError."""
    seconds = 60 * int(text) if text.isascii() and text.isdigit() else seconds_of(text)
    if not seconds:
        raise argparse.ArgumentTypeError(
            f"found {text!r:.40}; allowed are minutes, e.g. 30, or sbatch's forms, e.g. 1-12:30"
        )
    return float(seconds)
