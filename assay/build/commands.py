# SPDX-License-Identifier: Apache-2.0
"""Runs one Spack command: output into a log, progress as plain lines, a failure explained in one
message: what, where, what to do."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import time
from datetime import UTC, datetime
from pathlib import Path

from assay.build.spack import Spack
from assay.terminal import Say, said_meanwhile, say
from records.errors import AssayError, InfrastructureError
from records.files import last_lines
from records.text.plain_text import end_of_output

#: Seconds after which it is said how far a build is, where its output is below the Spack home, and
#: how much of that is looked at for its last line.
SAID_EVERY_S = 60.0
_BUILD_LOGS = [f"stage/{folders}/spack-build-out.txt" for folders in ("*", "*/*")]
_LINE_BYTES = 4000
#: Lines of Spack's output that show its progress.
_PROGRESS = re.compile(
    r"^==> (Installing \S+ \[\d+/\d+\]|\S+: Successfully installed.*|\S+: Executing phase:.*"
    r"|Concretized .*|Fetching .*|\S+ : externally installed.*)"
)
_SHORT = re.compile(r"(-[a-z0-9]{32})( \[\d+/\d+\])?")
#: What Spack prints, what it means, whether the user's input caused it. The first match counts.
_KNOWN = (
    (
        re.compile(r"No space left on device|Disk quota exceeded"),
        "the disk is full below {home}; make room, or name another place with ASSAY_SPACK_HOME",
        False,
    ),
    (
        re.compile(r"sha256 checksum failed for (?P<what>\S+)"),
        "{what} has not the checksum that its recipe states; it was not used. Fill the source"
        " mirror anew: assay build --mirror distribution",
        False,
    ),
    (
        re.compile(r"All fetchers failed for (?:resource |spack-stage-)?(?P<what>\S+)"),
        "no source for {what}: neither the mirror {home}/mirror nor the recipe's own place gave it."
        " Fill the mirror: assay build --mirror distribution",
        False,
    ),
    (
        re.compile(r"Skipping build of \S+ since (?P<what>\S+) failed"),
        "{what} could not be built; the log ends with its reason",
        False,
    ),
    (
        re.compile(r"Timed out waiting for a \w+ lock"),
        "another Spack is building below {home}; wait for it, then begin again",
        False,
    ),
    (
        re.compile(r"no module named 'clingo'|cannot bootstrap the \"clingo\"", re.IGNORECASE),
        "Spack's solver clingo is missing; install the package clingo where assay is",
        False,
    ),
    (
        re.compile(
            r"Error: (?P<what>.*(?:cannot match any known version|cannot satisfy|unsatisfiable"
            r"|failed to concretize|has no version that satisfies|not buildable)[^\n]*)",
            re.IGNORECASE,
        ),
        "Spack cannot resolve it: {what}. See compilers, externals and target in the site's"
        " packages.yaml and in the platform's",
        True,
    ),
)
_HASH = re.compile(r"-[a-z0-9]{32}\b")


def say_with_time(line: str) -> None:
    """Print a line of progress with the time of day."""
    say(f"{time.strftime('%H:%M:%S')} {line}", hang=9)


def _bounds(alone: bool) -> list[str]:
    """The words before a command so that it ends with this process, even when that is killed.
    Compilers outlive a Spack that was killed, and would go on installing along with the next one;
    root can give them a process namespace that ends with it. `alone`: without network."""
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
        """Run `spack -e ENVIRONMENT WORDS…`; gives what it printed. Raises AssayError or
        InfrastructureError that says why it failed."""
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
        lines, begun, doing = list[str](), time.monotonic(), "Spack"

        def told() -> str:
            """Progress of the build that Spack says nothing of, by its own log."""
            logs = [path for one in _BUILD_LOGS for path in self.spack.home.glob(one)]
            last = list[str]()
            for path in sorted(logs, key=lambda path: path.stat().st_mtime)[-1:]:
                with path.open("rb") as file:
                    last = last_lines(file, _LINE_BYTES)
            took_s = time.monotonic() - begun
            return f"  {doing}, {took_s:.0f} s so far: {end_of_output(last)}"

        with (
            said_meanwhile(self.say, told, SAID_EVERY_S),
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
                if found := _PROGRESS.match(line):
                    doing = _SHORT.sub(r"\2", found[1])
                    self.say(f"  {doing}")
        return "".join(lines), process.returncode


def explained(doing: str, text: str, log: Path, home: Path) -> AssayError:
    """The error to raise when Spack failed at `doing`, having printed `text`, kept in `log`."""
    for pattern, meaning, by_user in _KNOWN:
        found = pattern.search(text)
        if found:
            what = _HASH.sub("", (found.groupdict().get("what") or "").split("/")[-1])
            message = meaning.format(what=what.strip(" .'\""), home=home)
            kind = AssayError if by_user else InfrastructureError
            return kind(f"{doing}: {message} (log: {log})")
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    errors = [line for line in lines if "error" in line.lower()]
    said = errors[0] if errors else (lines or ["Spack printed nothing"])[-1]
    return InfrastructureError(f"{doing}: {said[:300]} (log: {log})")
