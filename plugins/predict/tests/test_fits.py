# SPDX-License-Identifier: Apache-2.0
"""What a report says of ping-pong and echo: laws and switches."""

import pytest

from plugins.predict.fits import _numbers, curves, fits_table, switches_table
from plugins.predict.point_to_point import Line
from reports.analysis.run import analyse
from reports.checks.sections import check_parts
from reports.load.loading import load_run
from reports.notation.units import ReadableUnit
from reports.tests.synthetic import analysed, case, changed, metric, quick_cases, write_run

LIMIT = 65536
SHORT = [0, *(round(2 ** (k / 2)) for k in range(2, 29))]
LONG = [SHORT[-1], *(round(2 ** (k / 2)) for k in range(29, 41))]
#: The short sizes, often, and the long ones, less often; they share one size.
ENTRIES = ((SHORT, 100), (LONG, 8))


def half_round_trip(environment, size, iterations):
    """The law of the environment: lam asks before messages above LIMIT; mpich never does."""
    asked = 60e-6 if environment == "lam" and size > LIMIT else 0.0
    doubled = 2 if iterations == 8 and size == SHORT[-1] else 1
    return doubled * (20e-6 + 1e-9 * size + asked)


@pytest.fixture(scope="module")
def analysis(tmp_path_factory):
    cases = [
        case("echo", name, {"placement": "between-nodes", "sizes": sizes, "iterations": times})
        for name in ("mpich", "lam")
        for sizes, times in ENTRIES
    ]

    def fill(record):
        name, times = record["environment"], record["params"]["iterations"]
        metrics = [
            metric("half_round_trip", half_round_trip(name, size, times), message_bytes=size)
            for size in record["params"]["sizes"]
        ]
        return record | {"metrics": metrics}

    directory = write_run(tmp_path_factory.mktemp("echo") / "run", cases, blocks=3, edit=fill)
    network = {"name": "ethernet", "bits_per_second": 10_000_000_000}
    changed(directory / "provenance.json", site={"name": "virtual", "network": network})
    return analyse(load_run(directory))


def texts(table, column):
    place = [one.title for one in table.columns].index(column)
    return [row[place].text for row in table.rows]


def test_cases_of_different_sizes_are_one_curve(analysis):
    found = curves(analysis, "echo")
    assert [curve.environment for curve in found] == ["mpich", "lam"]
    assert found[0].sizes == sorted({*SHORT, *LONG})


def test_of_two_cases_with_one_size_that_of_more_iterations_counts(analysis):
    curve = curves(analysis, "echo")[0]
    time_s = curve.times_s[curve.sizes.index(SHORT[-1])]
    assert time_s == pytest.approx(half_round_trip("mpich", SHORT[-1], 100))


def test_the_switch_stands_in_the_interval_that_holds_it(analysis):
    table = switches_table(analysis, "echo")
    assert texts(table, "what") == ["none", "switch"]
    assert texts(table, "environment") == ["mpich", "lam"]
    assert texts(table, "between")[1].replace("\u202f", "") == "64 KiB … 92682 B"


def test_the_fits_give_each_segment(analysis):
    table = fits_table(analysis, "echo")
    assert texts(table, "environment") == ["mpich", "lam", "lam"]
    assert [one.title for one in table.columns][4:6] == ["α, µs", "R∞ = 1/β, GB/s"]
    assert [cell.text for cell in table.rows[1][4:6]] == ["20.0", "1.00"]


def test_what_no_link_has_is_told_with_its_reason_not_as_a_number(analysis):
    line = Line(20e-6, 1e-9, 0, SHORT[-1], len(SHORT), 0.0)
    unit = ReadableUnit("MB/s", 1e6)
    _, start, rate, *_ = _numbers(line, unit, 2e9)
    assert (start.text, rate.text) == ("20.0", "1\u202f000")
    _, start, rate, half, *_ = _numbers(line, unit, 125e6)
    assert (start.text, rate.text, half.text) == ("20.0", "–", "–")
    assert rate.badges == ("above the line rate, 125.0 MB/s",)
    none = Line(0.0, 1e-9, SHORT[1], SHORT[-1], len(SHORT) - 1, 0.0)
    _, start, rate, half, *_ = _numbers(none, unit, None)
    assert (start.text, start.badges) == ("–", ("no start-up time is seen",))


def test_a_report_shows_them_and_none_without_an_echo(analysis, tmp_path):
    (section,) = check_parts(analysis)
    assert "table-echo-fits" in [table.anchor for table in section.tables]
    other = analysed(tmp_path / "run", quick_cases(("mpich",)))
    for make in (fits_table, switches_table):
        assert make(other, "echo") is None
    assert [curve.environment for curve in curves(other, "pt2pt")] == ["mpich"]
