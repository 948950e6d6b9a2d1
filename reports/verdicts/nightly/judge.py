# SPDX-License-Identifier: Apache-2.0
"""The verdicts of one night: pure, from a history up to that night to findings and changes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from records.history.model import Change, History, Kind
from records.site.pair_scans import NODE, PEER
from reports.statistics.descriptive import Matrix
from reports.verdicts.nightly.covariates import night_terms, term_factors
from reports.verdicts.nightly.findings import Finding, Judgement, Verdict
from reports.verdicts.nightly.lasting import Shift, drifts, early_steps, first_steps, lasting
from reports.verdicts.nightly.peers import peers_of_night, young_groups
from reports.verdicts.nightly.reference import Mask, last_nights
from reports.verdicts.nightly.rules import Rules
from reports.verdicts.nightly.segments import (
    bad_nights,
    context_starts,
    level_numbers,
    reference_starts,
)
from reports.verdicts.nightly.tonight import Seen, StageA

#: Message lengths up to this are start-up bound; their floor is wider.
SMALL_MESSAGE_BYTES = 1024


class NightJudge:
    """Judges nights of one history; what is the same for all nights is worked out once."""

    def __init__(self, history: History, rules: Rules) -> None:
        self.history = history
        self.rules = rules
        self.values = _enough_launches(history.values, history.counts, rules)
        self.reruns = _enough_launches(history.reruns, history.rerun_counts, rules)
        self.direction = np.array(
            [1.0 if key.better == "lower" else -1.0 for key in history.series], dtype=np.float64
        )
        self.unexplained = (
            np.zeros(history.values.shape, dtype=np.bool_)
            if history.unexplained is None
            else history.unexplained.copy()
        )
        # The least change worth reporting: 3 %, 5 % for the latency of small messages.
        self.floors = np.array(
            [
                rules.floor_small_latency
                if key.unit == "s" and key.at.get("message_bytes", np.inf) <= SMALL_MESSAGE_BYTES
                else rules.floor
                for key in history.series
            ],
            dtype=np.float64,
        )

    @cached_property
    def contexts(self) -> NDArray[np.int64]:
        """The first night of each night's context, shape (series, nights)."""
        environments = {key.environment for key in self.history.series}
        starts = {name: context_starts(self.history.nights, name) for name in environments}
        shape = (len(self.history.series), len(self.history.nights))
        rows = [starts[key.environment] for key in self.history.series]
        return np.array(rows, dtype=np.int64).reshape(shape)

    @cached_property
    def terms(self) -> Matrix:
        """Nodes and weekday of each night."""
        return night_terms(self.history.nights)

    def judge(
        self, place: int, changes: Sequence[Change], found: Sequence[Change] | None = None
    ) -> Judgement:
        """The verdicts of the night at `place`, given the changes known before it; later nights
        are not looked at, and what is suspect stays in `unexplained`. `found`: the changes that are
        known to be of this night; None: not known."""
        tonight = _Tonight(self, place, changes)
        judgement = tonight.judgement()
        self.unexplained[:, place] = False
        self.unexplained[[item.series for item in judgement.of("suspect")], place] = True
        return judgement if found is None else tonight.with_changes(judgement, found)

    def stage_a(self, place: int, changes: Sequence[Change]) -> StageA:
        """Stage A of the night at `place`."""
        values, reruns = self.values[:, : place + 1], self.reruns[:, : place + 1]
        bad = bad_nights(self.history, changes, self.rules)[:, : place + 1]
        learnt = self._learnt(values, bad)
        most = self.rules.most_nights
        factors = term_factors(values, learnt, self.terms[: place + 1], most)
        seen = Seen(
            values=values * factors,
            reruns=reruns * factors,
            contexts=self.contexts[:, : place + 1],
            levels=level_numbers(self.history, changes, self.contexts)[:, : place + 1],
            bad=bad,
            learnt=learnt,
            since=reference_starts(self.history, changes),
        )
        return StageA(seen, self.direction, self.floors, self.rules)

    def _learnt(self, values: Matrix, bad: Mask) -> Mask:
        """What may enter a reference: no value that is worse than allowed until that is explained
        or accepted; while a series is young, no value of a night with any such."""
        odd = self.unexplained[:, : values.shape[1]] | bad
        learnt = np.isfinite(values) & ~odd
        calm = learnt & ~odd.any(axis=0)
        young = np.cumsum(calm, axis=1) < self.rules.robust_from
        kept: Mask = learnt & (calm | ~young)
        return kept


class _Tonight:
    """One night under judgement: gathers findings and changes."""

    def __init__(self, judge: NightJudge, place: int, changes: Sequence[Change]) -> None:
        self.of = judge
        self.place = place
        self.history = judge.history
        self.rules = judge.rules
        self.night_id = judge.history.nights[place].id
        self.stage_a = judge.stage_a(place, changes)
        self.peers, self.peers_again = (
            peers_of_night(judge.history, place, changes, judge.rules, again=again)
            for again in (False, True)
        )
        self.values = self.stage_a.seen.values
        self.changes = list(changes)
        # The newest open regression of each series; an earlier one may be open beside it.
        self.open = {item.series: place for place, item in enumerate(changes) if item.open}
        self.findings: list[Finding] = []

    def judgement(self) -> Judgement:
        """Judge everything, open regressions first."""
        silent = self._silent()
        reasons = self._unjudged()
        judged = np.array([reason is None for reason in reasons], dtype=np.bool_)
        known = np.zeros(len(reasons), dtype=np.bool_)
        known[list(self.open)] = True
        for series in np.flatnonzero(silent).tolist():
            self._say(series, "silent")
        for place, change in enumerate(self.changes):
            if change.open:
                self._judge_open(place, change)
        for series in sorted(self.open):
            if judged[series]:
                self._judge_grown(series)
        alone = self.stage_a.worse > self.stage_a.limits.alone
        level = self.stage_a.reference.median
        for series in np.flatnonzero(judged & ~known & alone).tolist():
            self._judge_suspect(series, self.stage_a.limits.again, self.place, level[series])
        for series in np.flatnonzero(judged & ~known & ~alone & self.stage_a.in_a_row()).tolist():
            since = self.stage_a.run_begins(series)
            self._judge_suspect(series, self.of.floors, since, level[series])
        said = np.zeros(len(reasons), dtype=np.bool_)
        said[[item.series for item in self.findings]] = True
        slow = self.peers.slow | (self.peers.beyond & self._doubted())
        for series in np.flatnonzero(slow & ~said).tolist():
            self._judge_peer(series)
        good = -self.stage_a.worse > self.stage_a.limits.alone
        for series in np.flatnonzero(judged & ~known & good).tolist():
            self._say(series, "better")
        for shift in self._shifts():
            self._take(shift)
        return Judgement(
            self.place,
            self.findings,
            self.changes,
            int(judged.sum()),
            {series: reason for series, reason in enumerate(reasons) if reason},
            self._wide(judged),
            self._learning(reasons),
            int(np.isfinite(self.peers.level).sum()),
        )

    def with_changes(self, judgement: Judgement, found: Sequence[Change]) -> Judgement:
        """The judgement with these changes of tonight in place of those of its own."""
        series = {change.series for change in found}
        findings = [
            item
            for item in judgement.findings
            if item.verdict not in ("regression", "improvement")
            and (item.series not in series or item.verdict in ("open", "recovered", "silent"))
        ]
        self.findings = []
        for change in found:
            self._say(change.series, change.kind, change, change.before)
        kept = [item for item in judgement.changes if item.found != self.night_id or item.accepted]
        return replace(judgement, findings=findings + self.findings, changes=[*kept, *found])

    @property
    def _young(self) -> tuple[str, ...]:
        """Why a series is not judged whose history is too short for that."""
        return (
            f"fewer than {self.rules.judged_from} earlier nights to compare with",
            "no three nights of one context, from which a spread could be known",
        )

    def _learning(self, reasons: Sequence[str | None]) -> dict[int, int]:
        """The series with too few nights to support PASS, and how many more each needs at least."""
        rules, reference = self.rules, self.stage_a.reference
        young = young_groups(self.history, self.of.values, self.place, rules)
        found = {}
        for series in np.flatnonzero(young).tolist():
            reason, level, spread = (
                reasons[series],
                int(reference.n[series]),
                int(reference.n_spread[series]),
            )
            if reason is None and spread < rules.robust_from:
                found[series] = rules.robust_from - spread
            elif reason in self._young:
                known = max(level, spread)
                found[series] = max(rules.robust_from - known, rules.judged_from - level, 1)
        return found

    def _wide(self, judged: Mask) -> dict[int, str]:
        """Judged series whose limit is wider than the change to be found, and why."""
        wide = judged & (self.stage_a.limits.alone > self.rules.finds * 1.001)
        few = self.stage_a.reference.n_spread < self.rules.robust_from
        words = "its nights stray that far", "fewer than ten nights are known"
        return {series: words[bool(few[series])] for series in np.flatnonzero(wide).tolist()}

    def _silent(self) -> Mask:
        """Series without a value tonight, or with zero, that are expected and were not zero now and
        then before."""
        rules, history = self.rules, self.history
        values = history.values[:, : self.place + 1]
        none = (history.counts[:, : self.place + 1] == 0) | ~np.isfinite(values)
        with np.errstate(invalid="ignore"):
            zero = ~none & (values <= 0)
        recent = ~(none | zero)[:, max(0, self.place - rules.silent_window) : -1]
        if not recent.shape[1]:
            return np.zeros(len(values), dtype=np.bool_)
        # A series is new until its first value; a window that begins before tells nothing.
        nights = np.where(recent.any(axis=1), recent.shape[1] - recent.argmax(axis=1), 1)
        expected = recent.sum(axis=1) > rules.silent_share * nights
        valued = ~(none | zero)[:, -2::-1]
        was_zero = (zero[:, -2::-1] & (np.cumsum(valued, axis=1) > 0)).any(axis=1)
        missing: Mask = none[:, -1] | (zero[:, -1] & ~was_zero)
        silent: Mask = expected & missing & ~self._not_drawn()
        return silent

    def _not_drawn(self) -> Mask:
        """Series of nodes that did not run tonight, where as many nodes as before did."""
        *before, tonight = self.history.nights[: self.place + 1][-self.rules.silent_window - 1 :]
        if len(tonight.nodes) < max((len(night.nodes) for night in before), default=0):
            return np.zeros(len(self.values), dtype=np.bool_)
        points = [key.at for key in self.history.series]
        of = [{str(at[name]) for name in (NODE, PEER) if name in at} for at in points]
        away: Mask = np.array([not nodes.issubset(tonight.nodes) for nodes in of], dtype=np.bool_)
        return away

    def _doubted(self) -> Mask:
        """Series whose last value before tonight is worse than allowed and unexplained."""
        last = last_nights(np.isfinite(self.of.values[:, : self.place]), 1)
        doubted = last & self.of.unexplained[:, : self.place]
        return np.asarray(doubted.any(axis=1))

    def _unjudged(self) -> list[str | None]:
        """For each series why it is not judged tonight, or None."""
        least, (few_nights, no_spread) = self.rules.least_launches, self._young
        counts = self.history.counts[:, self.place]
        texts = np.full(len(counts), None, dtype=object)
        texts[~np.isfinite(self.stage_a.limits.alone)] = no_spread
        texts[~(self.stage_a.reference.median > 0)] = "the reference is not positive"
        texts[self.stage_a.reference.n < self.rules.judged_from] = few_nights
        texts[counts < least] = f"fewer than {least} valid launches tonight"
        texts[self.values[:, -1] <= 0] = "zero tonight"
        texts[counts == 0] = "no valid launch tonight"
        reasons: list[str | None] = texts.tolist()
        return reasons

    def _say(
        self,
        series: int,
        verdict: Verdict,
        change: Change | None = None,
        level: float | None = None,
        peers: int = 0,
    ) -> None:
        """A finding; `level` is what tonight is compared with if not the reference, that of so many
        `peers` or of nights."""
        if change is not None and change.stage == "peers":
            level, peers = change.before, change.n_before
        rerun, elsewhere = (
            float(table[series, self.place]) if table is not None else np.nan
            for table in (self.of.reruns, self.history.elsewhere)
        )
        stage_a, limits = self.stage_a, self.stage_a.limits
        reference = float(stage_a.reference.median[series]) if level is None else level
        value = float(self.values[series, self.place])
        worse = self._worse(series, value, reference)
        alone, near = float(limits.alone[series]), float(limits.in_a_row[series])
        self.findings.append(
            Finding(
                series=series,
                verdict=verdict,
                value=value,
                rerun=rerun if np.isfinite(rerun) else None,
                elsewhere=elsewhere if np.isfinite(elsewhere) else None,
                reference=reference,
                n=peers or int(stage_a.reference.n[series]),
                worse=worse,
                limit=self.rules.finds if peers else near if near < worse <= alone else alone,
                change=change,
                peers=peers > 0,
            )
        )

    def _worse(self, series: int, value: float, level: float) -> float:
        """By what fraction of a level a value is worse; NaN without a positive level."""
        return float(self.of.direction[series]) * (value / level - 1) if level > 0 else np.nan

    def _judge_open(self, place: int, change: Change) -> None:
        if self._went_back(change):
            self.changes[place] = change = replace(change, closed=self.night_id)
            if self.open.get(change.series) == place:
                del self.open[change.series]
            self._say(change.series, "recovered", change)
        else:
            self._say(change.series, "open", change)

    def _nights_since(self, change: Change) -> tuple[Matrix, float]:
        """The values from a change on, and the factor that makes the change's levels, which are of
        the nodes of the night it was found, those of tonight's."""
        found = self.history.position(change.found)
        raw = self.of.values[change.series, found]
        scale = float(self.values[change.series, found] / raw) if raw > 0 else 1.0
        row = self.values[change.series, self.history.position(change.since) :]
        return row[np.isfinite(row)], scale if np.isfinite(scale) else 1.0

    def _went_back(self, change: Change) -> bool:
        """Whether four of the nights after the first bad one, and all but one of the last seven at
        most, are on the old level's side of the border.

        The border is half of the step, or of what the first nights showed of it, but not below half
        of the floor: a step is found on its worst night, and seems greater than it is.
        """
        row, scale = self._nights_since(change)
        before, most = change.before * scale, self.rules.recovery_window
        worse = np.array([self._worse(change.series, value, before) for value in row.tolist()])
        last = worse[1:][-most:]
        if len(last) < self.rules.run_nights:
            return False
        step = min(abs(change.ratio - 1), float(np.median(worse[:most])))
        # Sound nodes may differ from their peers, whose level this is, by `finds`.
        peers = change.stage == "peers"
        floor = self.rules.finds if peers else float(self.of.floors[change.series])
        border = max(step, floor) / 2
        return int((last < border).sum()) >= max(self.rules.run_nights, len(last) - 1)

    def _judge_grown(self, series: int) -> None:
        """Whether an open regression has become greater: tonight, or the last nights in a row,
        against the nights since it."""
        change, limits, length = (
            self.changes[self.open[series]],
            self.stage_a.limits,
            self.rules.run_nights,
        )
        row, scale = self._nights_since(change)
        level, tonight = change.after * scale, float(self.values[series, self.place])
        # A regression is found on its worst night; a few nights later its level is known.
        settled = len(row) >= 2 * length - 1
        if settled:
            level = float(np.median(row[:-length]))
        elif len(row) > 1:
            middle = float(np.median(row[:-1]))
            level = middle if len(row) > length or self._worse(series, middle, level) > 0 else level
        last = [self._worse(series, value, level) for value in row[-length:].tolist()]
        if self._worse(series, tonight, level) > limits.alone[series]:
            self._judge_suspect(series, limits.again, self.place, level)
        elif settled and min(last) > limits.in_a_row[series]:
            self._judge_suspect(series, self.of.floors, self.place + 1 - length, level)

    def _judge_peer(self, series: int) -> None:
        """Slower than the other nodes of its kind; a re-run that says the same confirms, one that
        is within what nodes may differ clears."""
        level, n = float(self.peers.level[series]), int(self.peers.good[series])
        rerun, again = float(self.of.reruns[series, self.place]), self.peers_again
        if not again.slow[series]:
            cleared = np.isfinite(again.level[series]) and not again.beyond[series]
            self._say(series, "dismissed" if cleared else "suspect", level=level, peers=n)
        else:
            after = float(np.median([self.values[series, self.place], rerun]))
            self._add(self._change(Shift(series, "peers", self.place, level, after, n)), level)

    def _judge_suspect(self, series: int, again: Matrix, since: int, level: float) -> None:
        """Worse than `level` by more than may be tonight, or too often in a row; a re-run beyond
        `again` confirms."""
        rerun = float(self.stage_a.seen.reruns[series, self.place])
        if not np.isfinite(rerun):
            self._say(series, "suspect", level=level)
        elif self._worse(series, rerun, level) <= again[series]:
            self._say(series, "dismissed", level=level)
        else:
            both = (*self.values[series, since:], rerun)
            n = int(self.stage_a.reference.n[series])
            after = float(np.nanmedian(both))
            shift = Shift(series, "tonight", since, float(level), after, n)
            self._add(self._change(shift), float(level))

    def _change(self, shift: Shift) -> Change:
        less = shift.after < shift.before
        better = less == (self.history.series[shift.series].better == "lower")
        kind: Kind = "improvement" if better else "regression"
        return Change(
            series=shift.series,
            kind=kind,
            stage=shift.stage,
            since=self.history.nights[shift.since].id,
            found=self.night_id,
            before=shift.before,
            after=shift.after,
            n_before=shift.n_before,
        )

    def _add(self, change: Change, level: float | None = None) -> None:
        if change.kind == "regression":
            self.open[change.series] = len(self.changes)
        self.changes.append(change)
        self._say(change.series, change.kind, change, level)

    def _shifts(self) -> list[Shift]:
        """Lasting changes: of series without an open regression, of those whose regression is not
        yet known to stay, and since a regression that is."""
        floors, since = self.of.floors, self.stage_a.seen.since.copy()
        bad = self.stage_a.seen.bad.copy()
        proven = np.zeros(len(bad), dtype=np.bool_)
        for series, place in self.open.items():
            change = self.changes[place]
            begins = self.history.position(change.since)
            bad[series, begins:] = False
            proven[series] = change.stage == "tonight"
            if not proven[series]:
                since[series] = max(since[series], begins)
        nights = np.arange(self.place + 1)
        chosen: Mask = (nights >= since[:, np.newaxis]) & ~bad
        with np.errstate(invalid="ignore"):
            chosen &= self.values > 0
        found = lasting(self.values, chosen, floors, proven, self.rules)
        chosen[[shift.series for shift in found] + list(self.open)] = False
        found += first_steps(self.values, chosen, self.stage_a.limits.alone, self.rules)
        chosen[[shift.series for shift in found]] = False
        found += early_steps(self.values, chosen, floors, self.rules)
        chosen[[shift.series for shift in found]] = False
        return found + drifts(self.values, chosen, floors, self.rules)

    def _take(self, shift: Shift) -> None:
        """A lasting change is new, makes an open one of tonight's stage lasting, or tells that an
        open one has grown; one that has shrunk stays open as it is."""
        change = self._change(shift)
        place = self.open.get(shift.series)
        if place is None or (
            self.changes[place].stage != "tonight" and change.kind == "regression"
        ):
            self._add(change, None if place is None else change.before)
        elif self.changes[place].stage == "tonight" and change.kind == "regression":
            self.changes[place] = replace(
                self.changes[place],
                stage="lasting",
                since=change.since,
                before=change.before,
                after=change.after,
            )


def _enough_launches(values: Matrix, counts: NDArray[np.int64], rules: Rules) -> Matrix:
    return np.where((counts >= rules.least_launches) & np.isfinite(values), values, np.nan)
