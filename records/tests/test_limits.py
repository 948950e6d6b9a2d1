# SPDX-License-Identifier: Apache-2.0
"""What physics allows: bounds on the safe side, and none where none is known."""

import pytest

from records.metric import MetricDefinition
from records.site.limits import Nominal, bound, is_beyond, nominal

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
    unknown = {"core_peak_flop_per_s": None, "memory_bytes_per_second": None}
    rates = nominal(bits_per_second=1e9, payload_share=1448 / 1538, **unknown)
    assert rates.link_bytes_per_s == pytest.approx(117.7e6, rel=1e-3)
    assert rates.core_flop_per_s is None
