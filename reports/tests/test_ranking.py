# SPDX-License-Identifier: Apache-2.0
"""Who ranks where, by which score, and what failed launches and wrong answers cost."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from bench.tests.simulated.campaigns import POINTS, simulated_run
from records.metric import MetricDefinition
from reports.analysis.compare import Comparisons
from reports.analysis.failures import FailureRate
from reports.analysis.run import Analysis, analyse
from reports.analysis.score import Costs, OverallScore
from reports.load.loading import load_run
from reports.show.panel import Series
from reports.show.tables import Table
from reports.statistics.descriptive import Matrix
from reports.statistics.max_t import answers
from reports.tests import synthetic
from reports.tests.synthetic import HPL_FIXED, Edit, analysed, case, changed, write_run
from reports.verdicts.choice import tables
from reports.verdicts.choice.answer import answer_of, leaders
from reports.verdicts.nightly.evidence import read_night

pytestmark = pytest.mark.numerical

NAMES = ("mpich", "openmpi", "lam")
HPL_LAM = ("hpl", "lam")
SIZES = (1000, 2000, 3000)


def cases(names: tuple[str, ...] = NAMES) -> list[dict[str, Any]]:
    hpl = [case("hpl", name, {"p": 1, "q": 2, "n": 2000, **HPL_FIXED}) for name in names]
    return [*hpl, *(case("startup", name, {"ranks": 2}) for name in names)]


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


def factor(**factors: float) -> Edit:
    """An edit that gives every launch of an environment a known time."""
    return lambda record: timed(record, factors[record["environment"]] * noise(record, 0.01))


def score_of(analysis: Analysis) -> OverallScore:
    assert analysis.comparisons.score is not None
    return analysis.comparisons.score


def test_score_is_the_weighted_cost_against_the_reference(tmp_path: Path) -> None:
    edit = factor(mpich=1.0, openmpi=1.2, lam=0.8)
    score = score_of(analysed(tmp_path, cases(), blocks=9, edit=edit))
    found = [(item.environment, item.places) for item in score.standings]
    assert found == [("lam", "1"), ("mpich", "2"), ("openmpi", "3")]
    assert score.standings[2].cost == pytest.approx(1.2, rel=0.02)
    assert score.n == 9


def test_weights_decide_which_check_counts(tmp_path: Path) -> None:
    def edit(record: dict[str, Any]) -> dict[str, Any]:
        quick = (record["check"] == "hpl") == (record["environment"] == "mpich")
        return timed(record, noise(record, 0.01) * (0.5 if quick else 1.0))

    analysis = analysed(tmp_path, cases(("mpich", "lam")), blocks=9, edit=edit)
    assert score_of(analysis).standings[0].cost == pytest.approx(1.0, abs=0.05)
    changed(tmp_path / "plan.json", weights={"hpl": 9, "startup": 1})
    score = score_of(analyse(load_run(tmp_path)))
    assert score.declared
    assert [item.environment for item in score.standings] == ["mpich", "lam"]
    assert score.standings[1].cost == pytest.approx(0.9 * 2 + 0.1 * 0.5, rel=0.03)


def test_a_check_of_one_environment_has_no_weight(tmp_path: Path) -> None:
    some = [one for one in cases(("mpich", "lam")) if (one["check"], one["environment"]) != HPL_LAM]
    score = score_of(analysed(tmp_path, some, blocks=9, edit=factor(mpich=1.0, lam=0.5)))
    assert [item.environment for item in score.standings] == ["lam", "mpich"]
    assert [share.check for share in score.shares] == ["startup"] and not score.excluded


def test_wrong_answers_are_a_veto_and_missing_values_too(tmp_path: Path) -> None:
    def edit(record: dict[str, Any]) -> dict[str, Any]:
        if record["environment"] == "lam" and record["check"] == "hpl":
            record |= {"status": "wrong", "reason": "residual", "metrics": []}
        if record["environment"] == "openmpi" and record["check"] == "startup":
            record |= {"status": "failed", "reason": "crash", "metrics": []}
        return record

    analysis = analysed(tmp_path, cases((*NAMES, "lam-lamd")), blocks=9, edit=edit)
    assert dict(score_of(analysis).excluded) == {
        "openmpi": "no valid launch of startup",
        "lam": "wrong answers in hpl",
    }
    rows = {row[1].text: row for row in tables_of(analysis)[0].rows}
    assert rows["lam"][1].badges == ("not ranked",)
    assert rows["lam"][-1].text == "wrong answers in hpl"


def tables_of(analysis: Analysis) -> list[Table]:
    """Places, and pair by pair."""
    score = score_of(analysis)
    made = tables.score_table(score, {}), tables.pairs_table(score.pairs)
    return [table for table in made if table is not None]


def judged(costs: Matrix, names: str) -> OverallScore:
    """The score of costs by environment and block, a family by itself."""
    rates = dict.fromkeys(names, FailureRate(0, costs.shape[1]))
    drawn = Costs([*names], costs, False, [], [], rates)
    score = drawn.judged(answers(drawn.questions()))
    assert score is not None
    return score


def test_places_never_contradict_the_bounds() -> None:
    rng = np.random.default_rng(1)
    for _ in range(60):
        score = judged(np.exp(rng.normal(0, 0.02, (4, 10)) + rng.normal(0, 0.03, (4, 1))), "abcd")
        place = {item.environment: item for item in score.standings}
        assert sorted(place) == list("abcd")
        for pair in score.pairs:
            better, other = (place[name] for name in pair.by_estimate)
            assert pair.judgement is not None
            assert pair.separated != (pair.judgement.low <= 1 <= pair.judgement.high)
            assert (better.worst < other.best) <= pair.separated
            assert better.best <= other.worst


def test_no_estimate_lies_beyond_the_bounds_that_decide() -> None:
    """b costs 5 % more, and in three of ten blocks 50 %: medians and means of ratios disagree."""
    rng = np.random.default_rng(47)
    drawn = 0.003 * rng.standard_normal((2, POINTS, 40)) + np.log([1.0, 1.05])[:, None, None]
    drawn[1, :, ::4] += np.log(1.5)
    analysis = analyse(simulated_run(drawn))
    found, score = analysis.comparisons, score_of(analysis)
    judged = [(pair.effect, pair.judgement) for pair in score.pairs]
    judged += [(one.effect, one.judgement) for one in (*found.overall, *found.points) if one.effect]
    assert all(bounds and bounds.low <= one.ratio <= bounds.high for one, bounds in judged if one)
    costs, least = re.findall(r"([\d.]+) %", plain(answer_of(analysis).sentence))[:2]
    assert float(costs) >= float(least) > 5.5
    assert "bounds: of their geometric mean" in tables.score_note(score, analysis.register)


def plain(text: str) -> str:
    return text.replace("−", "-").replace("\u202f", " ").replace("\xa0", " ")


@pytest.mark.parametrize("seed", range(8))
def test_what_is_drawn_and_tabulated_is_what_decides(seed: int) -> None:
    drawn = 0.1 * np.random.default_rng(seed).standard_normal((3, POINTS, 8))
    analysis = analyse(simulated_run(np.log([1.0, 1.06, 1.5])[:, None, None] + drawn))
    score = score_of(analysis)
    first, *others = score.standings
    (panel,) = tables.score_picture(score, analysis.looks, str).panels
    assert panel.alt.startswith(f"Overall cost, {first.environment} = 1")
    line: Any = panel.marks[1]
    bars = [m for m in panel.marks if isinstance(m, Series) and m.width == tables.BOUNDS_WIDTH]
    for item, bar in zip(others, bars, strict=True):
        assert (bar.x[0] <= line.keywords["x"] <= bar.x[1]) == (item.best == 1), item
    apart = {frozenset((pair.first, pair.second)): pair.separated for pair in score.pairs}
    for table in tables_of(analysis):
        for row in table.rows:
            names = [cell.environment for cell in row if cell.environment]
            names += [part.environment for cell in row for part in cell.parts]
            pair = frozenset((*names, score.reference) if len(names) == 1 else names)
            for column, cell in zip(table.columns, row, strict=True):
                ends = re.fullmatch(r"([-+]?[\d.]+)( %)? … ([-+]?[\d.]+)( %)?", plain(cell.text))
                if ends and pair in apart:
                    both = (ends[1], ends[2]), (ends[3], ends[4])
                    low, high = (1 + float(n) / 100 if sign else float(n) for n, sign in both)
                    assert (low <= 1 <= high) != apart[pair], (table.title, column.title)


def test_the_headline_has_the_interval_of_the_ratio() -> None:
    rng = np.random.default_rng(2)
    drift = rng.normal(0, 0.3, 12)
    score = judged(np.exp(drift + rng.normal(0, 0.02, (3, 12))), "abc")
    for item in score.standings:
        if item.environment == score.reference:
            assert (item.cost, item.interval) == (1.0, None)
            continue
        (pair,) = (p for p in score.pairs if {p.first, p.second} == {"a", item.environment})
        turned = pair.seen_from("a")
        ends = turned.effect.interval.low, turned.effect.interval.high
        assert (item.cost, item.interval) == (turned.effect.ratio, ends)
        assert ends[1] / ends[0] < 1.1  # drift of 30 % is in both


def test_the_daemons_of_a_start_enter_the_score(tmp_path: Path) -> None:
    whole = MetricDefinition("whole_start", "s", "lower", "a start", title="whole start")

    def edit(record: dict[str, Any]) -> dict[str, Any]:
        if record["check"] == "startup":
            heard = next(m for m in record["metrics"] if m["name"] == "all_heard")
            record["metrics"] = [heard, {**heard, "name": "whole_start"}]
        timed(record, noise(record, 0.01))
        if record["environment"] == "lam":
            for one in record["metrics"]:
                one["value"] *= {"all_heard": 0.5, "whole_start": 3.0}.get(one["name"], 1.0)
        return record

    run = write_run(tmp_path / "run", cases(("mpich", "lam")), blocks=9, edit=edit)
    former = synthetic.register()
    startup = replace(former.checks["startup"], deciding="whole_start", beside=("all_heard",))
    checks = [startup, former.checks["hpl"]]
    changed(run / "plan.json", metrics=[*former.metrics.values(), whole], checks=checks)
    analysis = analyse(load_run(run))
    assert {cell.metric for cell in analysis.comparisons.overall} == {"rate", "whole_start"}
    score = score_of(analysis)
    assert {s.environment: s.cost for s in score.standings}["lam"] == pytest.approx(2, rel=0.02)
    note = tables.score_note(score, analysis.register)
    assert "Start-up 50 % (whole start; 1 of 1 point)" in note
    _, values = read_night(run)
    kept = {value.series.metric for value in values if value.series.check == "startup"}
    assert kept == {"whole_start", "all_heard"}


def where_openmpi_wins_none(analysis: Analysis) -> tuple[Comparisons, OverallScore]:
    """The comparisons and their score."""
    found = analysis.comparisons
    for cell in (*found.overall, *found.groups):
        winner = {"faster": cell.environment, "slower": cell.reference}.get(cell.word)
        assert winner != "openmpi"
    return found, score_of(analysis)


def of_sizes(path: Path, edit: Edit) -> Analysis:
    params = [{"p": 1, "q": 2, "n": n, **HPL_FIXED} for n in SIZES]
    some = [case("hpl", name, one) for name in NAMES for one in params]
    some += [case("startup", name, {"ranks": 2}) for name in NAMES]
    return analysed(path / "run", some, blocks=12, edit=edit)


def test_a_quarter_of_hung_launches_does_not_win(tmp_path: Path) -> None:
    def hang(record: dict[str, Any]) -> dict[str, Any]:
        mine = record["environment"] == "openmpi"
        hung = mine and (record["block"] + len(record["case_id"])) % 4 == 0
        time_s = noise(record, 0.01) * (0.8 if mine else 1.0)
        return timed(record, time_s, "failed" if hung else "ok")

    analysis = of_sizes(tmp_path, hang)
    comparisons, score = where_openmpi_wins_none(analysis)
    last = score.standings[-1]
    assert (last.environment, last.place, last.failures) == ("openmpi", (3, 3), FailureRate(12, 48))
    interval = last.failures.interval
    assert interval is not None
    assert (interval.low, interval.high) == pytest.approx((0.136, 0.396), abs=1e-3)
    assert all(leader.best != "openmpi" for leader in leaders(comparisons))
    assert "openmpi is the best choice" not in answer_of(analysis).sentence
    remarks = [row[-1].text for row in tables_of(analysis)[0].rows]
    assert ["failed" in text for text in remarks] == [False, False, True]
    assert remarks[-1] == "failed in 12 of 48 launches; ranks behind for it"


def test_who_loses_its_slow_launches_to_the_limit_does_not_win(tmp_path: Path) -> None:
    """The survivors of openmpi are some 10 % faster than the others, all its launches are not."""

    def kill(record: dict[str, Any]) -> dict[str, Any]:
        mine = record["environment"] == "openmpi"
        time_s = noise(record, 0.2 if mine else 0.01)
        return timed(record, time_s, "failed" if mine and time_s > 1.09 else "ok")

    _, score = where_openmpi_wins_none(of_sizes(tmp_path, kill))
    assert score.standings[-1].environment == "openmpi"


@pytest.mark.parametrize("status", ["failed", "lost"])
def test_one_bad_launch_undoes_nothing(tmp_path: Path, status: str) -> None:
    def lose(record: dict[str, Any]) -> dict[str, Any]:
        time_s = noise(record, 0.02) * (1.2 if record["environment"] == "lam" else 1.0)
        bad = record["environment"] == "mpich" and record["block"] == 5
        bad &= record["params"].get("n") == 1000
        return timed(record, time_s, status if bad else "ok")

    analysis = of_sizes(tmp_path, lose)
    comparisons, score = analysis.comparisons, score_of(analysis)
    assert score.n == 12
    places = {item.environment: item.places for item in score.standings}
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

    score = score_of(of_sizes(tmp_path, crash))
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

    last = score_of(of_sizes(tmp_path, edit)).standings[-1]
    assert (last.environment, last.places) == ("lam", "3")
    assert last.cost == pytest.approx((3.5 / 3 + 1) / 2, rel=0.01)
