# SPDX-License-Identifier: Apache-2.0
"""Calculations over printed and measured points, closed forms, and a study from outside."""

from __future__ import annotations

import json
from math import log2
from operator import truediv
from pathlib import Path

import pytest
from pydantic import ValidationError

from assay.cli import main
from bench.whole_campaigns import write_campaign
from reports.analysis import Analysis, analyse
from reports.load.loading import load_run
from reports.papers.beside import besides, settled
from reports.papers.definition import ClosedForm, Measured, Step, load_study
from reports.papers.fields import measured_field, printed_field
from reports.papers.laws import expanded
from reports.papers.machines import machine_tables, words
from reports.papers.matching import Point
from reports.papers.section import study_section
from reports.papers.steps import Field, Values, joined, stepped
from reports.papers.tables import as_printed, tables_of
from reports.studies import rows
from reports.tests.synthetic import case, write_run

#: t(m) = 40 µs + 0.01 µs a byte, in blocks 1 and 2; block 2 is twice as slow.
LENGTHS = (0, 128, 512, 1024, 65536)
TIMES: dict[Point, dict[str, Values]] = {
    ("a", str(m)): {"lam": Values({1: 4e-5 + 1e-8 * m, 2: 8e-5 + 2e-8 * m})} for m in LENGTHS
}
FIELD = Field(("case", "m"), TIMES)


def values(field: Field, *point: str, name: str = "lam") -> list[float]:
    return list(field.values[point][name].by_block.values())


@pytest.mark.parametrize(
    ("gives", "expected"),
    [("start_up", [4e-5, 8e-5]), ("per_byte", [1e-8, 2e-8]), ("half_length", [4000, 4000])],
)
def test_a_line_is_fitted_block_by_block(gives, expected):
    step = Step(do="line", along=["m"], gives=gives)
    made = stepped(FIELD, [step])
    assert made.axes == ("case",)
    assert values(made, "a") == pytest.approx(expected)


def test_a_line_goes_through_short_messages_only_and_needs_three():
    bent = {**TIMES, ("a", "65536"): {"lam": Values({1: 1.0, 2: 1.0})}}
    step = Step(do="line", along=["m"], gives="start_up", up_to=1024)
    assert values(stepped(Field(("case", "m"), bent), [step]), "a") == pytest.approx([4e-5, 8e-5])
    assert not stepped(FIELD, [Step(do="line", along=["m"], gives="start_up", up_to=128)]).values


#: T = 5 µs·p + 20 µs + (2 ns·log₂p + 1 ns)·m on 2, 3 and 4 ranks, without delay at 8 bytes.
LAW = Field(
    ("operation", "ranks", "m"),
    {
        ("scan", str(p), str(m)): {
            "lam": Values({1: 5e-6 * p + 2e-5 + (0 if m == 8 else (2e-9 * log2(p) + 1e-9) * m)})
        }
        for p in (2, 3, 4)
        for m in (8, 1024, 65536)
    },
)


@pytest.mark.parametrize(
    ("gives", "expected"), [("a", 5e-6), ("b", 2e-5), ("c", 2e-9), ("d", 1e-9)]
)
def test_coefficients_of_a_law_are_found_from_three_numbers_of_ranks(gives, expected):
    step = Step(do="law", gives=gives, axes=list(LAW.axes), forms={"scan": ["p", "log2_p"]})
    made = stepped(LAW, [step])
    assert made.axes == ("operation",)
    assert values(made, "scan") == pytest.approx([expected])
    two = {point: one for point, one in LAW.values.items() if point[1] != "3"}
    assert not stepped(Field(LAW.axes, two), [step]).values


def test_the_aggregated_rate_follows_from_the_law_at_each_number_of_ranks():
    step = Step(do="law", gives="r_infinity", axes=list(LAW.axes), forms={"scan": ["p", "log2_p"]})
    made = stepped(LAW, [step])
    assert made.axes == ("operation", "ranks")
    assert values(made, "scan", "4") == pytest.approx([3 / 5e-9])


def test_an_operation_without_a_length_has_no_delay():
    barrier = {
        ("barrier", str(p), "None"): {"lam": Values({1: 1e-6 * log2(p) + 3e-6})} for p in (2, 3, 4)
    }
    law = {"axes": list(LAW.axes), "forms": {"barrier": ["log2_p"]}}
    found = {
        gives: stepped(Field(LAW.axes, barrier), [Step(do="law", gives=gives, **law)])
        for gives in ("a", "c")
    }
    assert values(found["a"], "barrier") == pytest.approx([1e-6])
    assert not found["c"].values


def test_steps_pick_reduce_and_compare():
    least = Step(do="pick", at={"m": "least"})
    assert values(stepped(FIELD, [least]), "a") == pytest.approx([4e-5, 8e-5])
    less = Step(do="less", at={"m": "least"})
    assert values(stepped(FIELD, [less]), "a", "1024") == pytest.approx([1.024e-5, 2.048e-5])
    relative = Step(do="relative", at={"m": 0})
    assert values(stepped(FIELD, [relative]), "a", "0") == [1, 1]
    best = stepped(FIELD, [Step(do="best", along=["case", "m"])])
    assert (best.axes, values(best)) == ((), pytest.approx([6.9536e-4, 1.39072e-3]))
    inverse = stepped(FIELD, [Step(do="inverse")])
    assert values(inverse, "a", "0") == pytest.approx([25000, 12500])


def test_a_lead_pairs_blocks_and_takes_points_that_both_have():
    both = {
        ("1",): {"lam": Values({1: 2.2, 2: 2.4, 3: 9.0}), "mpich": Values({1: 2.0, 2: 2.0})},
        ("2",): {"lam": Values({1: 1.0})},
    }
    lead = stepped(Field(("n",), both), [Step(do="lead", names=["lam", "mpich"])])
    assert values(lead, "1") == pytest.approx([1.1, 1.2])
    assert ("2",) not in lead.values


def test_what_was_measured_under_one_name_stands_for_all():
    echo = Field(("m",), {("8",): {"lam": Values({1: 6.0}), "mpich": Values({1: 4.0})}})
    product_s = Field(("m",), {("None",): {"mpich": Values({1: 2.0})}})
    ratio = joined(echo, product_s, truediv)
    assert [values(ratio, "8", name=n) for n in ("lam", "mpich")] == [[3.0], [2.0]]


def test_an_aggregated_rate_is_all_bytes_over_the_delay():
    times = {("total_exchange", "4", "1000"): {"lam": Values({1: 0.5})}}
    step = Step(do="aggregated", axes=["operation", "p", "m"])
    rate = stepped(Field(("operation", "p", "m"), times), [step])
    assert values(rate, "total_exchange", "4", "1000") == [4 * 3 * 1000 / 0.5]


def test_a_step_names_what_it_lacks():
    with pytest.raises(ValidationError, match="the step line needs along and gives"):
        Step(do="line")


def test_closed_forms_give_the_quoted_times():
    law = ClosedForm(law="collective", at={"procs": [64.0], "message_bytes": [512.0]})
    found = {
        (row["operation"], row["machine"]): row
        for row in expanded(rows("collectives-1996/timing_expressions"), law)
    }
    t3d = {name: found[name, "T3D"] for name in ("broadcast", "scan", "reduce", "total_exchange")}
    assert [float(t3d[n]["startup_us"]) for n in list(t3d)[:3]] == pytest.approx([150, 209, 253])
    assert float(t3d["total_exchange"]["time_us"]) == pytest.approx(2856, rel=1e-3)
    assert float(t3d["total_exchange"]["rate_mb_s"]) == pytest.approx(1744, rel=1e-3)
    assert found["barrier", "T3D"]["delay_us"] == ""


def test_curves_of_closed_forms_pass_through_what_is_printed():
    half = ClosedForm(law="half_length", at={"message_bytes": [7236.0, 1e6]})
    paragon = [r for r in rows("ornl-1996/latency_bandwidth") if r["variant"] == "OSF"]
    at_half, at_million = (float(r["rate_mb_s"]) for r in expanded(paragon, half))
    assert (at_million, at_half) == pytest.approx((154, 154 * 1.007236 / 2))
    line = ClosedForm(law="latency_and_rate", at={"message_bytes": [800000.0]})
    for row in expanded(rows("pvm-1995/latency_bandwidth"), line):
        assert float(row["rate_mb_s"]) == pytest.approx(float(row["bandwidth_mb_s"]))


def test_the_lead_of_2003_is_what_its_own_tables_give():
    study = load_study("2003")
    table = next(one for one in study.tables if one.number == "LAM's lead")
    lead = printed_field(study, table, table.values[0])
    assert values(lead) == pytest.approx([1.0240], abs=5e-5)


def test_the_speed_up_of_2003_begins_at_one_process():
    study = load_study("2003")
    table = next(one for one in study.tables if one.number == "Figure 8")
    made = printed_field(study, table, table.values[0])
    assert values(made, "6000", "1") == [1.0]
    assert 1 < values(made, "6000", "2")[0] < 2


def collective_run(folder):
    """T = 10 µs + 0.02 µs a byte at 2, 3 and 4 ranks."""
    cases = [
        case("collectives", "mpich", {"ranks": ranks, "sizes": [4, 65536]}, ranks)
        for ranks in (2, 3, 4)
    ]

    def known(record):
        record["metrics"] = [
            {
                "name": "collective_time",
                "unit": "s",
                "better": "lower",
                "value": 1e-5 + 2e-8 * m,
                "at": {"operation": "broadcast", "message_bytes": m},
            }
            for m in (4, 65536)
        ]
        return record

    return write_run(folder, cases, blocks=3, edit=known)


def test_a_figure_held_at_32_nodes_takes_the_nearest_that_a_run_has(tmp_path):
    analysis = analyse(load_run(collective_run(tmp_path)))
    study = load_study("collectives-1996")
    figure = next(one for one in study.tables if one.number == "Figure 2")
    (one,) = besides(study, settled(figure, analysis), analysis)
    assert ("broadcast", "4", "65536") in one.now
    assert one.si(("broadcast", "4", "65536"), "SP2") is not None
    assert "At 4 nodes; the paper's is at 32" in one.table.note
    bandwidth = next(one for one in study.tables if one.number == "Figure 5")
    rate, _ = besides(study, bandwidth, analysis)
    found = rate.now["broadcast", "3"]["mpich"].summary
    assert (found.n, found.mean) == (3, pytest.approx(2 * 65536 / (2e-8 * 65532)))


def test_places_that_a_case_does_not_state_have_their_default(tmp_path):
    analysis = analyse(load_run(collective_run(tmp_path)))
    measured = Measured(check="collectives", metric="collective_time", where={"params.hops": 0})
    assert len(measured_field(analysis, measured, ["ranks", "at.message_bytes"]).values) == 6


def test_digits_are_those_of_the_print():
    printed = (("9.077", 1.0), ("13", 1e-3), ("0", 1.0))
    assert [as_printed(*one) for one in printed] == ["9.077", "0.013", "0"]


def test_machines_stand_in_lines_and_facts_below():
    study = load_study("hypercube-1988")
    machines, facts = machine_tables(study.machines_of_then())
    assert machines.rows[0][0].text == "Ametek System 14"
    assert "clock, MHz" in [column.title for column in machines.columns]
    assert any("stack checking" in cell.text for row in facts.rows for cell in row)
    assert words("link_mbit_s") == "link, Mbit/s"


SIXTH = """\
schema: 1
name: sixth-2026
year: 2026
authors: A. Nobody
title: Echoes of Nowhere
published: nowhere
question: How fast is nowhere?
procedure: [By hand.]
tables:
  - number: Table 1
    title: Broadcasts
    file: broadcasts.csv
    keys:
      - {column: nodes, title: nodes, ours: ranks}
    across: [machine]
    x: nodes
    values:
      - column: time_us
        title: time
        unit: s
        factor: 1.0e-06
        were: one run
        ours:
          check: collectives
          metric: collective_time
          where: {at.message_bytes: 4}
claims:
  - said: Nowhere is slower than a second.
    where: Table 1
    value: {check: collectives, metric: collective_time, where: {at.message_bytes: 4}}
    more_than: 1.0
"""


def test_a_sixth_study_is_a_folder(tmp_path, capsys):
    folder = tmp_path / "sixth-2026"
    folder.mkdir()
    (folder / "study.yaml").write_text(SIXTH)
    table = "".join(f"{n},Nowhere,{10 * n}\n" for n in (2, 3, 4))
    (folder / "broadcasts.csv").write_text(f"nodes,machine,time_us\n{table}")
    run = collective_run(tmp_path / "run")
    (run / "campaign.yaml").write_text("schema: 1\n")
    assert main(["paper", str(folder), str(run)]) == 0
    assert "1 claim: 1 does not hold; 3 of 3 printed values" in capsys.readouterr().out
    text = (run / "paper" / "sixth-2026.md").read_text()
    assert "Echoes of Nowhere" in text
    assert "does not hold" in text
    outside = SIXTH.replace("file: broadcasts.csv", "file: ../broadcasts.csv")
    (folder / "study.yaml").write_text(outside)
    assert main(["paper", str(folder), str(run)]) == 2
    assert "tables.0.file" in capsys.readouterr().err


def test_a_report_shows_the_claims_of_its_campaigns_study(tmp_path):
    run = collective_run(tmp_path)
    analysis = analyse(load_run(run))
    assert study_section(analysis) is None
    plan = (run / "plan.json").read_text()
    name = analysis.run.plan.campaign
    (run / "plan.json").write_text(plan.replace(f'"{name}"', '"collectives-1996"', 1))
    section = study_section(analyse(load_run(run)))
    assert section is not None
    assert section.command == "assay paper collectives-1996 RUN"
    assert len(section.claims.rows) >= len(section.study.claims)


def with_outlier(run: Path, *, slow: range) -> Analysis:
    """The run, times 50 µs + 10 ns a byte, 40 times as long for lengths in `slow` in block 1."""
    file = run / "records.jsonl"
    records = [json.loads(line) for line in file.read_text().splitlines()]
    for record in records:
        for one in record.get("metrics", ()):
            size = one.get("at", {}).get("message_bytes")
            if size is not None and one["unit"] == "s":
                outlier = record["block"] == 1 and size in slow
                one["value"] = (5e-5 + 1e-8 * size) * (40 if outlier else 1)
                one.pop("samples", None)
    file.write_text("".join(json.dumps(record) + "\n" for record in records))
    return analyse(load_run(run))


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
    study = load_study(name)
    run = write_campaign(tmp_path / "run", name, blocks=blocks)
    analysis = with_outlier(run, slow=slow)
    (table,) = (one for one in study.tables if one.number == number)
    found = besides(study, settled(table, analysis), analysis)
    fitted = [
        one for one in found if one.column.ours and {s.do for s in one.column.ours.steps} & {"line"}
    ]
    assert not any(one.now for one in fitted if one.column.title != "a byte β" or blocks > 1)
    cells = [cell for one in tables_of(found, "a") for row in one.rows for cell in row]
    assert any(cell.text == "–" and why in cell.title for cell in cells)


def test_a_fitted_number_of_blocks_that_agree_stands(tmp_path):
    study = load_study("hypercube-1988")
    run = write_campaign(tmp_path / "run", "hypercube-1988", blocks=3)
    analysis = with_outlier(run, slow=range(0))
    (table,) = (one for one in study.tables if one.number == "Table 7")
    start_up, per_byte = besides(study, settled(table, analysis), analysis)[:2]
    for one, expected in ((start_up, 5e-5), (per_byte, 1e-8)):
        assert not one.without
        for row in one.now[()].values():
            assert row.summary.mean == pytest.approx(expected)
