# SPDX-License-Identifier: Apache-2.0
"""Messages against hop counts: the time per hop is found again, and unresolved ones are told."""

import numpy as np
import pytest

from plugins.papers.hops import hop_series, hops_table, slopes_by_block
from reports.checks.sections import check_parts
from reports.tests.synthetic import analysed, case, metric

pytestmark = pytest.mark.numerical

PER_HOP_S = {"mpich": 1.2e-6, "lam": 0.0}
BLOCKS = 7


def fill(record):
    hops, name = record["params"]["hops"], record["environment"]
    rng = np.random.default_rng(1000 * record["block"] + hops)
    noise = rng.normal(0, 0.1e-6 if name == "mpich" else 3e-6)
    drift = 0.5e-6 * record["block"]
    time_s = 7e-6 + (hops - 1) * PER_HOP_S[name] + noise + drift
    times = {8: time_s, 1024: 10 * time_s}
    made = [metric("half_round_trip", s, message_bytes=size) for size, s in times.items()]
    return record | {"metrics": [*made, metric("hops", hops)]}


def echoes(*names):
    at = {"placement": "between-nodes", "sizes": [8, 1024]}
    return [case("echo", name, {**at, "hops": hops}) for name in names for hops in (1, 3, 5)]


@pytest.fixture(scope="module")
def analysis(tmp_path_factory):
    cases = echoes(*PER_HOP_S)
    return analysed(tmp_path_factory.mktemp("hops") / "run", cases, blocks=BLOCKS, edit=fill)


def test_the_time_per_hop_is_found_through_a_drift_that_is_greater(analysis):
    series = hop_series(analysis, "echo")[0]
    assert (series.environment, series.message_bytes, list(series.times)) == ("mpich", 8, [1, 3, 5])
    assert series.per_hop.n == BLOCKS
    assert series.per_hop.median == pytest.approx(1.2e-6, rel=0.1)
    interval = series.per_hop.median_interval
    assert interval.low < 1.2e-6 < interval.high < interval.low + 0.2e-6


@pytest.mark.parametrize(
    ("blocks", "edit", "said"),
    [
        (2, {2: 400e-6}, "needs 3 blocks"),
        (4, {2: 400e-6}, "not resolved at n = 4"),
        (7, {2: 400e-6}, "not resolved at n = 7"),
        (9, {2: 400e-6}, None),
        (7, dict.fromkeys(range(1, 8), 400e-6), "negative: no time per hop"),
    ],
)
def test_an_outlier_block_makes_no_time_per_hop(tmp_path, blocks, edit, said):
    """The times of some blocks at one hop are longer by so much."""

    def planted(record):
        record = fill(record)
        if record["params"]["hops"] == 1:
            record["metrics"][0]["value"] += edit.get(record["block"], 0.0)
        return record

    found = analysed(tmp_path / "run", echoes("mpich"), blocks=blocks, edit=planted)
    table = hops_table(found, "echo")
    row = next(row for row in table.rows if row[2].text == "8 B")
    if said:
        assert (row[-3].text, row[-3].badges) == ("–", (said,))
    else:
        assert float(row[-3].text) == pytest.approx(1.2, abs=0.2)
    assert row[-1].text == str(blocks)


def test_hops_are_a_place_and_get_no_statistics_of_their_own(analysis):
    (part,) = check_parts(analysis, pictures=False)
    anchors = [table.anchor for table in part.tables]
    assert anchors[0] == "table-echo-hops" and "table-echo-hops" not in anchors[1:]
    assert "table-echo-half-round-trip-side-by-side" in anchors


def test_without_two_hop_counts_there_is_nothing_to_show(tmp_path):
    found = analysed(tmp_path / "run", echoes("lam")[:1], blocks=BLOCKS, edit=fill)
    assert hops_table(found, "echo") is None


def test_the_slope_is_that_of_least_squares():
    times = {1: {1: [5.0]}, 2: {1: [6.5]}, 4: {1: [9.0]}}
    assert slopes_by_block(times) == pytest.approx([np.polyfit([1, 2, 4], [5.0, 6.5, 9.0], 1)[0]])
    assert slopes_by_block({1: {1: [2.0], 2: [9.0]}, 3: {1: [6.0]}}) == [2.0]
