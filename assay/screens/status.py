# SPDX-License-Identifier: Apache-2.0
"""Progress of a run, for people: a line on its state, counts, failures by reason, what to do."""

from collections.abc import Sequence
from shlex import quote

from assay.run.progress import time_text
from assay.run.status import ReasonPart, StatusForm, counted_text, now_text
from assay.screens.screen import Screen
from assay.terminal import cells
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
    word, tone = _state(status)
    site = f" on {status.site}" if status.site else ""
    screen.line((f"{word}: ", tone), f"{status.campaign}{site}, run {status.run_id}", hang=2)
    screen.line(counted_text(status), indent=2, hang=2)
    for sentence in reasons(status.reasons, status.run, screen.width):
        head = f"{sentence.badge.word} " if sentence.badge else ""
        screen.line((head, "bad"), sentence.text, indent=2, hang=2)
    if not status.failed or not status.complete:
        _show_plan(screen, status)
    if status.done < status.planned:
        now = now_text(status)
        left = f"about {time_text(status.left_s)} left"
        screen.line(f"{left}; {now}" if now else left, indent=2, hang=2)
    if not status.complete and not status.driven:
        checks = open_run(status.run).provenance().asked.checks
        show_command(commands.resume(status.run, checks), screen)
    elif status.reasons and len(status.reasons) <= MOST_REASONS:
        # What the first launch of the commonest reason printed to standard error.
        output = status.reasons[0].output
        see = f"{status.run}/{output}" if output else f"assay report {quote(status.run)}"
        screen.line(("see: ", "quiet"), see, indent=2)


def _show_plan(screen: Screen, status: StatusForm) -> None:
    """Show what the plan left out, and how far a sequential design is."""
    if status.skipped_cases:
        lacking = "case does not fit the site and is"
        if status.skipped_cases > 1:
            lacking = "cases do not fit the site and are"
        screen.line(f"{status.skipped_cases} {lacking} skipped", indent=2, hang=2)
    shown, further = status.open[:MOST_OPEN], status.open[MOST_OPEN:]
    asked = [f"open: {question}" for question in shown]
    asked += [f"open: {len(further)} further questions"] if further else []
    for text in [*status.told, *status.judged, *asked]:
        screen.line(text, indent=2, hang=2)


def _state(status: StatusForm) -> tuple[str, Style]:
    """The state in a word, and how it is meant."""
    if status.failed:
        return "FAILED" if status.complete or not status.driven else "FAILING", "bad"
    if status.complete:
        return "COMPLETE", "good"
    return ("RUNNING", "plain") if status.driven else ("STOPPED", "open")


def reasons(parts: Sequence[ReasonPart], run: str, width: int) -> list[Sentence]:
    """A sentence a reason, of a line of `width` columns: how many launches, why, of which
    environments and checks."""
    sentences = []
    for reason in parts[:MOST_REASONS]:
        head = f"{reason.launches} × {reason.status}:"
        whose = f" ({_named(reason.environments, 'environment')}: {_named(reason.checks, 'check')})"
        room = max(LEAST_REASON, width - 2 - cells(f"{head} {whose}"))
        text = f"{shortened(reason.reason, room)}{whose}"
        sentences.append(Sentence(text, badge=Badge(head, "bad")))
    if further := parts[MOST_REASONS:]:
        launches = sum(reason.launches for reason in further)
        others = count_text(len(further), "further reason")
        sentences.append(Sentence(f"{launches} × {others}; all: assay report {quote(run)}"))
    return sentences


def _named(names: Sequence[str], noun: str) -> str:
    return ", ".join(names) if len(names) <= MOST_NAMED else count_text(len(names), noun)
