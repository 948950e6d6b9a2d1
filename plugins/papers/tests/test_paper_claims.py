# SPDX-License-Identifier: Apache-2.0
"""Claims of studies: which hold in a run, which cannot be tested, and why."""

import json
from csv import DictReader
from html import unescape
from importlib import import_module
from itertools import product
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import yaml

from assay.cli import main
from plugins.papers import claims
from plugins.papers.beside import besides
from plugins.papers.claims import DIFFERS, FAILS, HOLDS, UNRESOLVED, UNTESTABLE, judge
from plugins.papers.fields import LENGTH, BlockValues, Field
from plugins.papers.run_values import of_run
from plugins.papers.study import FOLDER, Claim, load_study, studies
from plugins.papers.tests.test_papers import LIBRARIES, a_run, analysis
from reports.analysis.run import analyse
from reports.load.loading import load_run
from reports.statistics.descriptive import LEVEL, mean_half_width
from reports.tests.synthetic import analysed, case, changed, metric, with_records
from reports.tests.whole_campaigns import write_campaign

__all__ = ["analysis"]

hwang = import_module("plugins.papers.studies.collectives-1996.study")


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


@pytest.mark.parametrize(
    ("more_than", "each", "word", "told"),
    [
        (1.0, "", HOLDS, "n = 7, 3 points; 1 of 4 points left out"),
        (1.06, "", FAILS, "n = 7, 3 points; 1 of 4 points left out"),
        (1.0, "params.n", HOLDS, "holds at 3 of 3; 4000: "),
    ],
)
def test_a_claim_is_judged_by_the_points_that_shared_no_cores(
    tmp_path, more_than, each, word, told
):
    """LAM is half as fast at n = 2000, where one launch shared cores: that point does not count."""

    def shared(one):
        return (one["environment"], one["params"]["n"], one["block"]) == ("mpich", 2000, 3)

    run = sharing(a_run(tmp_path / "run", slow=(2000,)), shared)
    (verdict,) = judge(lead(more_than=more_than, each=each), analyse(load_run(run)))
    assert verdict.word == word
    assert told in verdict.because
    assert "1 of 4 points left out, where busy ranks shared cores" in verdict.because


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
        ([FAILS, UNTESTABLE], FAILS),
        ([UNTESTABLE, UNTESTABLE], UNTESTABLE),
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


def expressions():
    """Table 3 of Hwang, Wang and Wang, as printed."""
    with (FOLDER / "collectives-1996/timing_expressions.csv").open(newline="") as file:
        return list(DictReader(file))


def printed(name, number, column):
    """The printed values of a quantity of a study, by point and machine."""
    study = load_study(name)
    table = next(one for one in study.tables if one.number == number)
    one = next(one for one in besides(study, table, None) if one.column.column == column)
    return one.printed


@pytest.mark.parametrize("counts", [(2, 4, 8, 16, 32, 64, 128), (2, 4, 8), (2, 3, 4)])
def test_start_up_of_then_grows_as_the_text_says(counts):
    rows = expressions()
    for row in (row for row in rows if row["machine"] != "T3D" or max(counts) <= 64):
        times = {p: hwang.by_expression(row, {"procs": p})["startup_us"] for p in counts}
        line = {(str(p),): BlockValues({0: time}) for p, time in times.items()}
        value = hwang.bend(line).by_block[0]
        linear = row["operation"] in ("gather", "scatter", "total_exchange")
        assert (value < 1) is linear, row


def test_machines_of_then_change_places_from_broadcast_to_reduce():
    times = {}
    for row in expressions():
        at = {"procs": 64, "message_bytes": 65536}
        times[row["operation"], row["machine"]] = hwang.by_expression(row, at)["time_us"]
    assert hwang.least_swap(times, ("SP2", "T3D"), ("broadcast", "reduce")) > 1.5
    assert hwang.least_swap(times, ("SP2", "T3D"), ("broadcast", "scatter")) < 1


def test_the_first_blocks_choose_who_changes_places_and_do_not_judge():
    """Libraries that are alike change places by chance in the blocks that choose, in 5 % of the
    others; two that do change places are found."""
    rng = np.random.default_rng(3)

    def values(swap):
        noise = rng.normal(0, 0.05, (len(hwang.LENGTHY), 3, 6))
        effect = swap * np.array([[1, -1, 0]] + [[-1, 1, 0]] + [[0, 0, 0]] * 4)[:, :, None]
        times = np.exp(noise + effect)
        field = Field(
            ("at.operation", "ranks", LENGTH),
            {
                (operation, "4", "16"): {
                    name: BlockValues(dict(enumerate(times[i, j]))) for j, name in enumerate("abc")
                }
                for i, operation in enumerate(hwang.LENGTHY)
            },
        )
        run = SimpleNamespace(values=lambda *_: field)
        ((_, _, found),) = hwang.changed_places(run).items()
        assert len(found.by_block) == 3
        return np.log([*found.by_block.values()])

    def held(logs):
        return logs.mean() > mean_half_width(len(logs), LEVEL) * logs.std(ddof=1)

    assert np.mean([held(values(0.0)) for _ in range(200)]) < 0.06
    assert np.mean([held(values(0.3)) for _ in range(20)]) > 0.9


def test_shares_of_the_channel_are_those_of_the_text():
    machines = yaml.safe_load((FOLDER / "hypercube-1988/machines.yaml").read_text())
    rates = printed("hypercube-1988", "Tables 8 to 11, neighbours and hops", "rate_kb_s")
    named = {"ametek_s14": 28, "intel_ipsc1": 40, "intel_ipsc2": 81, "ncube": 38}
    words = load_study("1988").words
    for machine, share in named.items():
        greatest = rates.values["1", "8192"][words[machine]].by_block[0]
        channel = machines[machine]["nominal_link_mbit_s"] * 1e6 / 8
        assert 100 * greatest / channel == pytest.approx(share, abs=1.5), machine


def test_shares_and_one_sided_copies_of_the_ornl_report_are_those_of_its_table():
    rate = printed("ornl-1996", "Table 2.1", "bandwidth_mb_s").values[()]
    peak = printed("ornl-1996", "Table 2.1", "theoretical_bandwidth_mb_s").values[()]
    for medium, holds in (("Ethernet", True), ("FDDI", True), ("ATM-100", False)):
        share = rate[medium].by_block[0] / peak[medium].by_block[0]
        assert (share >= 0.75) is holds
    latency = printed("ornl-1996", "Table 2.1", "latency_us").values[()]
    for put, message in (
        ("Cray T3D sm", "Cray T3D PVM"),
        ("Meiko CS2 sm", "Meiko CS2 message passing"),
        ("NEC Cenju-3 sm", "NEC Cenju-3 message passing"),
    ):
        assert latency[put].by_block[0] < latency[message].by_block[0]
    linpack = printed("ornl-1996", "Table 3.1", "linpack1000_mflops").values[()]
    assert linpack["IBM SP-1 MPL"].by_block[0] / 125e6 > 0.7


def test_a_claim_on_a_share_says_which_rate_the_site_does_not_state(tmp_path):
    def known(record):
        return record | {"metrics": [metric("linpack_1000_rate", 8e9, node="n1")], "flags": []}

    run = analysed(tmp_path / "run", [case("node", "mpich", {"ranks": 1})], edit=known)
    claim = load_study("ornl-1996").claims["peak"]
    (verdict,) = judge(claim, run)
    assert verdict.word == UNTESTABLE
    assert verdict.because.endswith("states no nominal rate of its cores")
    changed(
        tmp_path / "run/provenance.json", **stating(tmp_path / "run", core_peak_flop_per_s=1e10)
    )
    (verdict,) = judge(claim, analyse(load_run(tmp_path / "run")))
    assert verdict.word == HOLDS
    assert verdict.because.startswith("0.80")


def stating(run, **rates):
    """The site of a run's provenance with further rates."""
    return {"site": {**json.loads((run / "provenance.json").read_text())["site"], **rates}}


@pytest.mark.parametrize(("ssend", "word"), [(0.7, HOLDS), (0.2, FAILS)])
def test_ssend_and_wait_are_weighed_by_the_time_inside_mpi(tmp_path, ssend, word):
    calls = {"MPI_Ssend": ssend, "MPI_Wait": 0.1, "MPI_Allreduce": 0.9 - ssend}

    def known(record):
        times = [
            {
                "call": name,
                "peer": None,
                "count": 1,
                "bytes": 0,
                "time_s": s * (1 + 0.01 * record["block"]),
                "greatest_s": s,
                "sizes": {},
            }
            for name, s in calls.items()
        ]
        profile = [
            {"rank": rank, "elapsed_s": 2.0, "mpi_s": 1.0, "calls": times} for rank in (0, 1)
        ]
        made = [metric("launch", 2.0)]
        return record | {"metrics": made, "flags": [], "profile": profile}

    params = {"nx": 6, "mpi_profile": True, "ranks": 2}
    run = analysed(tmp_path / "run", [case("su3_rmd", "lam", params)], edit=known)
    (verdict,) = judge(load_study("2003").claims["Ssend and Wait"], run)
    assert (verdict.environment, verdict.word) == ("lam", word)


def test_neighbours_of_today_stand_in_the_rows_of_one_hop(tmp_path):
    def known(record):
        rate = 1e6 * (1 + record["params"]["hops"])
        return record | {"metrics": [metric("bandwidth", rate, message_bytes=8)], "flags": []}

    def rows(*hops):
        at = {"placement": "between-nodes", "transport": "library"}
        cases = [case("echo", "mpich", {**at, "hops": one}) for one in hops]
        run = analysed(tmp_path / f"run{len(hops)}", cases, edit=known)
        study = load_study("1988")
        table = next(t for t in study.tables if t.number.endswith("neighbours and hops"))
        (one,) = besides(study, table, run)
        return {point: by["mpich"].summary.mean for point, by in one.now.items()}

    assert rows(0) == {("1", "8"): 1e6}
    assert rows(0, 1, 3) == {("1", "8"): 2e6, ("3", "8"): 4e6}
