# SPDX-License-Identifier: Apache-2.0
"""Echo, streams, ring, pairs and bisection: layout, memory, refusals."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from checks.common.registry import CHECKS
from checks.common.tests.test_definitions import SITE


def params(check: str, **given: Any) -> Any:
    return CHECKS[check].parameters.model_validate(given)


@pytest.mark.parametrize(
    ("given", "ranks", "per_node"),
    [
        ({"placement": "self"}, 1, 1),
        ({"placement": "within-node"}, 2, 2),
        ({}, 2, 1),
        ({"distance": 3}, 4, 1),
    ],
)
def test_an_echo_takes_the_nodes_between_its_ends(given, ranks, per_node):
    layout = CHECKS["echo"].layout(params("echo", **given), 2)
    assert (layout.ranks, layout.ranks_per_node) == (ranks, per_node)


def test_an_echo_always_measures_0_bytes():
    asked = params("echo", sizes=[8, {"from": 16, "to": 64, "per_octave": 1}])
    assert CHECKS["echo"].message_bytes(asked) == [0, 8, 16, 32, 64]


def test_a_distance_without_nodes_is_refused():
    with pytest.raises(ValidationError, match="needs placement = between-nodes, found self"):
        params("echo", placement="self", distance=2)


@pytest.mark.parametrize("check", ["alltoall_pairs", "bisection"])
def test_pairs_are_pairs_of_nodes(check):
    layout = CHECKS[check].layout(params(check, ranks=4), 2)
    assert (layout.nodes, layout.ranks_per_node) == (4, 1)


def test_pairs_that_take_turns_take_longer():
    pairs = CHECKS["alltoall_pairs"]
    at_once, in_turn = (params("alltoall_pairs", ranks=4, turns=turns) for turns in (False, True))
    layout = pairs.layout(at_once, 2)
    overhead_s = SITE.launch_overhead_s
    ratio = (pairs.estimate_s(in_turn, layout, SITE) - overhead_s) / (
        pairs.estimate_s(at_once, layout, SITE) - overhead_s
    )
    assert ratio == pytest.approx(2)


def test_an_echo_over_tcp_has_no_empty_message_and_two_hosts():
    asked = params("echo", transport="tcp", sizes=[8, 16])
    assert CHECKS["echo"].message_bytes(asked) == [8, 16]
    for given in ({"placement": "self"}, {"distance": 3}, {"mpi_profile": True}):
        with pytest.raises(ValidationError, match="transport = tcp does not go with"):
            params("echo", transport="tcp", **given)


def test_the_ids_of_echoes_of_a_library_stay():
    assert "transport" not in params("echo").complete()
    assert params("echo", transport="tcp").complete()["transport"] == "tcp"
