# SPDX-License-Identifier: Apache-2.0
"""Judges a history's nights, runs suspicious cases again, notifies what was found; the text of a
schedule of the nightly run: systemd timer, Slurm's scrontab, cron.

Notifications of regression, recovery and silence go to addresses of `apprise`
(https://github.com/caronc/apprise), an optional extra. An address may hold a password or a token:
none is printed, kept, or seen by a job. A notification that fails is said and changes nothing else.

Schedules start with few variables and without the function `module`, which a login shell has; a job
of scrontab needs account, partition and time besides.
"""

import logging
import os
import re
import shlex
import shutil
import stat
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

import yaml

from assay.commands import libraries_of_python
from assay.run.start import start_run
from assay.sites.description import SiteDescription
from assay.sites.loading import CALLERS_OPTIONS, callers_access, named_variables
from assay.sites.values import expanded, unset_fault
from assay.terminal import say
from records.errors import AssayError, InfrastructureError
from records.files import write_whole
from records.history.store import Store
from records.run.rerun import rerun_campaign
from records.run.run_directory import open_run
from records.text.plain_text import masked, one_line
from records.waiting import NOTIFY_S
from reports.notation.units import count_text
from reports.verdicts.nightly.evidence import read_night
from reports.verdicts.nightly.judge import NightJudgement, check_history
from reports.verdicts.nightly.result import answer_of_night

#: Launches of each case that is run again.
RERUN_BLOCKS = 5


def judge_nights(
    store: Store,
    site: str,
    campaign: str,
    *,
    alarms_a_month: float,
    finds: float,
    rerun: bool,
    quiet: bool,
) -> tuple[NightJudgement, AssayError | None]:
    """Judge; run suspicious cases again if asked, and say so unless `quiet`.

    A re-run that fails leaves the judgement as it was before; the error is given with it.
    """
    checked = check_history(store, site, campaign, alarms_a_month, finds)
    if rerun and checked.night.imported:
        raise AssayError("imported launches cannot be run again; leave --rerun out")
    if not rerun and checked.of("suspect") and not checked.night.imported:
        print("run suspicious cases again with: assay nightly check --rerun", file=sys.stderr)
    # First the suspects; then, on other nodes, what the re-run has just confirmed.
    for elsewhere in (False, True) if rerun else ():
        cases = {
            checked.history.series[item.series].case_id
            for item in checked.of("regression" if elsewhere else "suspect")
            if not elsewhere or (item.rerun is not None and item.elsewhere is None)
        }
        try:
            done = _run_again(store, checked, cases, elsewhere=elsewhere) if cases else ""
        except AssayError as error:
            return checked, error
        except OSError as error:
            return checked, InfrastructureError(str(error))
        if done:
            if not quiet:
                say(done)
            checked = check_history(store, site, campaign, alarms_a_month, finds)
    return checked, None


def _run_again(store: Store, checked: NightJudgement, cases: set[str], *, elsewhere: bool) -> str:
    """Run cases of the newest night again and add that; what was run, "" when no other nodes are
    there."""
    run = open_run(checked.night.run_path)
    site, plan = run.provenance().site, run.plan()
    left_out = {
        node
        for record in (run.records() if elsewhere else ())
        if record.case_id in cases
        for node in record.nodes
    }
    others = (site.nodes or 0) - len(left_out)
    needed = {case.id: case.nodes for case in plan.cases if case.id in cases}
    fitting = {case for case in cases if not elsewhere or needed[case] <= others}
    if not fitting:
        print(
            f"{len(cases)} cases not run on other nodes: there are {max(others, 0)} of them",
            file=sys.stderr,
        )
        return ""
    content = rerun_campaign(
        plan,
        dict.fromkeys(fitting, ()),
        name=plan.campaign,
        question=f"Run again what looked slow in run {run.run_id}: is it slow now, too?",
        blocks=RERUN_BLOCKS,
        seed=plan.seed + 1 + elsewhere,
    )
    file = run.path / "rerun.yaml"
    write_whole(file, yaml.safe_dump(content, sort_keys=False).encode())
    asked_as = site.asked_as or checked.night.site
    status = start_run(str(file), asked_as, False, site.builds, left_out)
    night, values = read_night(open_run(status.run_id).path)
    store.add(night, values, checked.night.id, elsewhere=elsewhere)
    where = f" on other nodes ({' '.join(night.nodes)})" if elsewhere else ""
    return f"run again{where}: {len(fitting)} cases as run {night.run_id}"


#: Ends the name of the file beside a history that holds addresses, one a line.
SUFFIX = ".notify"
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*(?=:)")
_HOW_TO_INSTALL = "apprise is not installed; .venv/bin/pip install 'assay[notify]' brings it"


@dataclass(frozen=True, slots=True)
class Notice:
    """Something to tell; `kind` is a type of apprise: failure, success or warning."""

    kind: str
    title: str
    body: str


def addresses_of(history: Path) -> list[str]:
    """Addresses that a history's notices go to, by the file HISTORY.notify. Raises AssayError for a
    file that others may read, or a line that is no address."""
    file = history.parent / f"{history.stem}{SUFFIX}"
    try:
        status = file.stat()
        if status.st_mode & (stat.S_IRWXG | stat.S_IRWXO) or status.st_uid != os.geteuid():
            raise AssayError(
                f"{file}: others may read it or it is another user's, and addresses hold"
                f" passwords; do: chmod 600 {file}"
            )
        lines = file.read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        return []
    except (OSError, UnicodeDecodeError) as error:
        raise AssayError(f"{file}: cannot be read ({type(error).__name__})") from error
    addresses = []
    for number, line in enumerate(map(str.strip, lines), 1):
        if not line or line.startswith("#"):
            continue
        if not _SCHEME.match(line) or len(line.split()) > 1:
            raise AssayError(
                f"{file}:{number}: is no address, as mailto://… or slack://…; write one a line"
            )
        addresses.append(line)
    return addresses


def failure_notice(title: str, error: Exception | str, where: str) -> Notice:
    """Notice that a night, or a part of it, did not come; secrets in the error are withheld."""
    text = masked(str(error) or type(error).__name__)
    return Notice("warning", title, f"{text}\n{where}".strip())


def notices_of(checked: NightJudgement, failure: AssayError | None = None) -> Iterator[Notice]:
    """Notices of a judged night: regressions found that night, recoveries, silent series.

    `failure`: why suspicious cases could not be run again.
    """
    night, found = checked.night, checked.of
    name = f"{night.campaign} on {night.site}"
    where = f"Night of {night.date} UTC, run {night.run_id}."
    if found("regression"):
        sentence = answer_of_night(checked).sentence
        yield Notice("failure", f"{name}: regression", f"{sentence}\n{where}")
    if recovered := found("recovered"):
        text = f"{count_text(len(recovered), 'series')} went back to their former level."
        yield Notice("success", f"{name}: recovered", f"{text}\n{where}")
    if silent := found("silent"):
        text = f"{len(silent)} series have no value tonight."
        yield Notice("warning", f"{name}: silent series", f"{text}\n{where}")
    if failure is not None:
        yield failure_notice(f"{name}: not run again", failure, where)


class Notifier:
    """Sends a history's notices. What goes wrong is said on standard error and raises nothing."""

    def __init__(self, history: Path) -> None:
        self._addresses: list[str] = []
        try:
            self._addresses = addresses_of(history)
        except AssayError as error:
            _say(f"{error}; no notification will be sent")

    def send(self, notices: Iterable[Notice]) -> None:
        """Send each notice to every address."""
        try:
            for notice in notices:
                for address in self._addresses:
                    _send(notice, address)
        except AssayError as error:
            _say(f"no notification was sent: {error}")


def _say(text: str) -> None:
    print(f"assay: {text}", file=sys.stderr)


def _send(notice: Notice, address: str) -> None:
    try:
        import apprise  # type: ignore[import-not-found,unused-ignore] # optional: extra `notify`
    except ImportError:
        raise AssayError(_HOW_TO_INSTALL) from None
    # Its own log names addresses.
    logging.getLogger("apprise").addHandler(logging.NullHandler())
    logging.getLogger("apprise").propagate = False
    sender, target = apprise.Apprise(), f"{address.partition(':')[0]}://…"
    try:
        added = sender.add(address)
        for service in sender:  # it gives services 4 s
            service.socket_read_timeout = max(service.socket_read_timeout, NOTIFY_S)
        done = added and sender.notify(
            title=one_line(notice.title), body=notice.body, notify_type=notice.kind
        )
    except Exception as error:  # whatever a service's plugin raises
        _say(f"{target}: not notified ({type(error).__name__})")
        return
    if not done:
        why = "it did not take the message" if added else "apprise knows no such address"
        _say(f"{target}: not notified: {why}")


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
