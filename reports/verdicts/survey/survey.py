# SPDX-License-Identifier: Apache-2.0
"""What a history tells as a whole.

The changes are those of the nightly judgement where it judged the newest night; else those that its
test of lasting changes finds in each series. What launches vary by is taken from the last level.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import stats  # type: ignore[import-untyped]

from records.history.imported import ImportedReference, references_of, stored_launches
from records.history.model import Change, History, Kind
from records.history.reading import read_history
from records.history.store import Store
from reports.statistics.descriptive import Matrix
from reports.verdicts.acceptance.levels import Peers, deviations_of, reach_of, scores_of
from reports.verdicts.nightly.check import Checked, newest_night
from reports.verdicts.nightly.lasting import lasting_shifts
from reports.verdicts.nightly.rules import Rules, rules_for
from reports.verdicts.nightly.tonight import Nights

#: Launches of a series below which its reference, or of a node below which the node, is not judged.
LEAST_LAUNCHES, LEAST_OF_A_NODE = 10, 5
#: By how much a slow node is worse than the others, a fraction, and with what chance of error.
NODE_GAP, NODE_CHANCE = 0.05, 0.01
#: A reference is too loose that allows so many times what the data support.
LOOSE = 2.0
#: Standard deviations in a median absolute deviation of a normal distribution.
_MAD = 1.4826

Advice = Literal["missed", "too tight", "too loose", "no limit", "no reference", "fits"]


@dataclass(frozen=True)
class ImportedLaunches:
    """Values of launches, a row each: series (row of the history), night (position), value over the
    level of its series at that time, and set of nodes (position in `sets`). `tests_of` has the test
    of each series: "Stream %n=1 @partition+environment"."""

    series: NDArray[np.int64]
    nights: NDArray[np.int64]
    shares: Matrix
    sets_of: NDArray[np.int64]
    sets: list[tuple[str, ...]]
    tests_of: dict[int, str]

    def of_series(self) -> Iterator[tuple[int, NDArray[np.int64]]]:
        """Each series with the rows of its launches."""
        order = np.argsort(self.series, kind="stable")
        rows, begins = np.unique(self.series[order], return_index=True)
        for row, (low, high) in zip(rows, pairwise([*begins, len(order)]), strict=True):
            yield int(row), order[low:high]


class ReferenceFinding(NamedTuple):
    """A reference against what the data support: `allows` is how much worse than the level a launch
    may be by it, `supported` the limit that noise does not reach, fractions of the level; `missed`
    of `n` launches at this level miss the reference."""

    series: int
    reference: ImportedReference
    level: float
    allows: float | None
    supported: float
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


class TestFinding(NamedTuple):
    """A test of which launches `failed`, without a figure; `hidden` counts nights on which one
    failed and another try of the same passed."""

    test: str
    launches: int
    failed: int
    hidden: int
    nights: int


@dataclass(frozen=True)
class Survey:
    """`checked` has the history with its changes. `noise`: what nights vary by, fractions of the
    level, by series; `within`: what launches do; NaN where it is not known."""

    checked: Checked
    noise: Matrix
    within: Matrix
    references: list[ReferenceFinding]
    nodes: list[NodeFinding]
    tests: list[TestFinding]
    single_nodes: bool
    tests_of: dict[int, str]

    @property
    def history(self) -> History:
        """The history."""
        return self.checked.history

    @property
    def hidden(self) -> list[TestFinding]:
        """Tests that failed and passed on one night."""
        return [one for one in self.tests if one.hidden]

    def of(self, *advice: Advice) -> list[ReferenceFinding]:
        """The references with one of these verdicts."""
        return [one for one in self.references if one.advice in advice]


def survey(store: Store, site: str, campaign: str) -> Survey:
    """Survey the nights of a campaign on a site. Raises AssayError without any."""
    history = read_history(store, site, campaign)
    newest = history.nights[-1]
    rules = rules_for(len(history.series), finds=newest.finds, imported=newest.imported)
    if not newest.judged:
        history = replace(history, changes=found_changes(history, rules))
    levels = levels_of(history)
    launches = _launches(store, history, levels, site, campaign)
    within = np.full(len(history.series), np.nan)
    references = []
    known = references_of(store, history.series_ids)
    for row, at in launches.of_series():
        since = _last_level(history, row)
        shares = launches.shares[at][launches.nights[at] >= since]
        within[row] = _spread(shares)
        number = history.series_ids[row]
        if number in known and len(shares) >= LEAST_LAUNCHES:
            level = float(levels[row, -1])
            shares = shares[-10 * rules.most_nights :]
            references.append(
                _referenced((row, history.series[row].better), known[number], level, shares, rules)
            )
    noise = np.array([_spread(row) for row in history.values / levels])
    singles = [len(nodes) == 1 for nodes in launches.sets]
    return Survey(
        newest_night(history, str(store.path)),
        noise,
        within,
        references,
        [
            one
            for row, at in launches.of_series()
            for one in _slow_nodes(history, launches, row, at)
        ],
        _tests(store, site, campaign),
        any(singles),
        launches.tests_of,
    )


def found_changes(history: History, rules: Rules) -> list[Change]:
    """The lasting changes of all series, numbered in order of time; a regression that a later
    change of its series took back is closed."""
    nights = Nights(history, rules)
    found: list[Change] = []
    for row, key in enumerate(history.series):
        places = np.flatnonzero(
            (history.counts[row] >= rules.least_launches) & (history.values[row] > 0)
        )
        values, floor = history.values[row, places], float(nights.floors[row])
        first = len(found)
        for start, before, after in lasting_shifts(values, floor, rules):
            less = (after < before) == (key.better == "lower")
            kind: Kind = "improvement" if less or key.better == "unknown" else "regression"
            since = history.nights[places[start]].id
            for at in range(first, len(found)):
                if found[at].open and kind == "improvement":
                    found[at] = replace(found[at], closed=since)
            found.append(Change(row, kind, "lasting", since, since, before, after, start))
    found.sort(key=lambda one: (history.position(one.since), one.series))
    return [replace(one, id=number) for number, one in enumerate(found, 1)]


def levels_of(history: History) -> Matrix:
    """The level of each series on each night, shape (series, nights): the median of the nights
    between two changes; NaN where none is positive."""
    levels = np.full(history.values.shape, np.nan)
    starts: dict[int, list[int]] = {}
    for change in history.changes:
        starts.setdefault(change.series, []).append(history.position(change.since))
    for row, values in enumerate(history.values):
        borders = sorted({0, *starts.get(row, ()), len(values)})
        for low, high in pairwise(borders):
            part = values[low:high]
            positive = part[part > 0]
            levels[row, low:high] = np.median(positive) if len(positive) else np.nan
    return levels


def _last_level(history: History, row: int) -> int:
    """The position of the first night of a series' present level."""
    since = (history.position(one.since) for one in history.changes if one.series == row)
    return max(since, default=0)


def _spread(shares: Matrix) -> float:
    """1.4826·MAD of values over their level; NaN below three."""
    known = shares[np.isfinite(shares)]
    return float(_MAD * np.median(np.abs(known - 1))) if len(known) >= 3 else float("nan")


def _launches(
    store: Store, history: History, levels: Matrix, site: str, campaign: str
) -> ImportedLaunches:
    """The imported launches with a value; those of Assay's own nights are in no table."""
    rows = {number: row for row, number in enumerate(history.series_ids)}
    sets: dict[tuple[str, ...], int] = {}
    tests_of: dict[int, str] = {}
    series, nights, values, nodes = array("q"), array("q"), array("d"), array("q")
    for launch in stored_launches(store, site, campaign):
        night = history.position(launch.night)
        ran = sets.setdefault(launch.nodes, len(sets))
        for number, value in launch.figures:
            series.append(rows[number])
            nights.append(night)
            values.append(value)
            nodes.append(ran)
            tests_of[rows[number]] = launch.test
    where = np.array(series, dtype=np.int64), np.array(nights, dtype=np.int64)
    shares = np.array(values, dtype=np.float64) / levels[where]
    order = np.argsort(where[1], kind="stable")
    ran_on = np.array(nodes, dtype=np.int64)
    return ImportedLaunches(
        where[0][order], where[1][order], shares[order], ran_on[order], list(sets), tests_of
    )


def _referenced(
    series: tuple[int, str],
    reference: ImportedReference,
    level: float,
    shares: Matrix,
    rules: Rules,
) -> ReferenceFinding:
    """What a reference allows against what the launches at the present level support: the 99.9 %
    prediction limit of one launch, at least 3 %."""
    n = len(shares)
    spread = max(_spread(shares), rules.least_spread)
    quantile = float(stats.t.ppf((1 + rules.level_suspect) / 2, n - 1))
    reach = spread * float(np.sqrt(1 + np.pi / (2 * n))) * quantile
    supported = max(rules.floor, reach)
    (row, better), base = series, reference.value * reference.factor / level
    low, high = (
        None if limit is None else base * (1 + limit)
        for limit in (reference.lower, reference.upper)
    )
    sides = [1 - low] if low is not None and better != "lower" else []
    sides += [high - 1] if high is not None and better != "higher" else []
    beyond = (shares < (-np.inf if low is None else low)) | (
        shares > (np.inf if high is None else high)
    )
    allows = min(sides, default=None)
    advice: Advice = "fits"
    if not reference.value:
        advice, allows = "no reference", None
    elif allows is None:
        advice = "no limit"
    elif allows < 0:
        advice = "missed"
    elif allows < reach:
        advice = "too tight"
    elif max(sides) > LOOSE * supported:
        advice, allows = "too loose", max(sides)
    return ReferenceFinding(row, reference, level, allows, supported, int(beyond.sum()), n, advice)


def _slow_nodes(
    history: History, launches: ImportedLaunches, row: int, at: NDArray[np.int64]
) -> Iterator[NodeFinding]:
    """The nodes that are slower than the others in a series, the slowest first. Launches that one
    of them took part in say nothing of the others."""
    key = history.series[row]
    if key.better == "unknown":
        return
    sign, gap = (1 if key.better == "higher" else -1), float(-np.log1p(-NODE_GAP))
    at = at[launches.shares[at] > 0]
    logs, sets = sign * np.log(launches.shares[at]), launches.sets_of[at]
    members: dict[str, list[int]] = {}
    for place, number in enumerate(sets.tolist()):
        for node in launches.sets[number]:
            members.setdefault(node, []).append(place)
    left = np.ones(len(at), dtype=np.bool_)
    tests = len(members)
    while True:
        known = {node: [one for one in places if left[one]] for node, places in members.items()}
        known = {node: places for node, places in known.items() if len(places) >= LEAST_OF_A_NODE}
        if len(known) < 3:
            return
        table = np.full((len(known), max(map(len, known.values()))), np.nan)
        for line, places in enumerate(known.values()):
            table[line, : len(places)] = logs[places]
        peers = _peers(table)
        top = peers.top(gap)
        reach = reach_of(peers, top.level, 1 - NODE_CHANCE / (tests * len(history.series)))
        slow = (reach.high < -gap) & (scores_of(peers, top) < -3.5)
        if not slow.any():
            return
        worst = int(np.argmin(np.where(slow, peers.centres, np.inf)))
        node = list(known)[worst]
        share = (
            float(np.expm1(-(peers.centres[worst] - top.level)))
            if sign < 0
            else float(-np.expm1(peers.centres[worst] - top.level))
        )
        yield NodeFinding(node, row, share, len(known[node]), len(known) - 1)
        left[members.pop(node)] = False


def _peers(logs: Matrix) -> Peers:
    """Nodes as peers whose launches share no block: their levels are taken off already."""
    counts = np.isfinite(logs).sum(axis=1)
    deviations, freedom = deviations_of(logs, shared=False)
    noise = float(np.median(deviations[freedom > 0]))
    return Peers(
        logs, np.nanmedian(logs, axis=1), counts, noise, max(1.0, float(freedom.sum()) / 2)
    )


def _tests(store: Store, site: str, campaign: str) -> list[TestFinding]:
    """The imported tests of which a launch failed; those that a retry hid first."""
    failed, passed = "l.result IN ('fail','error','abort')", "l.result IN ('pass','xfail')"
    with store.explained("read"):
        rows: Sequence[tuple[str, int, int, int, int]] = store.database.execute(
            "SELECT test, sum(n), sum(f), sum(bad > 0 AND p > 0) AS hidden, count(DISTINCT night)"  # noqa: S608 own texts
            " FROM (SELECT l.test, l.night, count(*) AS n, sum(figures='[]' AND"
            f" {failed}) AS f, sum({failed}) AS bad, sum({passed}) AS p"
            " FROM launch l JOIN night m ON m.id=l.night WHERE m.site=? AND m.campaign=?"
            " GROUP BY l.test, l.night, l.name) GROUP BY test HAVING sum(f) > 0 OR hidden > 0",
            (site, campaign),
        ).fetchall()
    return sorted((TestFinding(*row) for row in rows), key=lambda one: (-one.hidden, -one.failed))
