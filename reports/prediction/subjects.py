# SPDX-License-Identifier: Apache-2.0
"""What is predicted: a problem of one size, or of one size a rank, over the measured node counts.

Only launches on full nodes of one layout stand together, and none whose ranks shared cores.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from records.flags import shares_cores
from records.plan import PlannedCase
from reports.analysis import Analysis, Row, flags_of
from reports.checks.common.echo_times import ByBlock
from reports.checks.su3_rmd.cases import EXTENTS, LAYOUT, lattice_cases, settings_text
from reports.models.communication import (
    Transfer,
    cut,
    halo_transfers,
    hpl_transfers,
    prime_factors,
    squarest_grid,
)
from reports.notation.labels import lattice_text

#: strong: one problem on more and more nodes; weak: as much a rank on more and more.
Scaling = Literal["strong", "weak"]
APPLICATIONS = ("su3_rmd", "hpl")
#: Problems whose memory a rank differs by less are of one size a rank: N is a multiple of NB.
ALIKE = 1.1
#: How far a count is looked for that cuts a lattice.
_MOST_TRIED = 4096
_GRID = frozenset({"p", "q", "n", "ranks_per_node", "threshold", "mpi_profile"})


@dataclass(frozen=True, slots=True)
class Problem:
    """What runs on `nodes`: work of a rank (site·steps, or flop), messages of the busiest rank,
    how many global sums."""

    nodes: int
    ranks: int
    text: str
    work: float
    transfers: tuple[Transfer, ...]
    sums: int = 0


@dataclass(frozen=True, slots=True)
class Measured:
    """A problem that was run: the times of its launches and, where told, of their messages."""

    problem: Problem
    time_s: ByBlock
    communication_s: ByBlock | None
    flags: tuple[str, ...]

    @property
    def shares_cores(self) -> bool:
        """Whether ranks shared cores: no time of the machine."""
        return shares_cores(self.flags)


@dataclass(frozen=True)
class Subject:
    """`measured` by ascending nodes, one each; `at` gives the problem on a number of nodes, or says
    why there is none."""

    check: str
    environment: str
    scaling: Scaling
    title: str
    measured: tuple[Measured, ...]
    at: Callable[[int], Problem | str] = field(compare=False)


def not_learnt_from(shared: Mapping[int, bool], left_out: Collection[int]) -> list[str]:
    """Which measured node counts no law rests on, and why; `shared` says of each whether its ranks
    shared cores."""
    crowded = [str(nodes) for nodes in sorted(shared) if shared[nodes]]
    hidden = [str(nodes) for nodes in sorted(shared) if nodes in left_out and not shared[nodes]]
    told = {"as ranks shared cores": crowded, "as left out": hidden}
    return [
        f"not learnt from, {why}: {', '.join(counts)} node{'s' * (counts != ['1'])}"
        for why, counts in told.items()
        if counts
    ]


def subjects(analysis: Analysis, environment: str, check: str) -> list[Subject]:
    """The subjects of a check in an environment with at least one measured node count."""
    found = list((_lattices if check == "su3_rmd" else _systems)(analysis, environment))
    return sorted(found, key=lambda one: (one.scaling, one.title))


def _lattices(analysis: Analysis, environment: str) -> Iterator[Subject]:
    groups: dict[tuple[Scaling, int, str], list[tuple[PlannedCase, Measured]]] = {}
    for item in lattice_cases(analysis):
        case = item.case
        full = case.ranks == case.nodes * case.ranks_per_node
        modelled = case.params.get("implementation", "assay") == "assay"
        grid = cut(_extents(case.params), case.ranks)
        if case.environment != environment or "program_time" not in item.rows:
            continue
        if not full or not modelled or grid is None:
            continue
        problem = _lattice(case.params, _extents(case.params), grid, case.ranks_per_node)
        told = _measured(problem, item.rows["program_time"], item.rows.get("communication_time"))
        local = f"{item.sites / case.ranks} {settings_text(case, EXTENTS)}"
        keys: dict[Scaling, str] = {"strong": settings_text(case, ()), "weak": local}
        for scaling, key in keys.items():
            groups.setdefault((scaling, case.ranks_per_node, key), []).append((case, told))
    for (scaling, on_node, _), found in groups.items():
        case, last = max(found, key=lambda pair: pair[0].ranks)
        extents = _extents(case.params)
        local_extents = _divided(extents, cut(extents, case.ranks) or ())
        at = _strong_lattice(case.params, on_node)
        title = lattice_text(case.params)
        if scaling == "weak":
            at = _weak_lattice(case.params, local_extents, on_node)
            title = f"{lattice_text(dict(zip(EXTENTS, local_extents, strict=True)))} a rank"
        title = ", ".join([title, *analysis.labels["su3_rmd"].parts(case, LAYOUT)])
        yield Subject("su3_rmd", environment, scaling, title, _by_nodes(found, last), at)


def _extents(params: Mapping[str, Any]) -> tuple[int, ...]:
    return tuple(int(params[name]) for name in EXTENTS)


def _divided(extents: Sequence[int], grid: Sequence[int]) -> tuple[int, ...]:
    return tuple(extent // parts for extent, parts in zip(extents, grid, strict=True))


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
    whole = lattice_text(dict(zip(EXTENTS, extents, strict=True)))
    text = f"{whole} cut {' × '.join(map(str, grid))}"
    work = math.prod(extents) * steps / ranks
    nodes = -(-ranks // on_node)
    return Problem(nodes, ranks, text, work, tuple(transfers), every + measurements)


def _strong_lattice(params: Mapping[str, Any], on_node: int) -> Callable[[int], Problem | str]:
    extents = _extents(params)

    def at(nodes: int) -> Problem | str:
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

    return at


def _weak_lattice(
    params: Mapping[str, Any], local: Sequence[int], on_node: int
) -> Callable[[int], Problem | str]:
    """The lattice grows with the ranks: each prime factor goes to the direction with the fewest."""

    def at(nodes: int) -> Problem | str:
        grid = [1] * len(local)
        for factor in prime_factors(nodes * on_node):
            fewest = min(range(len(grid)), key=lambda d: (grid[d] * local[d], -d))
            grid[fewest] *= factor
        extents = [extent * parts for extent, parts in zip(local, grid, strict=True)]
        return _lattice(params, extents, grid, on_node)

    return at


def _systems(analysis: Analysis, environment: str) -> Iterator[Subject]:
    strong: dict[tuple[int, str, int], list[tuple[PlannedCase, Measured]]] = {}
    layouts: dict[tuple[int, str], list[tuple[PlannedCase, Measured]]] = {}
    for row in analysis.rows_of("hpl", "time"):
        case = analysis.case(row)
        if case.environment == environment and case.ranks == case.nodes * case.ranks_per_node:
            params = case.params
            n, nb, p, q = (int(params[name]) for name in ("n", "nb", "p", "q"))
            told = _measured(_system(n, nb, (p, q), case.ranks_per_node), row)
            kept = {name: value for name, value in params.items() if name not in _GRID}
            key = (case.ranks_per_node, json.dumps(kept, sort_keys=True))
            strong.setdefault((*key, n), []).append((case, told))
            layouts.setdefault(key, []).append((case, told))
    for (on_node, _, n), found in strong.items():
        case = found[0][0]
        title = ", ".join([f"N = {n}", *analysis.labels["hpl"].parts(case, tuple(_GRID))])
        at = _strong_system(case.params, on_node)
        yield Subject("hpl", environment, "strong", title, _by_nodes(found), at)
    for (on_node, _), all_of in layouts.items():
        for found in _alike(all_of):
            case = max((case for case, _ in found), key=lambda case: case.ranks)
            share = 8 * int(case.params["n"]) ** 2 / case.ranks / 1e6
            at = _weak_system(case, on_node)
            parts = analysis.labels["hpl"].parts(case, tuple(_GRID))
            title = ", ".join([f"{share:.3g} MB a rank", *parts])
            yield Subject("hpl", environment, "weak", title, _by_nodes(found), at)


def _alike(
    found: list[tuple[PlannedCase, Measured]],
) -> Iterator[list[tuple[PlannedCase, Measured]]]:
    """Groups of about as much memory a rank."""

    def share(pair: tuple[PlannedCase, Measured]) -> float:
        return int(pair[0].params["n"]) ** 2 / pair[0].ranks

    group: list[tuple[PlannedCase, Measured]] = []
    for pair in sorted(found, key=share):
        if group and share(pair) > ALIKE * share(group[0]):
            yield group
            group = []
        group.append(pair)
    if group:
        yield group


def _system(n: int, nb: int, grid: tuple[int, int], on_node: int) -> Problem:
    p, q = grid
    transfers = hpl_transfers(n, nb, p, q, ranks_per_node=on_node)
    work = (2 * n**3 / 3 + 3 * n**2 / 2) / (p * q)
    return Problem(-(-p * q // on_node), p * q, f"N = {n} on {p} × {q}", work, tuple(transfers))


def _strong_system(params: Mapping[str, Any], on_node: int) -> Callable[[int], Problem | str]:
    def at(nodes: int) -> Problem | str:
        n, nb = int(params["n"]), int(params["nb"])
        if nodes * on_node * nb > n * squarest_grid(nodes * on_node)[0]:
            return f"N = {n} has fewer blocks of {nb} columns than the grid on {nodes} nodes has"
        return _system(n, nb, squarest_grid(nodes * on_node), on_node)

    return at


def _weak_system(case: PlannedCase, on_node: int) -> Callable[[int], Problem | str]:
    n, nb = int(case.params["n"]), int(case.params["nb"])

    def at(nodes: int) -> Problem | str:
        wanted = n * math.sqrt(nodes * on_node / case.ranks)
        whole = max(1, round(wanted / nb)) * nb
        return _system(whole, nb, squarest_grid(nodes * on_node), on_node)

    return at


def _measured(problem: Problem, time: Row, communication: Row | None = None) -> Measured:
    told = None if communication is None else communication.series.by_block()
    return Measured(problem, time.series.by_block(), told, flags_of([time]))


def _by_nodes(
    found: Sequence[tuple[PlannedCase, Measured]], first: Measured | None = None
) -> tuple[Measured, ...]:
    """One for each number of nodes: of HPL's grids the one nearest to a square."""

    def order(pair: tuple[PlannedCase, Measured]) -> tuple[int, float]:
        params = pair[0].params
        shape = math.log(int(params["q"]) / int(params["p"])) if "q" in params else 0.0
        return pair[1].problem.nodes, abs(shape)

    kept: dict[int, Measured] = {} if first is None else {first.problem.nodes: first}
    for _, one in sorted(found, key=order):
        kept.setdefault(one.problem.nodes, one)
    return tuple(kept[nodes] for nodes in sorted(kept))
