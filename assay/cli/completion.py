# SPDX-License-Identifier: Apache-2.0
"""Completion: the script of a shell, made by shtab from the parser, and the names it asks for."""

import argparse
import re

import shtab

from assay import criteria_files
from assay.schema.loading import campaign_names
from assay.sites.site_file import site_names
from checks.common.registry import CHECKS
from records.run.run_directory import RESULTS

#: An argument's metavar → the names there are.
NAMES = {
    "CAMPAIGN": campaign_names,
    "CHECK": lambda: sorted(CHECKS),
    "CRITERIA": criteria_files,
    "RUN": lambda: sorted(path.parent.name for path in RESULTS.glob("*/*/plan.json")),
    "SITE": site_names,
}
_PATHS = {"DIR": shtab.DIRECTORY, "FILE": shtab.FILE, "FOLDER": shtab.DIRECTORY, "PATH": shtab.FILE}


def print_names(metavar: str) -> None:
    """Print the names that an argument takes, those that need no quoting in a shell."""
    names = NAMES[metavar]() if metavar in NAMES else ()
    print(*(name for name in names if re.fullmatch(r"[\w.:-]+", name)), sep="\n")


def print_script(parser: argparse.ArgumentParser, shell: str) -> None:
    """Print the completion script of a shell; it asks `assay --names` for names."""
    _describe(parser)
    print(shtab.complete(parser, shell), end="")


def _describe(parser: argparse.ArgumentParser) -> None:
    """Give each argument of a parser, and of those below it, what completes it."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for below in action.choices.values():
                _describe(below)
        word = str(action.metavar).partition("|")[0]
        complete = shtab.cmd(f"assay --names {word} 2>/dev/null") if word in NAMES else None
        if complete := complete or _PATHS.get(word):
            action.complete = complete  # type: ignore[attr-defined]
