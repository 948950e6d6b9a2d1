# SPDX-License-Identifier: Apache-2.0
"""Progress of a run, for people: a line on its state, counts, failures by reason, what to do."""

from __future__ import annotations

from collections.abc import Sequence
from shlex import quote

from assay.folding import cells
from assay.run.progress import time_text
from assay.run.status import ReasonPart, StatusForm, counted_text, now_text
from assay.screens.screen import Screen
from records.run.run_directory import open_run
from reports import commands
from reports.notation.labels import shortened
from reports.notation.units import count_text
from reports.render.terminal import Style, show_command
from reports.result import Badge, Sentence

#: Reasons that have a line of their own, if there are more; a line counts the others.
MOST_REASONS = 2
#: Environments or checks of a reason that are named; more are counted.
MOST_NAMED = 3
#: Characters of a reason that are shown however narrow the terminal.
LEAST_REASON = 20
#: Open questions of a sequential design that are shown.
MOST_OPEN = 3


def show_status(screen: Screen, status: StatusForm) -> None:
    """State, counts, reasons, what is left, what comes next. Of a run that ended with failures
    five lines."""
    word, tone = state_of(status)
    site = f" on {status.site}" if status.site else ""
    screen.line((f"{word}: ", tone), f"{status.campaign}{site}, run {status.run_id}", hang=2)
    screen.line(counted_text(status), indent=2, hang=2)
    for one in reasons(status.reasons, status.run, screen.width):
        head = f"{one.badge.word} " if one.badge else ""
        screen.line((head, "bad"), one.text, indent=2, hang=2)
    if not status.failed or not status.complete:
        show_plan(screen, status)
    if status.done < status.planned:
        now = now_text(status)
        left = f"about {time_text(status.left_s)} left"
        screen.line(f"{left}; {now}" if now else left, indent=2, hang=2)
    if not status.complete and not status.driven:
        checks = open_run(status.run).provenance().asked.checks
        show_command(commands.resume(status.run, checks), screen)
    elif status.reasons and len(status.reasons) <= MOST_REASONS:
        screen.line(("see: ", "quiet"), _output_of(status), indent=2)


def show_plan(screen: Screen, status: StatusForm) -> None:
    """Show what the plan left out, and how far a sequential design is."""
    if status.skipped_cases:
        one = status.skipped_cases == 1
        told = "case does not fit the site and is" if one else "cases do not fit the site and are"
        screen.line(f"{status.skipped_cases} {told} skipped", indent=2, hang=2)
    shown, further = status.open[:MOST_OPEN], status.open[MOST_OPEN:]
    asked = [f"open: {one}" for one in shown]
    asked += [f"open: {len(further)} further questions"] if further else []
    for text in [*status.told, *status.judged, *asked]:
        screen.line(text, indent=2, hang=2)


def state_of(status: StatusForm) -> tuple[str, Style]:
    """The state in a word, and how it is meant."""
    if status.failed:
        return "FAILED" if status.complete or not status.driven else "FAILING", "bad"
    if status.complete:
        return "COMPLETE", "good"
    return ("RUNNING", "plain") if status.driven else ("STOPPED", "open")


def reasons(found: Sequence[ReasonPart], run: str, width: int) -> list[Sentence]:
    """A sentence a reason, of a line of `width` columns: how many launches, why, of which
    environments and checks."""
    shown, further = found[:MOST_REASONS], found[MOST_REASONS:]
    digits = max((len(str(one.launches)) for one in shown), default=0)
    told = []
    for one in shown:
        head = f"{one.launches:>{digits}} × {one.status}:"
        room = width - 2 - cells(f"{head} ")
        whose = _whose(one, MOST_NAMED)
        if cells(one.reason + whose) > room:
            whose = _whose(one, 1)
        reason = shortened(one.reason, max(LEAST_REASON, room - cells(whose)))
        told.append(Sentence(f"{reason}{whose}", badge=Badge(head, "bad")))
    if further:
        launches = sum(one.launches for one in further)
        others = count_text(len(further), "further reason")
        text = f"{launches:>{digits}} × {others}; all: assay report {quote(run)}"
        told.append(Sentence(text))
    return told


def _whose(reason: ReasonPart, most: int) -> str:
    """The environments and checks of a reason, more than `most` counted."""
    found = [(reason.environments, "environment"), (reason.checks, "check")]
    told = (
        ", ".join(names) if len(names) <= most else count_text(len(names), noun)
        for names, noun in found
    )
    return f" ({': '.join(told)})"


def _output_of(status: StatusForm) -> str:
    """File with what the first launch of the commonest reason printed to standard error, else the
    command that lists all."""
    output = status.reasons[0].output
    return f"{status.run}/{output}" if output else f"assay report {quote(status.run)}"
