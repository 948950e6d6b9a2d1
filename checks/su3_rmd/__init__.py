# SPDX-License-Identifier: Apache-2.0
"""su3_rmd: pure SU(3) gauge theory by refreshed molecular dynamics on a four-dimensional lattice.

Step size and steps a trajectory are our choice where a campaign states none: the 2003 study that
ran the program (B. P. Kearns, MSc thesis, Portland State University) does not state them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeGuard

from checks.common.answer import Asked, Reading, mean_is_possible
from checks.common.definition import RANK_ALLOWANCE_BYTES, FastMachine, Layout, SiteCapacity
from checks.common.durations import LEAST_ONCE_S
from checks.common.json_lines import Output, OutputError, measured
from checks.common.layouts import ManyRanksDefinition
from checks.common.metrics import LAUNCH
from checks.common.parameters import MAX_RANKS
from checks.su3_rmd.metrics import METRICS, PRINTED, RANK_CPU_TIME, RELATIONS
from checks.su3_rmd.parameters import FLOP_PER_SITE_STEP, MOST_EXTENT, Su3RmdParameters
from records.metric import Metric

#: Double-precision bytes a site: four links and four momenta of 9 complex numbers, one work field.
BYTES_PER_SITE = 3 * 4 * 144
#: The lattice that grows with the memory to fill: many numbers of ranks cut it evenly.
LEAST_FILLED = {"nx": 12, "ny": 12, "nz": 12, "nt": 24}

#: Greatest deviation of a link from SU(3) that is rounding, by precision.
GREATEST_DEVIATION = {"double": 1e-12, "single": 1e-4}

#: JSON knows integers that are greater than any real number.
_GREATEST_NUMBER = 1e300

#: Times of the ranks, and what is given of each over them.
_RANK_TIMES = tuple(
    f"{name}_s"
    for name in ("communication", "global_sums", "dynamics", "refresh", "measurement", "cpu")
)
WHICH = ("least", "mean", "greatest")

#: Rank counts that a message names.
COUNTS_SHOWN = 8


class Su3RmdDefinition(ManyRanksDefinition[Su3RmdParameters]):
    """Layout and cost of the lattice program."""

    name = "su3_rmd"
    title = "su3_rmd"
    deciding = "program_time"
    shown = "rate"
    parameters = Su3RmdParameters
    sizing = frozenset({"nodes", "memory_share", "at_most_s"})
    example = {"nx": 4, "ny": 4, "nz": 4, "nt": 8, "ranks": 2, "trajectories": 10}
    metrics = METRICS
    relations = RELATIONS
    least_measured_s = LEAST_ONCE_S
    timed = ("program_time", 1.0)

    def options(self, params: Su3RmdParameters) -> dict[str, object]:
        """How it is computed; what is computed is in the input file."""
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

    def check_values(self, params: Su3RmdParameters, output: Output) -> Reading:
        """All was run and measured, the links are still SU(3), and the ranks' times agree."""
        wrong = next(_wrong_answer(params, output), None)
        if wrong is None:
            seconds = _seconds_of_ranks(_only_note(output, "ranks"), params.ranks)
            wrong = next(_wrong_times(params, output, seconds), None)
        if wrong:
            return Reading(wrong=wrong)
        launch = measured(LAUNCH, output.phase_s("launch_begin", "launch_end"))
        rank_cpu_time = measured(RANK_CPU_TIME, seconds["cpu_s", "greatest"])
        return Reading([*output.metrics, launch, rank_cpu_time])

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

    def fastest_s(self, params: Su3RmdParameters, fast: FastMachine) -> Iterable[float]:
        """The original's operations, of which about half are done, in single precision at twice the
        speed; messages take no time."""
        yield fast.compute_s(params.operations) / (2 if params.precision == "single" else 1)

    def longer(self, params: Su3RmdParameters, factor: float) -> dict[str, int]:
        """Trajectories; warm-ups, which are in the program's time too, stay."""
        return {"trajectories": math.ceil((params.trajectories + params.warmups) * factor)}

    def estimate_s(self, params: Su3RmdParameters, layout: Layout, site: SiteCapacity) -> float:
        """Launch overhead + the original's operations at a quarter of the cores' speed.

        Between nodes each step also moves four halos of two faces; nothing overlaps.
        """
        steps = (params.trajectories + params.warmups) * params.steps
        work_s = 4 * FLOP_PER_SITE_STEP * params.sites / (layout.ranks * site.core_flop_per_s)
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
    """Whether the original's rule cuts the lattice into `ranks` equal parts.

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


def wrong_plaquette(params: Su3RmdParameters, plaquette: Any) -> str | None:
    """Why the last mean plaquette is not the one expected, or None."""
    away = abs(plaquette - params.plaquette) if is_number(plaquette) else math.inf
    if away < params.plaquette_tolerance:
        return None
    window = f"{params.plaquette:g} ± {params.plaquette_tolerance:g}"
    return f"the last mean plaquette is {plaquette}; it must lie within {window}"


def is_number(value: Any) -> TypeGuard[float]:
    """Whether a value of a JSON line is a finite number."""
    return type(value) in (int, float) and abs(value) < _GREATEST_NUMBER


def _only_note(output: Output, key: str) -> dict[str, Any]:
    """The members of a note. Raises OutputError unless it came once."""
    notes = output.notes_of(key)
    if len(notes) != 1 or not isinstance(notes[0], dict):
        raise OutputError(f"the program gave {len(notes)} notes {key}; right is one, with members")
    note: dict[str, Any] = notes[0]
    return note


def _wrong_answer(params: Su3RmdParameters, output: Output) -> Iterator[str]:
    """Which of the operations, trajectories and traces are not those asked for."""
    answer, precision = _only_note(output, "answer"), (output.program or {}).get("precision")
    if precision != params.precision:
        yield f"the program computed in {precision} precision; asked was {params.precision}"
    counts = {
        "trajectories": params.warmups + params.trajectories,
        "measurements": params.measurements,
    }
    for name, count in counts.items():
        if type(answer.get(name)) is not int or answer[name] != count:
            yield f"{answer.get(name)} of {count} {name} were made"
    if wrong := wrong_plaquette(params, answer.get("plaquette")):
        yield wrong
    space, time = answer.get("plaquette_space"), answer.get("plaquette_time")
    both = (space + time) / 6 if is_number(space) and is_number(time) else math.nan
    if not math.isclose(both, answer["plaquette"], rel_tol=1e-8):
        yield f"the mean plaquette is {answer['plaquette']}; by its parts it is {both:.9g}"
    deviation = answer.get("deviation_from_su3")
    if not is_number(deviation) or not 0 <= deviation < GREATEST_DEVIATION[params.precision]:
        yield f"links deviate from SU(3) by {deviation}"
    found = _only_note(output, "kernels").get("original_flop")
    if not (is_number(found) and math.isclose(found, params.operations, rel_tol=1e-8)):
        yield f"the program counts {found!r:.40} operations; asked were {params.operations}"


def _wrong_times(
    params: Su3RmdParameters, output: Output, seconds: Mapping[tuple[str, str], float]
) -> Iterator[str]:
    """Times that do not follow from those of the ranks, or are longer than what contains them."""
    values = {metric.name: metric.value for metric in output.metrics}
    sums_s, mean_cpu_s = seconds["global_sums_s", "mean"], seconds["cpu_s", "mean"]
    parts = {
        "communication_time": seconds["communication_s", "mean"] + sums_s,
        "global_sum_time": sums_s,
        "molecular_dynamics_time": seconds["dynamics_s", "greatest"]
        + seconds["refresh_s", "greatest"],
        "measurement_time": seconds["measurement_s", "greatest"],
        "cpu_time": mean_cpu_s * params.ranks,
    }
    for name, expected in parts.items():
        if not math.isclose(values[name], expected, rel_tol=1e-7):
            yield f"{name} is {values[name]:.9g} s; by the ranks' it is {expected:.9g} s"
    # The program's time is that of rank 0; another may be in a part while rank 0 still begins.
    least_s = sum(seconds[name, "least"] for name in ("dynamics_s", "refresh_s", "measurement_s"))
    if least_s > 1.001 * values["program_time"]:
        yield f"parts of {least_s:.9g} s, program_time {values['program_time']:.9g} s"
    for part, whole in (
        ("warmup_time", "program_time"),
        ("communication_time", "program_time"),
        ("program_time", "total_time"),
    ):
        if values[part] > values[whole]:
            yield f"{part} is {values[part]:.9g} s, {whole} {values[whole]:.9g} s"
    # A profile begins with the barrier before the program's clock.
    for rank in output.profile:
        if rank.rank == 0 and rank.elapsed_s < values["program_time"]:
            yield (
                f"program_time is {values['program_time']:.9g} s; the MPI profile of rank 0 is of"
                f" {rank.elapsed_s:.9g} s"
            )


def _seconds_of_ranks(note: dict[str, Any], ranks: int) -> Mapping[tuple[str, str], float]:
    """Least, mean and greatest over the ranks of each time. Raises OutputError."""
    found: dict[tuple[str, str], float] = {}
    for name in _RANK_TIMES:
        for which in WHICH:
            of_name = note.get(name)
            value = of_name.get(which) if isinstance(of_name, dict) else None
            if not is_number(value):
                raise OutputError(f"the note `ranks` has no {which} {name}")
            found[name, which] = float(value)
        least, mean, greatest = (found[name, which] for which in WHICH)
        if not mean_is_possible(least, mean, greatest, ranks):
            raise OutputError(f"the note `ranks`: {name} has an impossible least, mean or greatest")
    return found


def _prime_factors(number: int) -> list[int]:
    factors, factor = [], 2
    while factor * factor <= number:
        while number % factor == 0:
            factors.append(factor)
            number //= factor
        factor += 1
    return [*factors, number] if number > 1 else factors


CHECK = Su3RmdDefinition()
