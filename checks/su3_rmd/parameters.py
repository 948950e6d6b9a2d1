# SPDX-License-Identifier: Apache-2.0
"""Parameters of the check su3_rmd, and the operations that follow from them."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from checks.common.parameters import (
    ProfiledParameters,
    Ranks,
    RanksPerNode,
    quantity,
    ranks_per_node_field,
)

#: Floating-point operations a site and step as the original counts them: force 10872, links 5616,
#: reunitarisation 624.
FLOP_PER_SITE_STEP = 17112
#: The same a site and trajectory (the last half step of the links), and a site and measurement.
FLOP_PER_SITE_TRAJECTORY, FLOP_PER_SITE_MEASUREMENT = 5616, 2592
MOST_EXTENT = 1024
#: Measurements that a record keeps, of four numbers each.
MOST_KEPT = 100

Precision = Literal["single", "double"]
Communication = Literal["isend", "ssend", "persistent"]
#: Our own program, or the original of the MILC collaboration where a site has it.
Implementation = Literal["assay", "milc"]
Kernel = Literal["auto", "plain", "baseline", "avx2", "avx512"]


def _extent(direction: str) -> Any:
    return quantity(f"Lattice extent in {direction}.", "sites", ge=2, le=MOST_EXTENT)


class Su3RmdParameters(ProfiledParameters):
    """One run of the program: a lattice, its trajectories and how ranks communicate."""

    younger: ClassVar[frozenset[str]] = ProfiledParameters.younger | {
        *("implementation", "keep_measurements")
    }

    nx: int = _extent("x")
    ny: int = _extent("y")
    nz: int = _extent("z")
    nt: int = _extent("t")
    ranks: Ranks = quantity("Ranks that share the lattice.", "ranks")
    ranks_per_node: RanksPerNode = ranks_per_node_field()
    trajectories: int = quantity("Measured trajectories.", "trajectories", ge=1, le=1_000_000)
    warmups: int = quantity("Trajectories before them.", "trajectories", 1, ge=0, le=1_000_000)
    beta: float = quantity("Coupling 6/g².", "1", 6.0, gt=0, le=100)
    step_size: float = quantity("Step size of the leapfrog.", "1", 0.01, gt=0, le=1)
    steps: int = quantity("Steps of a trajectory.", "steps", 4, ge=1, le=100_000)
    trajectories_between_measurements: int = quantity(
        "Measure after every so many trajectories.", "trajectories", 1, ge=1, le=1_000_000
    )
    seed: int = quantity("Seed of the random numbers.", "none", 5682304, ge=0, le=2**31 - 1)
    implementation: Implementation = quantity(
        "Whose program: ours, or the original that the site names under `programs`.",
        "none",
        "assay",
    )
    precision: Precision = quantity("Precision of links and momenta.", "none", "double")
    communication: Communication = quantity("How halos are sent.", "none", "isend")
    overlap: bool = quantity("Whether halos travel during the interior's work.", "none", False)
    kernel: Kernel = quantity("Instructions of the kernels.", "none", "auto")
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
        """How often the plaquette is measured."""
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
