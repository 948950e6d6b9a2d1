# SPDX-License-Identifier: Apache-2.0
"""How far a run is, for people: a line on its state, counts, failures by reason, what to do."""

from __future__ import annotations

from assay.run.status import RunStatus, counted_text, now_text
from assay.run.time_left import time_text
from assay.screens.screen import Screen, Tone

#: Reasons that are shown; a line counts the launches of the others.
MOST_REASONS = 6
#: Open questions of a sequential design that are shown.
MOST_OPEN = 3


def show_status(screen: Screen, status: RunStatus) -> None:
    """State, counts, reasons, what is left, what comes next."""
    run, (word, tone) = status.path, state_of(status)
    site = f" on {status.site}" if status.site else ""
    screen.line((f"{word}: ", tone), f"{status.campaign}{site}, run {status.run_id}", hang=2)
    screen.line(counted_text(status), indent=2, hang=2)
    show_reasons(screen, status)
    show_plan(screen, status)
    if status.done < status.planned:
        now = now_text(status)
        left = f"about {time_text(status.left_s)} left, by the plan's estimates"
        screen.line(f"{left}; {now}" if now else left, indent=2, hang=2)
    if not status.complete and not status.driven:
        screen.line(f"go on: assay run --resume {run}", indent=2, hang=2)
    elif status.reasons and status.reasons[0].output:
        output = f"{run}/{status.reasons[0].output}"
        screen.line(f"see: {output}; all of them: assay report {run}", indent=2, hang=2)


def show_plan(screen: Screen, status: RunStatus) -> None:
    """What the plan left out, and how far a sequential design is."""
    if status.skipped_cases:
        one = status.skipped_cases == 1
        told = "case does not fit the site and is" if one else "cases do not fit the site and are"
        screen.line(f"{status.skipped_cases} {told} skipped", indent=2, hang=2)
    shown, further = status.open[:MOST_OPEN], status.open[MOST_OPEN:]
    asked = [f"open: {one}" for one in shown]
    asked += [f"open: {len(further)} further questions"] if further else []
    for text in [*status.told, *status.judged, *asked]:
        screen.line(text, indent=2, hang=2)


def state_of(status: RunStatus) -> tuple[str, Tone]:
    """The state in a word, and how it is meant."""
    if status.failed:
        return "FAILED" if status.complete or not status.driven else "FAILING", "bad"
    if status.complete:
        return "COMPLETE", "good"
    return ("RUNNING", "plain") if status.driven else ("STOPPED", "open")


def show_reasons(screen: Screen, status: RunStatus) -> None:
    """A line a reason: how many launches, why, of which environments and checks."""
    width = max((len(str(one.launches)) for one in status.reasons), default=0)
    for one in status.reasons[:MOST_REASONS]:
        whose = f"{', '.join(one.environments)}: {', '.join(one.checks)}"
        head = f"{one.launches:>{width}} × {one.status}"
        screen.line((head, "bad"), f": {one.reason} ({whose})", indent=2, hang=width + 3)
    further = status.reasons[MOST_REASONS:]
    if further:
        launches = sum(one.launches for one in further)
        screen.line(f"{launches} for {len(further)} further reasons", indent=2)
