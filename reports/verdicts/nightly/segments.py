# SPDX-License-Identifier: Apache-2.0
"""Which earlier nights a night may be compared with: contexts, accepted changes, bad nights."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from records.history.context import NODE
from records.history.model import Change, History, Night
from reports.verdicts.nightly.forms import ContextPart
from reports.verdicts.nightly.rules import Rules

_OWN = "environments."
#: Ends the names of what a job finds of an environment.
_OF_A_JOB = (".device", ".library", ".library_file", ".modules_loaded", ".started_by")


#: Shown when they change, but no new segment: they cannot make the measured programs slower.
_SHOWN_ONLY = ("harness.git_commit", "harness.git_dirty")


def context_changes(before: Night, after: Night) -> list[ContextPart]:
    """What changed in software, machine and node set from one night to another.

    A night of an Assay that asked no nodes says nothing of what these tell.
    """
    names = sorted(before.context.keys() | after.context.keys())
    if not all(any(name.startswith(NODE) for name in one.context) for one in (before, after)):
        names = [name for name in names if not _told_by_nodes(name)]
    # Nor does a night of one that asked no library for its device.
    names = [
        name
        for name in names
        if not name.endswith(".device") or {name} <= before.context.keys() & after.context.keys()
    ]
    return [
        ContextPart(name, before.context.get(name), after.context.get(name))
        for name in names
        if before.context.get(name) != after.context.get(name)
    ]


def _told_by_nodes(name: str) -> bool:
    """Whether an entry of the context is known from a job on nodes only."""
    return name.startswith(NODE) or name.endswith(_OF_A_JOB) or ".job_variables." in name


#: A covariate (covariates.py): where the scheduler draws the nodes, they change every night.
_COVARIATE = "nodes"


def concerns(name: str, environment: str) -> bool:
    """Whether an entry of the context bears on an environment: its own, or all environments'."""
    own = not name.startswith(_OWN) or name.startswith(f"{_OWN}{environment}.")
    return own and name not in _SHOWN_ONLY


def context_starts(nights: Sequence[Night], environment: str) -> NDArray[np.int64]:
    """For each night the first night of its context, as seen by one environment."""
    starts = np.zeros(len(nights), dtype=np.int64)
    previous: dict[str, str] = {}
    for place, night in enumerate(nights):
        now = {
            name: text
            for name, text in night.context.items()
            # Facts of nodes go with the nodes that were drawn.
            if name != _COVARIATE and not _told_by_nodes(name) and concerns(name, environment)
        }
        starts[place] = starts[place - 1] if place and now == previous else place
        previous = now
    return starts


def reference_starts(history: History, changes: Sequence[Change]) -> NDArray[np.int64]:
    """For each series the night its present reference begins: its last accepted change, or its
    last improvement that stayed."""
    starts = np.zeros(len(history.series), dtype=np.int64)
    for change in changes:
        if change.accepted is not None or change.kind == "improvement":
            since = history.position(change.since)
            starts[change.series] = max(starts[change.series], since)
    return starts


def level_numbers(
    history: History, changes: Sequence[Change], contexts: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Numbers what has one level: for each night (series × nights) its context between changes.

    `contexts` has the first night of each night's context. A new level begins with an accepted
    change and with an improvement that stayed.
    """
    begins = contexts == np.arange(contexts.shape[1])
    for change in changes:
        if change.accepted is not None or change.kind == "improvement":
            begins[change.series, history.position(change.since)] = True
    return np.cumsum(begins, axis=1)


def bad_nights(history: History, changes: Sequence[Change], rules: Rules) -> NDArray[np.bool_]:
    """Nights inside a regression that was not accepted, shape (series, nights).

    Where the history was old enough to know its noise, a regression that went back within
    `rules.run_nights` was a bad night or a few: those belong to the site's noise, and a reference
    that never saw them would be surprised by each anew. As many good nights as that close a
    regression, so it ended before the first of those.
    """
    nights, passing_nights = len(history.nights), rules.run_nights
    bad = np.zeros((len(history.series), nights), dtype=np.bool_)
    for change in changes:
        if change.kind != "regression" or change.accepted is not None:
            continue
        since = history.position(change.since)
        end = nights
        if change.closed is not None:
            end = max(since + 1, history.position(change.closed) - (passing_nights - 1))
        noise = change.stage != "peers" and change.n_before >= rules.robust_from
        if end - since >= passing_nights or change.closed is None or not noise:
            bad[change.series, since:end] = True
    return bad
