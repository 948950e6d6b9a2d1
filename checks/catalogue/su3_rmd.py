# SPDX-License-Identifier: Apache-2.0
"""su3_rmd: pure SU(3) gauge theory by refreshed molecular dynamics on a four-dimensional lattice.

Step size and steps a trajectory are our choice where a campaign states none: the 2003 study that
ran the program (B. P. Kearns, MSc thesis, Portland State University) does not tell its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

from checks.catalogue.definition import (
    MAX_RANKS,
    RANK_ALLOWANCE_BYTES,
    CheckDefinition,
    Layout,
    Parameters,
    RanksPerNode,
    SiteCapacity,
    quantity,
    ranks_per_node_field,
)

#: Floating-point operations a site and step as the original counts them: force 10872, links 5616,
#: reunitarisation 624.
FLOP_PER_SITE_STEP = 17112
#: Double-precision bytes a site: four links and four momenta of 9 complex numbers, one work field.
BYTES_PER_SITE = 3 * 4 * 144

Precision = Literal["single", "double"]
Communication = Literal["isend", "ssend", "persistent"]
Kernel = Literal["auto", "plain", "baseline", "avx2", "avx512"]


def _extent(direction: str) -> Any:
    return quantity(f"Lattice extent in {direction}.", "sites", ge=2, le=1024)


class Su3RmdParameters(Parameters):
    """One run of the program: a lattice, its trajectories and how ranks talk."""

    nx: int = _extent("x")
    ny: int = _extent("y")
    nz: int = _extent("z")
    nt: int = _extent("t")
    ranks: int = quantity("Ranks that share the lattice.", "ranks", ge=1, le=MAX_RANKS)
    ranks_per_node: RanksPerNode = ranks_per_node_field()
    trajectories: int = quantity("Measured trajectories.", "trajectories", ge=1, le=1_000_000)
    warmups: int = quantity("Trajectories before them.", "trajectories", 1, ge=0, le=1_000_000)
    beta: float = quantity("Coupling 6/g².", "1", 6.0, gt=0, le=100)
    step_size: float = quantity("Step size of the leapfrog.", "1", 0.01, gt=0, le=1)
    steps: int = quantity("Steps of a trajectory.", "steps", 4, ge=1, le=100_000)
    seed: int = quantity("Seed of the random numbers.", "none", 5682304, ge=0, le=2**31 - 1)
    precision: Precision = quantity("Precision of links and momenta.", "none", "double")
    communication: Communication = quantity("How halos are sent.", "none", "isend")
    overlap: bool = quantity("Whether halos travel during the interior's work.", "none", False)
    kernel: Kernel = quantity("Instructions of the kernels.", "none", "auto")


class Su3RmdDefinition(CheckDefinition[Su3RmdParameters]):
    """Layout and cost of the lattice program."""

    name = "su3_rmd"
    title = "su3_rmd: SU(3) lattice gauge theory, halo exchange and floating-point work"
    parameters = Su3RmdParameters
    metrics = ("program_time", "cpu_time", "communication_share", "rate", "launch")

    def ranks(self, params: Su3RmdParameters) -> int:
        """As asked."""
        return params.ranks

    def ranks_asked_per_node(self, params: Su3RmdParameters) -> RanksPerNode:
        """As the parameter says."""
        return params.ranks_per_node

    def memory_bytes_per_node(self, params: Su3RmdParameters, cores_per_node: int) -> int:
        """Links, momenta and a work field of the node's sites, and the allowance of each rank."""
        ranks = self.ranks_per_node(params, cores_per_node)
        sites = -(-_sites(params) * ranks // params.ranks)
        return int(sites * BYTES_PER_SITE + ranks * RANK_ALLOWANCE_BYTES)

    def estimate_s(self, params: Su3RmdParameters, layout: Layout, site: SiteCapacity) -> float:
        """Launch overhead + the original's operations at a quarter of the cores' speed.

        Between nodes each step also moves four halos of two faces; nothing overlaps.
        """
        steps = (params.trajectories + params.warmups) * params.steps
        work_s = 4 * FLOP_PER_SITE_STEP * _sites(params) / (layout.ranks * site.core_flop_per_s)
        face_sites = _sites(params) / max(params.nx, params.ny, params.nz, params.nt)
        halo_s = 8 * 4 * 144 * face_sites / site.network_bytes_per_s if layout.nodes > 1 else 0.0
        return float(site.launch_overhead_s + steps * (work_s + halo_s))

    def infeasible(
        self, params: Su3RmdParameters, layout: Layout, site: SiteCapacity
    ) -> str | None:
        """A rank count that cannot cut the lattice, then what every check asks for."""
        lattice = (params.nx, params.ny, params.nz, params.nt)
        if not divides(lattice, params.ranks):
            fitting = [str(n) for n in range(1, 2 * params.ranks + 1) if divides(lattice, n)]
            return (
                f"{params.ranks} ranks cannot cut the lattice {'×'.join(map(str, lattice))} evenly;"
                f" {', '.join(fitting)} ranks can"
            )
        return super().infeasible(params, layout, site)


def divides(lattice: tuple[int, ...], ranks: int) -> bool:
    """Whether the original's rule cuts the lattice into `ranks` equal parts.

    The prime factors of the count, largest first; each cuts the longest extent it divides.
    """
    local = list(lattice)
    for factor in sorted(_prime_factors(ranks), reverse=True):
        fitting = [i for i in range(4) if local[i] % factor == 0]
        if not fitting:
            return False
        longest = max(fitting, key=lambda i: local[i])
        local[longest] //= factor
    return True


def _prime_factors(number: int) -> Iterator[int]:
    factor = 2
    while number > 1:
        while number % factor == 0:
            yield factor
            number //= factor
        factor += 1


def _sites(params: Su3RmdParameters) -> int:
    return int(params.nx * params.ny * params.nz * params.nt)


SU3_RMD = Su3RmdDefinition()
