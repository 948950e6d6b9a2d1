# SPDX-License-Identifier: Apache-2.0
"""Seeded runs of a machine whose law is known: messages, su3_rmd and HPL over node counts."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from plugins.predict.subjects import cut, halo_transfers, hpl_transfers, squarest_grid
from reports.tests.synthetic import case, metric, write_run

SIZES = (64, 512, 4096, 16384, 65536, 262144, 1048576)
LATTICE = (32, 32, 32, 64)
N, NB = 3_000, 128


@dataclass(frozen=True)
class Truth:
    """γ of a site and step and of a flop in s; α in s, β in s a byte; κ; the exponents of computing
    and, from two nodes on, of contention; relative errors of a launch and of a node count."""

    site_step_s: float = 4e-7
    flop_s: float = 1e-10
    alpha_s: float = 2e-6
    beta_s_per_byte: float = 1e-9
    kappa: float = 1.4
    computing: float = 0.0
    contention: float = 0.0
    launch: float = 0.01
    luck: float = 0.01

    def messages_s(self, nodes: int, transfers: Sequence[Any]) -> float:
        """What the busiest rank's messages take."""
        alone = sum(
            one.starts * self.alpha_s + one.sharing * one.sent_bytes * self.beta_s_per_byte
            for one in transfers
        )
        return float(self.kappa * alone * (nodes / 2) ** self.contention)

    def lattice_s(self, extents: Sequence[int], ranks: int, steps: int) -> tuple[float, float]:
        """Compute and communication time of su3_rmd on so many nodes, one rank each."""
        grid = cut(extents, ranks)
        assert grid is not None
        transfers = halo_transfers(
            extents, grid, ranks_per_node=1, real_bytes=8, exchanges=2 * steps
        )
        work = np.prod(extents) * steps / ranks
        compute = self.site_step_s * work * ranks**self.computing
        return float(compute), self.messages_s(ranks, transfers)

    def system_s(self, n: int, grid: tuple[int, int]) -> tuple[float, float]:
        """The same of HPL."""
        p, q = grid
        transfers = hpl_transfers(n, NB, p, q, ranks_per_node=1)
        work = (2 * n**3 / 3 + 3 * n**2 / 2) / (p * q)
        compute = self.flop_s * work * (p * q) ** self.computing
        return float(compute), self.messages_s(p * q, transfers)


def scaled(params: dict[str, Any], ranks: int) -> dict[str, Any]:
    """A case on so many nodes, one rank each."""
    check = "hpl" if "nb" in params else "su3_rmd"
    return {**case(check, "mpich", {**params, "ranks_per_node": 1}, ranks), "nodes": ranks}


def machine_run(
    folder: Path,
    counts: Sequence[int],
    truth: Truth | None = None,
    *,
    seed: int = 1,
    echo: bool = True,
    applications: Sequence[str] = ("su3_rmd", "hpl"),
    flags: dict[int, list[str]] | None = None,
    slower: dict[int, float] | None = None,
) -> Path:
    """A run of both applications on these node counts; every count has its own luck.

    `flags` and `slower` are of node counts: marks of their launches, factors of their times.
    """
    truth = truth or Truth()
    lattice: dict[str, Any] = dict(zip(("nx", "ny", "nz", "nt"), LATTICE, strict=True))
    # One trajectory, and no warm-up.
    lattice |= {"steps": 100, "trajectories": 1, "warmups": 0, "precision": "double"}
    lattice |= {"trajectories_between_measurements": 1}
    cases = [scaled({**lattice, "ranks": k}, k) for k in counts if "su3_rmd" in applications]
    for k in counts if "hpl" in applications else ():
        p, q = squarest_grid(k)
        n = round(N * k**0.5 / NB) * NB
        cases.append(scaled({"p": p, "q": q, "n": n, "nb": NB}, k))
    if echo:
        params = {"placement": "between-nodes", "constructs": ["Send/Recv"], "sizes": [*SIZES]}
        cases.append(case("pt2pt", "mpich", params))
    rng = np.random.default_rng(seed)
    luck = {item["id"]: np.exp(truth.luck * rng.standard_normal(2)) for item in cases}

    def own() -> float:
        return float(np.exp(truth.launch * rng.standard_normal()))

    def edit(record: dict[str, Any]) -> dict[str, Any]:
        params, ranks, is_lattice = record["params"], record["ranks"], record["check"] == "su3_rmd"
        if record["check"] == "pt2pt":
            name, at = "half_round_trip", {"construct": "Send/Recv"}
            times = ((m, truth.alpha_s + truth.beta_s_per_byte * m) for m in SIZES)
            record["metrics"] = [metric(name, s * own(), message_bytes=m, **at) for m, s in times]
        else:
            compute, messages = (
                truth.lattice_s(LATTICE, ranks, params["steps"])
                if is_lattice
                else truth.system_s(params["n"], (params["p"], params["q"]))
            ) * luck[record["case_id"]]
            whole = (compute + messages) * (slower or {}).get(ranks, 1.0) * own()
            record["metrics"] = [metric("program_time" if is_lattice else "time", whole)]
            if is_lattice:
                messages_s = messages / (compute + messages) * whole * own()
                record["metrics"].append(metric("communication_time", messages_s))
        record["flags"] = (flags or {}).get(ranks, [])
        return record

    return write_run(folder, cases, blocks=5, seed=seed, edit=edit)
