# SPDX-License-Identifier: Apache-2.0
"""What is calculated for the tables and claims of B. P. Kearns (2003)."""

from __future__ import annotations

from collections.abc import Mapping

from plugins.papers.fields import Field
from plugins.papers.run_values import RunValues

_IRECV = ["Send/Irecv", "Isend/Irecv", "Ssend/Irecv", "Issend/Irecv"]
_RECV = ["Send/Recv", "Isend/Recv", "Ssend/Recv", "Issend/Recv"]
#: All grids but 1 × 1.
_Q = [2, 4, 5, 6]
_PLAIN = {"params.mpi_profile": False}
#: nx, trajectories and processes of Table 7 where LAM needs less CPU time and more wall time.
_LESS_CPU_MORE_WALL = {
    *(("4", "50", "2"), ("6", "75", "2"), ("8", "100", "4")),
    *(("8", "100", "8"), ("12", "150", "4"), ("12", "150", "8")),
}


def _pairs(run: RunValues, rate: str, constructs: list[str]) -> Field:
    where = {"params.placement": "between-nodes", "at.construct": constructs}
    return run.values("pt2pt", rate, where)


def _too_early(run: RunValues, rate: str) -> Field:
    """Of the program that answers before the message has arrived, on purpose."""
    return run.values("pt2pt", rate, {"params.reply_before_wait": True}, on_purpose=True)


def _cpu_share(run: RunValues) -> Field:
    cpu, wall = (run.values("su3_rmd", one, _PLAIN) for one in ("rank_cpu_time", "launch"))
    return cpu / wall


def _of(run: RunValues, environment: str, metric: str, where: Mapping[str, object]) -> Field:
    return run.values("su3_rmd", metric, {"environment": environment, **_PLAIN, **where})


def _smallest(run: RunValues, environment: str, ranks: int) -> Field:
    where = {"params.nx": 4, "params.trajectories": 50, "ranks": ranks}
    return _of(run, environment, "launch", where)


def _less_cpu_more_wall(run: RunValues) -> Field:
    """The smaller of MPICH's CPU time over LAM's and LAM's wall time over MPICH's."""
    cpu, wall = (
        {name: _of(run, name, metric, {}) for name in ("lam", "mpich")}
        for metric in ("rank_cpu_time", "launch")
    )
    both = (cpu["mpich"] / cpu["lam"]).lesser(wall["lam"] / wall["mpich"])
    return both.made(item for item in both.items() if item[0] in _LESS_CPU_MORE_WALL)


def _start(run: RunValues, environment: str, ranks: str) -> Field:
    times = run.values("startup", "all_heard", {"environment": environment}, by=["ranks"])
    return times.pick("ranks", ranks)


CALCULATIONS = {
    "speed_up": lambda times: times.relative("ranks", 1),
    "best_order": lambda rates: rates.best("params.n"),
    "lead": lambda rates: rates.lead("lam", "mpich").mean("params.n"),
    "whole_lead": lambda rates: rates.lead("lam", "mpich").mean("params.p", "params.q", "params.n"),
    "rate": lambda run: run.values("hpl", "rate", {"params.q": _Q}),
    "rate_lam": lambda run: run.values("hpl", "rate", {"environment": "lam", "params.q": _Q}),
    "rate_mpich": lambda run: run.values("hpl", "rate", {"environment": "mpich", "params.q": _Q}),
    "cpu_share": _cpu_share,
    "other_share": lambda run: 1 - _cpu_share(run),
    "irecv_mean": lambda run: _pairs(run, "bandwidth_mean", _IRECV),
    "irecv_best": lambda run: _pairs(run, "bandwidth_best", _IRECV),
    "irecv_worst": lambda run: _pairs(run, "bandwidth_worst", _IRECV),
    "recv_mean": lambda run: _pairs(run, "bandwidth_mean", _RECV),
    "recv_best": lambda run: _pairs(run, "bandwidth_best", _RECV),
    "recv_worst": lambda run: _pairs(run, "bandwidth_worst", _RECV),
    "too_early_mean": lambda run: _too_early(run, "bandwidth_mean"),
    "too_early_best": lambda run: _too_early(run, "bandwidth_best"),
    "too_early_worst": lambda run: _too_early(run, "bandwidth_worst"),
    "smallest_lam": lambda run: _smallest(run, "lam", 16),
    "smallest_mpich": lambda run: _smallest(run, "mpich", 16),
    "smallest_mpich_on_2": lambda run: _smallest(run, "mpich", 2),
    "less_cpu_more_wall": _less_cpu_more_wall,
    "hydra_most": lambda run: _start(run, "mpich-hydra", "greatest"),
    "hydra_fewest": lambda run: _start(run, "mpich-hydra", "least"),
    "lam_most": lambda run: _start(run, "lam", "greatest"),
    "lam_fewest": lambda run: _start(run, "lam", "least"),
}
