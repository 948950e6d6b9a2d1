# SPDX-License-Identifier: Apache-2.0
"""Scans in columns: who is bad is named, of all pairs or a sample; a large scan is judged."""

from datetime import date

import numpy as np
import pytest

from reports.verdicts.acceptance import limits
from reports.verdicts.acceptance.judge import judge
from reports.verdicts.acceptance.limits import LOWEST_KEPT

from .scanned_machine import criteria, measured, scan

pytestmark = pytest.mark.numerical
LINKS = {"kind": "links", "at_least": 0.93}
SPREAD = {"kind": "spread", "cv_at_most": 0.03}
NOMINAL = {"kind": "efficiency", "peak": "nominal", "at_least": 0.75}


def judged(evidence, *asked, reruns=0):
    return judge(criteria(*asked), evidence, date(2026, 11, 23), reruns)


@pytest.mark.parametrize("slow", [(4,), (4, 8), (4, 8, 19)])
@pytest.mark.parametrize("rounds", [32, 40, 46, 57, 62])
def test_each_bad_node_is_named_by_its_link_whatever_share_was_measured(rounds, slow):
    found = judged(scan(64, rounds, slow=dict.fromkeys(slow, 0.85)), LINKS)
    assert {one.title for one in found.named} == {f"slow link of n{node + 1}" for node in slow}
    assert found.criteria[1].verdict == "SUSPECT"


def test_more_pairs_than_get_an_item_are_judged_by_the_criteria_that_are_shipped(monkeypatch):
    """A scan of 40 nodes is as large as one of thousands."""
    monkeypatch.setattr(limits, "MOST_KEPT", 200)
    found = judged(scan(40, noisy=[33, 600], nominal=True), LINKS, SPREAD, NOMINAL)
    _, links, spread, nominal = found.criteria
    noisy = {("n1", "n35"), ("n21", "n32")}
    assert {item.place for item in nominal.items if item.verdict != "PASS"} <= noisy
    for result in (links, nominal):
        assert len(result.items) < 60 and len(result.items) + result.further == 780
    assert nominal.binds
    whole, *each = spread.items
    assert whole.subject == "778 of 780 together" and whole.verdict == "PASS"
    assert whole.centre == pytest.approx(0.01, rel=0.1)
    unsteady = {(item.place, item.state) for item in each if item.verdict != "PASS"}
    assert unsteady == {(place, "suspected") for place in noisy}
    assert spread.further == 780 - 2 - LOWEST_KEPT == 780 - len(each)


@pytest.mark.parametrize("asked", [LINKS, SPREAD])
def test_where_a_criterion_names_a_node_its_pairs_alone_are_judged(asked):
    evidence = scan(12, slow={7: 0.5}, noisy=[40])
    result = judged(evidence, {**asked, "where": {"node": "n1"}}).criteria[1]
    places = [item.place for item in result.items if len(item.place) == 2]
    assert len(places) == 11 and all("n1" in place for place in places)


def test_two_nodes_are_no_peers_of_each_other():
    assert judged(scan(2), LINKS).criteria[1].verdict == "INCONCLUSIVE"


SLOW = {4: 0.85, 9: 0.9}


@pytest.mark.parametrize("later", [SLOW, {9: 0.9}, {}], ids=["both", "one", "none"])
def test_a_bad_node_is_confirmed_or_cleared_by_a_sample_of_its_pairs(monkeypatch, later):
    monkeypatch.setattr("reports.verdicts.acceptance.judge.SAMPLED_PAIRS", 15)
    nodes, again, sizes = 80, [], []
    promise = {"kind": "limit", "at_least": 1e8, "unit": "bytes/s"}
    for count in range(4):
        evidence = scan(nodes, slow=SLOW, again=again)
        found = judged(evidence, LINKS, promise, reruns=count)
        if not found.rerun:
            break
        (pairs,) = found.rerun.values()
        sizes.append(len(pairs))
        ends = np.array([[int(name[1:]) - 1 for name in pair.split(":")] for pair in pairs])
        low, high = np.sort(ends, axis=1).T
        blocks = range(6 + 3 * count, 9 + 3 * count)
        again.append(measured((low, high), nodes, blocks, slow=later))
    assert found.verdict == ("FAIL" if later else "PASS")
    assert {one.title for one in found.named} == {f"slow link of n{node + 1}" for node in later}
    assert not found.rerun
    assert sizes[0] == 2 * 2 * 15 and max(sizes) < 120
