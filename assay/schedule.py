# SPDX-License-Identifier: Apache-2.0
"""Text of a schedule of the nightly run: systemd timer, Slurm's scrontab, cron.

Schedules start with few variables and without the function `module`, which a login shell has; a job
of scrontab needs account, partition and time besides.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from assay.commands import libraries_of_python
from assay.sites.description import SiteDescription
from assay.sites.loading import CALLERS_OPTIONS, callers_access, named_variables
from assay.sites.values import expanded, unset_fault
from records.errors import AssayError

Kind = Literal["systemd", "scrontab", "cron"]
KINDS: tuple[Kind, ...] = get_args(Kind)

#: Options of sbatch that say on whose account and where a job runs.
_OF_THE_JOB = re.compile(r"--(account|partition|qos|clusters)=(.+)|-([ApqM])\s*(.+)")
_LONG = {"A": "account", "p": "partition", "q": "qos", "M": "clusters"}
#: Where every schedule looks for programs.
_PATH = ("/usr/local/bin", "/usr/bin", "/bin")
#: Variables of Slurm's own commands, and the caller's options of sbatch.
_SLURMS = ("SLURM_CONF", *CALLERS_OPTIONS)
#: Time of scrontab's job where the partition has no longest one.
_DAY_S = 86400
#: The service and the timer of systemd.
_UNITS = """\
# /etc/systemd/system/{name}.service
[Unit]
Description=Assay nightly run
After=network-online.target

[Service]
Type=oneshot
# A night that is not decided is no failure.
SuccessExitStatus=3
ExecStart=/bin/sh -c {command}

# /etc/systemd/system/{name}.timer; then: systemctl enable --now {name}.timer
[Unit]
Description=Assay nightly run

[Timer]
OnCalendar=*-*-* {hour:02d}:{minute:02d}:00
Persistent=true

[Install]
WantedBy=timers.target
"""


@dataclass(frozen=True)
class Schedule:
    """A nightly run: `name` of the entry, the hour and minute it starts, command and folder.

    `job_options` are those of scrontab's own job; `prologue` is shell text before the command.
    """

    name: str
    hour: int
    minute: int
    command: tuple[str, ...]
    folder: Path
    job_options: tuple[str, ...] = ()
    prologue: str = ""

    def text(self, kind: Kind) -> str:
        """The units, or the lines of the table.

        Raises AssayError for a folder or word that a line of these files cannot hold.
        """
        for text in (str(self.folder), self.prologue, *self.command, *self.job_options):
            if not text.isprintable():
                raise AssayError(
                    f"{text!r} has a character that no line of a crontab or unit can hold: a line"
                    " break or another that is not printable; rename the folder or change the word"
                )
        run, lines = self._shell(), list[str]()
        if kind == "systemd":
            when = {"hour": self.hour, "minute": self.minute}
            return _UNITS.format(name=self.name, command=_systemd_quoted(run), **when)
        if kind == "cron":
            if re.search(r"\\[\\%]", run):
                raise AssayError(
                    f"{run!r} has a backslash before another or before %, which each cron reads in"
                    " its own way; rename the folder, or use --with systemd"
                )
            run = run.replace("%", r"\%")
        else:
            options = (f"--job-name={self.name}", "--open-mode=append", *self.job_options)
            lines = [f"#SCRON {option}" for option in options]
        return "\n".join([*lines, f"{self.minute} {self.hour} * * * {run}", ""])

    def _shell(self) -> str:
        """The command in its folder, as text of a shell; in a shell of its own where something
        comes before it."""
        words = self.command
        if self.prologue:
            words = ("bash", "-c", f"{self.prologue}; exec {shlex.join(self.command)}")
        return f"cd {shlex.quote(str(self.folder))} && {shlex.join(words)}"


def surroundings_of(site: SiteDescription) -> tuple[tuple[str, ...], str]:
    """Options of scrontab's own job, and shell text that comes before the command, from the site's
    description and the shell of the caller."""
    options = {}
    for word in [*callers_access(), *site.access]:
        if match := _OF_THE_JOB.fullmatch(word):
            options[match[1] or _LONG[match[3]]] = match[2] or match[4]
    seconds = site.longest_job_s or _DAY_S
    options |= {"nodes": "1", "ntasks": "1", "time": str(seconds // 60)}
    lines = [f"export {name}={shlex.quote(value)}" for name, value in _variables(site)]
    # What defines `module`, for the interpreter itself may come from one.
    init = site.module_init
    if site.modules_system != "nomod" and init and not unset_fault(init):
        lines.append(f". {shlex.quote(expanded(init))}")
    return tuple(f"--{name}={value}" for name, value in options.items()), "; ".join(lines)


def _variables(site: SiteDescription) -> list[tuple[str, str]]:
    """Variables of this shell that the description names, and the way to Slurm's commands."""
    slurms = {name: os.environ[name] for name in _SLURMS if name in os.environ}
    variables = sorted({**named_variables(site), **slurms, **libraries_of_python()}.items())
    sbatch = shutil.which("sbatch")
    folder = str(Path(sbatch).parent) if sbatch else _PATH[0]
    return variables if folder in _PATH else [*variables, ("PATH", ":".join([folder, *_PATH]))]


def parse_time(text: str) -> tuple[int, int]:
    """ "02:30" -> (2, 30). Raises AssayError for anything else."""
    match = re.fullmatch(r"([01]?\d|2[0-3]):([0-5]\d)", text)
    if not match:
        raise AssayError(f"--at {text!r}: write hour and minute, 00:00 to 23:59, e.g. 02:30")
    return int(match[1]), int(match[2])


def _systemd_quoted(word: str) -> str:
    for plain, written in (("\\", "\\\\"), ('"', '\\"'), ("%", "%%"), ("$", "$$")):
        word = word.replace(plain, written)
    return f'"{word}"'
