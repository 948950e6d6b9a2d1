# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from reports.analysis.compare import Comparisons
from reports.analysis.failures import FailureRate
from reports.analysis.run import Analysis
from reports.analysis.score import OverallScore
from reports.tests import synthetic
from reports.tests.synthetic import HPL_FIXED, Edit, case
from reports.verdicts.choice.answer import answer_of, leaders
from reports.verdicts.choice.tables import score_table

pytestmark = pytest.mark.numerical

NAMES = ("mpich", "openmpi", "lam")
SIZES = (1000, 2000, 3000)


def where_openmpi_wins_none(analysis: Analysis) -> tuple[Comparisons, OverallScore]:
    """The comparisons and their score."""
    found = analysis.comparisons
    assert found.score is not None
    for cell in (*found.overall, *found.groups):
        winner = {"faster": cell.environment, "slower": cell.reference}.get(cell.word)
        assert winner != "openmpi"
    return found, found.score


def analysed(path: Path, edit: Edit) -> Analysis:
    params = [{"p": 1, "q": 2, "n": n, **HPL_FIXED} for n in SIZES]
    cases = [case("hpl", name, one) for name in NAMES for one in params]
    cases += [case("startup", name, {"ranks": 2}) for name in NAMES]
    return synthetic.analysed(path / "run", cases, blocks=12, edit=edit)


def timed(record: dict[str, Any], time_s: float, status: str = "ok") -> dict[str, Any]:
    """The record with this relative time, or without values."""
    for metric in record["metrics"]:
        metric["value"] = 1e9 / time_s if metric["better"] == "higher" else time_s
    if status != "ok":
        record |= {"status": status, "reason": "time limit", "metrics": []}
    return record


def noise(record: dict[str, Any], s: float) -> float:
    seed = [record["block"], *record["case_id"].encode()]
    return float(np.exp(s * np.random.default_rng(seed).standard_normal()))


def test_a_quarter_of_hung_launches_does_not_win(tmp_path: Path) -> None:
    def hang(record: dict[str, Any]) -> dict[str, Any]:
        mine = record["environment"] == "openmpi"
        hung = mine and (record["block"] + len(record["case_id"])) % 4 == 0
        time_s = noise(record, 0.01) * (0.8 if mine else 1.0)
        return timed(record, time_s, "failed" if hung else "ok")

    analysis = analysed(tmp_path, hang)
    comparisons, score = where_openmpi_wins_none(analysis)
    last = score.standings[-1]
    assert (last.environment, last.place, last.failures) == ("openmpi", (3, 3), FailureRate(12, 48))
    interval = last.failures.interval
    assert interval is not None
    assert (interval.low, interval.high) == pytest.approx((0.136, 0.396), abs=1e-3)
    assert all(leader.best != "openmpi" for leader in leaders(comparisons))
    assert "openmpi is the best choice" not in answer_of(analysis).sentence
    table = score_table(score, {})
    assert table is not None
    remarks = [row[-1].text for row in table.rows]
    assert ["failed" in text for text in remarks] == [False, False, True]
    assert remarks[-1] == "failed in 12 of 48 launches; ranks behind for it"


def test_who_loses_its_slow_launches_to_the_limit_does_not_win(tmp_path: Path) -> None:
    """The survivors of openmpi are some 10 % faster than the others, all its launches are not."""

    def kill(record: dict[str, Any]) -> dict[str, Any]:
        mine = record["environment"] == "openmpi"
        time_s = noise(record, 0.2 if mine else 0.01)
        return timed(record, time_s, "failed" if mine and time_s > 1.09 else "ok")

    _, score = where_openmpi_wins_none(analysed(tmp_path, kill))
    assert score.standings[-1].environment == "openmpi"


@pytest.mark.parametrize("status", ["failed", "lost"])
def test_one_bad_launch_undoes_nothing(tmp_path: Path, status: str) -> None:
    def lose(record: dict[str, Any]) -> dict[str, Any]:
        time_s = noise(record, 0.02) * (1.2 if record["environment"] == "lam" else 1.0)
        bad = record["environment"] == "mpich" and record["block"] == 5
        bad &= record["params"].get("n") == 1000
        return timed(record, time_s, status if bad else "ok")

    comparisons = analysed(tmp_path, lose).comparisons
    assert comparisons.score is not None
    assert comparisons.score.n == 12
    places = {item.environment: item.places for item in comparisons.score.standings}
    assert places == {"mpich": "1–2", "openmpi": "1–2", "lam": "3"}
    for cell in (*comparisons.overall, *comparisons.groups):
        pair = (cell.environment, cell.reference)
        lacks = "1000" in cell.label.replace("\u202f", "") and "mpich" in pair
        assert cell.n == (11 if status == "lost" and lacks else 12)
        if "lam" in pair:
            assert cell.word == ("slower" if cell.environment == "lam" else "faster")


def test_who_never_ends_a_case_is_not_ranked_and_others_are(tmp_path: Path) -> None:
    def crash(record: dict[str, Any]) -> dict[str, Any]:
        bad = record["environment"] == "openmpi" and record["params"].get("n") == 3000
        return timed(record, noise(record, 0.01), "failed" if bad else "ok")

    score = analysed(tmp_path, crash).comparisons.score
    assert score is not None
    assert score.excluded == [("openmpi", "every launch of a case failed in hpl")]
    assert [share.points for share in score.shares] == [3, 1]
    assert {item.environment for item in score.standings} == {"mpich", "lam"}


def test_the_score_is_total_time_over_total_time(tmp_path: Path) -> None:
    """HPL at half, the same and twice the time: +16.7 %, where a geometric mean sees nothing."""
    times = dict(zip(SIZES, (0.5, 1.0, 2.0), strict=True))

    def edit(record: dict[str, Any]) -> dict[str, Any]:
        own = times.get(record["params"].get("n", 0), 1.0)
        time_s = noise(record, 0.002) * (own if record["environment"] == "lam" else 1.0)
        return timed(record, time_s)

    score = analysed(tmp_path, edit).comparisons.score
    assert score is not None
    last = score.standings[-1]
    assert (last.environment, last.places) == ("lam", "3")
    assert last.cost == pytest.approx((3.5 / 3 + 1) / 2, rel=0.01)
