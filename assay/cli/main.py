# SPDX-License-Identifier: Apache-2.0
"""Entry point of `assay`: the parser of all commands, and how errors reach the user."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from assay.cli import acceptance, commands
from records.errors import AssayError, ExitStatus

_EPILOG = (
    "exit status: 0 done and PASS, 1 judged FAIL or launches failed, 2 bad input or usage,"
    " 3 INCONCLUSIVE, 4 the infrastructure failed"
)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="assay", description="Evaluation campaigns for HPC clusters.", epilog=_EPILOG
    )
    subparsers = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    commands.add_parsers(subparsers)
    acceptance.add_parsers(subparsers)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and give its exit status."""
    arguments = _parser().parse_args(argv)
    try:
        return int(arguments.run(arguments))
    except AssayError as error:
        print(f"assay: {error}", file=sys.stderr)
        return int(error.status)
    except KeyboardInterrupt:
        print("assay: interrupted; what was done is kept", file=sys.stderr)
        return int(ExitStatus.INFRASTRUCTURE)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return int(ExitStatus.PASS)
