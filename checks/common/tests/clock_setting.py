# SPDX-License-Identifier: Apache-2.0
"""A clock that tests set while programs run, without the machine's being set (set_clock.c)."""

from __future__ import annotations

import struct
import subprocess
from pathlib import Path

from checks.common.tests.program_runs import require

_SOURCE = Path(__file__).with_name("set_clock.c")


class SetClock:
    """The clock of all processes that have its `variables`; its files lie in `folder`."""

    def __init__(self, folder: Path) -> None:
        self.file, library = folder / "clock", folder / "set_clock.so"
        self.file.write_bytes(struct.pack("d", 0.0))
        require("cc")
        subprocess.run(["cc", "-shared", "-fPIC", "-o", library, _SOURCE], check=True)
        self.variables = {"LD_PRELOAD": str(library), "SET_CLOCK": str(self.file)}

    def set_by(self, seconds: float) -> None:
        """Let the clock be so many seconds ahead of the machine's, at once."""
        with self.file.open("r+b") as file:  # the same file, which processes have mapped
            file.write(struct.pack("d", seconds))

    def command(self, seconds: float) -> str:
        """A shell command that does the same."""
        written = "".join(f"\\{byte:03o}" for byte in struct.pack("d", seconds))
        return f"printf '{written}' | dd of={self.file} conv=notrunc status=none"
