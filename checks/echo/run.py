# SPDX-License-Identifier: Apache-2.0
"""The echo's launch; its other end on the login node, where the case has it there."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

from reframe.core.builtins import run_before

from checks.common import json_lines
from checks.common.base import OwnProgram
from checks.common.evidence.printed import read_printed
from checks.common.layouts import SocketsDefinition

#: What the end on the login node says.
_SAID = "login-end.out"


class Run(OwnProgram):
    """One echo between ranks, or between a rank's host and the login node."""

    definition: SocketsDefinition[Any]
    _login_end: subprocess.Popen[bytes] | None = None

    @run_before("run")
    def start_login_end(self) -> None:
        """Start the script that waits on this host for the end that the job starts."""
        if not self.definition.beside_job(self.params) or self.is_dry_run():
            return
        stage = Path(self.stagedir)
        script = Path(__file__).with_name("login-end.sh")
        words = [str(script), *self.definition.end(self.params, self.built)]
        with (stage / _SAID).open("wb") as said:
            self._login_end = subprocess.Popen(
                words, cwd=stage, stdin=subprocess.DEVNULL, stdout=said, stderr=said
            )

    @run_before("sanity")
    def end_login_end(self) -> None:
        """The job has ended, and with it the other end."""
        if self._login_end is not None:
            self._login_end.terminate()
            self._login_end.wait()

    def _failure(self, output: json_lines.Output, text: str) -> str | None:
        """With what the end on the login node said of it."""
        failure = super()._failure(output, text)
        if failure is None or self._login_end is None:
            return failure
        said = read_printed(Path(self.stagedir, _SAID)).text
        told = json_lines.parse(said, {}).errors
        return "; ".join([failure, *(f"on the login node: {one:.200}" for one in told[:1])])
