# SPDX-License-Identifier: Apache-2.0
"""What is calculated for the tables and claims of B. P. Kearns (2003)."""

from __future__ import annotations

from reports.verdicts.papers.fields import Field
from reports.verdicts.papers.run_values import RunValues

_IRECV = ["Send/Irecv", "Isend/Irecv", "Ssend/Irecv", "Issend/Irecv"]
_RECV = ["Send/Recv", "Isend/Recv", "Ssend/Recv", "Issend/Recv"]
#: All grids but 1 × 1.
_Q = [2, 4, 5, 6]


def _pairs(run: RunValues, rate: str, constructs: list[str]) -> Field:
    where = {"params.placement": "between-nodes", "at.construct": constructs}
    return run.values("pt2pt", rate, where)


def _too_early(run: RunValues, rate: str) -> Field:
    """Of the program that answers before the message has arrived, on purpose."""
    return run.values("pt2pt", rate, {"params.reply_before_wait": True}, on_purpose=True)


def _cpu_share(run: RunValues) -> Field:
    where = {"params.mpi_profile": False}
    return run.values("su3_rmd", "rank_cpu_time", where) / run.values("su3_rmd", "launch", where)


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
    "hydra_most": lambda run: _start(run, "mpich-hydra", "greatest"),
    "hydra_fewest": lambda run: _start(run, "mpich-hydra", "least"),
    "lam_most": lambda run: _start(run, "lam", "greatest"),
    "lam_fewest": lambda run: _start(run, "lam", "least"),
}
