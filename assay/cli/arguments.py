# SPDX-License-Identifier: Apache-2.0
"""Arguments as data, those that several commands share, and their types; quick to load."""

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from records.history import DEFAULT_HISTORY

DEFAULT_SITE = "virtual"
#: More nodes than any machine has.
MOST_NODES = 1_000_000
#: Greatest number of blocks that an option may ask for.
MOST_BLOCKS = 10_000


@dataclass(frozen=True)
class Argument:
    """An argument as `add_argument` takes it."""

    name: str
    options: dict[str, Any]


def argument(name: str, text: str | None = None, **options: Any) -> Argument:
    """A positional argument, or an option with a value: "--site SITE"; `text` is its help."""
    name, _, metavar = name.partition(" ")
    return Argument(name, {"metavar": metavar or None, "help": text, **options})


def flag(name: str, text: str) -> Argument:
    """An option without a value."""
    return Argument(name, {"action": "store_true", "help": text})


def repeated(name: str, text: str, **options: Any) -> Argument:
    """An option that may be repeated; its value is a list."""
    return argument(name, text, action="append", default=[], **options)


Run = Callable[[argparse.Namespace], int]
Declare = Callable[[argparse.ArgumentParser], None]


def declared(run: Run, *arguments: Argument) -> Declare:
    """The function that declares a command's arguments on its parser, and `run`, which does its
    work."""

    def declare(parser: argparse.ArgumentParser) -> None:
        for given in arguments:
            parser.add_argument(given.name, **given.options)
        parser.set_defaults(run=run)

    return declare


def verbs(*commands: tuple[Any, ...]) -> Declare:
    """The function that declares the commands below a command: name, help in a line, the function
    that does its work, arguments."""

    def declare(parser: argparse.ArgumentParser) -> None:
        dest = f"{parser.prog} command"
        below = parser.add_subparsers(dest=dest, required=True, metavar="ACTION")
        for name, text, run, *arguments in commands:
            declared(run, *arguments)(below.add_parser(name, help=text, description=text))

    return declare


def site(
    default: str | None = DEFAULT_SITE,
    text: str = "a folder of site-config/, its first partition; SITE:PARTITION is another one",
) -> Argument:
    """--site SITE."""
    return argument("--site SITE", text, default=default)


def pictures(of: str, *, only: bool = False) -> Argument:
    """--pictures DIR."""
    head = f"write only the pictures {of}" if only else f"write the pictures {of} too,"
    text = f"{head} into DIR, each as SVG and PNG with caption and footer"
    return argument("--pictures DIR", text, type=Path)


def added_checks(path: str) -> str:
    """The path, once the checks of the folder are there."""
    from checks.common.registry import add_folder  # slow: every check

    add_folder(path)
    return path


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


MAYBE_CAMPAIGN = argument(
    "campaign CAMPAIGN", "a name that `assay plan` lists, or a campaign file", nargs="?"
)
RUN = "a run directory, or how the id of a run begins"
NEWEST = argument("run_name RUN", f"{RUN}; default: the newest", nargs="?")
JSON = flag("--json", "the machine form on stdout")
BUILDER = argument(
    "--with",
    "whose builds stand behind the campaign's environments; default: as the site says",
    dest="builder",
    choices=["spack", "distribution"],
)
#: The checks of the folder are there once the command line is parsed.
CHECK_FOLDERS = argument(
    "--checks DIR",
    "a folder of checks outside the tree; may be repeated; ASSAY_CHECKS names more",
    action="append",
    type=added_checks,
)
HISTORY = argument("--history", f"default: {DEFAULT_HISTORY}", type=Path, default=DEFAULT_HISTORY)
#: Options that leave a part of a campaign; `campaign.narrowing_of` gives what they say.
NARROWING = (
    argument(
        "--environments NAME,…",
        "only these environments of the campaign",
        type=_names,
        default=(),
    ),
    argument(
        "--checks CHECK,…|DIR",
        "only these checks of the campaign; a folder (with a / in it, or there) instead adds"
        " the checks of that folder outside the tree, as does ASSAY_CHECKS; may be repeated",
        action="append",
        type=_checks_or_folder,
    ),
    argument("--nodes N", "maximum nodes per launch", type=partial(_count, most=MOST_NODES)),
    argument("--blocks N", "number of blocks", type=partial(_count, most=MOST_BLOCKS)),
    argument(
        "--scale",
        "cases as written, or in their small form; default: as the campaign says",
        choices=("paper", "small"),
    ),
)
