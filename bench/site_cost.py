# SPDX-License-Identifier: Apache-2.0
"""What acceptance, choice and a night take of real sites of 100, 1,000 and 10,000 nodes, by plan.

python -m bench site_cost. Each row is the plan of a shipped campaign on a site of so many nodes of
64 cores and a link of 100 Gbit/s: its estimates of launches, and for each what a step of an
allocation costs beside them. Launches run one after the other. Nothing is run.
"""

from __future__ import annotations

from assay.plan import make_plan
from assay.schema import load_campaign
from assay.sites.facts import SiteFacts

#: Seconds of a launch beside its own work: goal of the bench `overhead`.
STEP_S = 0.1
CAMPAIGNS = ("acceptance", "mpi-choice", "nightly")
SIZES = (100, 1_000, 10_000)


def site_of(nodes: int) -> SiteFacts:
    """A site of nodes of 64 cores; its libraries are the campaigns' own."""
    features = frozenset({"mpi", "program:hpl"})
    libraries = ("mpich", "openmpi", "openmpi-long-eager")
    return SiteFacts(
        name="real",
        nodes=nodes,
        cores_per_node=64,
        memory_bytes_per_node=2**38,
        environments=dict.fromkeys(libraries, features),
        core_flop_per_s=1.5e10,
        network_bytes_per_s=1.25e10,
    )


def main(_: list[str]) -> None:
    """Print the table."""
    print("| campaign | nodes | launches | wall time | node-hours |\n|---|---|---|---|---|")
    for name in CAMPAIGNS:
        campaign = load_campaign(name)
        for nodes in SIZES:
            plan = make_plan(campaign, site_of(nodes))
            cases = [case for case in plan.cases if case.skipped is None]
            wall_s = plan.blocks * sum(case.estimate_s + STEP_S for case in cases)
            node_s = plan.blocks * sum(case.nodes * (case.estimate_s + STEP_S) for case in cases)
            size, hours = f"{nodes:,} | {plan.blocks * len(cases):,}", node_s / 3600
            told = f"{hours:,.1f}" if hours >= 1 else f"{hours:.2f}"
            print(f"| {name} | {size} | {wall_s / 60:.1f} min | {told} |")
