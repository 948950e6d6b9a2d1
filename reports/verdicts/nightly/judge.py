# SPDX-License-Identifier: Apache-2.0
"""Verdicts of one night, a pure function of its evidence; of a stored history the nights that are
not judged yet."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import NamedTuple, get_args

import numpy as np

from records.errors import AssayError, ExitStatus
from records.history import USUAL_FINDS
from records.history.model import Change, History, Kind, Night, Stage
from records.history.reading import read_history
from records.history.store import Store
from records.run.provenance import Provenance, read_provenance
from records.site.pair_scans import NODE, PEER
from reports.answers import State
from reports.load.nights import LASTING_NIGHTS, SETTLED_NIGHTS, nights_of
from reports.statistics.descriptive import Matrix
from reports.statistics.levels import Mask, last_of
from reports.verdicts.nightly import detection, forms
from reports.verdicts.nightly.evidence import JUDGED_FROM, Rules, Tonight, evidence, rules_for

#: A series is expected that had a value in more than this share of so many nights.
_SILENT_WINDOW, _SILENT_SHARE = 14, 0.75
#: Nights by which a regression is seen to have gone back.
_RECOVERY_WINDOW = 7
#: Why a series is not judged whose history is too short for that.
_FEW_NIGHTS = f"fewer than {JUDGED_FROM} earlier nights to compare with"
_NO_SPREAD = "no three nights of one context, from which a spread could be known"
_NO_DIRECTION = "it is not known which direction is better"


@dataclass(frozen=True)
class NightJudgement:
    """A night's findings; the changes as they are after it; what could not be judged and why.

    `tonight` is its evidence, `history_file` where its history is; `judged` counts series.
    `reasons` says of a series why it was not judged, `wide_reasons` why its limit is wider than
    `rules.finds`. `learning` has the series that are too young for PASS, with how many more nights
    each needs at least; `compared` counts series that were compared with other nodes tonight.
    """

    tonight: Tonight
    findings: list[forms.NightFinding]
    changes: list[Change]
    judged: int
    reasons: dict[int, str]
    wide_reasons: dict[int, str]
    learning: dict[int, int]
    compared: int
    history_file: str = ""

    @property
    def unjudged(self) -> Counter[str]:
        """Number of series that were not judged, by the reason."""
        return Counter(self.reasons.values())

    @property
    def wide(self) -> Counter[str]:
        """Number of wide limits, by the reason."""
        return Counter(self.wide_reasons.values())

    def of(self, *verdicts: forms.Verdict) -> list[forms.NightFinding]:
        """The findings with one of these verdicts, in their order."""
        return [item for verdict in verdicts for item in self.findings if item.verdict == verdict]

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
        """Provenance of the night's run as it began; empty where it is gone."""
        try:
            return read_provenance(Path(self.night.run_path) / "provenance.json")
        except AssayError:
            return Provenance()

    @property
    def context(self) -> list[forms.ContextPart]:
        """Changes of software, machine and nodes since the night before."""
        nights, position = self.history.nights, self.tonight.position
        return forms.context_changes(nights[position - 1], self.night) if position else []

    @property
    def bad_launches(self) -> int:
        """Launches of the night that were not ok (skipped cases do not count)."""
        return sum(self.night.statuses.get(word, 0) for word in ("failed", "wrong", "lost"))

    @property
    def more_nights(self) -> int:
        """Nights that the series need which are too young for PASS, at least."""
        return max(self.learning.values(), default=0)

    @property
    def state(self) -> State:
        """FAIL: a regression, new or open, a silent series, or bad launches. SUSPECT: something to
        run again. LEARNING: too few nights yet. INCONCLUSIVE: nothing could be judged, or not as
        finely as the site wants."""
        if self.of("regression", "open", "silent") or self.bad_launches:
            return State.FAIL
        if self.of("suspect"):
            return State.SUSPECT
        if self.learning:
            return State.LEARNING
        decided = self.judged and not self.wide_reasons
        return State.PASS if decided else State.INCONCLUSIVE

    @property
    def status(self) -> ExitStatus:
        """Exit status; an undecided night is no success."""
        known = {State.PASS: ExitStatus.PASS, State.FAIL: ExitStatus.FAIL}
        return known.get(self.state, ExitStatus.INCONCLUSIVE)

    @cached_property
    def first_findings(self) -> dict[int, forms.NightFinding]:
        """The first finding of each series that has one."""
        return {item.series: item for item in reversed(self.findings)}


class _NightStep(NamedTuple):
    """A finding, and the change that it found; `replaces`: the position of the change that this one
    brings up to date."""

    finding: forms.NightFinding | None
    change: Change | None = None
    replaces: int | None = None


def judge(tonight: Tonight, known: Sequence[Change] | None = None) -> NightJudgement:
    """The verdicts of a night. `known`: the changes that were found this night, as the history has
    them; None: it is not judged yet."""
    reasons = _unjudged(tonight)
    judged = np.array([reason is None for reason in reasons], dtype=np.bool_)
    free = judged.copy()
    free[[change.series for change in tonight.changes if change.open]] = False
    peers = detection.peers_of_night(
        tonight.history, tonight.position, tonight.changes, tonight.rules
    )
    steps = [_NightStep(finding_of(tonight, at, "silent")) for at in _rows(_silent(tonight))]
    changes = []
    for change in tonight.changes:
        back = change.open and _went_back(tonight, change)
        changes.append(replace(change, closed=tonight.night.id) if back else change)
        if change.open:
            verdict: forms.Verdict = "recovered" if back else "open"
            steps.append(_NightStep(finding_of(tonight, change.series, verdict, changes[-1])))
    newest = {change.series: change for change in changes if change.open}
    for series in sorted(newest):
        steps += _grown(tonight, newest[series]) if judged[series] else ()
    for series in _rows(free & (tonight.worse > tonight.limit)):
        level, limit = float(tonight.reference.median[series]), float(tonight.limit[series])
        steps.append(_run_again(tonight, series, level, limit))
    steps += _slow_nodes(tonight, peers, {step.finding.series for step in steps if step.finding})
    for series in _rows(free & (-tonight.worse > tonight.limit)):
        steps.append(_NightStep(finding_of(tonight, series, "better")))
    changes += [step.change for step in steps if step.change]
    lasting = [*_lasting(tonight, changes)]
    for step in lasting:
        if step.change and step.replaces is not None:
            changes[step.replaces] = step.change
    changes += [step.change for step in lasting if step.change and step.replaces is None]
    findings = [step.finding for step in (*steps, *lasting) if step.finding]
    if known is not None:
        changes = [one for one in changes if one.found != tonight.night.id or one.accepted]
        changes, findings = [*changes, *known], _with_changes(tonight, findings, known)
    return NightJudgement(
        tonight=tonight,
        findings=findings,
        changes=changes,
        judged=int(judged.sum()),
        reasons={series: reason for series, reason in enumerate(reasons) if reason},
        wide_reasons=_wide(tonight, judged),
        learning=_learning(tonight, reasons),
        compared=int(np.isfinite(peers.level).sum()),
    )


def _worse(tonight: Tonight, series: int, values: Matrix | float, level: float) -> Matrix:
    """By what fraction of a level values are worse; NaN without a positive level."""
    share = np.asarray(values) / level - 1 if level > 0 else np.full(np.shape(values), np.nan)
    return np.asarray(tonight.nights.direction[series] * share)


def _rows(chosen: Mask) -> list[int]:
    rows: list[int] = np.flatnonzero(chosen).tolist()
    return rows


def _finite(value: float | Matrix) -> float | None:
    return float(value) if np.isfinite(value) else None


def finding_of(
    tonight: Tonight,
    series: int,
    verdict: forms.Verdict,
    change: Change | None = None,
    *,
    level: float | None = None,
    peers: int = 0,
) -> forms.NightFinding:
    """Finding of a series; `level` is what tonight is compared with if not the reference, that
    of so many `peers` or of nights."""
    history, position = tonight.history, tonight.position
    if change is not None and change.stage == "peers":
        level, peers = change.before, change.n_before
    reference = float(tonight.reference.median[series]) if level is None else level
    value = float(tonight.value[series])
    elsewhere = float(history.elsewhere[series, position])
    slow_elsewhere = abs(elsewhere - value) < abs(elsewhere - reference)
    return forms.NightFinding(
        **forms.series_part(history.series[series], tonight.names),
        series=series,
        verdict=verdict,
        value=_finite(value),
        rerun=_finite(tonight.reruns[series, -1]),
        elsewhere=_finite(elsewhere),
        slow_elsewhere=slow_elsewhere if np.isfinite(elsewhere) else None,
        reference=_finite(reference),
        compared_with="nodes" if peers else "nights",
        n=peers or int(tonight.reference.n[series]),
        worse=_finite(_worse(tonight, series, value, reference)),
        limit=tonight.rules.finds if peers else _finite(tonight.limit[series]),
        change=forms.change_part(history, tonight.names, change) if change else None,
    )


def _new(tonight: Tonight, shift: detection.LevelShift, level: float | None = None) -> _NightStep:
    """A change found tonight, with its finding; `level` as in `finding_of`."""
    change = shift.change(tonight.history, tonight.night.id)
    return _NightStep(finding_of(tonight, shift.series, change.kind, change, level=level), change)


def _with_changes(
    tonight: Tonight, findings: Sequence[forms.NightFinding], known: Sequence[Change]
) -> list[forms.NightFinding]:
    """The findings with these changes of tonight in place of those of its own."""
    series = {change.series for change in known}
    kept = [
        item
        for item in findings
        if item.verdict not in get_args(Kind)
        and (item.series not in series or item.verdict in ("open", "recovered", "silent"))
    ]
    new = [finding_of(tonight, one.series, one.kind, one, level=one.before) for one in known]
    return kept + new


def _silent(tonight: Tonight) -> Mask:
    """Series without a value tonight, or with zero, that are expected and were not zero now and
    then before."""
    history, end = tonight.history, tonight.position + 1
    values = history.values[:, :end]
    none = (history.counts[:, :end] == 0) | ~np.isfinite(values)
    zero = ~none & (np.where(none, 1, values) <= 0)
    valued = ~(none | zero)[:, :-1]
    recent = valued[:, max(0, tonight.position - _SILENT_WINDOW) :]
    if not recent.shape[1]:
        return np.zeros(len(values), dtype=np.bool_)
    # A series is new until its first value; a window that begins before tells nothing.
    window = np.where(recent.any(axis=1), recent.shape[1] - recent.argmax(axis=1), 1)
    expected = recent.sum(axis=1) > _SILENT_SHARE * window
    # Zeros after the last value are the silence itself.
    earlier = np.cumsum(valued[:, ::-1], axis=1)[:, ::-1] > 0
    was_zero = (zero[:, :-1] & earlier).any(axis=1)
    missing: Mask = none[:, -1] | (zero[:, -1] & ~was_zero)
    silent: Mask = expected & missing & ~_not_drawn(tonight)
    return silent


def _not_drawn(tonight: Tonight) -> Mask:
    """Series of nodes that did not run tonight, where as many nodes as before did."""
    history, ran = tonight.history, tonight.night.nodes
    before = history.nights[max(0, tonight.position - _SILENT_WINDOW) : tonight.position]
    if len(ran) < max((len(night.nodes) for night in before), default=0):
        return np.zeros(len(history.series), dtype=np.bool_)
    points = [key.at for key in history.series]
    of = [{str(at[name]) for name in (NODE, PEER) if name in at} for at in points]
    return np.array([not nodes.issubset(ran) for nodes in of], dtype=np.bool_)


def _unjudged(tonight: Tonight) -> list[str | None]:
    """For each series why it is not judged tonight, or None."""
    rules, reference = tonight.rules, tonight.reference
    counts = tonight.history.counts[:, tonight.position]
    texts = np.full(len(counts), None, dtype=object)
    texts[~np.isfinite(tonight.limit)] = _NO_SPREAD
    texts[~(reference.median > 0)] = "the reference is not positive"
    texts[reference.n < JUDGED_FROM] = _FEW_NIGHTS
    few = counts < rules.least_launches
    texts[few] = f"fewer than {rules.least_launches} valid launches tonight"
    texts[tonight.value <= 0] = "zero tonight"
    texts[counts == 0] = "no valid launch tonight"
    unknown = [key.better == "unknown" for key in tonight.history.series]
    texts[np.array(unknown, dtype=np.bool_)] = _NO_DIRECTION
    reasons: list[str | None] = texts.tolist()
    return reasons


def _learning(tonight: Tonight, reasons: Sequence[str | None]) -> dict[int, int]:
    """The series with too few nights to support PASS, and how many more each needs at least."""
    reference = tonight.reference
    young = detection.young_groups(tonight.history, tonight.values[:, :-1])
    more = {}
    for series in _rows(young):
        level, spread = int(reference.n[series]), int(reference.n_spread[series])
        if reasons[series] is None and spread < SETTLED_NIGHTS:
            more[series] = SETTLED_NIGHTS - spread
        elif reasons[series] in (_NO_SPREAD, _FEW_NIGHTS):
            more[series] = max(SETTLED_NIGHTS - max(level, spread), JUDGED_FROM - level, 1)
    return more


def _wide(tonight: Tonight, judged: Mask) -> dict[int, str]:
    """Judged series whose limit is wider than the change to be found, and why."""
    wide = judged & (tonight.limit > tonight.rules.finds * 1.001)
    few = tonight.reference.n_spread < SETTLED_NIGHTS
    words = "its nights stray that far", "fewer than ten nights are known"
    return {series: words[bool(few[series])] for series in _rows(wide)}


def _values_since(tonight: Tonight, change: Change) -> Matrix:
    row = tonight.values[change.series, tonight.history.position(change.since) :]
    return row[np.isfinite(row)]


def _went_back(tonight: Tonight, change: Change) -> bool:
    """True where four of the nights after the first bad one, and all but one of the last seven at
    most, are on the old level's side of the border.

    The border is half of the step, or of what the first nights showed of it, but not below half of
    the floor: a step is found on its worst night, and seems greater than it is.
    """
    values = _values_since(tonight, change)
    worse = _worse(tonight, change.series, values, change.before)
    last = worse[1:][-_RECOVERY_WINDOW:]
    if len(last) < LASTING_NIGHTS:
        return False
    step = min(abs(change.ratio - 1), float(np.median(worse[:_RECOVERY_WINDOW])))
    # Sound nodes may differ from their peers, whose level this is, by `finds`.
    peers = change.stage == "peers"
    floor = tonight.rules.finds if peers else float(tonight.floors[change.series])
    back = last < max(step, floor) / 2
    return int(back.sum()) >= max(LASTING_NIGHTS, len(last) - 1)


def _grown(tonight: Tonight, change: Change) -> Iterator[_NightStep]:
    """An open regression that has become greater, tonight or in the last nights in a row, against
    the nights since it."""
    series, values, length = change.series, _values_since(tonight, change), LASTING_NIGHTS
    level = change.after
    # A regression is found on its worst night; a few nights later its level is known.
    settled = len(values) >= 2 * length - 1
    if settled:
        level = float(np.median(values[:-length]))
    elif len(values) > 1:
        middle = float(np.median(values[:-1]))
        known = len(values) > length or _worse(tonight, series, middle, level) > 0
        level = middle if known else level
    worse = _worse(tonight, series, tonight.values[series, -length:], level)
    limit, near = float(tonight.limit[series]), float(tonight.near_limit[series])
    if worse[-1] > limit:
        yield _run_again(tonight, series, level, limit)
    elif settled and worse.min() > near:
        yield _run_again(tonight, series, level, near)


def _run_again(tonight: Tonight, series: int, level: float, again: float) -> _NightStep:
    """Worse than `level` by more than may be; a re-run that is worse by more than `again`
    confirms."""
    rerun = float(tonight.reruns[series, -1])
    if not np.isfinite(rerun):
        return _NightStep(finding_of(tonight, series, "suspect", level=level))
    if _worse(tonight, series, rerun, level) <= again:
        return _NightStep(finding_of(tonight, series, "dismissed", level=level))
    after = float(np.median([tonight.value[series], rerun]))
    n = int(tonight.reference.n[series])
    shift = detection.LevelShift(series, "tonight", tonight.position, level, after, n)
    return _new(tonight, shift, level)


def _slow_nodes(
    tonight: Tonight, peers: detection.PeersTonight, said: set[int]
) -> Iterator[_NightStep]:
    """Series slower than the other nodes of their kind, or doubted and beyond what a node may
    differ; a re-run that says the same confirms, one that is within what nodes may differ clears.
    """
    history, position = tonight.history, tonight.position
    again = detection.peers_of_night(history, position, tonight.changes, tonight.rules, again=True)
    # Doubted: the last value before tonight is worse than allowed and unexplained.
    last = last_of(np.isfinite(tonight.values[:, :-1]), 1)
    doubted = (last & tonight.unexplained[:, :-1]).any(axis=1)
    for series in _rows(peers.slow | (peers.beyond & doubted)):
        if series in said:
            continue
        level, n = float(peers.level[series]), int(peers.good[series])
        if not again.slow[series]:
            cleared = np.isfinite(again.level[series]) and not again.beyond[series]
            verdict: forms.Verdict = "dismissed" if cleared else "suspect"
            yield _NightStep(finding_of(tonight, series, verdict, level=level, peers=n))
        else:
            rerun = float(history.reruns[series, position])
            after = float(np.median([tonight.value[series], rerun]))
            yield _new(tonight, detection.LevelShift(series, "peers", position, level, after, n))


def _lasting(tonight: Tonight, changes: Sequence[Change]) -> Iterator[_NightStep]:
    """Lasting changes: of series without an open regression, of those whose regression is not yet
    known to stay, and since a regression that is.

    One is new, makes an open one of tonight's stage lasting, or tells that an open one has grown;
    one that has shrunk stays open as it is.
    """
    history, values = tonight.history, tonight.values
    newest = {change.series: at for at, change in enumerate(changes) if change.open}
    bad, since = tonight.bad.copy(), tonight.since.copy()
    unproven: Stage = "tonight"
    for series, newest_at in newest.items():
        begins = history.position(changes[newest_at].since)
        bad[series, begins:] = False
        if changes[newest_at].stage != unproven:
            since[series] = max(since[series], begins)
    positive = np.nan_to_num(values, nan=0.0) > 0
    chosen = (np.arange(values.shape[1]) >= since[:, np.newaxis]) & ~bad & positive
    for series in _rows(chosen[:, -1]):
        at = newest.get(series)
        shift = detection.level_shift(
            series,
            values[series],
            np.flatnonzero(chosen[series]),
            float(tonight.floors[series]),
            proven=None if at is None else changes[at].stage == unproven,
            rules=tonight.rules,
        )
        if shift is None:
            continue
        change = shift.change(history, tonight.night.id)
        if at is None or (changes[at].stage != unproven and change.kind == "regression"):
            yield _new(tonight, shift, None if at is None else change.before)
        elif changes[at].stage == unproven and change.kind == "regression":
            lasting = replace(
                changes[at],
                stage="lasting",
                since=change.since,
                before=change.before,
                after=change.after,
            )
            yield _NightStep(None, lasting, at)


def check_history(
    store: Store,
    site: str,
    campaign: str,
    alarms_a_month: float = 1.0,
    finds: float = USUAL_FINDS,
) -> NightJudgement:
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


def newest_night(
    history: History, history_file: str = "", rules: Rules | None = None
) -> NightJudgement:
    """The newest night by what the history holds; nothing is kept.

    A night that was judged has the changes that were found then, whatever its limits were.
    """
    position, night = len(history.nights) - 1, history.nights[-1]
    rules = rules or rules_for(len(history.series), finds=night.finds, imported=night.imported)
    found = [item for item in history.changes if item.found == night.id and item.accepted is None]
    before = _before(history.changes, history, position)
    tonight = evidence(nights_of(history, rules.least_launches), position, before, rules)
    return replace(judge(tonight, found if night.judged else None), history_file=history_file)


def _before(changes: Sequence[Change], history: History, position: int) -> list[Change]:
    """The changes as they were known before a night; what somebody accepted stays."""
    night = history.nights[position].id
    return [
        replace(change, closed=None) if change.closed == night else change
        for change in changes
        if change.accepted or history.position(change.found) < position
    ]
