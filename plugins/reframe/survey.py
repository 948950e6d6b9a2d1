# SPDX-License-Identifier: Apache-2.0
"""Survey of a history as a whole.

The changes are those of the nightly judgement where it judged the newest night; else those that its
test of what stays finds in each series. What launches vary by is taken from the last level.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Literal, NamedTuple

import numpy as np
from scipy import special  # type: ignore[import-untyped]

from plugins.reframe.imported import ImportedReference, references_of
from plugins.reframe.survey_launches import FailingTestPart, ImportedLaunches, launches_of
from records.history.model import Change, History
from records.history.reading import read_history
from records.history.store import Store
from reports.statistics.descriptive import MAD, Matrix
from reports.statistics.levels import Peers, deviations_of, reach_of, scores_of
from reports.verdicts.nightly import evidence
from reports.verdicts.nightly.detection import level_shift
from reports.verdicts.nightly.forms import case_names
from reports.verdicts.nightly.judge import NightJudgement, newest_night

#: Launches of a series below which its reference, or of a node below which the node, is not judged.
LEAST_LAUNCHES, LEAST_OF_A_NODE = 10, 5
#: By how much a slow node is worse than the others, a fraction, and with what chance of error.
NODE_GAP, NODE_CHANCE = 0.05, 0.01
#: A supported limit says that at most one launch in so many misses it, of any distribution; fewer
#: launches than `LEAST_OF_A_LIMIT` support none.
ONE_IN = 100
LEAST_OF_A_LIMIT = ONE_IN - 1
#: A reference is too loose that allows so many times what the data support, and what was seen.
LOOSE = 2.0
#: Misses of a reference are no chance of one in `ONE_IN` if so many are less probable than this.
_LITTLE = 0.01
#: The level of the two-sided prediction limit of normal noise.
_LEVEL = 0.999

Advice = Literal["missed", "too tight", "too loose", "no limit", "no reference", "fits"]


class Spread(NamedTuple):
    """Variation of the nights of a series, and of its launches at the present level: 1.4826·MAD
    over the level; None below three values."""

    series: int
    noise: float | None
    within: float | None


class ReferenceFinding(NamedTuple):
    """A reference against what the data support: `allows` is how much worse than the level a launch
    may be by it, `supported` the limit that one launch in `ONE_IN` misses, None of too few,
    fractions of the level; `missed` of `n` launches at this level miss the reference."""

    series: int
    reference: ImportedReference
    level: float
    allows: float | None
    supported: float | None
    missed: int
    n: int
    advice: Advice


class NodeFinding(NamedTuple):
    """A node that is slower than the others in a series: by what fraction, in `n` launches."""

    node: str
    series: int
    worse: float
    n: int
    others: int


@dataclass(frozen=True)
class Survey:
    """`checked` has the history with its changes; `spreads` are of all series, in their order."""

    checked: NightJudgement
    spreads: list[Spread]
    references: list[ReferenceFinding]
    nodes: list[NodeFinding]
    tests: list[FailingTestPart]
    single_nodes: bool
    tests_of: dict[int, str]

    @property
    def history(self) -> History:
        """The history."""
        return self.checked.history

    @property
    def site(self) -> str:
        """The system."""
        return self.checked.night.site

    @cached_property
    def names(self) -> dict[str, str]:
        """Test, environment and what tells it from the test's other cases, by case id."""
        return case_names(self.history)

    @cached_property
    def test_names(self) -> dict[str, str]:
        """Names of the cases by the tests' own, of tests with a figure."""
        rows, series = self.tests_of.items(), self.history.series
        return {test: self.names[series[row].case_id] for row, test in rows}

    @property
    def hidden(self) -> list[FailingTestPart]:
        """Tests of which a retry passed."""
        return [one for one in self.tests if one.hidden]

    def of(self, *advice: Advice) -> list[ReferenceFinding]:
        """The references with one of these verdicts."""
        return [one for one in self.references if one.advice in advice]


def survey(store: Store, site: str, campaign: str) -> Survey:
    """Survey the nights of a campaign on a site. Raises AssayError without any."""
    history = read_history(store, site, campaign)
    newest = history.nights[-1]
    rules = evidence.rules_for(len(history.series), finds=newest.finds, imported=newest.imported)
    if not newest.judged:
        history = replace(history, changes=found_changes(history, rules))
    starts = _level_starts(history)
    levels = levels_of(history, starts)
    launches = launches_of(store, history, levels, site, campaign)
    known = references_of(store)
    within: dict[int, float | None] = {}
    references, nodes = [], list[NodeFinding]()
    still = [one for one in history.changes if one.open]
    regressed = {one.series: history.position(one.since) for one in still}
    drifting = {one.series for one in still if one.stage == "drift"}
    for row, at in launches.of_series():
        ran, shares = launches.nights[at], launches.shares[at]
        within[row] = _spread(shares[ran >= starts[row][-1]])
        # A reference is not to be corrected by what is wrong with the machine now, nor by a drift.
        end = regressed.get(row) or len(history.nights)
        begin = max(one for one in starts[row] if one < end)
        nodes += (slow := [*_slow_nodes(history, launches, row, at)])
        counts = launches.without({one.node for one in slow}, at) & np.isfinite(shares)
        shares = shares[counts & (ran >= begin) & (ran < end)]
        reference = known.get(history.series_ids[row])
        if reference and row not in drifting and len(shares) >= LEAST_LAUNCHES:
            level, shares = float(levels[row, end - 1]), shares[-10 * evidence.MOST_NIGHTS :]
            better = history.series[row].better
            references.append(_referenced(row, reference, level, shares, better=better))
    shares_of_level = history.values / levels
    return Survey(
        newest_night(history, str(store.path)),
        [Spread(row, _spread(one), within.get(row)) for row, one in enumerate(shares_of_level)],
        references,
        nodes,
        launches.failing,
        any(len(one) == 1 for one in launches.sets),
        launches.tests_of,
    )


def found_changes(history: History, rules: evidence.Rules) -> list[Change]:
    """The lasting changes of all series by the test of the nightly judgement, night after night,
    numbered in order of time; after one the series begins with the new level. A regression that a
    later change of its series took back is closed."""
    floors, found = evidence.floors_of(history).tolist(), list[Change]()
    for row, values in enumerate(history.values):
        nights = np.flatnonzero((history.counts[row] >= rules.least_launches) & (values > 0))
        begin, mine = 0, list[Change]()
        for end in range(1, len(nights) + 1):
            proven = False if mine and mine[-1].open else None
            known = nights[begin:end]
            if shift := level_shift(row, values, known, floors[row], proven=proven, rules=rules):
                change = shift.change(history, history.nights[known[-1]].id)
                if change.kind == "improvement":
                    mine = [replace(one, closed=change.since) if one.open else one for one in mine]
                mine.append(change)
                begin = int(np.searchsorted(nights, shift.since))
        found += mine
    found.sort(key=lambda one: (history.position(one.since), one.series))
    return [replace(one, id=number) for number, one in enumerate(found, 1)]


def _level_starts(history: History) -> list[list[int]]:
    """The positions of the first nights of each series' levels, ascending."""
    starts = [{0} for _ in history.series]
    for change in history.changes:
        starts[change.series].add(history.position(change.since))
    return [*map(sorted, starts)]


def levels_of(history: History, starts: Sequence[Sequence[int]]) -> Matrix:
    """The level of each series on each night, shape (series, nights): the median of the nights
    between two changes; NaN where none is positive."""
    levels = np.full(history.values.shape, np.nan)
    for values, level, begins in zip(history.values, levels, starts, strict=True):
        for low, high in pairwise([*begins, len(values)]):
            part = values[low:high]
            positive = part[part > 0]
            level[low:high] = np.median(positive) if len(positive) else np.nan
    return levels


def _spread(shares: Matrix) -> float | None:
    known = shares[np.isfinite(shares)]
    return float(MAD * np.median(np.abs(known - 1))) if len(known) >= 3 else None


def _referenced(
    row: int, reference: ImportedReference, level: float, shares: Matrix, *, better: str
) -> ReferenceFinding:
    """A reference against what the launches at the present level support: the k-th
    worst of n, k = ⌊(n + 1)/100⌋, which a further launch of any distribution misses with the chance
    k/(n + 1); at least the 99.9 % prediction limit of normal noise, and 3 %."""
    n, base = len(shares), reference.value * reference.factor / level
    sign = {"higher": -1, "lower": 1}.get(better)
    seen = np.sort(sign * (shares - 1) if sign else np.abs(shares - 1))
    spread = max(_spread(shares) or 0.0, evidence.LEAST_SPREAD)
    quantile = float(special.stdtrit(n - 1, (1 + _LEVEL) / 2))
    reach = spread * float(np.sqrt(1 + np.pi / (2 * n))) * quantile
    rank = (n + 1) // ONE_IN
    supported = max(evidence.FLOOR, reach, float(seen[-rank])) if rank else None
    low = -np.inf if reference.lower is None else base * (1 + reference.lower)
    high = np.inf if reference.upper is None else base * (1 + reference.upper)
    worse = ((1 - low, "higher"), (high - 1, "lower"))
    sides = [side for side, of in worse if np.isfinite(side) and better in (of, "unknown")]
    missed = int(((shares < low) | (shares > high)).sum())
    allows = min(sides, default=None)
    advice: Advice = "fits"
    if not reference.value:
        advice, allows = "no reference", None
    elif allows is None:
        advice = "no limit"
    elif allows < 0:
        advice = "missed"
    elif allows < reach or special.bdtrc(missed - 1, n, 1 / ONE_IN) < _LITTLE:
        advice = "too tight"
    elif supported and max(sides) > LOOSE * max(supported, seen[-1]):
        advice, allows = "too loose", max(sides)
    return ReferenceFinding(row, reference, level, allows, supported, missed, n, advice)


def _slow_nodes(
    history: History, launches: ImportedLaunches, row: int, at: slice
) -> Iterator[NodeFinding]:
    """The nodes that are slower than the others in a series, the slowest first. Launches that one
    of them took part in say nothing of the others."""
    key = history.series[row]
    if key.better == "unknown":
        return
    sign, gap = (1 if key.better == "higher" else -1), float(-np.log1p(-NODE_GAP))
    is_positive = launches.shares[at] > 0
    logs = sign * np.log(launches.shares[at][is_positive])
    members: dict[str, list[int]] = {}
    for place, number in enumerate(launches.sets_of[at][is_positive].tolist()):
        for node in launches.sets[number]:
            members.setdefault(node, []).append(place)
    tests = len(members) * len(history.series)
    while True:
        members = {one: places for one, places in members.items() if len(places) >= LEAST_OF_A_NODE}
        if len(members) < 3:
            return
        table = np.full((len(members), max(map(len, members.values()))), np.nan)
        for line, places in enumerate(members.values()):
            table[line, : len(places)] = logs[places]
        peers = _peers(table)
        top = peers.top(gap)
        _, high = reach_of(peers, top.level, 1 - NODE_CHANCE / tests)
        slow = (high < -gap) & (scores_of(peers, top) < -3.5)
        if not slow.any():
            return
        worst = int(np.argmin(np.where(slow, peers.centres, np.inf)))
        node = list(members)[worst]
        gone = set(members.pop(node))
        share = -sign * float(np.expm1(sign * (peers.centres[worst] - top.level)))
        yield NodeFinding(node, row, share, len(gone), len(members))
        members = {
            one: [place for place in places if place not in gone] for one, places in members.items()
        }


def _peers(logs: Matrix) -> Peers:
    """Nodes as peers whose launches share no block: their levels are taken off already."""
    counts = np.isfinite(logs).sum(axis=1)
    deviations, freedom = deviations_of(logs, shared=False)
    noise = float(np.median(deviations[freedom > 0]))
    half = max(1.0, float(freedom.sum()) / 2)
    return Peers(logs, np.nanmedian(logs, axis=1), counts, noise, half)
