# SPDX-License-Identifier: Apache-2.0
"""Studies beside runs: what is shipped, what stands beside what, and which claims hold."""

import re
from functools import partial
from html import unescape
from importlib import import_module
from itertools import pairwise
from pathlib import Path

import pytest
from matplotlib.figure import Figure
from matplotlib.text import Text

from assay import ROOT
from assay.cli import main
from checks.common.registry import CHECKS
from plugins.papers import tables
from plugins.papers.beside import besides, by_variant
from plugins.papers.figures import Label, figures_of, label_beside
from plugins.papers.result import paper_result
from plugins.papers.run_values import RunValues
from plugins.papers.study import FOLDER, load_study, studies
from records.text.plain_text import unbroken
from reports.analysis.run import analyse
from reports.load.loading import load_run
from reports.render import html, markdown, terminal
from reports.render.markdown import md
from reports.result import Facts, Section
from reports.show.draw import draw, put, settle
from reports.show.panel import HEIGHT_IN, WIDTH_IN, Axis, Panel, Series
from reports.show.tables import Table
from reports.tests.synthetic import analysed, case, changed, metric, write_run

TRANSCRIBED = ROOT.parent / "shared" / "reference"
LIBRARIES = ("lam", "mpich", "openmpi")


def hpl(name, p, q, n):
    return case("hpl", name, {"p": p, "q": q, "n": n, "ranks_per_node": 2}, p * q)


def a_run(folder: Path, lam: float = 1.05, blocks: int = 7, slow: tuple[int, ...] = ()) -> Path:
    """HPL at three printed points and one other; LAM's rate is `lam` times MPICH's ± 0.1 %, and
    half of it at the orders `slow`."""
    cases = [hpl(name, 2, 2, n) for name in LIBRARIES for n in (2000, 4000, 6000, 7000)]

    def known(record):
        wave = 1 + 0.001 * (-1) ** record["block"]
        least = 0.5 if record["params"]["n"] in slow else lam
        speed = {"lam": least * wave}.get(record["environment"], 1.0)
        for one in record["metrics"]:
            rate = 2e9 * speed
            one["value"] = rate if one["unit"] == "flop/s" else 10 / speed
            one.pop("samples", None)
        record["flags"] = []
        return record

    return write_run(folder, cases, blocks=blocks, edit=known)


def beside(run: Path, name="2003"):
    """A study compared with a run, and its sections by their anchors."""
    result = paper_result(load_study(name), analyse(load_run(run)))
    return result, {section.anchor: section for section in result.sections}


def tables_in(section):
    """The tables and facts of a section, those of folded ones too."""
    for block in section.blocks:
        if isinstance(block, Section):
            yield from tables_in(block)
        elif isinstance(block, (Facts, Table)):
            yield block


@pytest.fixture(scope="module")
def analysis(tmp_path_factory):
    return analyse(load_run(a_run(tmp_path_factory.mktemp("papers") / "run")))


@pytest.mark.skipif(not TRANSCRIBED.is_dir(), reason="no transcriptions beside the checkout")
def test_what_is_shipped_is_what_was_transcribed():
    found = [path for path in TRANSCRIBED.glob("*/*") if path.is_file()]
    assert len([path for path in found if path.suffix == ".csv"]) == 22
    for path in found:
        assert (FOLDER / path.parent.name / path.name).read_bytes() == path.read_bytes(), path


def test_every_printed_table_is_used_and_its_columns_are_there(analysis):
    used = set()
    for name in studies():
        study = load_study(name)
        for table in study.tables:
            used.add(study.folder / table.file)
            found = besides(study, table, analysis)
            assert all(one.printed.values for one in found), (name, table.number)
            rows = study.printed(table)
            keys = {item.column for item in table.keys} - {""}
            named = keys | set(table.across) | {one.spread for one in table.values} - {""}
            assert named - set(table.at) <= set(rows[0]), (name, table.number)
            columns = [column.column for column in table.values]
            for one in table.doubts:
                assert set(one.columns) <= set(columns)
                marked = [row for row in rows if one.is_about(row, (one.columns or columns)[0])]
                assert bool(marked) == bool(one.rows), (name, one.remark)
            for item in table.keys:
                assert set(item.today) <= {row.get(item.column) for row in rows}
    assert used == set(FOLDER.glob("*/*.csv")) - set(FOLDER.glob("*/doubtful.csv"))
    assert len(used) == 22


@pytest.mark.parametrize("name", studies())
def test_the_text_of_a_study_names_what_its_code_has_and_no_more(name):
    code = import_module(f"plugins.papers.studies.{name}.study").STUDY
    study = load_study(name)
    text = (FOLDER / name / "paper.md").read_text()
    tables = text.partition("## Tables and figures")[2].partition("## Claims")[0]
    numbers = [one.number for one in (*study.tables, *study.shown)]
    assert tables.count("### ") == len(numbers) == len(set(numbers))
    assert set(code.claims) <= set(study.claims)
    assert all(bool(one.value) != bool(one.untestable) for one in study.claims.values())
    assert all(one.said and one.where for one in study.claims.values())
    doubts = (FOLDER / name / "doubtful.csv").read_text().count("\n") - 1
    assert doubts == sum(len(table.doubts) for table in study.tables)


def test_quantities_name_metrics_that_checks_have(analysis):
    known = {(name, metric.name) for name, check in CHECKS.items() for metric in check.metrics}
    asked = set()
    for name in studies():
        study, run = load_study(name), RunValues(analysis, {})
        for claim in study.claims.values():
            for quantity in filter(None, (claim.value, claim.than)):
                quantity(run)
        found = [besides(study, table, analysis) for table in study.tables]
        kinds = [own for one in found for _, own in (("", one), *by_variant(one))]
        requests = [*run.requests, *(r for own in kinds for one in own for r in one.requests)]
        asked |= {(one.check, one.metric) for one in requests}
    assert len(asked) > 20
    assert asked <= known


@pytest.mark.parametrize(
    ("number", "column", "value", "label"),
    [(0, 1, 5.0, "s"), (0, 1, 5e-4, "µs"), (2, 0, 5e-4, "")],  # time, and speed-up
)
def test_a_small_value_has_its_own_unit_where_there_is_one(analysis, number, column, value, label):
    study = load_study("2003")
    one = besides(study, study.tables[number], analysis)[column]
    assert tables.own_unit(one, value).label == label


@pytest.mark.full(sample=1)
@pytest.mark.parametrize("name", studies())
def test_a_document_has_every_table_and_claim(analysis, name):
    study = load_study(name)
    result, _ = beside(analysis.run.directory, name)
    shown, text = unescape(html.page(result)), markdown.text(result)
    assert all(unbroken(t.title) in shown and md(t.number) in text for t in study.tables)
    assert all(unbroken(claim.said) in shown for claim in study.claims.values())
    assert ". (the run has no " in " ".join(terminal.text(result).split())


def test_values_of_launches_that_shared_cores_are_marked_with_what_that_means(tmp_path):
    def shared(record):
        record["flags"] = ["oversubscribed"] if record["environment"] == "lam" else []
        return record

    run = write_run(tmp_path, [hpl(name, 2, 2, 2000) for name in LIBRARIES], edit=shared)
    table = next(tables_in(beside(run)[1]["part-1"]))
    row = next(row for row in table.rows if [cell.text for cell in row[:3]] == ["2", "2", "2000"])
    assert sum(cell.text.endswith(" *") for cell in row) == 1
    assert "* oversubscribed: busy ranks shared a core" in table.note


def test_doubtful_digits_are_marked_where_they_stand(analysis):
    rate, time, doubtful = tables_in(beside(analysis.run.directory)[1]["part-1"])
    marks = {
        tuple(cell.text for cell in row[:3]): [cell.text for cell in row[3:5]]
        for row in (*rate.rows, *time.rows)
    }
    assert marks["2", "4", "15000"] == ["660.43", "725.37 [2]"]
    assert doubtful.pairs[1] == (" [2]", "725.37 s is 2.75 % off its rate; 745.37 s would fit.")
    assert doubtful.pairs[0][0] == "–"


@pytest.mark.parametrize(
    ("blocks", "told"),
    [(7, ["campaign quick"]), (2, ["campaign quick", "Two blocks"]), (1, ["quick", "One block"])],
)
def test_a_document_says_why_less_stands_beside_than_could(tmp_path, blocks, told):
    result, _ = beside(a_run(tmp_path, blocks=blocks))
    assert all(one in text for one, text in zip(told, result.warnings, strict=True))
    assert "assay run wyeast-2003" in markdown.text(result).replace("\\", "")


def test_another_layout_than_that_of_then_and_what_was_planned_in_vain_are_told(tmp_path):
    def failed(record):
        return {**record, "status": "failed", "reason": "time limit", "metrics": []}

    cases = [case("startup", name, {"ranks": 2}) for name in LIBRARIES]
    for one in cases[1:]:
        one["ranks_per_node"] = 16
    result, sections = beside(write_run(tmp_path, cases, edit=failed))
    told = "2 cases of 3 had up to 16 ranks on a node; then there were 2 at most."
    assert told in result.warnings
    (why,) = (row[2].text for row in sections["missing"].blocks[0].rows if row[0].text == "Table 9")
    assert why == "not measured by this run: no launch of its cases has a value"


@pytest.mark.parametrize("scale", ["linear", "log"])
def test_names_stand_past_the_curves_in_their_order(scale):
    figure = Figure((WIDTH_IN, HEIGHT_IN))
    lines = [Series([1, 5, 10], [height] * 3) for height in (1.0, 2.0, 2.1)]
    axes = put(figure, Panel("rates", lines, "", Axis(scale=scale)))
    settle(figure)
    labels = [Label(f"machine {y}", 10, y, "black") for y in (1.0, 2.0, 2.1)]
    label_beside(axes, labels)
    boxes = {text.get_text(): text.get_window_extent() for text in axes.texts}
    end = axes.transData.transform((10, 1))[0]
    assert all(Text.get_window_extent(text).x0 > end for text in axes.texts)
    assert sorted(boxes, key=lambda name: boxes[name].y0) == [one.name for one in labels]
    heights = sorted(box.y0 for box in boxes.values())
    assert min(b - a for a, b in pairwise(heights)) >= min(box.height for box in boxes.values())


def test_ticks_have_even_names_that_do_not_meet_beside_the_names_of_curves():
    lengths = [16.0 * 4**k for k in range(8)]
    label = partial(label_beside, ends=[Label("Intel Paragon", lengths[-1], 2.0, "black")])
    line = [Series(lengths, [2.0] * len(lengths))]
    axis = Axis(scale="bytes", ticks=lengths)
    panel = Panel("rates", line, "", axis, height_in=HEIGHT_IN, label=label)
    figure = Figure((WIDTH_IN, HEIGHT_IN))
    draw(figure, [(figure, panel)])
    (axes,) = figure.axes
    shown = [one for one in axes.get_xticklabels() if one.get_visible()]
    boxes = [Text.get_window_extent(one) for one in shown]
    assert 2 < len(shown) < 8
    assert all(a.x1 < b.x0 for a, b in pairwise(boxes))
    steps = [b.get_position()[0] / a.get_position()[0] for a, b in pairwise(shown)]
    assert steps == pytest.approx([steps[0]] * len(steps))


def curves(analysis, name, number):
    """The figure of a table: by panel its lines, each with its places and values."""
    study = load_study(name)
    table = next(one for one in study.tables if one.number == number)
    picture = figures_of(besides(study, table, analysis), 1)[0]
    return {
        panel.title: {line.name: dict(zip(line.x, line.y, strict=True)) for line in panel.marks}
        for panel in picture.panels
    }


def test_curves_of_then_are_what_the_papers_print(analysis):
    rates = curves(analysis, "wyeast-2003", "Figures 5 to 7, Appendix B")
    assert rates["N 15000"]["lam 2003"][24] == 7.236
    assert list(rates["N 2000"]["mpich 2003"]) == [1, 2, 4, 8, 10, 12, 16, 20, 24]
    times = curves(analysis, "ornl-1996", "Figure 2.2")["transfer time"]
    assert times["Intel Paragon OSF 1996"][1] == pytest.approx(29.0, abs=0.01)
    assert times["Intel Paragon OSF 1996"][1e6] == pytest.approx(1e6 / 154)
    assert "Ethernet 1996" not in times
    short = curves(analysis, "pvm-1995", "Figures 3(a), 5 and 7")["psend, direct"]["CM-5 1995"]
    assert short[0] == 190
    assert max(short) == 1024
    start = curves(analysis, "collectives-1996", "Figure 1")["gather"]
    assert (max(start["T3D 1996"]), max(start["SP2 1996"])) == (64, 128)


def numbered(study, word):
    """The numbers of tables or figures that a study names, ranges written out."""
    parts = [*study.tables, *study.shown, *study.missing]
    texts = [text for one in parts for text in (one.number, getattr(one, "figures", ""))]
    found, one = set(), r"\d[\d.]*(?:\(\w\))?"
    for part in re.findall(rf"{word}s? ({one}(?:(?:, | and | to ){one})*)", "\n".join(texts)):
        for first, last in re.findall(r"(\d[\d.]*)(?:\(\w\))?(?: to (\d+))?", part):
            found |= {str(n) for n in range(int(first), int(last) + 1)} if last else {first}
    return found


@pytest.mark.parametrize(
    ("name", "tables", "figures"),
    [
        ("wyeast-2003", range(1, 11), range(1, 21)),
        ("ornl-1996", [2.1, 3.1], [2.1, 2.2, 2.3, 2.4, 2.5]),
        ("hypercube-1988", range(1, 13), range(1, 9)),
        ("collectives-1996", range(1, 4), range(1, 6)),
        ("pvm-1995", range(1, 3), range(1, 8)),
    ],
)
def test_every_table_and_figure_of_a_paper_has_a_place_or_a_reason(name, tables, figures):
    study = load_study(name)
    assert numbered(study, "[Tt]able") == set(map(str, tables))
    assert numbered(study, "[Ff]igure") == set(map(str, figures))
    assert not any("transcription" in one.why for one in study.missing)


def test_what_nothing_stands_beside_is_listed_with_its_reason(analysis):
    (table,) = beside(analysis.run.directory)[1]["missing"].blocks
    rows = [[cell.text for cell in row] for row in table.rows]
    found = {(number, title): why for number, title, why in rows}
    assert found["Table 9", "Start-up: start-up"] == "not measured by this run"
    assert found["Figure 14", "MPI profile of su3_rmd, experiment 2"] == "not measured by this run"
    verbatim = "Tables of the long messages, verbatim", "Cells that ran together in print: rate"
    assert found[verbatim] == "their sizes are not certain"
    assert not any(number.startswith("Tables 4 and 5") for number, _ in found)
    assert [one.number for one in load_study("2003").missing] == [n for n, _ in found][-2:]


def test_a_year_with_two_studies_names_both(tmp_path, capsys):
    assert main(["paper", "1996", str(a_run(tmp_path))]) == 2
    assert "1996 may be collectives-1996 or ornl-1996" in capsys.readouterr().err


def one_table(analysis, name, number):
    """A table of a study, beside a run, column by column."""
    study = load_study(name)
    return besides(study, next(t for t in study.tables if t.number == number), analysis)


def test_the_empty_message_has_no_place_on_an_axis_of_wide_lengths(tmp_path):
    at = {"placement": "between-nodes", "transport": "library", "distance": 1, "hops": 0}

    def known(record):
        sizes = (0, 1, 1024, 1_000_000)
        times = [metric("half_round_trip", 1e-5 + 1e-8 * m, message_bytes=m) for m in sizes]
        return record | {"metrics": times, "flags": []}

    run = analysed(tmp_path / "run", [case("echo", "mpich", at)], edit=known)
    (one,) = one_table(run, "ornl-1996", "Figure 2.2")
    ((panel,),) = [picture.panels for picture in figures_of([one], 1)]
    assert panel.x.scale == "bytes"
    assert min(min(line.x) for line in panel.marks) == 1.0
    assert ("0",) in one.now  # it stands in tables
    short = one_table(run, "pvm-1995", "Figures 3(a), 5 and 7")
    axes = {panel.x.scale for picture in figures_of(short, 1) for panel in picture.panels}
    assert axes == {"linear"}


def test_what_is_measured_without_a_library_has_none_in_its_label(tmp_path):
    def known(record):
        at = {} if record["check"] == "echo" else {"node": "n1"}
        names = {"echo": ("echo_latency_least",), "node": ("core_clock", "linpack_100_rate")}
        values = {"echo_latency_least": 1e-5, "core_clock": 3e9, "linpack_100_rate": 1e9}
        made = [metric(name, values[name], **at) for name in names[record["check"]]]
        return record | {"metrics": made, "flags": []}

    near = {"placement": "between-nodes", "transport": "library", "distance": 1, "hops": 0}
    cases = [case("echo", "mpich", near), case("node", "mpich", {"ranks": 1})]
    found = one_table(analysed(tmp_path / "run", cases, edit=known), "ornl-1996", "Table 3.1")
    (table,) = tables.tables_of(found, "t")
    rows = {row[0].text: row for row in table.rows}
    assert rows["mpich"][0].environment == "mpich"
    assert rows["no library"][0].environment == ""
    filled = {
        name: [cell.text != "" for cell in rows[name][1:]] for name in ("mpich", "no library")
    }
    assert filled["mpich"] == [True, True, False, False, False, False, False]
    assert filled["no library"] == [False, False, True, True, False, False, False]


def test_an_experiment_of_another_length_is_not_beside_one_of_table_8(tmp_path):
    def lattice(nx, trajectories):
        sizes = {"nx": nx, "ny": nx, "nz": nx, "nt": 2 * nx, "trajectories": trajectories}
        return case("su3_rmd", "lam", {**sizes, "ranks": 2, "mpi_profile": False}, 2)

    def known(record):
        made = [metric("launch", 10.0), metric("rank_cpu_time", 6.0)]
        return record | {"metrics": made, "flags": []}

    cases = [lattice(8, 100), lattice(12, 3), lattice(6, 80)]
    share, rest = one_table(analysed(tmp_path / "run", cases, edit=known), "wyeast-2003", "Table 8")
    assert {point: row["lam"].summary.mean for point, row in share.now.items()} == {
        ("8", "2"): pytest.approx(0.6)
    }
    assert rest.now["8", "2"]["lam"].summary.mean == pytest.approx(0.4)


def test_what_a_plan_leaves_out_stands_with_what_has_no_counterpart(tmp_path):
    run = a_run(tmp_path / "run")
    changed(run / "plan.json", absent={"mpich-256k": "found 262144; allowed is 65536"})
    result, sections = beside(run)
    assert not any("mpich-256k" in one.text for one in result.sentences)
    _, *told = sections["missing"].blocks
    assert ["mpich-256k (found 262144" in one.text for one in told] == [True]
