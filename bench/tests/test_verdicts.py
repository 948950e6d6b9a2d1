# SPDX-License-Identifier: Apache-2.0
"""The proof's frame: rows with their errors, benches found, tables written."""

import re
from pathlib import Path

import pytest

import bench
from bench.__main__ import BENCHES, ON_REQUEST
from bench.__main__ import main as run_benches
from bench.rows import Row, mean, share
from bench.verdicts import PAGE, benches, main, page_of, table, written


@pytest.mark.parametrize(
    ("hits", "n", "limits", "kept"),
    [
        (5, 100, {"most": 0.05}, True),
        (8, 100, {"most": 0.05}, True),  # chance
        (15, 100, {"most": 0.05}, False),
        (150, 150, {"least": 1.0}, True),
        (149, 150, {"least": 1.0}, False),
        (0, 40, {"most": 0.0}, True),
        (1, 40, {"most": 0.0}, False),
        (80, 100, {"least": 0.93, "most": 0.97}, False),
        (0, 0, {"most": 0.05}, False),  # nothing found is no proof
        (99, 100, {}, True),
        (150, 1000, {"most": 0.1}, False),
        (150, 1000, {"most": 0.1, "alike": 100}, True),  # what hangs together counts once
    ],
)
def test_a_share_misses_its_target_only_beyond_chance(hits, n, limits, kept):
    assert share("x", hits, n, **limits).kept is kept


def test_a_mean_has_its_error():
    assert mean("x", [1.0, 2.0, 3.0], most=1.0, unit=" s") == Row(
        "x", "≤ 1 s", "2 ± 2.5 s of 3", True
    )
    assert not mean("x", [2.0, 2.01, 1.99] * 10, most=1.0).kept


def test_the_benches_with_rows_are_found():
    assert {"choice", "small_sites", "nightly", "statistics"} <= set(benches())
    assert not {"rows", "verdicts", "plan"} & set(benches())


def test_each_bench_is_called_by_its_name_with_its_arguments(capsys):
    texts = {path.stem: path.read_text() for path in Path(bench.__file__).parent.rglob("[!_]*.py")}
    told = {*re.findall(r"^python -m bench (\w+)", "\n".join(texts.values()), re.M)}
    listed = {*BENCHES, *ON_REQUEST}
    assert told | {*benches()} <= listed
    assert all(re.search(r"^def (main|rows)\(", texts[name], re.M) for name in listed)
    assert run_benches(["verdicts", "plan"]) == 1  # refused by the bench, not by the list
    assert run_benches(["weather"]) == 2
    assert "no bench 'weather'" in capsys.readouterr().err


def test_what_chance_explains_is_open():
    found = [share("x", *hits, least=0.95).holds for hits in ((3, 4), (4, 4), (30, 40))]
    assert found == ["open", "yes", "no"]
    assert share("x", 30, 40).holds == ""


def test_a_table_takes_the_place_of_its_last_one():
    page = "above\n<!-- end of all rows -->\nbelow\n"
    for found in ("1", "2"):
        made = table("a", "Topic", [Row("x", "≥ 1", found, found == "1")], "quick")
        page = written(page, "a", made)
    page = written(page, "b", "table of b")
    assert page.count("<!-- rows of a -->") == 1
    assert "| x | ≥ 1 | 2 | **no** |" in page
    assert "| x | ≥ 1 | 1 |" not in page
    assert "`python -m bench verdicts --quick a`" in page
    assert page.index("end of a ") < page.index("rows of b") < page.index("end of all rows")
    assert page.startswith("above\n")
    assert page.endswith("below\n")


def test_a_table_has_what_has_a_target_and_says_how_much_else_there_is():
    given = ("told", ""), ("head", ""), ("… of it", "≥ 1"), ("… too", "")
    rows = [Row(*one, str(number)) for number, one in enumerate(given, 1)]
    made = table("b", "Topic", rows, "usual")
    assert "| head | – | 2 | – |\n| … of it | ≥ 1 | 3 | yes |" in made
    assert "told" not in made
    assert "… too" not in made
    assert made.endswith("2 further lines have no target.")
    assert "`python -m bench verdicts b`" in made


def test_the_page_has_a_place_for_tables_and_an_unknown_bench_is_refused(capsys):
    assert "<!-- end of all rows -->" in PAGE.read_text()
    assert page_of("nightly") != page_of("choice") == page_of("a_new_bench") == PAGE
    assert main(["--quick", "no_bench"]) == 2
    assert "'no_bench'; allowed: --quick" in capsys.readouterr().err
