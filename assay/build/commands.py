# SPDX-License-Identifier: Apache-2.0
"""Runs one Spack command: output into a log, progress as plain lines, a failure explained."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from assay.build.failures import explained
from assay.build.paths import Spack
from assay.terminal import say
from records.errors import InfrastructureError

Say = Callable[[str], None]
#: Lines of Spack's output that show its progress.
_PROGRESS = re.compile(
    r"^==> (Installing \S+ \[\d+/\d+\]|\S+: Successfully installed.*|\S+: Executing phase:.*"
    r"|Concretized .*|Fetching .*|\S+ : externally installed.*)"
)
_SHORT = re.compile(r"(-[a-z0-9]{32})( \[\d+/\d+\])?")


def say_with_time(line: str) -> None:
    """Print a line of progress with the time of day."""
    say(f"{time.strftime('%H:%M:%S')} {line}", hang=9)


def _bounds(alone: bool) -> list[str]:
    """The words before a command so that it ends with this process, even when that is killed.

    Compilers outlive a Spack that was killed, and would go on installing beside the next one; root
    can give them a process namespace that ends with it. `alone`: without network.
    """
    bound = ["setpriv", "--pdeathsig", "KILL"]
    if os.geteuid() != 0:
        return bound
    network = ["--net"] if alone else []
    return [*bound, "unshare", *network, "--pid", "--fork", "--kill-child", "--mount-proc"]


class SpackCommands:
    """Spack commands in one environment; `alone`: without any network."""

    def __init__(self, spack: Spack, environment: Path, say: Say, alone: bool) -> None:
        self.spack, self.environment, self.say = spack, environment, say
        self.alone = alone
        self.logs = spack.home / "logs"
        self.logs.mkdir(parents=True, exist_ok=True)

    def run(self, doing: str, *words: str) -> str:
        """Run `spack -e ENVIRONMENT WORDS…`; gives what it printed.

        Raises AssayError or InfrastructureError that says why it failed.
        """
        log = self.logs / f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}-{words[0].replace(' ', '-')}.log"
        began = time.monotonic()
        self.say(f"{doing} (log: {log})")
        try:
            spack = self.spack.command("-e", str(self.environment), *words)
            text, status = self._follow([*_bounds(self.alone), *spack], log)
        except OSError as error:
            raise InfrastructureError(f"{doing}: {error.strerror or error} ({log})") from error
        if status != 0:
            # A wrong archive stays in the stage and would be used again.
            if words[0] == "fetch":
                shutil.rmtree(self.spack.home / "stage", ignore_errors=True)
            raise explained(doing, text, log, self.spack.home)
        self.say(f"{doing}: {time.monotonic() - began:.0f} s")
        return text

    def _follow(self, argv: list[str], log: Path) -> tuple[str, int]:
        lines = []
        with (
            log.open("w") as kept,
            subprocess.Popen(
                argv,
                env=self.spack.variables(),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                errors="replace",
            ) as process,
        ):
            assert process.stdout is not None
            for line in process.stdout:
                kept.write(line)
                kept.flush()
                lines.append(line)
                found = _PROGRESS.match(line)
                if found:
                    self.say("  " + _SHORT.sub(r"\2", found[1]))
        return "".join(lines), process.returncode
