# SPDX-License-Identifier: Apache-2.0
"""The verdicts of one night: pure, from a history up to that night to findings and changes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import get_args

import numpy as np

from records.history.model import Change, Kind, Night, Stage
from records.site.pair_scans import NODE, PEER
from reports.statistics.descriptive import Matrix
from reports.verdicts.nightly.findings import NightFinding, NightJudgement, Verdict
from reports.verdicts.nightly.lasting import LevelShift, level_shift
from reports.verdicts.nightly.peers import PeersTonight, peers_of_night, young_groups
from reports.verdicts.nightly.reference import Mask, last_nights
from reports.verdicts.nightly.tonight import Nights, StageA

#: Why a series is not judged whose history is too short for that.
_FEW_NIGHTS = "fewer than {} earlier nights to compare with"
_NO_DIRECTION = "it is not known which direction is better"
_NO_SPREAD = "no three nights of one context, from which a spread could be known"


@dataclass(frozen=True)
class _Tonight:
    """One night under judgement: its position in the history and its stage A."""

    of: Nights
    place: int
    stage_a: StageA

    @property
    def night(self) -> Night:
        """The night."""
        return self.of.history.nights[self.place]

    def worse(self, series: int, values: Matrix | float, level: float) -> Matrix:
        """By what fraction of a level values are worse; NaN without a positive level."""
        share = np.asarray(values) / level - 1 if level > 0 else np.full(np.shape(values), np.nan)
        return np.asarray(self.of.direction[series] * share)

    def finding(
        self,
        series: int,
        verdict: Verdict,
        change: Change | None = None,
        level: float | None = None,
        peers: int = 0,
    ) -> NightFinding:
        """A finding; `level` is what tonight is compared with if not the reference, that of so many
        `peers` or of nights."""
        if change is not None and change.stage == "peers":
            level, peers = change.before, change.n_before
        stage_a = self.stage_a
        rerun = float(self.of.reruns[series, self.place])
        elsewhere = float(self.of.history.elsewhere[series, self.place])
        reference = float(stage_a.reference.median[series]) if level is None else level
        value = float(stage_a.values[series, self.place])
        worse = float(self.worse(series, value, reference))
        alone = float(stage_a.limits.alone[series])
        near = float(stage_a.limits.in_a_row[series])
        return NightFinding(
            series=series,
            verdict=verdict,
            value=value,
            rerun=rerun if np.isfinite(rerun) else None,
            elsewhere=elsewhere if np.isfinite(elsewhere) else None,
            reference=reference,
            n=peers or int(stage_a.reference.n[series]),
            worse=worse,
            limit=self.of.rules.finds if peers else near if near < worse <= alone else alone,
            change=change,
            peers=peers > 0,
        )

    def new(self, shift: LevelShift, level: float | None = None) -> NightFinding:
        """A change found tonight, as a finding; `level` as in `finding`."""
        change = shift.change(self.of.history, self.night.id)
        return self.finding(shift.series, change.kind, change, level)

    def run_again(self, series: int, again: float, since: int, level: float) -> NightFinding:
        """Worse than `level` by more than may be tonight, or in each of the nights since `since`; a
        re-run that is worse by more than `again` confirms."""
        rerun = float(self.stage_a.reruns[series, self.place])
        if not np.isfinite(rerun):
            return self.finding(series, "suspect", level=level)
        if self.worse(series, rerun, level) <= again:
            return self.finding(series, "dismissed", level=level)
        after = float(np.nanmedian((*self.stage_a.values[series, since:], rerun)))
        n = int(self.stage_a.reference.n[series])
        return self.new(LevelShift(series, "tonight", since, level, after, n), level)


def judge(
    nights: Nights, place: int, before: Sequence[Change], found: Sequence[Change] | None = None
) -> NightJudgement:
    """The verdicts of the night at `place`, given the changes known before it; later nights are
    not looked at, and what is suspect stays in `nights.unexplained`. `found`: the changes that are
    known to be of this night; None: not known."""
    tonight = _Tonight(nights, place, nights.stage_a(place, before))
    reasons = _unjudged(tonight)
    judged = np.array([reason is None for reason in reasons], dtype=np.bool_)
    changes, findings = (
        list(before),
        [tonight.finding(one, "silent") for one in np.flatnonzero(_silent(tonight)).tolist()],
    )
    newest = {change.series: at for at, change in enumerate(changes) if change.open}
    free = judged & ~np.isin(np.arange(len(judged)), list(newest))
    # Open regressions first.
    for at, change in enumerate(before):
        if change.open:
            back = _went_back(tonight, change)
            changes[at] = replace(change, closed=tonight.night.id) if back else change
            word: Verdict = "recovered" if back else "open"
            findings.append(tonight.finding(change.series, word, changes[at]))
    newest = {series: at for series, at in newest.items() if changes[at].open}
    for series in sorted(newest):
        if judged[series]:
            findings += _grown(tonight, changes[newest[series]])
    findings += _suspects(tonight, free)
    peers = peers_of_night(nights.history, place, before, nights.rules)
    findings += _slow_nodes(tonight, before, peers, {item.series for item in findings})
    good = np.flatnonzero(free & (-tonight.stage_a.worse > tonight.stage_a.limits.alone))
    findings += [tonight.finding(series, "better") for series in good.tolist()]
    known = len(changes)
    changes += [one.change for one in findings if one.change and one.verdict in get_args(Kind)]
    newest |= {one.series: at for at, one in enumerate(changes) if at >= known and one.open}
    findings += _lasting(tonight, changes, newest)
    nights.unexplained[:, place] = False
    nights.unexplained[[item.series for item in findings if item.verdict == "suspect"], place] = (
        True
    )
    if found is not None:
        changes = [one for one in changes if one.found != tonight.night.id or one.accepted]
        changes, findings = [*changes, *found], _with_changes(tonight, findings, found)
    return NightJudgement(
        night=place,
        findings=findings,
        changes=changes,
        judged=int(judged.sum()),
        reasons={series: reason for series, reason in enumerate(reasons) if reason},
        wide_reasons=_wide(tonight, judged),
        learning=_learning(tonight, reasons),
        compared=int(np.isfinite(peers.level).sum()),
    )


def _with_changes(
    tonight: _Tonight, findings: Sequence[NightFinding], found: Sequence[Change]
) -> list[NightFinding]:
    """The findings with these changes of tonight in place of those of its own."""
    series = {change.series for change in found}
    kept = [
        item
        for item in findings
        if item.verdict not in get_args(Kind)
        and (item.series not in series or item.verdict in ("open", "recovered", "silent"))
    ]
    return kept + [tonight.finding(one.series, one.kind, one, one.before) for one in found]


def _silent(tonight: _Tonight) -> Mask:
    """Series without a value tonight, or with zero, that are expected and were not zero now and
    then before."""
    rules, history, place = tonight.of.rules, tonight.of.history, tonight.place
    values = history.values[:, : place + 1]
    none = (history.counts[:, : place + 1] == 0) | ~np.isfinite(values)
    zero = ~none & (np.where(none, 1, values) <= 0)
    valued = ~(none | zero)[:, :-1]
    recent = valued[:, max(0, place - rules.silent_window) :]
    if not recent.shape[1]:
        return np.zeros(len(values), dtype=np.bool_)
    # A series is new until its first value; a window that begins before tells nothing.
    window = np.where(recent.any(axis=1), recent.shape[1] - recent.argmax(axis=1), 1)
    expected = recent.sum(axis=1) > rules.silent_share * window
    # Zeros after the last value are the silence itself.
    earlier = np.cumsum(valued[:, ::-1], axis=1)[:, ::-1] > 0
    was_zero = (zero[:, :-1] & earlier).any(axis=1)
    missing: Mask = none[:, -1] | (zero[:, -1] & ~was_zero)
    silent: Mask = expected & missing & ~_not_drawn(tonight)
    return silent


def _not_drawn(tonight: _Tonight) -> Mask:
    """Series of nodes that did not run tonight, where as many nodes as before did."""
    history, ran = tonight.of.history, tonight.night.nodes
    begin = max(0, tonight.place - tonight.of.rules.silent_window)
    before = history.nights[begin : tonight.place]
    if len(ran) < max((len(night.nodes) for night in before), default=0):
        return np.zeros(len(history.series), dtype=np.bool_)
    points = [key.at for key in history.series]
    of = [{str(at[name]) for name in (NODE, PEER) if name in at} for at in points]
    return np.array([not nodes.issubset(ran) for nodes in of], dtype=np.bool_)


def _unjudged(tonight: _Tonight) -> list[str | None]:
    """For each series why it is not judged tonight, or None."""
    stage_a, rules = tonight.stage_a, tonight.of.rules
    counts = tonight.of.history.counts[:, tonight.place]
    texts = np.full(len(counts), None, dtype=object)
    texts[~np.isfinite(stage_a.limits.alone)] = _NO_SPREAD
    texts[~(stage_a.reference.median > 0)] = "the reference is not positive"
    texts[stage_a.reference.n < rules.judged_from] = _FEW_NIGHTS.format(rules.judged_from)
    few = counts < rules.least_launches
    texts[few] = f"fewer than {rules.least_launches} valid launches tonight"
    texts[stage_a.values[:, -1] <= 0] = "zero tonight"
    texts[counts == 0] = "no valid launch tonight"
    unknown = [key.better == "unknown" for key in tonight.of.history.series]
    texts[np.array(unknown, dtype=np.bool_)] = _NO_DIRECTION
    reasons: list[str | None] = texts.tolist()
    return reasons


def _learning(tonight: _Tonight, reasons: Sequence[str | None]) -> dict[int, int]:
    """The series with too few nights to support PASS, and how many more each needs at least."""
    rules, reference = tonight.of.rules, tonight.stage_a.reference
    young = young_groups(tonight.of.history, tonight.of.values, tonight.place, rules)
    found = {}
    for series in np.flatnonzero(young).tolist():
        level, spread = int(reference.n[series]), int(reference.n_spread[series])
        if reasons[series] is None and spread < rules.robust_from:
            found[series] = rules.robust_from - spread
        elif reasons[series] in (_NO_SPREAD, _FEW_NIGHTS.format(rules.judged_from)):
            known = max(level, spread)
            found[series] = max(rules.robust_from - known, rules.judged_from - level, 1)
    return found


def _wide(tonight: _Tonight, judged: Mask) -> dict[int, str]:
    """Judged series whose limit is wider than the change to be found, and why."""
    rules, stage_a = tonight.of.rules, tonight.stage_a
    wide = judged & (stage_a.limits.alone > rules.finds * 1.001)
    few = stage_a.reference.n_spread < rules.robust_from
    words = "its nights stray that far", "fewer than ten nights are known"
    return {series: words[bool(few[series])] for series in np.flatnonzero(wide).tolist()}


def _nights_since(tonight: _Tonight, change: Change) -> tuple[Matrix, float]:
    """The values from a change on, and the factor that makes the change's levels, which are of the
    nodes of the night it was found, those of tonight's."""
    history, values = tonight.of.history, tonight.stage_a.values
    found = history.position(change.found)
    raw = tonight.of.values[change.series, found]
    scale = float(values[change.series, found] / raw) if raw > 0 else 1.0
    row = values[change.series, history.position(change.since) :]
    return row[np.isfinite(row)], scale if np.isfinite(scale) else 1.0


def _went_back(tonight: _Tonight, change: Change) -> bool:
    """Whether four of the nights after the first bad one, and all but one of the last seven at
    most, are on the old level's side of the border.

    The border is half of the step, or of what the first nights showed of it, but not below half of
    the floor: a step is found on its worst night, and seems greater than it is.
    """
    rules = tonight.of.rules
    row, scale = _nights_since(tonight, change)
    worse = tonight.worse(change.series, row, change.before * scale)
    last = worse[1:][-rules.recovery_window :]
    if len(last) < rules.run_nights:
        return False
    step = min(abs(change.ratio - 1), float(np.median(worse[: rules.recovery_window])))
    # Sound nodes may differ from their peers, whose level this is, by `finds`.
    peers = change.stage == "peers"
    floor = rules.finds if peers else float(tonight.of.floors[change.series])
    back = last < max(step, floor) / 2
    return int(back.sum()) >= max(rules.run_nights, len(last) - 1)


def _grown(tonight: _Tonight, change: Change) -> Iterator[NightFinding]:
    """Whether an open regression has become greater: tonight, or the last nights in a row, against
    the nights since it."""
    series, place, limits = change.series, tonight.place, tonight.stage_a.limits
    length = tonight.of.rules.run_nights
    row, scale = _nights_since(tonight, change)
    level = change.after * scale
    # A regression is found on its worst night; a few nights later its level is known.
    settled = len(row) >= 2 * length - 1
    if settled:
        level = float(np.median(row[:-length]))
    elif len(row) > 1:
        middle = float(np.median(row[:-1]))
        level = middle if len(row) > length or tonight.worse(series, middle, level) > 0 else level
    value = tonight.stage_a.values[series, place]
    if tonight.worse(series, value, level) > limits.alone[series]:
        yield tonight.run_again(series, limits.again[series], place, level)
    elif settled and tonight.worse(series, row[-length:], level).min() > limits.in_a_row[series]:
        floor = float(tonight.of.floors[series])
        yield tonight.run_again(series, floor, place + 1 - length, level)


def _suspects(tonight: _Tonight, free: Mask) -> Iterator[NightFinding]:
    """Series without an open regression that are worse than one night may be, or in each of the
    last nights than several in a row may be."""
    place, stage_a, limits = tonight.place, tonight.stage_a, tonight.stage_a.limits
    alone, level = stage_a.worse > limits.alone, stage_a.reference.median.tolist()
    for series in np.flatnonzero(free & alone).tolist():
        yield tonight.run_again(series, limits.again[series], place, level[series])
    for series in np.flatnonzero(free & ~alone & stage_a.in_a_row).tolist():
        since = int(np.flatnonzero(stage_a.usable[series])[-tonight.of.rules.run_nights])
        floor = float(tonight.of.floors[series])
        yield tonight.run_again(series, floor, since, level[series])


def _slow_nodes(
    tonight: _Tonight, before: Sequence[Change], peers: PeersTonight, said: set[int]
) -> Iterator[NightFinding]:
    """Series slower than the other nodes of their kind, or doubted and beyond what a node may
    differ; a re-run that says the same confirms, one that is within what nodes may differ clears.
    """
    nights, place = tonight.of, tonight.place
    again = peers_of_night(nights.history, place, before, nights.rules, again=True)
    # Doubted: the last value before tonight is worse than allowed and unexplained.
    last = last_nights(np.isfinite(nights.values[:, :place]), 1)
    doubted = (last & nights.unexplained[:, :place]).any(axis=1)
    for series in np.flatnonzero(peers.slow | (peers.beyond & doubted)).tolist():
        if series in said:
            continue
        level, n = float(peers.level[series]), int(peers.good[series])
        if not again.slow[series]:
            cleared = np.isfinite(again.level[series]) and not again.beyond[series]
            word: Verdict = "dismissed" if cleared else "suspect"
            yield tonight.finding(series, word, level=level, peers=n)
        else:
            rerun = float(nights.history.reruns[series, place])
            after = float(np.median([tonight.stage_a.values[series, place], rerun]))
            yield tonight.new(LevelShift(series, "peers", place, level, after, n))


def _lasting(
    tonight: _Tonight, changes: list[Change], newest: Mapping[int, int]
) -> Iterator[NightFinding]:
    """Lasting changes: of series without an open regression, of those whose regression is not yet
    known to stay, and since a regression that is. `newest`: the place in `changes` of the newest
    open regression of each series.

    One is new, makes an open one of tonight's stage lasting, or tells that an open one has grown;
    one that has shrunk stays open as it is. `changes` is brought up to date.
    """
    of, stage_a = tonight.of, tonight.stage_a
    bad, since = stage_a.bad.copy(), stage_a.since.copy()
    unproven: Stage = "tonight"
    for series, at in newest.items():
        begins = of.history.position(changes[at].since)
        bad[series, begins:] = False
        if changes[at].stage != unproven:
            since[series] = max(since[series], begins)
    positive = np.nan_to_num(stage_a.values, nan=0.0) > 0
    chosen = (np.arange(tonight.place + 1) >= since[:, np.newaxis]) & ~bad & positive
    known = {series: changes[at].stage == unproven for series, at in newest.items()}
    floors, alone = stage_a.floors.tolist(), stage_a.limits.alone.tolist()
    for series in np.flatnonzero(chosen[:, -1]).tolist():
        limits, nights = (floors[series], alone[series]), np.flatnonzero(chosen[series])
        proven, row = known.get(series), stage_a.values[series]
        shift = level_shift(series, row, nights, limits, proven=proven, rules=of.rules)
        if shift is None:
            continue
        change = shift.change(of.history, tonight.night.id)
        place = newest.get(shift.series)
        if place is None or (changes[place].stage != unproven and change.kind == "regression"):
            changes.append(change)
            level = None if place is None else change.before
            yield tonight.finding(shift.series, change.kind, change, level)
        elif changes[place].stage == unproven and change.kind == "regression":
            names = ("stage", "since", "before", "after")
            taken = {name: getattr(change, name) for name in names}
            changes[place] = replace(changes[place], **{**taken, "stage": "lasting"})
