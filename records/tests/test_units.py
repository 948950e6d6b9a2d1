# SPDX-License-Identifier: Apache-2.0
"""Units, flags and axes by name, units of foreign benchmarks in SI; bounds of physics on the safe
side."""

import math

import pytest

from records.flags import MEANINGS, OVERSUBSCRIBED, meaning
from records.metric import MetricDefinition
from records.site.limits import Nominal, bound, is_beyond, payload_rate
from records.units import UNITS, along_curve, axis_of, beside_curve, better_of, si_of, unit_of
from reports.notation.units import about


def test_nothing_is_implausible_in_an_unknown_unit():
    unit = unit_of("quanta/s")
    assert (unit.symbol, unit.greatest, unit.signed, unit.steps) == ("quanta/s", math.inf, True, ())


def test_an_axis_is_named_and_has_the_unit_of_its_name():
    axes = map(axis_of, ("message_bytes", "delay_s", "ranks"))
    found = [(axis.title, axis.unit) for axis in axes]
    assert found == [("message length", "bytes"), ("delay s", "s"), ("ranks", "")]
    assert axis_of("sizes").lists


def test_a_curve_runs_along_the_first_axis_with_a_unit():
    at = (("construct", "Send/Recv"), ("delay_s", 0.5), ("message_bytes", 8))
    assert along_curve(at) == ("delay_s", 0.5)
    assert beside_curve(at) == (("construct", "Send/Recv"), ("message_bytes", 8))
    assert along_curve((("node", "n1"),)) is None
    assert beside_curve((("node", "n1"),)) == (("node", "n1"),)


def test_the_meaning_of_a_flag_is_that_of_its_text():
    assert meaning("oversubscribed in 2 of 5") == MEANINGS[OVERSUBSCRIBED]
    assert meaning("OSU 7.4") == ""


@pytest.mark.parametrize(
    ("text", "si"),
    [
        *(("MB/s", ("bytes/s", 1e6)), ("MBytes/sec", ("bytes/s", 1e6))),
        *(("MiB/s", ("bytes/s", 2.0**20)), ("Gb/s", ("bytes/s", 1.25e8))),
        *(("Gbps", ("bytes/s", 1.25e8)), ("Gflops/seconds", ("flop/s", 1e9))),
        *(("GFLOPS", ("flop/s", 1e9)), ("kIOPS", ("1/s", 1e3)), ("us", ("s", 1e-6))),
        *(("seconds", ("s", 1.0)), ("milliseconds", ("s", 1e-3)), ("Hour", ("s", 3600.0))),
        *(("ns/day", ("ns/day", 1.0)), ("W", ("W", 1.0)), ("", ("1", 1.0))),
        *(("us/day", ("ns/day", 1e3)), ("Mcell/s", ("cell/s", 1e6)), ("GHz", ("Hz", 1e9))),
        *(("MCells per second", ("cell/s", 1e6)), ("GUPS", ("update/s", 1e9))),
        *(("MLUP/s", ("update/s", 1e6)), ("kW", ("W", 1e3)), ("mJ", ("J", 1e-3))),
        *(("Joules", ("J", 1.0)), ("%", ("%", 1.0)), ("Wh", ("Wh", 1.0))),
    ],
)
def test_units_are_read_as_benchmarks_write_them(text: str, si: tuple[str, float]) -> None:
    assert si_of(text) == si


def test_known_units_have_a_scale_and_a_name() -> None:
    for text, value, shown in (
        *(("ns/day", 12.5, "12.5 ns/day"), ("Mcell/s", 31.0, "31.0 Mcell/s")),
        *(("Hz", 2.4e9, "2.40 GHz"), ("GUPS", 1.5, "1.50 GUPS"), ("W", 350.0, "350 W")),
        *(("kJ", 12.0, "12.0 kJ"), ("%", 97.5, "97.5 %")),
    ):
        si, factor = si_of(text)
        assert UNITS[si].spelled
        assert about(value * factor, si).replace("\u202f", " ") == shown


def test_a_one_sided_reference_tells_the_direction_before_the_unit() -> None:
    assert better_of("s", lower=-0.1) == "higher"
    assert better_of("bytes/s", upper=0.1) == "lower"
    assert better_of("s", -0.1, 0.1) == "lower"
    assert better_of("ns/day") == "higher"
    assert better_of("W", -0.1, 0.1) is None


RATES = Nominal(link_bytes_per_s=1e8, core_flop_per_s=1e10, node_memory_bytes_per_s=2e10)
SIZE = {"message_bytes": 65536}


def metric(limit, better="higher"):
    return MetricDefinition("m", "x", better, "a metric", limit=limit)


@pytest.mark.parametrize(
    ("limit", "better", "at", "layout", "expected"),
    [
        *(("link", "higher", SIZE, (2, 1), 1e8), ("link", "lower", SIZE, (2, 1), 65536 / 1e8)),
        ("link", "lower", {"message_bytes": 0}, (2, 1), None),
        *(("link", "lower", {}, (2, 1), None), ("", "higher", SIZE, (2, 1), None)),
        *(("link", "higher", SIZE, (2, 2), None), ("link", "higher", SIZE, (1, 1), None)),
        ("links", "higher", {}, (4, 1), 4e8),
        ("links", "higher", {"direction": "both-ways"}, (2, 1), 2e8),
        ("links", "higher", {"direction": "one-way"}, (2, 1), 1e8),
        *(("flop", "higher", {}, (4, 2), 4e10), ("memory", "higher", {}, (4, 2), 2e10)),
    ],
)
def test_a_bound_is_what_the_parts_in_use_can_give(limit, better, at, layout, expected):
    assert bound(metric(limit, better), at, *layout, RATES) == expected
    assert bound(metric(limit, better), at, *layout, Nominal()) is None


def test_a_rate_above_and_a_time_below_are_beyond():
    assert is_beyond(metric("link"), 124.9e6, 117.7e6)
    assert not is_beyond(metric("link"), 117.7e6, 117.7e6)
    assert is_beyond(metric("link", "lower"), 0.5e-3, 0.55e-3)
    assert not is_beyond(metric("link", "lower"), 0.6e-3, 0.55e-3)


def test_what_a_shaped_link_passes_at_once_takes_no_turn():
    rates = Nominal(link_bytes_per_s=100e6, burst_bytes=6000)
    short, long = {"message_bytes": 4800}, {"message_bytes": 24000}
    assert bound(metric("link"), short, 2, 1, rates) is None
    assert bound(metric("link", "lower"), short, 2, 1, rates) is None
    assert bound(metric("link"), long, 2, 1, rates) == pytest.approx(100e6 / 0.75)
    assert bound(metric("link", "lower"), long, 2, 1, rates) == pytest.approx(18000 / 100e6)
    assert bound(metric("link"), {}, 2, 1, rates) == 100e6


def test_headers_leave_less_than_the_line_rate():
    assert payload_rate(1e9, 1448 / 1538) == pytest.approx(117.7e6, rel=1e-3)
    assert payload_rate(None, 0.9) is None
