# SPDX-License-Identifier: Apache-2.0
"""What is predicted: a problem of one size, or of one size a rank, over the measured node counts.

Only launches on full nodes of one layout belong together, and none whose ranks shared cores.
"""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from records.run.plan import PlannedCase
from reports.analysis import Analysis, Row, flags_of
from reports.checks.su3_rmd.cases import EXTENTS, LAYOUT, lattice_cases, settings_text
from reports.models.communication import (
    cut,
    halo_transfers,
    hpl_transfers,
    prime_factors,
    squarest_grid,
)
from reports.notation.labels import lattice_text
from reports.verdicts.prediction.outcome import Measured, Problem, Scaling, Subject

APPLICATIONS = ("su3_rmd", "hpl")
#: Problems whose memory a rank differs by less are of one size a rank: N is a multiple of NB.
ALIKE = 1.1
#: How far a count is looked for that cuts a lattice.
_MOST_TRIED = 4096
_GRID = frozenset({"p", "q", "n", "ranks_per_node", "threshold", "mpi_profile"})

#: A case on full nodes with what was measured of its problem.
_Run = tuple[PlannedCase, Measured]


def not_learnt_from(shared: Mapping[int, bool], left_out: Collection[int]) -> list[str]:
    """Which measured node counts no law rests on, and why; `shared` says of each whether its ranks
    shared cores."""
    crowded = [str(nodes) for nodes in sorted(shared) if shared[nodes]]
    hidden = [str(nodes) for nodes in sorted(shared) if nodes in left_out and not shared[nodes]]
    reasons = {"as ranks shared cores": crowded, "as left out": hidden}
    return [
        f"not learnt from, {why}: {', '.join(counts)} node{'s' * (counts != ['1'])}"
        for why, counts in reasons.items()
        if counts
    ]


def subjects(analysis: Analysis, environment: str, check: str) -> list[Subject]:
    """The subjects of a check in an environment with at least one measured node count."""
    found = (_lattices if check == "su3_rmd" else _systems)(analysis, environment)
    return sorted(found, key=lambda one: (one.scaling, one.title))


def _lattices(analysis: Analysis, environment: str) -> Iterator[Subject]:
    groups: dict[tuple[Scaling, int, str], list[_Run]] = {}
    for item in lattice_cases(analysis):
        case, extents = item.case, _extents(item.case.params)
        grid = cut(extents, case.ranks)
        modelled = case.params.get("implementation", "assay") == "assay"
        if case.environment != environment or "program_time" not in item.rows:
            continue
        if not (_is_full(case) and modelled) or grid is None:
            continue
        problem = _lattice(case.params, extents, grid, case.ranks_per_node)
        run = _measured(problem, item.rows["program_time"], item.rows.get("communication_time"))
        local = f"{item.sites / case.ranks} {settings_text(case, EXTENTS)}"
        keys: dict[Scaling, str] = {"strong": settings_text(case, ()), "weak": local}
        for scaling, key in keys.items():
            groups.setdefault((scaling, case.ranks_per_node, key), []).append((case, run))
    for (scaling, on_node, _), runs in groups.items():
        case, last = max(runs, key=lambda pair: pair[0].ranks)
        extents = _extents(case.params)
        if scaling == "strong":
            at: Callable[[int], Problem | str] = partial(_strong_lattice, case.params, on_node)
            title = lattice_text(case.params)
        else:
            grid = cut(extents, case.ranks) or ()
            own = [extent // parts for extent, parts in zip(extents, grid, strict=True)]
            at, title = partial(_weak_lattice, case.params, on_node, own), f"{_text(own)} a rank"
        title = ", ".join([title, *analysis.labels["su3_rmd"].parts(case, LAYOUT)])
        yield Subject("su3_rmd", environment, scaling, title, _by_nodes(runs, last), at)


def _is_full(case: PlannedCase) -> bool:
    return case.ranks == case.nodes * case.ranks_per_node


def _extents(params: Mapping[str, Any]) -> tuple[int, ...]:
    return tuple(int(params[name]) for name in EXTENTS)


def _text(extents: Sequence[int]) -> str:
    return lattice_text(dict(zip(EXTENTS, extents, strict=True)))


def _lattice(
    params: Mapping[str, Any], extents: Sequence[int], grid: Sequence[int], on_node: int
) -> Problem:
    """A run of su3_rmd: two exchanges of halos a step, one a measurement; a sum a trajectory and a
    measurement."""
    ranks = math.prod(grid)
    trajectories = int(params["trajectories"])
    every = trajectories + int(params["warmups"])
    steps = every * int(params["steps"])
    measurements = trajectories // int(params["trajectories_between_measurements"])
    transfers = halo_transfers(
        extents,
        grid,
        ranks_per_node=on_node,
        real_bytes=4 if params["precision"] == "single" else 8,
        exchanges=2 * steps + measurements,
    )
    text = f"{_text(extents)} cut {' × '.join(map(str, grid))}"
    work = math.prod(extents) * steps / ranks
    return Problem(-(-ranks // on_node), ranks, text, work, tuple(transfers), every + measurements)


def _strong_lattice(params: Mapping[str, Any], on_node: int, nodes: int) -> Problem | str:
    extents = _extents(params)
    grid = cut(extents, nodes * on_node)
    if grid is not None:
        return _lattice(params, extents, grid, on_node)
    tried = range(1, min(_MOST_TRIED, 4 * nodes))
    fits = [k for k in tried if cut(extents, k * on_node) is not None]
    near = [*[k for k in fits if k < nodes][-1:], *[k for k in fits if k > nodes][:1]]
    able = " and ".join(f"{k} nodes" for k in near) or "none"
    return (
        f"{nodes * on_node} ranks cannot cut the lattice {lattice_text(params)} evenly;"
        f" nearest that can: {able}"
    )


def _weak_lattice(
    params: Mapping[str, Any], on_node: int, local: Sequence[int], nodes: int
) -> Problem:
    """The lattice grows with the ranks: each prime factor goes to the direction with the fewest."""
    grid = [1] * len(local)
    for factor in prime_factors(nodes * on_node):
        grid[min(range(len(grid)), key=lambda d: (grid[d] * local[d], -d))] *= factor
    extents = [extent * parts for extent, parts in zip(local, grid, strict=True)]
    return _lattice(params, extents, grid, on_node)


def _systems(analysis: Analysis, environment: str) -> Iterator[Subject]:
    layouts: dict[tuple[int, str], list[_Run]] = defaultdict(list)
    strong: dict[tuple[int, str, int], list[_Run]] = defaultdict(list)
    for row in analysis.rows_of("hpl", "time"):
        case = analysis.case(row)
        if case.environment == environment and _is_full(case):
            n, nb, p, q = (int(case.params[name]) for name in ("n", "nb", "p", "q"))
            run = case, _measured(_system(n, nb, (p, q), case.ranks_per_node), row)
            kept = {name: value for name, value in case.params.items() if name not in _GRID}
            key = case.ranks_per_node, json.dumps(kept, sort_keys=True)
            layouts[key].append(run)
            strong[*key, n].append(run)

    def subject(scaling: Scaling, case: PlannedCase, size: str, runs: list[_Run]) -> Subject:
        title = ", ".join([size, *analysis.labels["hpl"].parts(case, tuple(_GRID))])
        at = partial(_strong_system if scaling == "strong" else _weak_system, case)
        return Subject("hpl", environment, scaling, title, _by_nodes(runs), at)

    for (_, _, n), runs in strong.items():
        yield subject("strong", runs[0][0], f"N = {n}", runs)
    for every in layouts.values():
        for runs in _alike(every):
            case = max((case for case, _ in runs), key=lambda case: case.ranks)
            yield subject("weak", case, f"{8 * _entries(case) / 1e6:.3g} MB a rank", runs)


def _entries(case: PlannedCase) -> float:
    """Entries of the matrix that a rank holds."""
    return int(case.params["n"]) ** 2 / case.ranks


def _alike(runs: list[_Run]) -> Iterator[list[_Run]]:
    """Groups of about as much memory a rank."""
    group: list[_Run] = []
    for run in sorted(runs, key=lambda pair: _entries(pair[0])):
        if group and _entries(run[0]) > ALIKE * _entries(group[0][0]):
            yield group
            group = []
        group.append(run)
    if group:
        yield group


def _system(n: int, nb: int, grid: tuple[int, int], on_node: int) -> Problem:
    p, q = grid
    transfers = hpl_transfers(n, nb, p, q, ranks_per_node=on_node)
    work = (2 * n**3 / 3 + 3 * n**2 / 2) / (p * q)
    return Problem(-(-p * q // on_node), p * q, f"N = {n} on {p} × {q}", work, tuple(transfers))


def _strong_system(case: PlannedCase, nodes: int) -> Problem | str:
    n, nb, ranks = int(case.params["n"]), int(case.params["nb"]), nodes * case.ranks_per_node
    if ranks * nb > n * squarest_grid(ranks)[0]:
        return f"N = {n} has fewer blocks of {nb} columns than the grid on {nodes} nodes has"
    return _system(n, nb, squarest_grid(ranks), case.ranks_per_node)


def _weak_system(case: PlannedCase, nodes: int) -> Problem:
    n, nb, ranks = int(case.params["n"]), int(case.params["nb"]), nodes * case.ranks_per_node
    whole = max(1, round(n * math.sqrt(ranks / case.ranks) / nb)) * nb
    return _system(whole, nb, squarest_grid(ranks), case.ranks_per_node)


def _measured(problem: Problem, time: Row, communication: Row | None = None) -> Measured:
    messages_s = None if communication is None else communication.series.by_block()
    return Measured(problem, time.series.by_block(), messages_s, flags_of([time]))


def _by_nodes(runs: Sequence[_Run], first: Measured | None = None) -> tuple[Measured, ...]:
    """One for each number of nodes: of HPL's grids the one nearest to a square."""

    def order(run: _Run) -> tuple[int, float]:
        params = run[0].params
        shape = math.log(int(params["q"]) / int(params["p"])) if "q" in params else 0.0
        return run[1].problem.nodes, abs(shape)

    kept: dict[int, Measured] = {} if first is None else {first.problem.nodes: first}
    for _, one in sorted(runs, key=order):
        kept.setdefault(one.problem.nodes, one)
    return tuple(kept[nodes] for nodes in sorted(kept))
