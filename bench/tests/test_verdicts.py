# SPDX-License-Identifier: Apache-2.0
"""The proof's frame: rows with their errors, benches found, tables written."""

import pytest

from bench.__main__ import BENCHES
from bench.__main__ import main as run_benches
from bench.rows import Row, mean, share
from bench.tests.verdicts import BENCHES as CLAIMS
from bench.tests.verdicts import PAGE, main, table, written
from records.plugins import loaded


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


def test_each_bench_is_called_by_its_name(capsys):
    assert all(callable(loaded(bench)) for bench in BENCHES.values())
    assert all(loaded(f"bench.tests.claims.{bench}").topic for bench in CLAIMS.values())
    assert run_benches(["verdicts", "weather"]) == 2
    assert run_benches(["weather"]) == 2
    assert "no bench 'weather'" in capsys.readouterr().err


def test_a_report_on_many_values_is_measured_and_the_page_weighed(capsys):
    run_benches(["report", "2000"])  # its status is that of times, which no test judges
    found = capsys.readouterr().out.splitlines()
    assert any(line.startswith("wide: report on 2,000 values") for line in found)
    (page,) = [line for line in found if line.startswith("measurements: page")]
    assert not page.endswith("MISSED")


def test_an_import_of_logs_and_its_survey_are_measured(capsys):
    run_benches(["history", "2", "3", "2"])
    assert "import of 12 launches and their report" in capsys.readouterr().out


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
    assert "| x | ≥ 1 | 1 | 2 | **1 no** |" in page
    assert "| x | ≥ 1 | 1 | 1 |" not in page
    assert "`python -m bench verdicts --quick a`" in page
    assert page.index("end of a ") < page.index("rows of b") < page.index("end of all rows")
    assert page.startswith("above\n")
    assert page.endswith("below\n")


def test_a_claim_in_several_cases_is_a_line_with_its_extremes():
    rows = [
        Row("told", "", "1"),
        Row("a: covers (level 95 %)", "≥ 1", "97 %"),
        Row("b: covers", "≥ 1", "92.5 %", met=False),
        Row("c: lasts", "≤ 1", "0.3", kept=False),
        Row("… nights", "by 3", "half by 2"),
        Row("d: lasts", "≤ 1", "0.2"),
    ]
    made = table("b", "Topic", rows, "usual").splitlines()
    assert made[4:] == [
        "| covers | ≥ 1 | 2 | 92.5 % … 97 % | 1 open |",
        "| lasts | ≤ 1 | 2 | 0.2 … 0.3 | **1 no** |",
        "| c: nights | by 3 | 1 | half by 2 | yes |",
    ]
    assert made[0] == "**Topic** (`python -m bench verdicts b`)"


def test_the_page_has_a_place_for_tables_and_an_unknown_bench_is_refused(capsys):
    assert "<!-- end of all rows -->" in PAGE.read_text()
    assert main(["--quick", "no_bench"]) == 2
    assert "'no_bench'; allowed: --quick" in capsys.readouterr().err
