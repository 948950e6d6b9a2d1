# SPDX-License-Identifier: Apache-2.0
"""Options of `assay plan` and `assay run` that leave a part of a campaign."""

from __future__ import annotations

import argparse
from functools import partial
from pathlib import Path

from assay.cli.options import MOST_NODES, added_checks
from assay.plan import Narrowing
from checks.common.registry import CHECKS

#: Greatest number of blocks that an option may ask for.
MOST_BLOCKS = 10_000


def add_narrowing(parser: argparse.ArgumentParser) -> None:
    """Options that leave a part of a campaign; `narrowing_of` gives what they say."""
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


def narrowing_of(arguments: argparse.Namespace) -> Narrowing:
    """What the options of `add_narrowing` say."""
    checks = tuple(name for names in arguments.checks or () for name in names)
    return Narrowing(
        arguments.environments, checks, arguments.nodes, arguments.blocks, arguments.scale
    )


def _names(text: str) -> tuple[str, ...]:
    return tuple(name for name in dict.fromkeys(text.split(",")) if name)


def _checks_or_folder(text: str) -> tuple[str, ...]:
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
