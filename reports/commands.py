# SPDX-License-Identifier: Apache-2.0
"""The commands that come next, as they can be typed: each `next:` of any screen is made here, from
the arguments that made the run. `assay/tests/test_next_on_cluster.py` types every one."""

from __future__ import annotations

from collections.abc import Iterable
from shlex import quote
from typing import TYPE_CHECKING, NewType

from records.history import DEFAULT_HISTORY
from records.run.provenance import Provenance

if TYPE_CHECKING:
    from reports.load.loading import Run

#: A command that can be typed; no other module makes one.
NextCommand = NewType("NextCommand", str)

#: No command follows.
NOTHING = NextCommand("")
#: What else is to be done about launches whose time was up.
TIME_LIMIT_HINT = (
    "Raise limits.launch_s in the campaign file, or lower its sizes, then run it again"
)


def command(*words: str, **options: object) -> NextCommand:
    """A command: its words, then its options; those of None, "" or nothing are left out, True is a
    flag, a list repeats its option."""
    told = ["assay", *map(quote, words)]
    for name, value in options.items():
        option = f"--{name.strip('_').replace('_', '-')}"
        for one in value if isinstance(value, list) else [value]:
            told += [option] if one is True else [option, quote(str(one))] if one else []
    return NextCommand(" ".join(told))


def _again(word: str, run: Run, **options: object) -> NextCommand:
    """A command on the campaign of a run, as that was asked for."""
    narrowed = {
        option: ",".join(value) if isinstance(value, list) else value
        for option, value in run.plan.narrowed.items()
        if option != "checks"
    }
    checks = run.plan.narrowed.get("checks")
    return command(
        *(word, campaign_of(run)),
        site=_site(run.provenance, run.plan.site),
        with_=run.provenance.site.builds,
        **narrowed,
        checks=[
            *run.provenance.asked.checks,
            *([",".join(checks)] if isinstance(checks, list) else []),
        ],
        **options,
    )


def run_again(run: Run) -> NextCommand:
    """A new run of the campaign, as this one was asked for."""
    return _again("run", run)


def plan(run: Run) -> NextCommand:
    """Plan of the campaign: what would run, and why not."""
    return _again("plan", run)


def campaign_of(run: Run) -> str:
    """The campaign of a run as it was asked for, by path or name."""
    return _campaign(run.provenance, run.plan.campaign)


def more_blocks(run: Run, blocks: int) -> NextCommand:
    """Extension of the run by so many blocks."""
    return command("run", resume=name_of(run), blocks=blocks, checks=run.provenance.asked.checks)


def resume(name: str, checks: Iterable[str] = ()) -> NextCommand:
    """Go on with a run where it stopped; `checks`: folders of checks outside the tree."""
    return command("run", resume=name, checks=[*checks])


def doctor(site: str) -> NextCommand:
    """Check of what a site lacks."""
    return command("doctor", site=site)


def time_is_up(reason: str) -> bool:
    """True where a launch failed because its time was up."""
    return "time limit" in reason or "TIMEOUT" in reason


def remedy(run: Run, reason: str) -> NextCommand:
    """The command that most likely fixes launches that failed for this reason."""
    return plan(run) if time_is_up(reason) else doctor(_site(run.provenance, run.plan.site))


def accept(run: Run, name: str, *, rerun: bool = False) -> NextCommand:
    """Judge a run by the criteria of its campaign, or of its last judgement."""
    return command("accept", name, rerun=rerun, checks=run.provenance.asked.checks)


def verify(run: Run, name: str) -> NextCommand:
    """Hold an acceptance's document against its records."""
    return command("verify", name, checks=run.provenance.asked.checks)


def night_status(run: str) -> NextCommand:
    """Status of a night's run: how its launches ended."""
    return command("status", run)


def night_again(began: Provenance, campaign: str, site: str, history: str) -> NextCommand:
    """The next night of a campaign on a site."""
    return command(
        *("nightly", "run"),
        campaign=_campaign(began, campaign),
        site=_site(began, site),
        checks=began.asked.checks,
        history=_history(history),
    )


def rerun_suspects(began: Provenance, campaign: str, site: str, history: str) -> NextCommand:
    """Run the suspicious cases of the newest night again."""
    return command(
        *("nightly", "check"),
        rerun=True,
        campaign=campaign,
        site=site,
        checks=began.asked.checks,
        history=_history(history),
    )


def accept_changes(changes: Iterable[int], history: str) -> NextCommand:
    """Take changes of a history as the new reference."""
    return command("nightly", "accept-change", *map(str, changes), history=_history(history))


def first_run(site: str) -> NextCommand:
    """The first campaign on a site."""
    return command("run", "quick", site=site)


def site_init(folder: str) -> NextCommand:
    """Describe a site in a folder of one's own."""
    return NextCommand(f"cd {quote(folder)} && {command('site', 'init')}")


def _history(path: str) -> str:
    return "" if path == str(DEFAULT_HISTORY) else path


def _site(began: Provenance, site: str) -> str:
    return began.site.asked_as or site


def _campaign(began: Provenance, name: str) -> str:
    """The campaign as it was asked for, by path or name; a path that was withheld by its name."""
    asked = began.asked.campaign or name
    return name if "…" in asked else asked


def name_of(run: Run) -> str:
    """The run's id where a command finds it by that, below results/; else its directory."""
    found = run.directory.resolve()
    below = found.parents[1].name == "results" and found.name == run.run_id
    return run.run_id if below else str(run.directory)
