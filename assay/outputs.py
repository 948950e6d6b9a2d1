# SPDX-License-Identifier: Apache-2.0
"""What a command of this machine prints."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from records.errors import InfrastructureError

_TIMEOUT_S = 60.0


def output_of(
    argv: Sequence[str], cwd: Path | None = None, env: Mapping[str, str] | None = None
) -> str:
    """The standard output of a command, stripped; "" where the program is not installed.

    It has neither the caller's terminal nor its standard input: it may run as another user.
    """
    try:
        answer = subprocess.run(
            argv,
            env=env,
            cwd=cwd,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_TIMEOUT_S,
            check=False,
            start_new_session=True,
        )
    except OSError:
        return ""
    except subprocess.TimeoutExpired as error:
        raise InfrastructureError(
            f"{' '.join(argv)}: did not end within {_TIMEOUT_S:.0f} s"
        ) from error
    return answer.stdout.strip()
