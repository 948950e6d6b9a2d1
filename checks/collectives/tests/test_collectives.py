# SPDX-License-Identifier: Apache-2.0
"""Collective operations and interference: parameters, needs, and what of the output is believed."""

from __future__ import annotations

import json

import pytest

from assay.sites.site import SiteFacts
from checks.collectives import OPERATIONS, CollectivesParameters
from checks.common import json_lines
from checks.common.registry import CHECKS

SITE = SiteFacts("small", 4, 1, 10**9, {})


def test_the_barrier_has_one_point_and_every_other_operation_one_a_size():
    params = CollectivesParameters(ranks=3, sizes=[8, 4])
    assert params.measured[:3] == [("barrier", 0), ("broadcast", 4), ("broadcast", 8)]
    assert len(params.measured) == 1 + 2 * (len(OPERATIONS) - 1)


@pytest.mark.plugins("papers")
def test_estimates_grow_with_repetitions_and_ranks():
    for check, less, more in (
        ("collectives", {"ranks": 2}, {"ranks": 4}),
        ("collectives", {"ranks": 2, "repetitions": 5}, {"ranks": 2, "procedure": "loop"}),
        ("interference", {"samples": 5}, {"samples": 50}),
    ):
        definition = CHECKS[check]
        first, second = (definition.parameters(**given) for given in (less, more))
        a, b = (definition.estimate_s(p, definition.layout(p, 1), SITE) for p in (first, second))
        assert a < b


def line(name, value, size):
    unit = "s" if name == "collective_time" else "1"
    at = {"operation": "scan", "message_bytes": size}
    metric = {"assay": "metric", "name": name, "unit": unit, "value": value, "at": at}
    return json.dumps(metric) + "\n"


@pytest.mark.parametrize("value", [0, -1e-6, 1e12, "1e-6", None, True])
def test_an_impossible_time_is_refused(value):
    with pytest.raises(json_lines.OutputError):
        json_lines.parse(line("collective_time", value, 4), CHECKS["collectives"].metrics_by_name)


@pytest.mark.plugins("papers")
def test_nothing_may_overlap_but_never_a_negative_share():
    metrics = CHECKS["interference"].metrics_by_name
    assert json_lines.parse(line("overlap", 0, 4), metrics).metrics[0].value == 0
    with pytest.raises(json_lines.OutputError):
        json_lines.parse(line("overlap", -0.1, 4), metrics)
