# SPDX-License-Identifier: Apache-2.0
"""Commands of this machine: what they print, within a time limit, with pauses meanwhile."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from checks.common.slurm.commands import Answer
from records import waiting
from records.errors import InfrastructureError

#: Characters that are kept of what a command prints.
KEPT_CHARACTERS = 1 << 24
#: Seconds after which pauses are made while a command runs, and their length.
_PAUSED_AFTER_S, _PAUSE_S = 0.5, 0.1

Pause = Callable[[float], None]


def output_of(
    argv: Sequence[str], cwd: Path | None = None, env: Mapping[str, str] | None = None
) -> str:
    """The standard output of a command, stripped; "" where the program is not installed."""
    return run_command(argv, os.environ if env is None else env, cwd=cwd).stdout.strip()


def run_command(
    argv: Sequence[str],
    environment: Mapping[str, str],
    given: bytes = b"",
    limit_s: float | None = None,
    *,
    called: str | None = None,
    pause: Pause = time.sleep,
    cwd: Path | None = Path("/"),
) -> Answer:
    """Run a command with this environment and standard input; gives what it prints.

    It has neither the caller's terminal nor its standard input. Its status is 127 where there is no
    such program. Raises InfrastructureError, naming it as `called`, when it does not end in
    `limit_s` (None: COMMAND_S, scaled). While it runs, `pause` is called again and again; an error
    of it ends the command.
    """
    limit_s = waiting.scaled(waiting.COMMAND_S) if limit_s is None else limit_s
    try:
        # All of it is there from the beginning: `communicate` that is called again sends no more.
        with os.fdopen(os.memfd_create("given"), "r+b") as standard_input:
            standard_input.write(given)
            standard_input.seek(0)
            process = subprocess.Popen(
                argv,
                env=environment,
                cwd=cwd,
                stdin=standard_input if given else subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,  # out of reach of the terminal's signals
            )
    except OSError as error:
        return Answer(127, "", f"{argv[0]}: {error.strerror}")
    with process:
        try:
            texts = _texts(process, limit_s, pause)
        except subprocess.TimeoutExpired as error:
            process.kill()
            called = called or " ".join(argv)[:100]
            raise InfrastructureError(f"{called} did not answer within {limit_s:.0f} s") from error
        except BaseException:
            process.kill()
            raise
    out, err = (text[:KEPT_CHARACTERS].decode(errors="replace") for text in texts)
    return Answer(process.returncode, out, err)


def _texts(process: subprocess.Popen[bytes], limit_s: float, pause: Pause) -> tuple[bytes, bytes]:
    """Output of the process until it ends. Raises TimeoutExpired when it does not in time."""
    until = time.monotonic() + limit_s
    while True:
        left_s = max(0.0, until - time.monotonic())
        try:
            return process.communicate(timeout=min(left_s, _PAUSED_AFTER_S))
        except subprocess.TimeoutExpired:
            if left_s <= _PAUSED_AFTER_S:
                raise
        pause(_PAUSE_S)
