# SPDX-License-Identifier: Apache-2.0
"""Judges the nights of a history that are not judged yet, and keeps what was found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from records.errors import AssayError, ExitStatus
from records.history import USUAL_FINDS
from records.history.model import Change, History, Night
from records.history.reading import read_history
from records.history.store import Store
from records.run.provenance import Provenance, read_provenance
from reports.answers import State
from reports.load.nights import nights_of
from reports.verdicts.nightly.context import context_changes
from reports.verdicts.nightly.findings import NightFinding, NightJudgement
from reports.verdicts.nightly.forms import ContextPart
from reports.verdicts.nightly.judge import judge
from reports.verdicts.nightly.rules import Rules, rules_for
from reports.verdicts.nightly.tonight import Tonight, evidence


@dataclass(frozen=True)
class Checked:
    """The newest night of a history (of `history_file`) with its evidence and judgement."""

    tonight: Tonight
    judgement: NightJudgement
    history_file: str = ""

    @property
    def history(self) -> History:
        """The history, its changes up to date."""
        return self.tonight.history

    @property
    def rules(self) -> Rules:
        """The rules of the judgement."""
        return self.tonight.rules

    @property
    def night(self) -> Night:
        """The night that was judged."""
        return self.tonight.night

    @property
    def began(self) -> Provenance:
        """What the night's run began with; nothing where it is not there any more."""
        try:
            return read_provenance(Path(self.night.run_path) / "provenance.json")
        except AssayError:
            return Provenance()

    @property
    def context(self) -> list[ContextPart]:
        """What changed in software, machine and nodes since the night before."""
        nights, position = self.history.nights, self.tonight.position
        return context_changes(nights[position - 1], self.night) if position else []

    @property
    def bad_launches(self) -> int:
        """Launches of the night that were not ok (skipped cases do not count)."""
        return sum(self.night.statuses.get(word, 0) for word in ("failed", "wrong", "lost"))

    @property
    def more_nights(self) -> int:
        """How many more nights the series need that are too young for PASS, at least."""
        return max(self.judgement.learning.values(), default=0)

    @property
    def state(self) -> State:
        """FAIL: a regression, new or open, a silent series, or bad launches. SUSPECT: something to
        run again. LEARNING: too few nights yet. INCONCLUSIVE: nothing could be judged, or not as
        finely as the site wants."""
        if self.judgement.of("regression", "open", "silent") or self.bad_launches:
            return State.FAIL
        if self.judgement.of("suspect"):
            return State.SUSPECT
        if self.judgement.learning:
            return State.LEARNING
        decided = self.judgement.judged and not self.judgement.wide_reasons
        return State.PASS if decided else State.INCONCLUSIVE

    @property
    def status(self) -> ExitStatus:
        """What is not decided is no success."""
        known = {State.PASS: ExitStatus.PASS, State.FAIL: ExitStatus.FAIL}
        return known.get(self.state, ExitStatus.INCONCLUSIVE)

    @cached_property
    def said(self) -> dict[int, NightFinding]:
        """The first finding of each series that has one."""
        return {item.series: item for item in reversed(self.judgement.findings)}


def check_history(
    store: Store,
    site: str,
    campaign: str,
    alarms_a_month: float = 1.0,
    finds: float = USUAL_FINDS,
) -> Checked:
    """Judge all nights not judged yet, oldest first, and the newest anew; keep what is found."""
    history = read_history(store, site, campaign)
    newest = history.nights[-1]
    rules = rules_for(len(history.series), alarms_a_month, finds, imported=newest.imported)
    nights, ids = nights_of(history, rules.least_launches), history.series_ids
    changes, unexplained = history.changes, history.unexplained.copy()
    for position, night in enumerate(history.nights):
        if night.judged and night is not newest:
            continue
        before = _before(changes, history, position)
        judgement = judge(evidence(nights, position, before, rules, unexplained))
        suspects = [item.series for item in judgement.of("suspect")]
        unexplained[:, position] = False
        unexplained[suspects, position] = True
        store.keep_judgement(
            night,
            [(ids[item.series], item) for item in judgement.changes],
            [ids[series] for series in suspects],
            finds,
        )
        if any(finding.change for finding in judgement.findings):
            changes = read_history(store, site, campaign).changes
    known = [*history.nights[:-1], replace(newest, judged=True, finds=finds)]
    history = replace(history, nights=known, changes=changes, unexplained=unexplained)
    return newest_night(history, str(store.path), rules)


def newest_night(history: History, history_file: str = "", rules: Rules | None = None) -> Checked:
    """The newest night by what the history holds; nothing is kept.

    A night that was judged has the changes that were found then, whatever its limits were.
    """
    position, night = len(history.nights) - 1, history.nights[-1]
    rules = rules or rules_for(len(history.series), finds=night.finds, imported=night.imported)
    found = [item for item in history.changes if item.found == night.id and item.accepted is None]
    before = _before(history.changes, history, position)
    tonight = evidence(nights_of(history, rules.least_launches), position, before, rules)
    judgement = judge(tonight, found if night.judged else None)
    return Checked(tonight, judgement, history_file)


def _before(changes: Sequence[Change], history: History, position: int) -> list[Change]:
    """The changes as they were known before a night; what somebody accepted stays."""
    night = history.nights[position].id
    return [
        replace(change, closed=None) if change.closed == night else change
        for change in changes
        if change.accepted or history.position(change.found) < position
    ]
