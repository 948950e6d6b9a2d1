# SPDX-License-Identifier: Apache-2.0
"""HPL: the solution of one dense linear system, every line of HPL.dat a named parameter.

Defaults are those of the input file printed in B. P. Kearns, A Performance Study of LAM and MPICH
on an SMP Cluster, MSc thesis, Portland State University, 2003 (it has no PMAP line: row-major).
"""

import math
from collections.abc import Mapping
from typing import Any, Literal, get_args

from checks.common.definition import LEAST_ONCE_S, RANK_ALLOWANCE_BYTES, Layout, SiteCapacity
from checks.common.messages import ManyRanksDefinition
from checks.common.metrics import RATE, time_metric
from checks.common.parameters import ProfiledParameters, Ranks, RanksPerNode, quantity

MAX_N = 2_000_000
#: Measured: a message that waits for a rank on the same core, by Linux's slices.
SLICE_S = 4e-3

ProcessMap = Literal["row", "column"]
Factorisation = Literal["left", "crout", "right"]
Broadcast = Literal["1ring", "1ringM", "2ring", "2ringM", "long", "longM"]
Swap = Literal["bin-exch", "long", "mix"]
Form = Literal["transposed", "no-transposed"]

#: Words by parameter; a word's position is its number in HPL.dat.
HPL_CODES: dict[str, tuple[str, ...]] = {
    "pmap": get_args(ProcessMap),
    "pfact": get_args(Factorisation),
    "rfact": get_args(Factorisation),
    "bcast": get_args(Broadcast),
    "swap": get_args(Swap),
    "l1": get_args(Form),
    "u": get_args(Form),
}


class HplParameters(ProfiledParameters):
    """Parameters of a line of HPL output: process grid, problem size, variant of the algorithm."""

    p: Ranks = quantity("Rows of the process grid.", "ranks")
    q: Ranks = quantity("Columns of the process grid.", "ranks")
    n: int = quantity("Problem size N: order of the matrix.", "rows", ge=1, le=MAX_N)
    nb: int = quantity("Block size NB.", "columns", 150, ge=1, le=100_000)
    pmap: ProcessMap = quantity("Order in which ranks fill the grid.", "none", "row")
    #: HPL skips its residual check where it is negative.
    threshold: float = quantity(
        "Greatest scaled residual of a right answer.", "1", 16.0, gt=0, le=1000
    )
    pfact: Factorisation = quantity("Factorisation inside a panel.", "none", "right")
    nbmin: int = quantity("Columns at which the recursion stops.", "columns", 4, ge=1, le=100_000)
    ndiv: int = quantity("Parts a panel is divided into.", "parts", 2, ge=2, le=100_000)
    rfact: Factorisation = quantity("Factorisation of the recursion.", "none", "right")
    bcast: Broadcast = quantity("Broadcast of a panel along its row.", "none", "1ringM")
    depth: int = quantity("Look-ahead: panels factored in advance.", "panels", 1, ge=0, le=100)
    swap: Swap = quantity("How rows are exchanged.", "none", "mix")
    swap_threshold: int = quantity(
        'Columns up to which swap "mix" uses bin-exch.', "columns", 80, ge=0, le=MAX_N
    )
    l1: Form = quantity("Form in which the panel's triangle is kept.", "none", "transposed")
    u: Form = quantity("Form in which the row panel U is kept.", "none", "transposed")
    equilibration: bool = quantity("Whether row exchanges are equilibrated.", "none", True)
    alignment: int = quantity("Alignment of the matrix in memory.", "doubles", 8, ge=1, le=4096)
    ranks_per_node: RanksPerNode = "fill"


class HplDefinition(ManyRanksDefinition[HplParameters]):
    """Layout and cost of HPL."""

    name = "hpl"
    builds = ("Programs", "Hpl")
    title = "HPL"
    deciding = "rate"
    shown = "rate"
    parameters = HplParameters
    site_program = "hpl"
    example = {"n": 1000, "p": 1, "q": 2}
    metrics = (
        RATE,
        time_metric("time", "time to factor and solve the linear system", "solution time"),
    )
    least_measured_s = LEAST_ONCE_S
    timed = ("time", 1.0)
    sizing = frozenset({"nodes", "memory_share", "at_most_s"})
    #: Ranks are the only parallelism that is measured.
    variables = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}

    def ranks(self, params: HplParameters) -> int:
        """P × Q."""
        return params.p * params.q

    def ranks_given(self, given: Mapping[str, Any]) -> int:
        """P × Q."""
        ranks: int = given["p"] * given["q"]
        return ranks

    def spread(self, given: Mapping[str, Any], nodes: int, on_node: int) -> dict[str, Any]:
        """The grid of so many ranks that is nearest to a square, no higher than wide."""
        ranks = nodes * on_node
        p = next(k for k in range(math.isqrt(ranks), 0, -1) if ranks % k == 0)
        return {"p": p, "q": ranks // p}

    def filled(
        self, given: Mapping[str, Any], nodes: int, on_node: int, bytes_per_node: float
    ) -> dict[str, Any]:
        """N = √(bytes/8), a multiple of NB·lcm(P, Q) where there is one, else of NB."""
        n = min(MAX_N, max(1, math.isqrt(int(nodes * bytes_per_node / 8))))
        nb = given.get("nb", self.parameters.model_fields["nb"].default)
        steps = (nb * math.lcm(given["p"], given["q"]), nb, 1)
        step = next(step for step in steps if step <= n)
        return {"n": n // step * step}

    def memory_bytes_per_node(self, params: HplParameters, cores_per_node: int) -> int:
        """The matrix's 8·N² bytes spread evenly over the nodes, and the allowance of each rank."""
        on_node = self.ranks_per_node(params, cores_per_node)
        nodes = -(-self.ranks(params) // on_node)
        return -(-8 * params.n**2 // nodes) + RANK_ALLOWANCE_BYTES * on_node

    def estimate_s(self, params: HplParameters, layout: Layout, site: SiteCapacity) -> float:
        """Launch overhead + operations at the cores' speed + panels and rows over the links +
        turns on shared cores.

        Assumes: (2N³/3 + 3N²/2) operations shared evenly at the site's `core_flop_per_s`; nothing
        overlaps; half the matrix passes along each process row (panels) and twice half of it along
        each column (row exchanges), at the site's `network_bytes_per_s`, when the case has more
        than one node. Where nodes share cores, P > 1 looks for each column's pivot in turns.
        """
        operations = 2 * params.n**3 / 3 + 3 * params.n**2 / 2
        turns = -(-layout.nodes // site.busy_nodes)
        compute_s = turns * operations / (layout.ranks * site.core_flop_per_s)
        slices_s = (turns - 1) * (params.p > 1) * params.n * SLICE_S
        half_matrix_s = 4 * params.n**2 / site.network_bytes_per_s if layout.nodes > 1 else 0.0
        panels = (params.q > 1) / params.p
        rows = 2 * (params.p > 1) / params.q
        return site.launch_overhead_s + compute_s + slices_s + half_matrix_s * (panels + rows)


CHECK = HplDefinition()
