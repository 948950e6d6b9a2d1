# SPDX-License-Identifier: Apache-2.0
"""The commands that come next, as they can be typed."""

from __future__ import annotations

from shlex import quote

from reports.load.loading import Run

#: What else is to be done about launches whose time was up.
TIME_LIMIT_HINT = (
    "Raise limits.launch_s in the campaign file, or lower its sizes, then run it again"
)


def run_again(run: Run, *, blocks: int | None = None) -> str:
    """A new run of the campaign, narrowed as this one was and with the same builds."""
    narrowed = {name: value for name, value in run.plan.narrowed.items() if name != "blocks"}
    narrowed |= {"blocks": blocks} if blocks else {}
    options = [
        f" --{name} {quote(','.join(value) if isinstance(value, list) else str(value))}"
        for name, value in narrowed.items()
    ]
    return f"assay run {_campaign(run)}{''.join(options)}"


def resume(name: str) -> str:
    """Go on with a run where it stopped."""
    return f"assay run --resume {name}"


def plan(run: Run) -> str:
    """What would run, and why not."""
    return f"assay plan {_campaign(run)}"


def time_is_up(reason: str) -> bool:
    """Whether a launch failed because its time was up."""
    return "time limit" in reason or "TIMEOUT" in reason


def mending(run: Run, reason: str) -> str:
    """The command that most likely fixes launches that failed for this reason."""
    return plan(run) if time_is_up(reason) else f"assay doctor {_site(run)}"


def accept(name: str, option: str = "") -> str:
    """Judge a run by criteria."""
    return f"assay accept {name} {option}".rstrip()


def verify(name: str) -> str:
    """Hold an acceptance's document against its records."""
    return f"assay verify {name}"


def _site(run: Run) -> str:
    return f"--site {quote(run.provenance.site.asked_as or run.plan.site)}"


def _campaign(run: Run) -> str:
    """The campaign, its site, its builds."""
    builds = run.provenance.site.builds
    return f"{quote(run.plan.campaign)} {_site(run)}{f' --with {builds}' if builds else ''}"


def name_of(run: Run) -> str:
    """The run's id where a command finds it by that, below results/; else its directory."""
    found = run.directory.resolve()
    below = found.parents[1].name == "results" and found.name == run.run_id
    return quote(run.run_id if below else str(run.directory))
