# SPDX-License-Identifier: Apache-2.0
"""Nodes of an allocation that cases ask to lie so many hops apart; steps that launches leave."""

from types import SimpleNamespace

import pytest

from assay.run import infrastructure
from assay.run import nodes as far_apart
from assay.run.infrastructure import end_steps
from assay.run.nodes import nodes_far_apart
from checks.common.slurm.commands import Answer
from records.errors import InfrastructureError
from records.site.topology import TopologyDescription

TREE = TopologyDescription.model_validate(
    {
        "switches": {
            "a": {"nodes": "n[0-1]", "switches": "b"},
            "b": {"nodes": "n[2-3]", "switches": "c"},
            "c": {"nodes": "n[4-7]"},
        }
    }
)


def site(topology=TREE):
    described = SimpleNamespace(topology=topology, shared_cores={}, slurm_partition="batch")
    return SimpleNamespace(description=described)


def plan(*hops):
    cases = [
        SimpleNamespace(id=f"pt2pt-{one}", check="pt2pt", params={"hops": one}, skipped=None)
        for one in hops
    ]
    return SimpleNamespace(cases=cases)


@pytest.fixture(autouse=True)
def up(monkeypatch):
    states = dict.fromkeys((f"n{number}" for number in range(8)), "idle")
    monkeypatch.setattr(far_apart, "node_states", lambda _: states)
    return states


def test_an_allocation_is_asked_for_with_two_nodes_of_each_number_of_hops(up):
    assert nodes_far_apart(plan(1, 2, 3).cases, site()) == ["n0", "n1", "n2", "n4"]
    assert nodes_far_apart(plan(0).cases, site()) == []
    assert nodes_far_apart(plan(3).cases, site(None)) == []
    up["n0"] = "drained"
    assert nodes_far_apart(plan(3).cases, site()) == ["n1", "n4"]
    up.update(dict.fromkeys(up, "drained"), n0="down*")
    assert nodes_far_apart(plan(3).cases, site()) == ["n1", "n4"]


def test_steps_that_launches_of_the_run_left_are_ended(monkeypatch):
    ran = []
    steps = {
        "12.0": "assay-quick-1f.rfm_L0000003_hpl_b1",
        "12.1": "assay-quick-1f.ranks-of-12-0",
        "12.2": "assay-quick-1.ranks-of-12-9",
        "12.3": "bash",
        "12.batch": "batch",
    }

    def asked(_, *argv):
        ran.append(argv)
        if argv[0] == "scancel":
            for step in argv[1:]:
                del steps[step]
        return Answer(0, "".join(f"{step} {name}\n" for step, name in steps.items()), "")

    monkeypatch.setattr(infrastructure, "asked", asked)
    monkeypatch.setattr(infrastructure.time, "sleep", lambda _: None)
    end_steps(site(), "quick-1f", "12")
    assert ran[1] == ("scancel", "12.0", "12.1")
    assert sorted(steps) == ["12.2", "12.3", "12.batch"]
    monkeypatch.setattr(infrastructure, "JOBS_END_S", 0)
    with pytest.raises(InfrastructureError, match=r"step 12\.2 of .* Go on in another job"):
        end_steps(site(), "quick-1", "12")
