# SPDX-License-Identifier: Apache-2.0
"""Calculations over printed and measured points, closed forms, studies in reports."""

import csv
from importlib import import_module
from math import log2
from operator import mul, sub
from pathlib import Path

import pytest

from plugins.papers.beside import besides
from plugins.papers.fields import LENGTH, BlockValues, Field, Point
from plugins.papers.result import report_section
from plugins.papers.run_values import RunValues
from plugins.papers.study import FOLDER, load_study
from plugins.papers.tables import tables_of
from reports.analysis.run import Analysis, analyse
from reports.load.loading import load_run
from reports.show.tables import RawLinks
from reports.tests.synthetic import case, changed, metric, with_records, write_run
from reports.tests.whole_campaigns import write_campaign

#: t(m) = 40 µs + 0.01 µs a byte, in blocks 1 and 2; block 2 is twice as slow.
LENGTHS = (0, 128, 512, 1024, 65536)
TIMES: dict[Point, dict[str, BlockValues]] = {
    ("a", str(m)): {"lam": BlockValues({1: 4e-5 + 1e-8 * m, 2: 8e-5 + 2e-8 * m})} for m in LENGTHS
}
FIELD = Field(("case", "m"), TIMES)


def values(field: Field, *point: str, name: str = "lam") -> list[float]:
    return list(field.values[point][name].by_block.values())


def rows(table):
    with (FOLDER / f"{table}.csv").open() as file:
        return list(csv.DictReader(file))


def table_of(study, number, analysis):
    return next(besides(study, one, analysis) for one in study.tables if one.number == number)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return analyse(load_run(collective_run(tmp_path_factory.mktemp("run"))))


@pytest.mark.parametrize(
    ("gives", "expected"),
    [("start_up", [4e-5, 8e-5]), ("per_byte", [1e-8, 2e-8]), ("half_length", [4000, 4000])],
)
def test_a_line_is_fitted_block_by_block(gives, expected):
    made = FIELD.line(gives, axis="m")
    assert made.axes == ("case",)
    assert values(made, "a") == pytest.approx(expected)


def test_a_line_goes_through_short_messages_only_and_needs_three():
    bent = {**TIMES, ("a", "65536"): {"lam": BlockValues({1: 1.0, 2: 1.0})}}
    line = Field(("case", "m"), bent).line("start_up", 1024, "m")
    assert values(line, "a") == pytest.approx([4e-5, 8e-5])
    assert not FIELD.line("start_up", 128, "m").values


COLLECTIVES, ORNL, PVM = (
    import_module(f"plugins.papers.studies.{name}.study")
    for name in ("collectives-1996", "ornl-1996", "pvm-1995")
)
#: T = 10 µs·log₂p + 10 µs + (2 ns·log₂p + 1 ns)·m on 2, 3 and 4 ranks, without delay at 8 bytes.
LAW = {
    (p, m): 1e-5 * log2(p) + 1e-5 + (m > 8) * (2e-9 * log2(p) + 1e-9) * m
    for p in (2, 3, 4)
    for m in (8, 1024, 65536)
}


def test_a_law_is_found_from_three_numbers_of_ranks_on():
    forms = COLLECTIVES.FORMS_OF["broadcast"]
    startup, delay = COLLECTIVES.fitted(LAW, forms)
    found = startup.slope, startup.offset, 1e3 * delay.slope, 1e3 * delay.offset
    assert found == pytest.approx((1e-5, 1e-5, 2e-6, 1e-6))
    assert COLLECTIVES.law_rate("broadcast", 4, startup, delay) == pytest.approx(3 / 5e-9)
    assert not COLLECTIVES.fitted({at: t for at, t in LAW.items() if at[0] != 3}, forms)
    assert COLLECTIVES.fitted({at: t for at, t in LAW.items() if at[1] == 8}, forms)[1] is None


def test_values_are_picked_reduced_and_compared():
    assert values(FIELD.pick("m", "least"), "a") == pytest.approx([4e-5, 8e-5])
    less = FIELD.against("m", "least", sub)
    assert values(less, "a", "1024") == pytest.approx([1.024e-5, 2.048e-5])
    best = FIELD.reduced(max, "case", "m")
    assert (best.axes, values(best)) == ((), pytest.approx([6.9536e-4, 1.39072e-3]))
    assert values(FIELD.each(lambda time_s: 1 / time_s), "a", "0") == pytest.approx([25000, 12500])


def test_a_lead_pairs_blocks_and_takes_points_that_both_have():
    lam, mpich = BlockValues({1: 2.2, 2: 2.4, 3: 9.0}), BlockValues({1: 2.0, 2: 2.0})
    both = {("1",): {"lam": lam, "mpich": mpich}, ("2",): {"lam": BlockValues({1: 1.0})}}
    lead = Field(("n",), both).lead("lam", "mpich")
    assert values(lead, "1") == pytest.approx([1.1, 1.2])
    assert ("2",) not in lead.values


def test_what_was_measured_under_one_name_is_taken_for_all():
    echo = Field(("m",), {("8",): {"lam": BlockValues({1: 6.0}), "mpich": BlockValues({1: 4.0})}})
    product_s = Field(("m",), {("None",): {"mpich": BlockValues({1: 2.0})}})
    for made, expected in (
        (echo / product_s, (3.0, 2.0)),
        (echo.joined(product_s, mul), (12.0, 8.0)),
    ):
        assert [values(made, "8", name=n)[0] for n in ("lam", "mpich")] == [*expected]


def test_closed_forms_give_the_quoted_times():
    law, at = COLLECTIVES.by_expression, {"procs": 64.0, "message_bytes": 512.0}
    expressions = rows("collectives-1996/timing_expressions")
    found = {(row["operation"], row["machine"]): law(row, at) for row in expressions}
    t3d = {name: found[name, "T3D"] for name in ("broadcast", "scan", "reduce", "total_exchange")}
    assert [t3d[n]["startup_us"] for n in list(t3d)[:3]] == pytest.approx([150, 209, 253])
    assert t3d["total_exchange"]["time_us"] == pytest.approx(2856, rel=1e-3)
    assert t3d["total_exchange"]["rate_mb_s"] == pytest.approx(1744, rel=1e-3)
    assert found["barrier", "T3D"]["delay_us"] is None
    for row in rows("collectives-1996/aggregated_bandwidth"):
        if row["quantity"] == "r_infinity":
            keys = ("operation", "machine")
            printed = next(r for r in expressions if all(r[k] == row[k] for k in keys))
            rate = law(printed, {"procs": float(row["procs"])})["rate_mb_s"]
            assert rate == pytest.approx(float(row["bandwidth_mb_s"]), rel=0.01)


def test_curves_of_closed_forms_pass_through_what_is_printed():
    half, line = ORNL.by_half_length, PVM.by_latency_and_rate
    (paragon,) = (r for r in rows("ornl-1996/latency_bandwidth") if r["variant"] == "OSF")
    at_half, at_million = (half(paragon, {"message_bytes": m})["rate_mb_s"] for m in (7236.0, 1e6))
    assert (at_million, at_half) == pytest.approx((154, 154 * 1.007236 / 2))
    for row in rows("pvm-1995/latency_bandwidth"):
        rate = line(row, {"message_bytes": 800000.0})["rate_mb_s"]
        assert rate == pytest.approx(float(row["bandwidth_mb_s"]))


def test_the_lead_and_the_speed_up_of_2003_are_what_its_own_tables_give(run):
    (lead,) = table_of(load_study("2003"), "LAM's lead", run)
    assert not lead.keys
    assert values(lead.printed) == pytest.approx([1.0240], abs=5e-5)
    (made,) = table_of(load_study("2003"), "Figure 8", run)
    assert values(made.printed, "6000", "1") == [1.0]
    assert 1 < values(made.printed, "6000", "2")[0] < 2


def collective_run(folder):
    """T = 10 µs + 0.02 µs a byte at 2, 3 and 4 ranks."""
    cases = [case("collectives", "mpich", {"ranks": n, "sizes": [4, 65536]}, n) for n in (2, 3, 4)]
    metrics = [
        metric("collective_time", 1e-5 + 2e-8 * m, operation="broadcast", message_bytes=m)
        for m in (4, 65536)
    ]
    return write_run(folder, cases, blocks=3, edit=lambda record: record | {"metrics": metrics})


def test_a_figure_held_at_32_nodes_takes_the_nearest_that_a_run_has(run):
    (one,) = table_of(COLLECTIVES.STUDY.with_text(), "Figure 2", run)
    assert ("broadcast", "4", "65536") in one.now
    assert one.si(("broadcast", "4", "65536"), "SP2") is not None
    assert "At 4 nodes; the paper's is at 32" in one.table.note
    rate, _ = table_of(COLLECTIVES.STUDY.with_text(), "Figure 5", run)
    found = rate.now["broadcast", "3"]["mpich"].summary
    assert (found.n, found.mean) == (3, pytest.approx(2 * 65536 / (2e-8 * 65532)))


def test_places_that_a_case_does_not_state_have_their_default(run):
    places = RunValues(run, {one: one for one in ("ranks", LENGTH)})
    found = places.values("collectives", "collective_time", {"params.hops": 0})
    assert len(found.values) == 6


def test_a_report_shows_the_claims_of_its_campaigns_study(tmp_path):
    run = collective_run(tmp_path)
    links = RawLinks("..")
    assert report_section(analyse(load_run(run)), links) is None
    changed(run / "plan.json", campaign="collectives-1996")
    section = report_section(analyse(load_run(run)), links)
    assert section is not None
    sentence, claims = section.blocks
    assert sentence.code == "assay paper collectives-1996 RUN"
    assert len(claims.rows) >= len(load_study("collectives-1996").claims)


def with_outlier(run: Path, *, slow: range) -> Analysis:
    """The run, times 50 µs + 10 ns a byte, 40 times as long for lengths in `slow` in block 1."""

    def known(record):
        for one in record["metrics"]:
            size = one.get("at", {}).get("message_bytes")
            if size is not None and one["unit"] == "s":
                outlier = record["block"] == 1 and size in slow
                one["value"] = (5e-5 + 1e-8 * size) * (40 if outlier else 1)
        return record

    return analyse(load_run(with_records(run, known)))


@pytest.mark.full(sample=2)
@pytest.mark.parametrize(
    ("asked", "blocks", "slow", "why"),
    [
        (("hypercube-1988", "Table 7"), 1, range(4096, 10**9), "negative"),
        (("hypercube-1988", "Table 7"), 3, range(4096, 10**9), "not resolved at n = 3"),
        (("hypercube-1988", "Table 7"), 7, range(256), "not resolved at n = 7"),
        (("pvm-1995", "Table 2"), 5, range(256), "not resolved at n = 5"),
        (("ornl-1996", "Table 2.1"), 2, range(0), "needs 3 launches"),
        (("ornl-1996", "Table 2.1"), 3, range(256), "not resolved at n = 3"),
    ],
)
def test_an_outlier_block_decides_no_fitted_number(tmp_path, asked, blocks, slow, why):
    name, number = asked
    run = write_campaign(tmp_path / "run", name, blocks=blocks)
    found = table_of(load_study(name), number, with_outlier(run, slow=slow))
    fitted = [one for one in found if "line" in one._asked[0].made_by]
    assert fitted
    assert not any(one.now for one in fitted if one.column.title != "a byte β" or blocks > 1)
    cells = [cell for one in tables_of(found, "a") for row in one.rows for cell in row]
    assert any(cell.text == "–" and why in cell.title for cell in cells)


def test_a_fitted_number_of_blocks_that_agree_stands(tmp_path):
    run = write_campaign(tmp_path / "run", "hypercube-1988", blocks=3)
    analysis = with_outlier(run, slow=range(0))
    start_up, per_byte = table_of(load_study("hypercube-1988"), "Table 7", analysis)
    for one, expected in ((start_up, 5e-5), (per_byte, 1e-8)):
        assert one.now == one.measured
        for row in one.now[()].values():
            assert row.summary.mean == pytest.approx(expected)
