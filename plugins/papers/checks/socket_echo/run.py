# SPDX-License-Identifier: Apache-2.0
"""The echo's launch; its other end on the login node, where the case has it there."""

import subprocess
from pathlib import Path
from typing import Any

from checks.common import json_lines
from checks.common.base import OwnProgram
from checks.common.json_lines import read_printed
from plugins.papers.checks.sockets import SocketsDefinition

#: What the end on the login node says.
_SAID = "login-end.out"


class Run(OwnProgram):
    """Echo between ranks, or between a rank's host and the login node."""

    definition: SocketsDefinition[Any]
    _login_end: subprocess.Popen[bytes] | None = None

    def begin(self) -> None:
        """Start the script that waits on this host for the end that the job starts."""
        if not self.definition.beside_job(self.params):
            return
        stage = self.setting.folder
        script = Path(__file__).with_name("login-end.sh")
        words = [str(script), *self.definition.end(self.params, self.built)]
        with (stage / _SAID).open("wb") as said:
            self._login_end = subprocess.Popen(
                words, cwd=stage, stdin=subprocess.DEVNULL, stdout=said, stderr=said
            )

    def end(self) -> None:
        """End the other end with the job."""
        if self._login_end is not None:
            self._login_end.terminate()
            self._login_end.wait()

    def said_elsewhere(self) -> list[str]:
        """Errors of the end on the login node."""
        if self._login_end is None:
            return []
        said = read_printed(self.setting.folder / _SAID).text
        return [f"on the login node: {one:.200}" for one in json_lines.parse(said, {}).errors]
