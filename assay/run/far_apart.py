# SPDX-License-Identifier: Apache-2.0
"""Launches between two nodes some hops apart, in one allocation: it must have such nodes."""

from __future__ import annotations

from collections.abc import Iterable

from assay.run.infrastructure import node_states
from assay.sites.site import Site
from checks.common.registry import CHECKS
from checks.common.slurm.allocation import Allocation
from checks.common.slurm.commands import is_down, is_usable
from records.errors import AssayError
from records.plan import Plan, PlannedCase


def nodes_far_apart(cases: Iterable[PlannedCase], site: Site) -> list[str]:
    """Nodes among which are two of each number of hops that a case asks for; preferred are such
    that jobs get now, then such that are up."""
    described, wanted = site.description.topology, _hops_asked(cases)
    if described is None or not wanted:
        return []
    topology, cores, states = described.topology(), site.description.shared_cores, node_states(site)
    usable = {name for name, state in states.items() if is_usable(state)}
    up = {name for name, state in states.items() if not is_down(state)}
    pairs = [
        topology.pair_at(hops, cores, usable)
        or topology.pair_at(hops, cores, up)
        or topology.pair_at(hops, cores)
        for hops in wanted
    ]
    return sorted({node for pair in pairs if pair is not None for node in pair})


def too_near(cases: Iterable[PlannedCase], site: Site, allocation: Allocation) -> str | None:
    """Which case asks for hops that no two nodes of the allocation are apart; None: none does."""
    described, wanted = site.description.topology, _hops_asked(cases)
    if described is None or not wanted:
        return None
    topology = described.topology()
    lacking = (h for h in wanted if topology.pair_at(h, {}, allocation.nodes) is None)
    hops = next(lacking, None)
    return f"{wanted[hops]} asks for two nodes {hops} hops apart" if hops else None


def refuse_too_near(plan: Plan, site: Site, inherited: Allocation | None) -> None:
    """Raise AssayError where nodes of the allocation are not so many hops apart as cases ask for:
    those of `inherited`, else as many as --nodes says."""
    if inherited is not None and (lacks := too_near(plan.cases, site, inherited)):
        named = ",".join(nodes_far_apart(plan.cases, site))
        raise AssayError(
            f"{lacks}; job {inherited.job_id}, in which assay runs, has none. Run assay in a job"
            f" that has such nodes (--nodelist={named}), or outside of a job, or leave such cases"
            " out of the campaign; nothing was run"
        )
    said = plan.narrowed.get("nodes")
    if inherited is not None or not said:
        return
    named_nodes = nodes_far_apart(plan.cases, site)
    if int(str(said)) < len(named_nodes):
        raise AssayError(
            f"--nodes {said} with --in-one-job: nodes so many hops apart as cases ask for are"
            f" {', '.join(named_nodes)}. Give --nodes {len(named_nodes)}, or run without"
            " --in-one-job; nothing was run"
        )


def _hops_asked(cases: Iterable[PlannedCase]) -> dict[int, str]:
    """Each number of hops that cases ask for, with one of them."""
    found: dict[int, str] = {}
    for case in cases:
        if case.skipped is None and case.params.get("hops"):
            definition = CHECKS[case.check]
            hops = definition.hops_asked(definition.parameters.model_validate(case.params))
            found.setdefault(hops, case.id)
    return {hops: found[hops] for hops in sorted(found) if hops}
