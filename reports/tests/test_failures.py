# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from reports.analysis.failures import FailureRate
from reports.analysis.leaders import rankings
from reports.analysis.run import Analysis, analyse
from reports.load.loading import load_run
from reports.tests.synthetic import HPL_FIXED, case, write_run
from reports.verdicts.choice.sentences import summary
from reports.verdicts.choice.tables import choice_tables

pytestmark = pytest.mark.numerical

NAMES = ("mpich", "openmpi", "lam")
SIZES = (1000, 2000, 3000)


def analysed(path: Path, edit: Any, blocks: int = 12) -> Analysis:
    cases = [
        case("hpl", name, {"p": 1, "q": 2, "n": n, **HPL_FIXED}) for name in NAMES for n in SIZES
    ]
    cases += [case("startup", name, {"ranks": 2}) for name in NAMES]
    return analyse(load_run(write_run(path / "run", cases, blocks=blocks, edit=edit)))


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
    score = analysis.comparisons.score
    assert score is not None
    assert [item.environment for item in score.standings][-1] == "openmpi"
    assert score.standings[-1].place == "3"
    assert score.standings[-1].failures == FailureRate(12, 48)
    interval = score.standings[-1].failures.interval
    assert interval is not None
    assert (interval.low, interval.high) == pytest.approx((0.136, 0.396), abs=1e-3)
    for cell in (*analysis.comparisons.overall, *analysis.comparisons.groups):
        winner = {"faster": cell.environment, "slower": cell.reference}.get(cell.word)
        assert winner != "openmpi"
    assert all(ranking.best != "openmpi" for ranking in rankings(analysis.comparisons))
    told = " ".join(sentence.text for sentence in summary(analysis))
    assert "openmpi failed in 12 of 48 launches" in told
    assert "openmpi is the best choice" not in told
    rows = [[cell.text for cell in row] for row in choice_tables(analysis)[0].rows]
    assert [row[7] for row in rows] == ["0 of 48", "0 of 48", "12 of 48"]


def test_who_loses_its_slow_launches_to_the_limit_does_not_win(tmp_path: Path) -> None:
    """The survivors of openmpi are some 10 % faster than the others, all its launches are not."""

    def kill(record: dict[str, Any]) -> dict[str, Any]:
        mine = record["environment"] == "openmpi"
        time_s = noise(record, 0.2 if mine else 0.01)
        return timed(record, time_s, "failed" if mine and time_s > 1.09 else "ok")

    analysis = analysed(tmp_path, kill)
    score = analysis.comparisons.score
    assert score is not None
    assert score.standings[-1].environment == "openmpi"
    for cell in (*analysis.comparisons.overall, *analysis.comparisons.groups):
        winner = {"faster": cell.environment, "slower": cell.reference}.get(cell.word)
        assert winner != "openmpi"


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
    assert {item.environment: item.place for item in comparisons.score.standings} == {
        "mpich": "1–2",
        "openmpi": "1–2",
        "lam": "3",
    }
    for cell in (*comparisons.overall, *comparisons.groups):
        assert cell.n == (11 if status == "lost" and _lacks(cell.label, cell) else 12)
        if "lam" in (cell.environment, cell.reference):
            assert cell.word == ("slower" if cell.environment == "lam" else "faster")


def _lacks(label: str, cell: Any) -> bool:
    return "1000" in label.replace("\u202f", "") and "mpich" in (cell.environment, cell.reference)


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
    found = {item.environment: item.score for item in score.standings}
    assert found["lam"] == pytest.approx((3.5 / 3 + 1) / 2, rel=0.01)
    assert score.standings[-1].environment == "lam"
    assert score.standings[-1].place == "3"
