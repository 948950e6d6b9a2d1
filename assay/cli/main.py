# SPDX-License-Identifier: Apache-2.0
"""Commands in the order of use, the parser of the command line, and the entry point of `assay`,
which runs one command and shows an error as one message."""

import argparse
import sys
import traceback
from collections.abc import Collection, Sequence
from contextlib import suppress
from typing import Any

from assay import ROOT
from assay.loading import ended_by_ctrl_c
from assay.terminal import leave_pipe, plain_output
from records.errors import AssayError, ExitStatus
from records.plugins import Command, loaded, plugins

COMMANDS = {
    "doctor": Command(
        "missing requirements, and the command that fixes each", "assay.cli.doctor:declare"
    ),
    "site": Command(
        "describe a site, proven by jobs; lay out a folder of your own", "assay.cli.site:declare"
    ),
    "cluster": Command(
        "a virtual Slurm cluster on this machine", "virtual_cluster.command:add_arguments"
    ),
    "image": Command(
        "what hosts of a virtual cluster boot, in place of this machine's programs",
        "virtual_cluster.image_command:add_arguments",
    ),
    "build": Command(
        "build a site's MPI libraries and our programs on each", "assay.cli.site:declare_build"
    ),
    "checks": Command(
        "list checks, and what each measures; with CHECK all of one", "assay.cli.checks:declare"
    ),
    "plan": Command(
        "what would run on a site, and what it costs; without CAMPAIGN list them",
        "assay.cli.campaign:declare_plan",
    ),
    "run": Command(
        "run a campaign on a site, or go on with a run", "assay.cli.campaign:declare_run"
    ),
    "status": Command("progress, failures, time left of a run", "assay.cli.status:declare"),
    "report": Command("tables, plots and verdicts of a run", "assay.cli.report:declare"),
    "compare": Command("two runs of one campaign side by side", "assay.cli.report:declare_compare"),
    "accept": Command("acceptance verdict and document of a run", "assay.cli.accept:declare"),
    "verify": Command(
        "recompute checksums and verdicts of an acceptance", "assay.cli.accept:declare_verify"
    ),
    "nightly": Command(
        "nightly runs: a schedule, a history, and whether tonight is worse, since when",
        "assay.cli.nightly:declare",
    ),
    "export": Command("a run or a history for Prometheus", "assay.cli.report:declare_export"),
    "schema": Command(
        "the JSON Schema of what people write, or of what --json prints", "assay.cli.schema:declare"
    ),
}
#: Former names of commands → what serves now.
RENAMED = {
    "acceptance": "`assay contract`",
    "advise": "a campaign that runs the program on each library (docs/your-benchmark.md)",
    "campaigns": "`assay plan` without a campaign",
    "completion": "`assay --print-completion SHELL`",
    "history": "`assay nightly`; for import and report `assay reframe`",
    "init": "`assay site folder`",
    "mirror": "`assay build --mirror`",
    "raw": "`unzip -p RUN/raw/bBLOCK.zip 'CASE.*'`; `assay verify RUN` proves it",
}


def plugin_commands() -> dict[str, Command]:
    """Commands that plugins add."""
    every = (plugin.commands.items() for plugin in plugins().values())
    return dict(item for items in every for item in items)


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
        from assay.cli import completion  # slow: campaigns, checks

        if self.dest == "names":
            completion.print_names(given[1])
        else:
            completion.print_script(make_parser({*COMMANDS, *plugin_commands()}), given[1])
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


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and give its exit status."""
    with plain_output():
        status = _run(argv)
        sys.stdout.flush()
        return status


def _run(argv: Sequence[str] | None) -> int:
    words = sys.argv[1:] if argv is None else argv
    command = [word for word in words if not word.startswith("-")][:1]
    try:
        with ended_by_ctrl_c():
            _refuse_empty(words)
            arguments = make_parser(command).parse_args(words)
        return int(arguments.run(arguments))
    except AssayError as error:
        _tell(f"{error}")
        return int(error.status)
    except KeyboardInterrupt:
        _tell("interrupted; what was done is kept")
        return int(ExitStatus.INFRASTRUCTURE)
    except BrokenPipeError:  # of bytes, such as a raw file
        leave_pipe(sys.stdout)
        return int(ExitStatus.PASS)
    except Exception as error:  # exit status 1 of Python means FAIL here
        if folders := getattr(sys.modules.get("checks.common.registry"), "FOLDERS", None):
            from checks.common.registry import (  # slow: only for foreign checks
                line_below,
                message_of,
            )

            if line_below(folders, error):
                _tell(message_of(folders, error))
                return int(ExitStatus.BAD_INPUT)
        package = (
            f"{error.name}".partition(".")[0] if isinstance(error, ModuleNotFoundError) else ""
        )
        if package and not (ROOT / package).is_dir():
            _tell(
                f"{error} in {sys.executable}; hosts of a virtual cluster have only what sessions"
                " import: call this on the machine of the cluster. Elsewhere: make setup"
            )
        else:
            traceback.print_exc()
            _tell("the lines above are a defect of assay, not a verdict; please report them")
        return int(ExitStatus.INFRASTRUCTURE)


def _refuse_empty(words: Sequence[str]) -> None:
    """Raise AssayError for an empty value, often a shell variable that is not set.

    Words after `--` belong to another command.
    """
    own = [*words[: words.index("--")]] if "--" in words else words
    for before, word in zip(["", *own], own, strict=False):
        option, _, value = word.partition("=") if word.startswith("--") else (before, "", word)
        if not value and (word == "" or word.endswith("=")):
            name = option if option.startswith("-") else "an argument"
            raise AssayError(f"{name} has an empty value; give a value, or leave it out")


def _tell(message: str) -> None:
    with suppress(OSError):  # a terminal that is gone changes no exit status
        print(f"assay: {message}", file=sys.stderr)
