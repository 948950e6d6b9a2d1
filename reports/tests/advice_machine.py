# SPDX-License-Identifier: Apache-2.0
"""Simulated libraries with known times of calls, runs of their curves, profiles of programs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from records.application_profile import PAIR, ApplicationProfile, OverRanks, ProfiledCall
from reports.tests.synthetic import case, metric, write_run

SIZES = (8, 64, 512, 4096, 32768, 262144, 2097152)


@dataclass(frozen=True)
class Machine:
    """α, β and the eager limit of a library with its step; a collective takes ⌈log₂p⌉ messages."""

    alpha_s: float = 20e-6
    beta_s_per_byte: float = 8e-9
    limit_bytes: int = 65536
    step_s: float = 0.0

    def time_s(self, call: str, message_bytes: float, ranks: int) -> float:
        """One call: a message is sent once, a collective as a tree of them."""
        long = self.step_s if message_bytes > self.limit_bytes else 0.0
        once = self.alpha_s + self.beta_s_per_byte * message_bytes + long
        return once * (1 if call in ("Send", "Isend") else math.ceil(math.log2(ranks)))


#: Two that differ in latency and rate, and one like the first.
MACHINES = {
    "mpich": Machine(),
    "openmpi": Machine(alpha_s=40e-6, beta_s_per_byte=7e-9),
    "lam": Machine(alpha_s=20.1e-6, beta_s_per_byte=8.02e-9),
}


#: Calls of a program by call, length and number a rank.
Mix = Sequence[tuple[str, int, int]]
HALO: Mix = (("Isend", 20_000, 4000), ("Allreduce", 8, 1000))


def curves_run(
    folder: Path,
    machines: Mapping[str, Machine] = MACHINES,
    *,
    noise: float = 0.02,
    ranks: Sequence[int] = (2, 4),
    seed: int = 1,
    blocks: int = 6,
    sizes: Sequence[int] = SIZES,
    program: Mix = (),
    crowded: int = 99,
    exchange: Mapping[str, float] = {},
    windows: Sequence[int] = (1,),
    loop: float = 0.0,
) -> Path:
    """A run of pt2pt between nodes and of allreduce and broadcast on these rank counts; with a
    `program` also of it on two ranks, in the place of HPL. From `crowded` on ranks share cores.
    `exchange`: how many times as long a message takes when one comes at the same time; each further
    one of a window half of that. `loop`: the same of operations from one to the next."""
    cases = []
    for name in machines:
        params = {"placement": "between-nodes", "constructs": ["Send/Recv"], "sizes": [*sizes]}
        cases.append(case("pt2pt", name, params))
        for window in windows if name in exchange else ():
            both = {"placement": "between-nodes", "directions": ["both-ways"], "window": window}
            cases.append(case("streams", name, both | {"sizes": [*sizes]}))
        operations = {"operations": ["barrier", "allreduce", "broadcast"], "sizes": [*sizes]}
        for p in ranks:
            for procedure in ("each", "loop")[: 1 + (loop > 0)]:
                fixed = {"ranks": p, "ranks_per_node": 1, "procedure": procedure, **operations}
                cases.append(case("collectives", name, fixed, p) | {"nodes": p})
        if program:
            fixed = {"p": 1, "q": 2, "n": 4000, "nb": 128, "ranks_per_node": 1}
            cases.append(case("hpl", name, fixed))
    rng = np.random.default_rng(seed)

    def edit(record: dict[str, Any]) -> dict[str, Any]:
        machine, launch = machines[record["environment"]], rng.standard_normal()

        def noisy(time_s: float) -> float:
            return time_s * math.exp(noise * (launch + rng.standard_normal()))

        at: dict[str, str]
        if record["check"] == "hpl":
            made = [metric("time", noisy(1.0 + program_s(machine, program, 2, 1.2)))]
        elif record["check"] == "streams":
            window, at = record["params"]["window"], {"direction": "both-ways"}
            longer = exchange[record["environment"]] * (1 + window) / 2
            answer_s = machine.time_s("Send", sizes[0], 2)
            times = [noisy(longer * machine.time_s("Send", m, 2) + answer_s) for m in sizes]
            rates = zip(sizes, times, strict=True)
            made = [
                metric("window_rate", 2 * m * window / s, message_bytes=m, **at) for m, s in rates
            ]
        elif record["check"] == "pt2pt":
            name, at = "half_round_trip", {"construct": "Send/Recv"}
            sends = ((m, noisy(machine.time_s("Send", m, 2))) for m in sizes)
            made = [metric(name, time_s, message_bytes=m, **at) for m, time_s in sends]
        else:
            again = loop if record["params"]["procedure"] == "loop" else 1.0
            calls = [
                ("barrier", 0),
                *((one, m) for one in ("allreduce", "broadcast") for m in sizes),
            ]
            made = []
            for operation, m in calls:
                time_s = noisy(machine.time_s(operation, m, record["ranks"])) * again
                at = {"operation": operation}
                made.append(metric("collective_time", time_s, message_bytes=m, **at))
        flags = ["oversubscribed"] * (record["ranks"] >= crowded)
        return record | {"metrics": made, "flags": flags}

    return write_run(folder, cases, blocks=blocks, seed=seed, edit=edit)


def program_s(machine: Machine, mix: Mix, ranks: int, factor: float = 1.0) -> float:
    """What a library needs for a program's calls, `factor` times as long as alone."""
    return factor * sum(n * machine.time_s(call, m, ranks) for call, m, n in mix)


def profile_of(
    mix: Mix = HALO,
    machine: Machine = MACHINES["mpich"],
    *,
    ranks: int = 4,
    compute_s: float = 1.0,
    wait: float = 0.05,
    factor: float = 1.2,
    environment: str = "mpich",
    further: Sequence[ProfiledCall] = (),
    on_node: int = 1,
) -> ApplicationProfile:
    """The profile of a program in a library: `wait` of its time in MPI is wait."""
    calls = []
    for call, m, n in mix:
        one = call in ("Send", "Isend")
        time_s = ranks * n * factor * machine.time_s(call, m, ranks) / (1 - wait)
        calls.append(
            ProfiledCall(
                call=call,
                least_bytes=m,
                greatest_bytes=m,
                bytes=m * n * ranks,
                ranks=PAIR if one else ranks,
                nodes=2 if one else ranks // on_node,
                count=n * ranks,
                time_s=time_s,
                sampled=n,
                sampled_s=time_s / 4,
                wait_s=wait * time_s / 4,
            )
        )
    calls += further
    mpi_s = sum(one.time_s for one in calls) / ranks
    return ApplicationProfile(
        source="assay",
        command=["./program"],
        environment=environment,
        ranks=ranks,
        nodes=ranks // on_node,
        ranks_per_node=on_node,
        elapsed_s=OverRanks.of([compute_s + mpi_s]),
        mpi_s=OverRanks.of([mpi_s]),
        outside_s=OverRanks.of([compute_s]),
        sampled_share=0.25,
        calls=calls,
    )
