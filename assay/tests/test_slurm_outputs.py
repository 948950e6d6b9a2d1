# SPDX-License-Identifier: Apache-2.0
"""What is read of Slurm's output is right for every version from 20.11 to 24.11."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from assay.onboarding.slurm_view import mpi_types_of, nodes_of, partitions_of
from checks.common.slurm.commands import fields, is_down, slurm_seconds
from checks.common.slurm.job import waits_in_vain

OUTPUTS = yaml.safe_load(Path(__file__).with_name("slurm_outputs.yaml").read_text())


def of(kind):
    """The recorded outputs of a kind, a version a case."""
    return pytest.mark.parametrize("told", OUTPUTS[kind].values(), ids=OUTPUTS[kind].keys())


@of("jobs")
def test_a_job_is_read(told):
    found = fields(told["text"])
    assert {name: found.get(name) for name in told["fields"]} == {
        name: str(value) for name, value in told["fields"].items()
    }
    started = found["StartTime"]
    assert (slurm_seconds(started) is None) == (started == "Unknown")
    if told["verdict"]:
        assert not waits_in_vain(found["Reason"])


@of("nodes")
def test_a_node_is_read(told):
    (node,) = nodes_of(told["text"])
    assert (node.cores, node.in_service) == (told["cores"], told["in_service"])


@of("partitions")
def test_a_partition_is_read(told):
    (partition,) = partitions_of(told["text"], frozenset({"phys"})).values()
    assert partition.longest_job_s == told["longest_job_s"]
    assert partition.usable == told["usable"]


@of("mpi")
def test_the_ways_to_start_ranks_are_read(told):
    assert sorted(mpi_types_of(told["text"])) == told["types"]


@pytest.mark.parametrize("state", [*OUTPUTS["states"]["gone"], "DOWN+CLOUD+NOT_RESPONDING"])
def test_a_node_is_gone(state):
    assert is_down(state)


@pytest.mark.parametrize("state", [*OUTPUTS["states"]["others"], "IDLE+CLOUD+POWERING_DOWN"])
def test_a_node_that_is_busy_drained_or_saves_power_is_not_gone(state):
    assert not is_down(state)
