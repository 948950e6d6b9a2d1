# SPDX-License-Identifier: Apache-2.0
"""Ready-made schedules of the nightly run: systemd timer, Slurm's scrontab, cron.

Each is shown as text before it is written, carries the prefix `assay`, and can be removed. They
start with few variables and without the function `module`, which a login shell has; a job of
scrontab needs account, partition and time besides.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from assay.sites.description import SiteDescription
from assay.sites.loading import CALLERS_OPTIONS, callers_access, named_variables
from assay.sites.login import libraries_of_python
from assay.sites.values import expanded, unset_fault
from records.errors import AssayError, InfrastructureError
from records.files import write_whole
from records.waiting import COMMAND_S, scaled

Kind = Literal["systemd", "scrontab", "cron"]
KINDS: tuple[Kind, ...] = get_args(Kind)

_TABLES = {"scrontab": "scrontab", "cron": "crontab"}
#: Options of sbatch that say on whose account and where a job runs.
_OF_THE_JOB = re.compile(r"--(account|partition|qos|clusters)=(.+)|-([ApqM])\s*(.+)")
_LONG = {"A": "account", "p": "partition", "q": "qos", "M": "clusters"}
#: Where every schedule looks for programs.
_PATH = ("/usr/local/bin", "/usr/bin", "/bin")
#: Variables of Slurm's own commands, and the caller's options of sbatch.
_SLURMS = ("SLURM_CONF", *CALLERS_OPTIONS)
#: Time of scrontab's job where the partition has no longest one.
_DAY_S = 86400


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
    units: Path = Path("/etc/systemd/system")
    job_options: tuple[str, ...] = ()
    prologue: str = ""

    def texts(self, kind: Kind) -> dict[str, str]:
        """Texts that would be written: file or table → text.

        Raises AssayError for a folder or word that a line of these files cannot hold.
        """
        for text in (str(self.folder), self.prologue, *self.command, *self.job_options):
            if not text.isprintable():
                raise AssayError(
                    f"{text!r} has a character that no line of a crontab or unit can hold: a line"
                    " break or another that is not printable; rename the folder or change the word"
                )
        if kind != "systemd":
            return {_TABLES[kind]: self._block(kind)}
        service = (
            "[Unit]\nDescription=Assay nightly run\nAfter=network-online.target\n\n[Service]\n"
            "Type=oneshot\n# A night that is not decided is no failure.\nSuccessExitStatus=3\n"
            f"ExecStart=/bin/sh -c {_systemd_quoted(self._shell())}\n"
        )
        timer = (
            "[Unit]\nDescription=Assay nightly run\n\n[Timer]\n"
            f"OnCalendar=*-*-* {self.hour:02d}:{self.minute:02d}:00\nPersistent=true\n\n"
            "[Install]\nWantedBy=timers.target\n"
        )
        stem = self.units / self.name
        return {f"{stem}.service": service, f"{stem}.timer": timer}

    def _shell(self) -> str:
        """The command in its folder, as text of a shell; in a shell of its own where something
        comes before it."""
        words = self.command
        if self.prologue:
            words = ("bash", "-c", f"{self.prologue}; exec {shlex.join(self.command)}")
        return f"cd {shlex.quote(str(self.folder))} && {shlex.join(words)}"

    def _block(self, kind: Kind) -> str:
        run = self._shell()
        lines = [f"#SCRON --job-name={self.name}", "#SCRON --open-mode=append"]
        lines += [f"#SCRON {option}" for option in self.job_options]
        if kind == "cron":
            lines = []
            if re.search(r"\\[\\%]", run):
                raise AssayError(
                    f"{run!r} has a backslash before another or before %, which each cron reads in"
                    " its own way; rename the folder, or use --with systemd"
                )
            run = run.replace("%", r"\%")
        lines.append(f"{self.minute} {self.hour} * * * {run}")
        return "\n".join([f"# begin {self.name}", *lines, f"# end {self.name}", ""])

    def install(self, kind: Kind) -> None:
        """Write it in place of an earlier one of this name."""
        texts = self.texts(kind)
        if kind == "systemd":
            for path, text in texts.items():
                try:
                    write_whole(Path(path), text.encode())
                except OSError as error:
                    raise InfrastructureError(
                        f"{path}: could not be written ({error.strerror}); run as root, or use"
                        " --with cron"
                    ) from error
            _systemctl("daemon-reload")
            _systemctl("enable", "--now", f"{self.name}.timer")
            return
        kept = without_block(_table(_TABLES[kind]), self.name)
        _write_table(_TABLES[kind], kept + texts[_TABLES[kind]])

    def remove(self, kind: Kind) -> bool:
        """Remove it; False when there was none."""
        if kind == "systemd":
            there = [unit for unit in map(Path, self.texts(kind)) if unit.exists()]
            if there:
                _systemctl("disable", "--now", f"{self.name}.timer")
                for unit in there:
                    unit.unlink()
                _systemctl("daemon-reload")
            return bool(there)
        table = _table(_TABLES[kind])
        kept = without_block(table, self.name)
        if kept != table:
            _write_table(_TABLES[kind], kept)
        return kept != table


def surroundings_of(site: SiteDescription) -> tuple[tuple[str, ...], str]:
    """Options of scrontab's own job, and shell text that comes before the command, from the site's
    description and the shell of the caller."""
    options = {}
    for word in [*callers_access(), *site.access]:
        if found := _OF_THE_JOB.fullmatch(word):
            options[found[1] or _LONG[found[3]]] = found[2] or found[4]
    seconds = site.longest_job_s or _DAY_S
    options |= {"nodes": "1", "ntasks": "1", "time": str(seconds // 60)}
    variables = [f"export {name}={shlex.quote(value)}" for name, value in _variables(site)]
    job_options = tuple(f"--{name}={value}" for name, value in options.items())
    # What defines `module`, for the interpreter itself may come from one.
    init = site.module_init
    if site.modules_system != "nomod" and init and not unset_fault(init):
        variables.append(f". {shlex.quote(expanded(init))}")
    return job_options, "; ".join(variables)


def _variables(site: SiteDescription) -> list[tuple[str, str]]:
    """Variables of this shell that the description names, and the way to Slurm's commands."""
    slurms = {name: os.environ[name] for name in _SLURMS if name in os.environ}
    found = sorted({**named_variables(site), **slurms, **libraries_of_python()}.items())
    sbatch = shutil.which("sbatch")
    folder = str(Path(sbatch).parent) if sbatch else _PATH[0]
    return found if folder in _PATH else [*found, ("PATH", ":".join([folder, *_PATH]))]


def without_block(table: str, name: str) -> str:
    """A crontab without the lines from "# begin NAME" to "# end NAME"; the rest as it was."""
    mark = re.escape(name)
    return re.sub(rf"^# begin {mark}\n.*?^# end {mark}\n", "", table, flags=re.M | re.S)


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


def _run(argv: Sequence[str], text: str | None = None) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(
            argv, input=text, capture_output=True, text=True, timeout=scaled(COMMAND_S), check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise InfrastructureError(f"{argv[0]} cannot be run here: {error}") from error


def _systemctl(*words: str) -> None:
    answer = _run(["systemctl", *words])
    if answer.returncode:
        raise InfrastructureError(
            f"systemctl {' '.join(words)} failed: {answer.stderr.strip()}. The units are written;"
            " enable the timer where systemd runs, or take them away with --remove"
        )


def _table(program: str) -> str:
    answer = _run([program, "-l"])
    if answer.returncode and "no " not in answer.stderr.lower():
        raise InfrastructureError(f"{program} -l failed: {answer.stderr.strip()}")
    return answer.stdout if not answer.returncode else ""


def _write_table(program: str, text: str) -> None:
    answer = _run([program, "-"], text)
    if answer.returncode:
        raise InfrastructureError(
            f"{program} did not take the entry: {answer.stderr.strip()}; nothing was changed"
        )
