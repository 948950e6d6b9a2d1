# SPDX-License-Identifier: Apache-2.0
"""su3_rmd: pure SU(3) gauge theory by refreshed molecular dynamics on a four-dimensional lattice.

Step size and steps a trajectory are our choice where a campaign states none: the 2003 study that
ran the program (B. P. Kearns, MSc thesis, Portland State University) does not state them.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar, Literal

from checks.common.answer import Asked
from checks.common.definition import LEAST_ONCE_S, RANK_ALLOWANCE_BYTES, Layout, SiteCapacity
from checks.common.messages import ManyRanksDefinition
from checks.common.metrics import LAUNCH, RATE, time_metric
from checks.common.parameters import MAX_RANKS, ProfiledParameters, Ranks, RanksPerNode, quantity
from records.metric import Metric, MetricDefinition

#: Floating-point operations a site and step as the original counts them: force 10872, links 5616,
#: reunitarisation 624.
FLOP_PER_SITE_STEP = 17112
#: The same a site and trajectory (the last half step of the links), and a site and measurement.
FLOP_PER_SITE_TRAJECTORY, FLOP_PER_SITE_MEASUREMENT = 5616, 2592
MOST_EXTENT = 1024
#: Measurements that a record keeps, of four numbers each.
MOST_KEPT = 100
#: Double-precision bytes a site: four links and four momenta of 9 complex numbers, one work field.
BYTES_PER_SITE = 3 * 4 * 144
#: Data of a rank that most machines keep in a cache.
CACHE_BYTES = 2**24
#: The lattice that grows with the memory to fill: many numbers of ranks cut it evenly.
LEAST_FILLED = {"nx": 12, "ny": 12, "nz": 12, "nt": 24}
#: Rank counts that a message names.
COUNTS_SHOWN = 8


class Su3RmdParameters(ProfiledParameters):
    """Parameters of a run: a lattice, its trajectories and how ranks communicate."""

    younger: ClassVar[frozenset[str]] = ProfiledParameters.younger | {
        *("implementation", "keep_measurements")
    }

    nx: int = quantity("Lattice extent in x.", "sites", ge=2, le=MOST_EXTENT)
    ny: int = quantity("Lattice extent in y.", "sites", ge=2, le=MOST_EXTENT)
    nz: int = quantity("Lattice extent in z.", "sites", ge=2, le=MOST_EXTENT)
    nt: int = quantity("Lattice extent in t.", "sites", ge=2, le=MOST_EXTENT)
    ranks: Ranks = quantity("Ranks that share the lattice.", "ranks")
    ranks_per_node: RanksPerNode = "fill"
    trajectories: int = quantity("Measured trajectories.", "trajectories", ge=1, le=1_000_000)
    warmups: int = quantity("Trajectories before them.", "trajectories", 1, ge=0, le=1_000_000)
    beta: float = quantity("Coupling 6/g².", "1", 6.0, gt=0, le=100)
    step_size: float = quantity("Step size of the leapfrog.", "1", 0.01, gt=0, le=1)
    steps: int = quantity("Steps of a trajectory.", "steps", 4, ge=1, le=100_000)
    trajectories_between_measurements: int = quantity(
        "Measure after every so many trajectories.", "trajectories", 1, ge=1, le=1_000_000
    )
    seed: int = quantity("Seed of the random numbers.", "none", 5682304, ge=0, le=2**31 - 1)
    implementation: Literal["assay", "milc"] = quantity(
        "Whose program: ours, or the original that the site names under `programs`.",
        "none",
        "assay",
    )
    precision: Literal["single", "double"] = quantity(
        "Precision of links and momenta.", "none", "double"
    )
    communication: Literal["isend", "ssend", "persistent"] = quantity(
        "How halos are sent.", "none", "isend"
    )
    overlap: bool = quantity("Whether halos travel during the interior's work.", "none", False)
    kernel: Literal["auto", "plain", "baseline", "avx2", "avx512"] = quantity(
        "Instructions of the kernels.", "none", "auto"
    )
    plaquette: float = quantity(
        "Last mean plaquette that is expected; by default any of a gauge field.",
        "1",
        0.5,
        gt=0,
        lt=1,
    )
    plaquette_tolerance: float = quantity(
        "Greatest distance from it of a right answer.", "1", 0.5, gt=0, le=0.5
    )

    keep_measurements: bool = quantity(
        "Whether the record keeps what each measurement printed, so that a report compares the"
        " digits of our program and of the original.",
        "none",
        False,
    )

    @property
    def sites(self) -> int:
        """Sites of the lattice."""
        return self.nx * self.ny * self.nz * self.nt

    @property
    def measurements(self) -> int:
        """Number of times that the plaquette is measured."""
        return self.trajectories // self.trajectories_between_measurements

    @property
    def site_steps(self) -> int:
        """Sites times steps of all trajectories."""
        return self.sites * self.steps * (self.warmups + self.trajectories)

    @property
    def operations(self) -> int:
        """Floating-point operations as the original counts them: what `rate` is made of."""
        trajectories = (self.warmups + self.trajectories) * FLOP_PER_SITE_TRAJECTORY
        measurements = self.measurements * FLOP_PER_SITE_MEASUREMENT
        return self.site_steps * FLOP_PER_SITE_STEP + self.sites * (trajectories + measurements)

    def model_post_init(self, context: Any) -> None:
        """Refuse a run without an answer, too many numbers, and what the original does not have."""
        if self.measurements == 0:
            raise ValueError(
                f"trajectories_between_measurements = {self.trajectories_between_measurements}"
                f" leaves {self.trajectories} trajectories without a measurement, and a time"
                " without a checked answer is refused; allowed are at most all trajectories"
            )
        if self.keep_measurements and self.measurements > MOST_KEPT:
            raise ValueError(
                f"keep_measurements with {self.measurements} measurements; allowed are at most"
                f" {MOST_KEPT}: give fewer trajectories, or more between measurements"
            )
        fields = type(self).model_fields
        own = ("communication", "overlap", "kernel")
        set_here = [name for name in own if getattr(self, name) != fields[name].default]
        if self.implementation == "milc" and set_here:
            raise ValueError(
                f"implementation = milc has no {', '.join(set_here)}: leave out what only our own"
                " program can choose"
            )


RANK_CPU_TIME = time_metric("rank_cpu_time", "su3_rmd: CPU time of the rank that took most of it")

#: The numbers of a line of measurements, kept where a case asks for them.
PRINTED_DIGITS = tuple(
    MetricDefinition(
        name,
        "1",
        "higher",
        f"su3_rmd: {definition}, as a measurement printed it",
        may_be_zero=True,
        measured=False,
    )
    for name, definition in (
        ("polyakov_re", "real part of the Polyakov loop"),
        ("polyakov_im", "imaginary part of the Polyakov loop"),
        ("plaquette_space", "mean plaquette of the planes in space, 3 of a unit field"),
        ("plaquette_time", "mean plaquette of the planes with time, 3 of a unit field"),
    )
)

METRICS = (
    time_metric("program_time", "su3_rmd: warm-ups, trajectories and measurements"),
    time_metric(
        "cpu_time",
        "su3_rmd: CPU time of all ranks, the whole program",
        may_be_zero=True,
        kind="sum",
    ),
    RANK_CPU_TIME,
    MetricDefinition(
        "communication_share",
        "1",
        "lower",
        "su3_rmd: communication time over program time",
        may_be_zero=True,
        kind="share",
    ),
    RATE,
    LAUNCH,
    time_metric("total_time", "su3_rmd: the program from MPI_Init to its end"),
    *(
        time_metric(name, f"su3_rmd: {definition}", may_be_zero=True)
        for name, definition in (
            ("warmup_time", "warm-up trajectories"),
            ("molecular_dynamics_time", "trajectories"),
            ("measurement_time", "measurements"),
            ("communication_time", "halos and global sums, mean over the ranks"),
            ("global_sum_time", "global sums, mean over the ranks"),
        )
    ),
    time_metric("site_step_time", "su3_rmd: program time a site and step", kind="quotient"),
    *PRINTED_DIGITS,
)

#: What our own program prints as JSON; the others are the harness's.
PRINTED = tuple(
    metric for metric in METRICS if metric not in (LAUNCH, RANK_CPU_TIME, *PRINTED_DIGITS)
)


class Su3RmdDefinition(ManyRanksDefinition[Su3RmdParameters]):
    """Layout and cost of the lattice program."""

    name = "su3_rmd"
    builds = ("Programs", "Su3Rmd")
    title = "su3_rmd"
    deciding = "program_time"
    shown = "rate"
    parameters = Su3RmdParameters
    sizing = frozenset({"nodes", "memory_share", "at_most_s"})
    example = {"nx": 4, "ny": 4, "nz": 4, "nt": 8, "ranks": 2, "trajectories": 10}
    metrics = METRICS
    relations = {
        "communication_share": lambda here: here("communication_time") / here("program_time"),
        "site_step_time": lambda here: here("program_time") / here.params.site_steps,
        "rate": lambda here: here.params.operations / here("program_time"),
    }
    least_measured_s = LEAST_ONCE_S
    timed = ("program_time", 1.0)

    def options(self, params: Su3RmdParameters) -> dict[str, object]:
        """Options that say how it is computed; what is computed is in the input file."""
        return {
            "input": "su3.in",
            "json": "-",
            "comm": params.communication,
            "overlap": "yes" if params.overlap else "no",
            "kernel": params.kernel,
        }

    def expected(self, params: Su3RmdParameters, hosts: Sequence[str]) -> Iterator[Asked]:
        """Every time once, and what follows from them."""
        yield from (Asked(metric.name) for metric in PRINTED)

    def least_duration_s(self, params: Su3RmdParameters, metrics: Sequence[Metric]) -> float:
        """From MPI_Init to the program's end."""
        return sum(metric.value for metric in metrics if metric.name == "total_time")

    def features_of(self, params: Su3RmdParameters) -> frozenset[str]:
        """MPI, and the original where that is asked for."""
        original = {"program:su3_rmd"} if params.implementation == "milc" else set()
        return self.features | original

    def spread(self, given: Mapping[str, Any], nodes: int, on_node: int) -> dict[str, Any]:
        """As many ranks as cut the lattice evenly, on at most so many nodes."""
        lattice = tuple(int(given.get(axis, extent)) for axis, extent in LEAST_FILLED.items())
        fitting = (k * on_node for k in range(nodes, 0, -1) if divides(lattice, k * on_node))
        return {"ranks": next(fitting, nodes * on_node)}

    def filled(
        self, given: Mapping[str, Any], nodes: int, on_node: int, bytes_per_node: float
    ) -> dict[str, Any]:
        """The least such lattice, times a whole number along each axis."""
        sites = nodes * bytes_per_node / BYTES_PER_SITE
        times = max(1, int((sites / math.prod(LEAST_FILLED.values())) ** 0.25))
        times = min(times, MOST_EXTENT // max(LEAST_FILLED.values()))
        return {axis: extent * times for axis, extent in LEAST_FILLED.items()}

    def memory_bytes_per_node(self, params: Su3RmdParameters, cores_per_node: int) -> int:
        """Links, momenta and a work field of the node's sites, and the allowance of each rank."""
        ranks = self.ranks_per_node(params, cores_per_node)
        sites = -(-params.sites * ranks // params.ranks)
        return int(sites * BYTES_PER_SITE + ranks * RANK_ALLOWANCE_BYTES)

    def estimate_s(self, params: Su3RmdParameters, layout: Layout, site: SiteCapacity) -> float:
        """Launch overhead + the original's operations at a quarter of the cores' speed, or at all
        of it where the data of a rank fit into a cache.

        Between nodes each step also moves four halos of two faces; nothing overlaps.
        """
        slow = 4 if params.sites * BYTES_PER_SITE > layout.ranks * CACHE_BYTES else 1
        steps = (params.trajectories + params.warmups) * params.steps
        work_s = slow * FLOP_PER_SITE_STEP * params.sites / (layout.ranks * site.core_flop_per_s)
        face_sites = params.sites / max(params.nx, params.ny, params.nz, params.nt)
        halo_s = 8 * 4 * 144 * face_sites / site.network_bytes_per_s if layout.nodes > 1 else 0.0
        return float(site.launch_overhead_s + steps * (work_s + halo_s))

    def infeasible(
        self, params: Su3RmdParameters, layout: Layout, site: SiteCapacity
    ) -> str | None:
        """A rank count that cannot cut the lattice, then what every check asks for."""
        lattice = (params.nx, params.ny, params.nz, params.nt)
        if not divides(lattice, params.ranks):
            return (
                f"{params.ranks} ranks cannot cut the lattice {'×'.join(map(str, lattice))} evenly;"
                f" {', '.join(map(str, fitting_counts(lattice, params.ranks)))} ranks can"
            )
        return super().infeasible(params, layout, site)


def divides(lattice: tuple[int, ...], ranks: int) -> bool:
    """True if the original's rule cuts the lattice into `ranks` equal parts.

    The prime factors of the count, largest first; each cuts the longest extent it divides. Of
    extents of one length it does not matter here which one is cut.
    """
    if math.prod(lattice) % ranks:
        return False
    local = list(lattice)
    for factor in reversed(_prime_factors(ranks)):
        fitting = [i for i in range(4) if local[i] % factor == 0]
        if not fitting:
            return False
        longest = max(fitting, key=lambda i: local[i])
        local[longest] //= factor
    return True


def fitting_counts(lattice: tuple[int, ...], ranks: int) -> list[int]:
    """Up to `COUNTS_SHOWN` rank counts around `ranks` that cut the lattice, ascending."""
    sites = math.prod(lattice)
    small = [n for n in range(1, math.isqrt(sites) + 1) if sites % n == 0]
    divisors = {*small, *(sites // n for n in small)}
    fitting = [n for n in divisors if n <= MAX_RANKS and divides(lattice, n)]
    return sorted(sorted(fitting, key=lambda n: abs(n - ranks))[:COUNTS_SHOWN])


def _prime_factors(number: int) -> list[int]:
    factors, factor = [], 2
    while factor * factor <= number:
        while number % factor == 0:
            factors.append(factor)
            number //= factor
        factor += 1
    return [*factors, number] if number > 1 else factors


CHECK = Su3RmdDefinition()
