# SPDX-License-Identifier: Apache-2.0
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from reports.analysis.cells import Comparison
from reports.analysis.run import Analysis
from reports.show.tables import RawLinks, Table
from reports.statistics.descriptive import paired_effect
from reports.tests import synthetic
from reports.tests.synthetic import HPL_FIXED, Edit, case, quick_cases
from reports.verdicts.choice.answer import leaders, remarks
from reports.verdicts.choice.result import choice_result

pytestmark = pytest.mark.numerical


def hpl(names: tuple[str, ...], sizes: tuple[int, ...] = (1000, 2000)) -> list[dict[str, Any]]:
    return [
        case("hpl", name, {"p": 1, "q": 2, "n": n, **HPL_FIXED}) for name in names for n in sizes
    ]


def analysed(tmp_path: Path, cases: list[dict[str, Any]], **options: Any) -> Analysis:
    return synthetic.analysed(tmp_path / "run", cases, **options)


def overall(analysis: Analysis) -> Comparison:
    (cell,) = analysis.comparisons.overall
    return cell


def test_cells_agree_with_one_by_one_computation(tmp_path: Path) -> None:
    analysis = analysed(tmp_path, hpl(("mpich", "lam")), blocks=7)
    rates = (
        (analysis.run.plan.cases[s.case], s) for s in analysis.run.series if s.metric == "rate"
    )
    values = {(of.environment, of.params["n"]): s.values.tolist() for of, s in rates}
    for n, cell in zip((1000, 2000), analysis.comparisons.groups, strict=True):
        direct = paired_effect(values["lam", n], values["mpich", n])
        assert cell.effect is not None
        assert cell.effect.ratio == pytest.approx(direct.ratio)


@pytest.mark.parametrize(
    ("blocks", "word", "said"),
    [
        (8, "slower", "slower (n = 8, "),
        (5, "not resolved", "not resolved at n = 5, smallest detectable difference"),
        (2, "no verdict", "no verdict: 2 common blocks, at least 3 are needed"),
    ],
)
def test_a_clear_difference_is_resolved_with_enough_blocks(tmp_path, blocks, word, said):
    cell = overall(analysed(tmp_path, hpl(("mpich", "lam-lamd")), blocks=blocks))
    assert cell.word == word
    assert cell.verdict.startswith(said)


def test_lower_is_better_turns_the_ratio(tmp_path: Path) -> None:
    cases = [case("startup", name, {"ranks": 2}) for name in ("lam-lamd", "mpich")]
    cell = overall(analysed(tmp_path, cases, blocks=8))
    assert (cell.environment, cell.word) == ("mpich", "faster")


def test_like_environments_are_equivalent_never_equal(tmp_path: Path) -> None:
    def same(record: dict[str, Any]) -> dict[str, Any]:
        rng = np.random.default_rng(record["block"] + 10 * len(record["environment"]))
        record["metrics"][0]["value"] = 1e9 * (1 + 0.002 * rng.standard_normal())
        return record

    cell = overall(analysed(tmp_path, hpl(("mpich", "lam")), blocks=8, edit=same))
    assert cell.word == "equivalent"
    assert "equal " not in cell.verdict


def put(environment: str, block: int, **members: Any) -> Edit:
    """Members of the records of an environment in a block."""
    at = (environment, block)
    return lambda one: one | members if (one["environment"], one["block"]) == at else one


def test_blocks_are_paired_by_number(tmp_path: Path) -> None:
    lose = put("lam", 2, status="lost", metrics=[])
    assert overall(analysed(tmp_path, hpl(("mpich", "lam")), blocks=6, edit=lose)).n == 5


def test_environment_with_wrong_answers_is_not_ranked(tmp_path: Path) -> None:
    wrong = put("openmpi", 1, status="wrong", reason="residual too large")
    cases = hpl(("mpich", "openmpi", "lam"))
    (ranking,) = leaders(analysed(tmp_path, cases, blocks=6, edit=wrong).comparisons)
    assert (ranking.best, ranking.unranked) == ("mpich", ("openmpi",))


def test_faults_shown_on_purpose_do_not_count_as_wrong_answers(tmp_path: Path) -> None:
    cases = [item for item in quick_cases(("mpich", "lam")) if item["check"] == "pt2pt"]
    analysis = analysed(tmp_path, cases, blocks=3)
    assert analysis.comparisons.unranked == frozenset()
    assert analysis.invalid
    assert all("reply" not in cell.label for cell in analysis.comparisons.groups)


def test_placements_are_never_mixed(tmp_path: Path) -> None:
    cases = [
        case("pt2pt", name, {"placement": where, "constructs": ["Send/Recv"]})
        for name in ("mpich", "lam")
        for where in ("between-nodes", "within-node")
    ]
    scopes = {cell.scope for cell in analysed(tmp_path, cases, blocks=3).comparisons.overall}
    assert scopes == {"Point-to-point, between nodes", "Point-to-point, within node"}


def test_dependent_blocks_are_told_and_widen_the_bounds(tmp_path: Path) -> None:
    state: dict[tuple[str, int], float] = {}

    def drifting(record: dict[str, Any]) -> dict[str, Any]:
        """Each environment's speed wanders from block to block, AR(1) with 0.9."""
        name, block = record["environment"], record["block"]
        rng = np.random.default_rng([block, len(name), 3])
        if (name, block) not in state:
            last = state.get((name, block - 1), 0.0)
            state[name, block] = 0.9 * last + 0.02 * rng.standard_normal()
        own = np.random.default_rng([block, *record["case_id"].encode()]).standard_normal()
        for metric in record["metrics"]:
            metric["value"] = 100 * float(np.exp(state[name, block] + 0.002 * own))
        return record

    analysis = analysed(tmp_path, hpl(("mpich", "lam", "openmpi")), blocks=20, edit=drifting)
    found = analysis.comparisons.dependence
    assert found is not None and found.found and found.wider > 1.5
    told = [sentence.text for sentence in remarks(analysis, "")]
    assert any("neighbouring blocks are more alike" in text for text in told)
    still = analysed(tmp_path / "still", hpl(("mpich", "lam")), blocks=20).comparisons.dependence
    assert still is not None and not still.found


def test_a_block_without_one_point_keeps_its_others(tmp_path: Path) -> None:
    def lose(record: dict[str, Any]) -> dict[str, Any] | None:
        gone = ("lam", record["params"]["n"] // 1000)
        return None if (record["environment"], record["block"]) == gone else record

    cases = hpl(("mpich", "lam"), (1000, 2000, 3000))
    analysis = analysed(tmp_path, cases, blocks=8, edit=lose)
    assert (overall(analysis).n, overall(analysis).points) == (8, 3)
    assert [cell.n for cell in analysis.comparisons.groups] == [7, 7, 7]


def test_of_several_figures_of_a_check_each_is_named(tmp_path: Path) -> None:
    def measured(record: dict[str, Any]) -> dict[str, Any]:
        rates = (synthetic.metric(name, 1e9 + record["block"]) for name in ("rate", "bandwidth"))
        return record | {"metrics": [*rates]}

    cases = [case("mine", name, {"n": 1}) for name in ("mpich", "lam")]
    result = choice_result(analysed(tmp_path, cases, blocks=7, edit=measured), [], RawLinks(".."))
    (section,) = [one for one in result.sections if one.anchor == "leaders"]
    (table,) = section.blocks
    assert isinstance(table, Table)
    assert {row[0].text.rpartition(", ")[2] for row in table.rows} == {"rate", "bandwidth"}
