# SPDX-License-Identifier: Apache-2.0
"""The parser of the command line, made from the table of commands."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Collection
from importlib import import_module
from typing import Any

from assay.cli.commands import COMMANDS, Command
from records.errors import ExitStatus

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


def loaded(function: Callable[..., Any] | str) -> Callable[..., Any]:
    """The function, imported if it is named "module:function"."""
    if not isinstance(function, str):
        return function
    module, _, name = function.partition(":")
    found: Callable[..., Any] = getattr(import_module(module), name)
    return found


def make_parser(complete: Collection[str]) -> argparse.ArgumentParser:
    """The parser of all commands; those in `complete` get their arguments, others only a name."""
    parser = _Parser(
        prog="assay",
        description="Evaluation campaigns for HPC clusters.",
        epilog=_EPILOG,
        formatter_class=_formatter,
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="print the version and exit")
    subparsers = parser.add_subparsers(
        title="commands, in the order of use", dest="command", required=True, metavar="COMMAND"
    )
    for name, command in COMMANDS.items():
        below = subparsers.add_parser(name, help=command.text, description=command.text)
        if name in complete:
            _declare(below, command)
    return parser


def _declare(parser: argparse.ArgumentParser, command: Command) -> None:
    """Declare a command's arguments, or the commands below it."""
    if command.declare:
        loaded(command.declare)(parser)
        return
    if command.below:
        subparsers = parser.add_subparsers(
            dest=f"{parser.prog} command", required=True, metavar=command.metavar
        )
        for name, one in command.below.items():
            _declare(subparsers.add_parser(name, help=one.text, description=one.text), one)
        return
    groups: dict[str, Any] = {"": parser}
    for argument in command.arguments:
        if argument.group not in groups:
            groups[argument.group] = parser.add_argument_group(argument.group)
        groups[argument.group].add_argument(argument.name, **argument.options)
    run = command.run if command.run.startswith(("assay.", "plugins.")) else f"assay.cli.{command.run}"
    parser.set_defaults(run=run, **command.defaults)
