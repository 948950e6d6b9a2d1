# SPDX-License-Identifier: Apache-2.0
"""Predicted subjects: a problem of one size, or of one size a rank, over the measured node counts.

Only launches on full nodes of one layout belong together, and none whose ranks shared cores.

Messages of su3_rmd: the prime factors of the rank count, largest first, each cut the longest extent
that they divide (checks/su3_rmd/src/layout.c). A step exchanges links and staples once each, a
measurement links once more: for every divided direction one message of three SU(3) matrices a site
of the face. Of HPL: the model of its authors, https://www.netlib.org/benchmark/hpl/scalability.html:
a panel's broadcast along a row of the grid, row exchanges and updates along a column.
"""

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from plugins.predict.outcome import Measured, Problem, Scaling, Subject, Transfer
from records.run.plan import PlannedCase
from reports.analysis.run import Analysis, Row, flags_of
from reports.checks.su3_rmd import EXTENTS, LAYOUT, lattice_cases, settings_text
from reports.notation.labels import lattice_text
from reports.notation.units import about_bytes_text

#: What can be predicted.
CHECKS = ("su3_rmd", "hpl")
#: Problems whose memory a rank differs by less are of one size a rank: N is a multiple of NB.
ALIKE = 1.1
#: How far a count is looked for that cuts a lattice.
_MOST_TRIED = 4096
_GRID = frozenset({"p", "q", "n", "ranks_per_node", "threshold", "mpi_profile"})

#: Three 3 × 3 complex matrices.
REALS_PER_FACE_SITE = 3 * 18
_DOUBLE_BYTES = 8

#: A case on full nodes with what was measured of its problem.
_Run = tuple[PlannedCase, Measured]


def subjects(analysis: Analysis, environment: str, check: str) -> list[Subject]:
    """The subjects of a check in an environment with at least one measured node count."""
    found = (_lattices if check == "su3_rmd" else _systems)(analysis, environment)
    return sorted(found, key=lambda one: (one.scaling, one.title))


def _is_full(case: PlannedCase) -> bool:
    return case.ranks == case.nodes * case.ranks_per_node


def _measured(problem: Problem, time: Row, communication: Row | None = None) -> Measured:
    messages_s = None if communication is None else communication.series.by_block()
    return Measured(problem, time.series.by_block(), messages_s, flags_of([time]))


def _by_nodes(runs: Sequence[_Run], first: Measured | None = None) -> tuple[Measured, ...]:
    """Measurement for each number of nodes: of HPL's grids the one nearest to a square."""

    def order(run: _Run) -> tuple[int, float]:
        params = run[0].params
        shape = math.log(int(params["q"]) / int(params["p"])) if "q" in params else 0.0
        return run[1].problem.nodes, abs(shape)

    kept: dict[int, Measured] = {} if first is None else {first.problem.nodes: first}
    for _, one in sorted(runs, key=order):
        kept.setdefault(one.problem.nodes, one)
    return tuple(kept[nodes] for nodes in sorted(kept))


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
        problem = _lattice(case, extents, grid)
        run = _measured(problem, item.rows["program_time"], item.rows.get("communication_time"))
        local = f"{item.sites / case.ranks} {settings_text(case, EXTENTS)}"
        keys: dict[Scaling, str] = {"strong": settings_text(case, ()), "weak": local}
        for scaling, key in keys.items():
            groups.setdefault((scaling, case.ranks_per_node, key), []).append((case, run))
    for (scaling, _, _), runs in groups.items():
        case, last = max(runs, key=lambda pair: pair[0].ranks)
        at: Callable[[int], Problem | str] = partial(_strong_lattice, case)
        title = lattice_text(case.params)
        if scaling == "weak":
            extents = _extents(case.params)
            grid = cut(extents, case.ranks) or ()
            own = [extent // parts for extent, parts in zip(extents, grid, strict=True)]
            at, title = partial(_weak_lattice, case, own), f"{_text(own)} a rank"
        title = ", ".join([title, *analysis.labels["su3_rmd"].parts(case, LAYOUT)])
        yield Subject("su3_rmd", environment, scaling, title, _by_nodes(runs, last), at)


def _extents(params: Mapping[str, Any]) -> tuple[int, ...]:
    return tuple(int(params[name]) for name in EXTENTS)


def _text(extents: Sequence[int]) -> str:
    return lattice_text(dict(zip(EXTENTS, extents, strict=True)))


def _lattice(case: PlannedCase, extents: Sequence[int], grid: Sequence[int]) -> Problem:
    """A run of su3_rmd: two exchanges of halos a step, one a measurement; a sum a trajectory and a
    measurement."""
    params, on_node, ranks = case.params, case.ranks_per_node, math.prod(grid)
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


def _strong_lattice(case: PlannedCase, nodes: int) -> Problem | str:
    extents, on_node = _extents(case.params), case.ranks_per_node
    grid = cut(extents, nodes * on_node)
    if grid is not None:
        return _lattice(case, extents, grid)
    tried = range(1, min(_MOST_TRIED, 4 * nodes))
    fits = [k for k in tried if cut(extents, k * on_node) is not None]
    near = [*[k for k in fits if k < nodes][-1:], *[k for k in fits if k > nodes][:1]]
    able = " and ".join(f"{k} nodes" for k in near) or "none"
    return (
        f"{nodes * on_node} ranks cannot cut the lattice {lattice_text(case.params)} evenly;"
        f" nearest that can: {able}"
    )


def _weak_lattice(case: PlannedCase, local: Sequence[int], nodes: int) -> Problem:
    """The lattice grows with the ranks: each prime factor goes to the direction with the fewest."""
    grid = [1] * len(local)
    for factor in prime_factors(nodes * case.ranks_per_node):
        grid[min(range(len(grid)), key=lambda d: (grid[d] * local[d], -d))] *= factor
    return _lattice(case, [own * parts for own, parts in zip(local, grid, strict=True)], grid)


def _systems(analysis: Analysis, environment: str) -> Iterator[Subject]:
    groups: dict[tuple[Scaling, int, str, int], list[_Run]] = {}
    for row in analysis.rows_of("hpl", "time"):
        case = analysis.case(row)
        if case.environment == environment and _is_full(case):
            n, p, q = (int(case.params[name]) for name in ("n", "p", "q"))
            run = case, _measured(_system(case, n, (p, q)), row)
            kept = {name: value for name, value in case.params.items() if name not in _GRID}
            key = case.ranks_per_node, json.dumps(kept, sort_keys=True)
            groups.setdefault(("strong", *key, n), []).append(run)
            groups.setdefault(("weak", *key, 0), []).append(run)
    for (scaling, _, _, n), every in groups.items():
        for runs in [every] if scaling == "strong" else _alike(every):
            case, size = runs[0][0], f"N = {n}"
            at: Callable[[int], Problem | str] = partial(_strong_system, case)
            if scaling == "weak":
                case = max((case for case, _ in runs), key=lambda case: case.ranks)
                size = f"{about_bytes_text(8 * _entries(case))} a rank"
                at = partial(_weak_system, case)
            title = ", ".join([size, *analysis.labels["hpl"].parts(case, tuple(_GRID))])
            yield Subject("hpl", environment, scaling, title, _by_nodes(runs), at)


def _entries(case: PlannedCase) -> float:
    """Entries of the matrix that a rank holds."""
    return int(case.params["n"]) ** 2 / case.ranks


def _alike(runs: list[_Run]) -> list[list[_Run]]:
    """Groups of about as much memory a rank."""
    groups: list[list[_Run]] = []
    for run in sorted(runs, key=lambda pair: _entries(pair[0])):
        if not groups or _entries(run[0]) > ALIKE * _entries(groups[-1][0][0]):
            groups.append([])
        groups[-1].append(run)
    return groups


def _system(case: PlannedCase, n: int, grid: tuple[int, int]) -> Problem:
    (p, q), on_node = grid, case.ranks_per_node
    transfers = hpl_transfers(n, int(case.params["nb"]), p, q, ranks_per_node=on_node)
    work = (2 * n**3 / 3 + 3 * n**2 / 2) / (p * q)
    return Problem(-(-p * q // on_node), p * q, f"N = {n} on {p} × {q}", work, tuple(transfers))


def _strong_system(case: PlannedCase, nodes: int) -> Problem | str:
    n, nb, ranks = int(case.params["n"]), int(case.params["nb"]), nodes * case.ranks_per_node
    if ranks * nb > n * squarest_grid(ranks)[0]:
        return f"N = {n} has fewer blocks of {nb} columns than the grid on {nodes} nodes has"
    return _system(case, n, squarest_grid(ranks))


def _weak_system(case: PlannedCase, nodes: int) -> Problem:
    n, nb, ranks = int(case.params["n"]), int(case.params["nb"]), nodes * case.ranks_per_node
    whole = max(1, round(n * math.sqrt(ranks / case.ranks) / nb)) * nb
    return _system(case, whole, squarest_grid(ranks))


def cut(lattice: Sequence[int], ranks: int) -> tuple[int, ...] | None:
    """The process grid that su3_rmd chooses; None where so many ranks do not cut the lattice.

    Of extents of one length one that is cut already is cut again, else the first.
    """
    local, grid = list(lattice), [1] * len(lattice)
    for factor in prime_factors(ranks):
        fits = [d for d, extent in enumerate(local) if extent % factor == 0]
        if not fits:
            return None
        best = max(fits, key=lambda d: (local[d], grid[d] > 1, -d))
        local[best] //= factor
        grid[best] *= factor
    return tuple(grid)


def prime_factors(number: int) -> list[int]:
    """The prime factors, largest first."""
    found, factor = [], 2
    while factor * factor <= number:
        while number % factor == 0:
            found.append(factor)
            number //= factor
        factor += 1
    return sorted([*found, number] if number > 1 else found, reverse=True)


def halo_transfers(
    lattice: Sequence[int],
    grid: Sequence[int],
    *,
    ranks_per_node: int,
    real_bytes: int,
    exchanges: int,
) -> list[Transfer]:
    """A rank's messages in so many exchanges, a transfer for each divided direction.

    Ranks fill nodes in their order, the first direction fastest. A direction whose neighbour is on
    another node for any rank costs every rank that, for all wait for the slowest.
    """
    local = [extent // parts for extent, parts in zip(lattice, grid, strict=True)]
    ranks = np.arange(math.prod(grid))
    found, stride = [], 1
    for extent, parts in zip(local, grid, strict=True):
        if parts > 1:
            place = ranks // stride % parts
            ahead = ranks + np.where(place < parts - 1, stride, stride * (1 - parts))
            crossing = ranks[ahead // ranks_per_node != ranks // ranks_per_node]
            sharing = int(np.bincount(crossing // ranks_per_node).max(initial=0))
            face = math.prod(local) // extent
            volume = float(exchanges * REALS_PER_FACE_SITE * real_bytes * face)
            found.append(Transfer(exchanges, volume, sharing > 0, max(1, sharing)))
        stride *= parts
    return found


def squarest_grid(ranks: int) -> tuple[int, int]:
    """P × Q of HPL nearest to a square, no higher than wide."""
    p = next(k for k in range(math.isqrt(ranks), 0, -1) if ranks % k == 0)
    return p, ranks // p


def hpl_transfers(n: int, nb: int, p: int, q: int, *, ranks_per_node: int) -> list[Transfer]:
    """α·N((NB + 1)·log₂P + P)/NB + β·N²(3P + Q)/(2PQ), β a double; nothing on one rank.

    The ranks of a node share its link.
    """
    if p * q == 1:
        return []
    starts = n * ((nb + 1) * math.log2(p) + p) / nb
    volume = _DOUBLE_BYTES * n**2 * (3 * p + q) / (2 * p * q)
    between = p * q > ranks_per_node
    return [Transfer(starts, volume, between, ranks_per_node if between else 1)]
