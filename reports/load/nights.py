# SPDX-License-Identifier: Apache-2.0
"""Nights of a history as matrices (series, nights), and what of them may be compared with what:
contexts, levels, nights inside a regression."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from records.history.model import NODE_FACT, Change, History, Night

Matrix = NDArray[np.float64]
Mask = NDArray[np.bool_]
Counts = NDArray[np.int64]

#: Ok launches of which a night's value is the median.
LEAST_LAUNCHES = 3
#: Nights after which a series knows its noise, and nights in a row that are no chance.
SETTLED_NIGHTS, LASTING_NIGHTS = 10, 4

_OWN = "environments."
#: Ends the names of what a job finds of an environment.
_OF_A_JOB = (".device", ".library", ".library_file", ".modules_loaded", ".started_by")
#: Shown when they change, but no new context: they cannot make the measured programs slower.
_SHOWN_ONLY = ("harness.git_commit", "harness.git_dirty")
#: Where the scheduler draws the nodes, they change every night.
_DRAWN = "nodes"


@dataclass(frozen=True)
class Nights:
    """Comparable values of a history, shape (series, nights): NaN where a night has too few
    launches, and in series whose better direction is not known. `direction` is +1 where less is
    better, −1 where more is; `contexts` the first night of each night's context."""

    history: History
    values: Matrix
    reruns: Matrix
    direction: Matrix
    contexts: Counts


def nights_of(history: History, least_launches: int = LEAST_LAUNCHES) -> Nights:
    """The nights of a history with values of at least so many launches."""
    better = [key.better for key in history.series]
    known = np.array([word != "unknown" for word in better], dtype=np.bool_).reshape(-1, 1)
    values, reruns = (
        np.where((counts >= least_launches) & np.isfinite(values) & known, values, np.nan)
        for values, counts in (
            (history.values, history.counts),
            (history.reruns, history.rerun_counts),
        )
    )
    environments = [key.environment for key in history.series]
    starts = {name: context_starts(history.nights, name) for name in {*environments}}
    contexts = np.array([starts[name] for name in environments], dtype=np.int64)
    direction = np.array([1.0 if word == "lower" else -1.0 for word in better], dtype=np.float64)
    return Nights(history, values, reruns, direction, contexts.reshape(values.shape))


def told_by_nodes(name: str) -> bool:
    """True for an entry of the context that is known from a job on nodes only."""
    return name.startswith(NODE_FACT) or name.endswith(_OF_A_JOB) or ".job_variables." in name


def concerns(name: str, environment: str) -> bool:
    """True for an entry of the context that bears on an environment: its own, or all
    environments'."""
    own = not name.startswith(_OWN) or name.startswith(f"{_OWN}{environment}.")
    return own and name not in _SHOWN_ONLY


def context_starts(nights: Sequence[Night], environment: str) -> Counts:
    """For each night the first night of its context, as seen by one environment."""
    starts = np.zeros(len(nights), dtype=np.int64)
    previous: dict[str, str] = {}
    for position, night in enumerate(nights):
        now = {
            name: text
            for name, text in night.context.items()
            # Facts of nodes go with the nodes that were drawn.
            if name != _DRAWN and not told_by_nodes(name) and concerns(name, environment)
        }
        starts[position] = starts[position - 1] if position and now == previous else position
        previous = now
    return starts


def begins_level(change: Change) -> bool:
    """True for a change after which a series has a new reference: one that was accepted, or an
    improvement that stayed."""
    return change.accepted is not None or change.kind == "improvement"


def level_numbers(nights: Nights, changes: Sequence[Change]) -> Counts:
    """Numbers of what has one level: for each night its context between changes that begin one."""
    begins = nights.contexts == np.arange(nights.contexts.shape[1])
    for change in filter(begins_level, changes):
        begins[change.series, nights.history.position(change.since)] = True
    return np.cumsum(begins, axis=1)


def bad_nights(history: History, changes: Sequence[Change]) -> Mask:
    """Nights inside a regression that was not accepted.

    Where the history was old enough to know its noise, a regression that went back within
    `LASTING_NIGHTS` was a bad night or a few: those belong to the site's noise, and a reference
    that never saw them would be surprised by each anew. As many good nights as that close a
    regression, so it ended before the first of those.
    """
    bad = np.zeros(history.values.shape, dtype=np.bool_)
    for change in changes:
        if change.kind != "regression" or change.accepted is not None:
            continue
        since, end = history.position(change.since), len(history.nights)
        if change.closed is not None:
            end = max(since + 1, history.position(change.closed) - (LASTING_NIGHTS - 1))
        noise = change.stage != "peers" and change.n_before >= SETTLED_NIGHTS
        if end - since >= LASTING_NIGHTS or change.closed is None or not noise:
            bad[change.series, since:end] = True
    return bad
