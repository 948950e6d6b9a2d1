# SPDX-License-Identifier: Apache-2.0
"""Entry point of `assay`: parses, runs one command, and shows an error as one message."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Sequence
from contextlib import suppress

from assay.cli.parser import make_parser
from assay.loading import ended_by_ctrl_c
from assay.terminal import leave_pipe, plain_output
from records.errors import AssayError, ExitStatus


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
            from checks.common.guard import line_below, message_of  # slow: only for foreign checks

            if line_below(folders, error):
                _tell(message_of(folders, error))
                return int(ExitStatus.BAD_INPUT)
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
