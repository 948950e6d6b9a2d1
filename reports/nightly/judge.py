# SPDX-License-Identifier: Apache-2.0
"""The verdicts of one night: pure, from a history up to that night to findings and changes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from records.history.model import Change, History, Kind
from reports.nightly.findings import Finding, Judgement, Verdict
from reports.nightly.lasting import Shift, drifts, lasting
from reports.nightly.reference import Mask, Matrix
from reports.nightly.rules import Rules
from reports.nightly.segments import (
    bad_nights,
    context_starts,
    level_numbers,
    reference_starts,
)
from reports.nightly.tonight import Seen, StageA

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

    def judge(self, place: int, changes: Sequence[Change]) -> Judgement:
        """The verdicts of the night at `place`, given the changes known before it; later nights
        are not looked at."""
        return _Tonight(self, place, changes).judgement()

    def stage_a(self, place: int, changes: Sequence[Change]) -> StageA:
        """Stage A of the night at `place`."""
        seen = Seen(
            values=self.values[:, : place + 1],
            reruns=self.reruns[:, : place + 1],
            contexts=self.contexts[:, : place + 1],
            levels=level_numbers(self.history, changes, self.contexts)[:, : place + 1],
            bad=bad_nights(self.history, changes, self.rules.run_nights)[:, : place + 1],
            since=reference_starts(self.history, changes),
        )
        return StageA(seen, self.direction, self.floors, self.rules)


class _Tonight:
    """One night under judgement: gathers findings and changes."""

    def __init__(self, judge: NightJudge, place: int, changes: Sequence[Change]) -> None:
        self.of = judge
        self.place = place
        self.history = judge.history
        self.rules = judge.rules
        self.night_id = judge.history.nights[place].id
        self.stage_a = judge.stage_a(place, changes)
        self.values = self.stage_a.seen.values
        self.changes = list(changes)
        self.open = {item.series: place for place, item in enumerate(changes) if item.open}
        self.findings: list[Finding] = []

    def judgement(self) -> Judgement:
        """Judge everything, open regressions first."""
        reasons = self._unjudged()
        judged = np.array([reason is None for reason in reasons], dtype=np.bool_)
        known = np.zeros(len(reasons), dtype=np.bool_)
        known[list(self.open)] = True
        for series, place in list(self.open.items()):
            change = self.changes[place]
            if self._went_back(change):
                self.changes[place] = change = replace(change, closed=self.night_id)
                del self.open[series]
                self._say(series, "recovered", change)
            else:
                self._say(series, "open", change)
        alone = self.stage_a.worse > self.stage_a.limits.alone
        for series in np.flatnonzero(judged & ~known & alone).tolist():
            self._judge_suspect(series, self.stage_a.limits.again, self.place)
        for series in np.flatnonzero(judged & ~known & ~alone & self.stage_a.in_a_row()).tolist():
            self._judge_suspect(series, self.of.floors, self.stage_a.run_begins(series))
        good = -self.stage_a.worse > self.stage_a.limits.alone
        for series in np.flatnonzero(judged & ~known & good).tolist():
            self._say(series, "better")
        for shift in self._shifts():
            self._take(shift)
        unjudged = Counter(reason for reason in reasons if reason)
        return Judgement(self.place, self.findings, self.changes, int(judged.sum()), unjudged)

    def _unjudged(self) -> list[str | None]:
        """For each series why it is not judged tonight, or None."""
        least, earlier = self.rules.least_launches, self.rules.judged_from
        counts = self.history.counts[:, self.place]
        texts = np.full(len(counts), None, dtype=object)
        texts[~np.isfinite(self.stage_a.limits.alone)] = "the reference is not positive"
        texts[self.stage_a.reference.n < earlier] = (
            f"fewer than {earlier} earlier nights to compare with"
        )
        texts[counts < least] = f"fewer than {least} valid launches tonight"
        texts[counts == 0] = "no valid launch tonight"
        reasons: list[str | None] = texts.tolist()
        return reasons

    def _say(self, series: int, verdict: Verdict, change: Change | None = None) -> None:
        rerun, elsewhere = (
            float(table[series, self.place]) if table is not None else np.nan
            for table in (self.of.reruns, self.history.elsewhere)
        )
        stage_a, limits = self.stage_a, self.stage_a.limits
        worse, alone, near = stage_a.worse[series], limits.alone[series], limits.in_a_row[series]
        self.findings.append(
            Finding(
                series=series,
                verdict=verdict,
                value=float(self.values[series, self.place]),
                rerun=rerun if np.isfinite(rerun) else None,
                elsewhere=elsewhere if np.isfinite(elsewhere) else None,
                reference=float(stage_a.reference.median[series]),
                n=int(stage_a.reference.n[series]),
                worse=float(worse),
                limit=float(near if near < worse <= alone else alone),
                change=change,
            )
        )

    def _went_back(self, change: Change) -> bool:
        """Whether the median of the last nights (at most 7, the first bad one left out) is nearer
        to the old level than to the new; fewer nights flap where noise is half of the step."""
        since = self.history.position(change.since)
        row = self.values[change.series, since + 1 :]
        row = row[np.isfinite(row)][-7:]
        now = float(np.median(row)) if len(row) else change.after
        return abs(now - change.before) < abs(now - change.after)

    def _judge_suspect(self, series: int, again: Matrix, since: int) -> None:
        """Worse than tonight may be, or too often in a row; a re-run beyond `again` confirms."""
        stage_a = self.stage_a
        if not np.isfinite(stage_a.again[series]):
            self._say(series, "suspect")
        elif stage_a.again[series] <= again[series]:
            self._say(series, "dismissed")
        else:
            both = (*self.values[series, since:], self.of.reruns[series, self.place])
            level, n = float(stage_a.reference.median[series]), int(stage_a.reference.n[series])
            after = float(np.nanmedian(both))
            self._add(self._change(Shift(series, "tonight", since, level, after, n)))

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

    def _add(self, change: Change) -> None:
        if change.kind == "regression":
            self.open[change.series] = len(self.changes)
        self.changes.append(change)
        self._say(change.series, change.kind, change)

    def _shifts(self) -> list[Shift]:
        """Lasting changes of the series whose change is not yet known to stay."""
        floors, since, bad = self.of.floors, self.stage_a.seen.since, self.stage_a.seen.bad.copy()
        settled, proven = np.zeros((2, len(bad)), dtype=np.bool_)
        for series, place in self.open.items():
            change = self.changes[place]
            settled[series] = change.stage != "tonight"
            proven[series] = True
            bad[series, self.history.position(change.since) :] = False
        nights = np.arange(self.place + 1)
        chosen: Mask = (nights >= since[:, np.newaxis]) & ~bad & ~settled[:, np.newaxis]
        with np.errstate(invalid="ignore"):
            chosen &= self.values > 0
        found = lasting(self.values, chosen, floors, proven, self.rules)
        chosen[[shift.series for shift in found] + list(self.open)] = False
        return found + drifts(self.values, chosen, floors, self.rules)

    def _take(self, shift: Shift) -> None:
        """A lasting change is new, or makes an open one of tonight's stage lasting."""
        change = self._change(shift)
        place = self.open.get(shift.series)
        if place is None:
            self._add(change)
        elif change.kind == "regression":
            self.changes[place] = replace(
                self.changes[place],
                stage="lasting",
                since=change.since,
                before=change.before,
                after=change.after,
            )


def _enough_launches(values: Matrix, counts: NDArray[np.int64], rules: Rules) -> Matrix:
    return np.where((counts >= rules.least_launches) & np.isfinite(values), values, np.nan)
