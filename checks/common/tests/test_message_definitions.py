# SPDX-License-Identifier: Apache-2.0
"""Echo, streams, ring, pairs and bisection: layout, memory, refusals."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from checks.common.registry import CHECKS
from checks.common.tests.test_definitions import SITE
from checks.common.tests.test_definitions import params_of as params


def test_an_echo_always_measures_0_bytes():
    asked = params("echo", sizes=[8, {"from": 16, "to": 64, "per_octave": 1}])
    assert CHECKS["echo"].message_bytes(asked) == [0, 8, 16, 32, 64]


def test_a_distance_without_nodes_is_refused():
    with pytest.raises(ValidationError, match="needs placement = between-nodes, found self"):
        params("echo", placement="self", distance=2)


def test_pairs_that_take_turns_take_longer():
    pairs = CHECKS["alltoall_pairs"]
    at_once, in_turn = (params("alltoall_pairs", ranks=4, turns=turns) for turns in (False, True))
    layout = pairs.layout(at_once, 2)
    once_s, turns_s = (pairs.estimate_s(asked, layout, SITE) for asked in (at_once, in_turn))
    assert turns_s - SITE.launch_overhead_s == pytest.approx(2 * (once_s - SITE.launch_overhead_s))
