# SPDX-License-Identifier: Apache-2.0
"""The parser of the command line, made from the tables of commands."""

from __future__ import annotations

import argparse
from collections.abc import Collection
from typing import Any

from assay.cli.commands import COMMANDS, RENAMED, plugin_commands
from records.errors import AssayError, ExitStatus
from records.plugins import loaded

_EPILOG = "\n".join(["exit status:", *(f"  {one:d}  {one.meaning}" for one in ExitStatus)])


class _Parser(argparse.ArgumentParser):
    """Without the colours of newer versions of Python: what is printed is plain."""

    def __init__(self, *words: Any, **options: Any) -> None:
        super().__init__(*words, **options)
        self.color = False


def _formatter(prog: str) -> argparse.HelpFormatter:
    """Lines of the epilog as they are, and each command in a line with its help."""
    found = argparse.RawDescriptionHelpFormatter(prog)
    found._action_max_length = 4 + max(map(len, COMMANDS))
    return found


class _Version(argparse.Action):
    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        from importlib.metadata import version  # slow: parsers of mail and archives

        print(f"assay {version('assay')}")
        parser.exit()


class _Completion(argparse.Action):
    def __call__(self, parser: argparse.ArgumentParser, *given: Any) -> None:
        from assay.cli.completion import print_names, script  # slow: campaigns, checks

        word = given[1]
        if self.dest == "names":
            print_names(word)
        else:
            print(script(make_parser({*COMMANDS, *plugin_commands()}), word), end="")
        parser.exit()


def make_parser(complete: Collection[str]) -> argparse.ArgumentParser:
    """The parser of all commands; those in `complete` get their arguments, others only a name.

    Raises AssayError where `complete` has the former name of a command.
    """
    further = plugin_commands()
    for word in complete:
        if word in RENAMED and word not in further:
            raise AssayError(f"{word}: this command is now {RENAMED[word]}")
    parser = _Parser(
        prog="assay",
        description="Evaluation campaigns for HPC clusters.",
        epilog=f"commands of plugins: {', '.join(further)}\n\n{_EPILOG}",
        formatter_class=_formatter,
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="print the version and exit")
    parser.add_argument(
        "--print-completion",
        action=_Completion,
        choices=["bash", "zsh"],
        help="print the completion script of a shell and exit",
    )
    parser.add_argument("--names", action=_Completion, help=argparse.SUPPRESS)
    subparsers = parser.add_subparsers(
        title="commands, in the order of use", dest="command", required=True, metavar="COMMAND"
    )
    for name, command in {**COMMANDS, **further}.items():
        below = subparsers.add_parser(name, help=command.text, description=command.text)
        if name in complete:
            loaded(command.declare)(below)
    return parser
