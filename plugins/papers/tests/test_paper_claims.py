# SPDX-License-Identifier: Apache-2.0
"""Claims of studies: which hold in a run, which cannot be tested, and why."""

import json
from html import unescape
from itertools import product
from pathlib import Path

import pytest

from assay.cli import main
from plugins.papers import claims
from plugins.papers.claims import DIFFERS, FAILS, HOLDS, UNRESOLVED, UNTESTABLE, judge
from plugins.papers.run_values import of_run
from plugins.papers.study import Claim, load_study, studies
from plugins.papers.tests.test_papers import LIBRARIES, a_run, analysis
from reports.analysis.run import analyse
from reports.load.loading import load_run
from reports.tests.synthetic import analysed, case, metric, with_records
from reports.tests.whole_campaigns import write_campaign

__all__ = ["analysis"]


def lead(**limit):
    lam, mpich = (of_run("hpl", "rate", {"environment": name}) for name in ("lam", "mpich"))
    return Claim(lam, mpich, ["params.p", "params.q", "params.n"], **limit)


@pytest.mark.parametrize(
    ("limit", "word"),
    [
        ({"more_than": 1.0}, HOLDS),
        ({"more_than": 1.06}, FAILS),
        ({"more_than": 1.05}, UNRESOLVED),
        ({"less_than": 1.06}, HOLDS),
        ({"less_than": 1.0}, FAILS),
    ],
)
def test_a_claim_is_judged_by_the_interval_of_its_ratio(analysis, limit, word):
    (verdict,) = judge(lead(**limit), analysis)
    assert verdict.word == word
    assert "n = 7, 4 points" in verdict.because


def test_an_interval_of_any_size_has_no_ends(analysis, monkeypatch):
    monkeypatch.setattr(claims, "WIDEST", 1)
    (verdict,) = judge(lead(more_than=1.0), analysis)
    assert verdict.word == HOLDS
    assert "(95%: ends more than a factor of 1 apart)" in verdict.because


@pytest.mark.parametrize(
    ("slow", "word", "told"),
    [((), HOLDS, "holds at 4 of 4; 2000: 1.05"), ((6000,), FAILS, "holds at 3 of 4; 6000: 0.500")],
)
def test_a_claim_of_each_value_holds_where_it_holds_at_every_one(tmp_path, slow, word, told):
    run = a_run(tmp_path / "run", slow=slow)
    claim = lead(more_than=1.0, each="params.n")
    (verdict,) = judge(claim, analyse(load_run(run)))
    assert verdict.word == word
    assert verdict.because.startswith(told)


@pytest.mark.parametrize("blocks", [1, 2])
def test_one_or_two_launches_resolve_no_claim_and_give_no_interval(tmp_path, blocks):
    analysis = analyse(load_run(a_run(tmp_path, blocks=blocks)))
    for limit in ({"more_than": 1.0}, {"more_than": 100.0}, {"less_than": 1.0}):
        (verdict,) = judge(lead(**limit), analysis)
        assert verdict.word == UNRESOLVED
        assert verdict.because.endswith("two launches: not resolved") == (blocks == 2)
        assert "95%" not in verdict.because


@pytest.mark.parametrize(("lam", "word"), [(1.0015, UNRESOLVED), (1.0030, HOLDS)])
def test_a_claim_is_known_to_the_grid_of_its_values_at_best(tmp_path, lam, word):
    """LAM's advantage has two values, 0.2 % apart, which seven launches repeat."""
    analysis = analyse(load_run(a_run(tmp_path, lam=lam)))
    assert [one.word for one in judge(lead(more_than=1.0), analysis)] == [word]


def sharing(run: Path, shares) -> Path:
    """The run, with the launches that `shares` picks, and no other, marked as oversubscribed."""

    def marked(record):
        shared = record["status"] != "skipped" and shares(record)
        return record | {"flags": ["oversubscribed"] if shared else []}

    return with_records(run, marked)


@pytest.mark.parametrize(
    "shares",
    [
        lambda record: True,
        lambda record: record["environment"] == "lam",
        lambda record: record["environment"] == "mpich",
        lambda one: (one["environment"], one["params"]["n"], one["block"]) == ("mpich", 2000, 3),
    ],
)
def test_launches_that_shared_cores_on_either_side_decide_no_claim(tmp_path, shares):
    analysis = analyse(load_run(sharing(a_run(tmp_path / "run"), shares)))
    limits = {"more_than": 1.0}, {"more_than": 2.0}, {"less_than": 1.06}
    for limit, each in product(limits, ("", "params.n")):
        (verdict,) = judge(lead(**limit, each=each), analysis)
        assert verdict.word == UNTESTABLE
        assert "busy ranks shared cores" in verdict.because
        assert "needed: 2 nodes with 2 cores each" in verdict.because


@pytest.mark.full(sample=1)
@pytest.mark.parametrize("name", studies())
def test_no_claim_of_a_study_is_decided_on_shared_cores(tmp_path, name):
    run = write_campaign(tmp_path / "run", name, blocks=3)
    study = load_study(name)

    def words(shares):
        analysis = analyse(load_run(sharing(run, shares)))
        return {v.word for one in claims.judge_claims(study, analysis) for v in one.verdicts}

    assert words(lambda record: False) & {HOLDS, FAILS}
    assert words(lambda record: True) == {UNTESTABLE}


@pytest.mark.full
def test_every_writer_says_that_claims_on_shared_cores_cannot_be_tested(tmp_path, capsys):
    run = sharing(a_run(tmp_path / "run"), lambda record: True)
    assert main(["paper", "2003", str(run), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert {one["verdict"] for one in told["claims"]} == {UNTESTABLE}
    assert "busy ranks shared cores" in told["claims"][0]["because"]
    assert f" claims: {len(told['claims'])} cannot be tested here;" in told["answer"]
    for kind in ("html", "md"):
        text = unescape((run / "paper" / f"wyeast-2003.{kind}").read_text())
        assert "needed: 2 nodes with 2 cores each" in text


@pytest.mark.parametrize(
    ("words", "word"),
    [
        ([HOLDS, HOLDS], HOLDS),
        ([HOLDS, FAILS, UNTESTABLE], DIFFERS),
        ([HOLDS, UNRESOLVED], UNRESOLVED),
        ([FAILS, UNTESTABLE], UNTESTABLE),
    ],
)
def test_libraries_differ_where_a_claim_holds_for_one_and_fails_for_another(words, word):
    verdicts = [claims.Verdict(str(place), one, "") for place, one in enumerate(words)]
    assert claims.JudgedClaim(lead(more_than=1.0), verdicts).word == word


def test_what_a_run_lacks_cannot_be_tested(analysis):
    (verdict,) = judge(Claim(of_run("ring", "ring_rate"), more_than=1.0), analysis)
    assert (verdict.word, "no ring_rate of ring" in verdict.because) == (UNTESTABLE, True)


def test_without_an_environment_each_is_asked(analysis):
    fast = Claim(of_run("hpl", "rate"), None, ["params.n"], more_than=1e9)
    assert [(one.environment, one.word) for one in judge(fast, analysis)] == [
        (name, HOLDS) for name in sorted(LIBRARIES)
    ]


def lattice(folder, wall, cpu):
    """A run of su3_rmd of the smallest problem: launch and CPU times by library and processes."""
    sizes = {"nx": 4, "ny": 4, "nz": 4, "nt": 8, "trajectories": 50, "mpi_profile": False}
    cases = [
        case("su3_rmd", name, {**sizes, "ranks": ranks}, ranks)
        for name in ("lam", "mpich")
        for ranks in (2, 16)
    ]

    def known(record):
        at = record["environment"], record["params"]["ranks"]
        noise = 1 + 0.001 * (-1) ** record["block"]
        times = metric("launch", wall[at] * noise), metric("rank_cpu_time", cpu[at] * noise)
        return {**record, "metrics": [*times], "flags": []}

    return analysed(folder / "run", cases, blocks=5, edit=known)


def test_claims_of_the_lattice_program_fail_with_the_libraries_swapped(tmp_path):
    wall = {("lam", 2): 7.46, ("lam", 16): 3.88, ("mpich", 2): 6.94, ("mpich", 16): 8.55}
    cpu = {("lam", 2): 6.48, ("lam", 16): 1.55, ("mpich", 2): 6.68, ("mpich", 16): 5.76}
    study = load_study("wyeast-2003")
    other = {"lam": "mpich", "mpich": "lam"}
    for word in (HOLDS, FAILS):
        if word == FAILS:
            wall, cpu = ({(other[n], p): t for (n, p), t in of.items()} for of in (wall, cpu))
        found = claims.judge_claims(study, lattice(tmp_path / word, wall, cpu))
        words = {name: one.word for name, one in zip(study.claims, found, strict=True)}
        for name in ("smallest lattice", "CPU and wall time", "scaling"):
            assert words[name] == word, name
