# SPDX-License-Identifier: Apache-2.0
"""B. P. Kearns (2003): tables, figures and claims, and what a run has of the same kind."""

from collections.abc import Callable
from dataclasses import replace
from statistics import fmean
from typing import Any

from plugins.papers.fields import LENGTH, Field
from plugins.papers.run_values import RunValues, of_run
from plugins.papers.study import Claim, Datum, Drawn, Key, PrintedTable, Quantity, Study, table
from records.run.record import read_records

#: Pairs of send and receive.
IRECV = ["Send/Irecv", "Isend/Irecv", "Ssend/Irecv", "Issend/Irecv"]
RECV = ["Send/Recv", "Isend/Recv", "Ssend/Recv", "Issend/Recv"]
NODES = {"params.placement": "between-nodes"}
SSEND_AND_WAIT = ("MPI_Ssend", "MPI_Wait", "MPI_Waitall")
#: All grids but 1 × 1.
Q = [2, 4, 5, 6]
PLAIN = {"params.mpi_profile": False}
#: nx, trajectories and processes of Table 7 where LAM needs less CPU time and more wall time.
LESS_CPU_MORE_WALL = {
    *(("4", "50", "2"), ("6", "75", "2"), ("8", "100", "4")),
    *(("8", "100", "8"), ("12", "150", "4"), ("12", "150", "8")),
}
GRID = [Key("p", "P", "params.p"), Key("q", "Q", "params.q"), Key("n", "N", "params.n")]
PROCESSES = Key("procs", "processes", "ranks")
PAIRS = [Key("construct", "pair", "at.construct"), Key("message_bytes", "bytes", LENGTH)]
LATTICE = [
    *(Key("nx", "nx", "params.nx"), Key("nt", "nt", "params.nt")),
    *(Key("traj", "trajectories", "params.trajectories"), PROCESSES),
]

#: Places of HPL's points; nx and trajectories of the five experiments with su3_rmd.
POINTS = ["params.p", "params.q", "params.n"]
EXPERIMENTS = {4: 50, 6: 75, 8: 100, 12: 150, 16: 200}

hpl_rate = of_run("hpl", "rate")
hpl_time = of_run("hpl", "time")


def rate_of(environment: str = "") -> Quantity:
    """Rate of HPL on all grids but 1 × 1, of an environment or all."""
    named = {"environment": environment} if environment else {}
    return of_run("hpl", "rate", {**named, "params.q": Q})


def lattice(metric: str, environment: str = "", **where: object) -> Quantity:
    """Times of su3_rmd without a profile."""
    named = {"environment": environment} if environment else {}
    return of_run("su3_rmd", metric, {**named, **PLAIN, **where})


def smallest(environment: str, ranks: int) -> Quantity:
    """Wall time of the smallest problem."""
    where = {"params.nx": 4, "params.trajectories": 50, "ranks": ranks}
    return lattice("launch", environment, **where)


def largest(environment: str) -> Quantity:
    """Wall time of experiment 5 on 16 processes."""
    where = {"params.nx": 16, "params.trajectories": 200, "ranks": 16}
    return of_run("su3_rmd", "launch", {"environment": environment, **where})


def cpu_share(run: RunValues) -> Field:
    """CPU time over wall time of the five experiments."""
    where, last = PLAIN, "params.trajectories"
    cpu, wall = (
        run.values("su3_rmd", metric, where, [last]) for metric in ("rank_cpu_time", "launch")
    )
    share = cpu / wall
    nx = share.axes.index("params.nx")
    known = (one for one in share.items() if one[0][-1] == str(EXPERIMENTS.get(int(one[0][nx]))))
    return share.made(known).along([last], lambda line: next(iter(line.values())))


def less_cpu_more_wall(run: RunValues) -> Field:
    """The smaller of MPICH's CPU time over LAM's and LAM's wall time over MPICH's."""
    cpu, wall = (
        {name: lattice(metric, name)(run) for name in ("lam", "mpich")}
        for metric in ("rank_cpu_time", "launch")
    )
    both = (cpu["mpich"] / cpu["lam"]).joined(wall["lam"] / wall["mpich"], min)
    return both.made(item for item in both.items() if item[0] in LESS_CPU_MORE_WALL)


def ssend_and_wait(run: RunValues) -> Field:
    """Share of MPI_Ssend and MPI_Wait in the time inside MPI, of the launches with a profile."""
    times = run.values("su3_rmd", "launch", {"params.mpi_profile": True})
    shares: dict[tuple[str, int], float] = {}
    for record in (
        read_records(run.analysis.run.directory / "records.jsonl") if times.values else ()
    ):
        if record.check == "su3_rmd" and record.status == "ok" and record.profile:
            calls = [call for rank in record.profile for call in rank["calls"]]
            both = sum(call["time_s"] for call in calls if call["call"] in SSEND_AND_WAIT)
            inside = sum(call["time_s"] for call in calls)
            shares[record.environment, record.block] = both / inside
    return times.made(
        (point, name, replace(one, by_block={b: shares[name, b] for b in one.by_block}))
        for point, name, one in times.items()
    )


def start(environment: str) -> Quantity:
    """Start-up times."""
    return of_run("startup", "all_heard", {"environment": environment})


def start_at(environment: str, ranks: str) -> Quantity:
    """Start-up time of the least or greatest number of processes."""
    where = {"environment": environment}
    return lambda run: run.values("startup", "all_heard", where, ["ranks"]).pick("ranks", ranks)


def half_round_trip(environment: str) -> Quantity:
    """Half round trips between nodes by pair and length."""
    return of_run("pt2pt", "half_round_trip", {"environment": environment, **NODES})


def pairs(constructs: list[str]) -> Callable[[str], Quantity]:
    """Rates of pairs of send and receive, by statistic."""
    where = {**NODES, "at.construct": constructs}
    return lambda statistic: of_run("pt2pt", f"bandwidth_{statistic}", where)


def too_early(statistic: str) -> Quantity:
    """Rates of the program that answers before the message has arrived, on purpose."""
    where = {"params.reply_before_wait": True}
    return lambda run: run.values("pt2pt", f"bandwidth_{statistic}", where, on_purpose=True)


def hpl(number: str, *values: Datum, **further: Any) -> PrintedTable:
    """A table of HPL by grid and order, if `further` has no other keys."""
    return beside_libraries(number, "linpack.csv", *values, **{"keys": GRID, **further})


def beside_libraries(number: str, file: str, *values: Datum, **further: Any) -> PrintedTable:
    """A table with the libraries side by side."""
    return table(number, file, *values, **{"across": ["mpi"], "libraries": True, **further})


def gflops(**further: Any) -> Datum:
    """Rates of HPL."""
    return Datum("gflops_mean", hpl_rate, unit="flop/s", factor=1e9, **further)


def lam_over_mpich(ours: Quantity, *axes: str) -> Datum:
    """LAM's rate over MPICH's, mean along axes."""

    def lead(rates: Field) -> Field:
        return rates.lead("lam", "mpich").reduced(fmean, *axes)

    return Datum("gflops_mean", ours, unit="1", calculated=lead)


def rates(of_pairs: Callable[[str], Quantity]) -> list[Datum]:
    """Mean, best and worst rates over 100 round trips."""
    columns = {"avg": "mean", "best": "best", "worst": "worst"}
    return [Datum(f"{name}_mb_s", of_pairs(statistic)) for name, statistic in columns.items()]


TABLES = [
    hpl(
        "Tables 4 and 5, Appendix D",
        gflops(spread="gflops_stddev"),
        Datum("seconds_mean", hpl_time, unit="s"),
        drawn=["gflops_mean"],
        figures="Figure 4 and Appendix C",
    ),
    hpl(
        "Figures 5 to 7, Appendix B",
        gflops(),
        keys=[Key("n", "N", "params.n"), Key("procs", "processes of the grid", "ranks")],
        printed=False,
    ),
    hpl(
        "Figure 8",
        Datum(
            "seconds_mean",
            hpl_time,
            unit="1",
            calculated=lambda times: times.against("ranks", 1, lambda here, one: one / here),
        ),
        keys=[Key("n", "N", "params.n"), PROCESSES],
        only={"n": ["2000", "4000", "6000"]},
        figures="Figure 8",
    ),
    hpl("Best of each grid", gflops(calculated=lambda rates: rates.reduced(max, "params.n"))),
    hpl("LAM's lead by grid", lam_over_mpich(hpl_rate, "params.n")),
    hpl(
        "LAM's lead",
        lam_over_mpich(rate_of(), *POINTS),
        only={"q": [str(q) for q in Q]},
        stands="library",
    ),
    beside_libraries(
        "Tables 6 and 7, Appendix E",
        "su3_rmd.csv",
        Datum("wall_s_mean", lattice("launch"), unit="s", spread="wall_s_stddev"),
        Datum("cpu_s_mean", lattice("rank_cpu_time"), unit="s", spread="cpu_s_stddev"),
        keys=LATTICE,
        figures="Figures 9 to 13",
    ),
    beside_libraries(
        "Table 8",
        "su3_rmd_breakdown.csv",
        Datum("cpu_pct", cpu_share),
        Datum("comm_io_pct", lambda run: cpu_share(run).each(lambda share: 1 - share)),
        keys=[
            Key(
                "experiment",
                "experiment",
                "params.nx",
                dict(zip("12345", EXPERIMENTS, strict=True)),
            ),
            PROCESSES,
        ],
    ),
    beside_libraries(
        "Table 9",
        "startup.csv",
        Datum("startup_s", of_run("startup", "all_heard")),
        keys=[PROCESSES],
        figures="Table 9",
    ),
    beside_libraries(
        "Table 10, Appendix I",
        "bandwidth.csv",
        *rates(pairs(IRECV)),
        keys=PAIRS,
        only={"program": ["modified"]},
        figures="Figures 15 to 20, Appendix H",
    ),
    beside_libraries(
        "Appendices F and G, with MPI_Recv",
        "bandwidth.csv",
        *rates(pairs(RECV)),
        keys=PAIRS,
        only={"program": ["original"], "construct": RECV},
        figures="Appendix F",
    ),
    beside_libraries(
        "Appendices F and G, with MPI_Irecv",
        "bandwidth.csv",
        *rates(too_early),
        keys=PAIRS,
        only={"program": ["original"], "construct": IRECV},
        figures="Appendix F",
    ),
    beside_libraries(
        "Tables of the long messages, verbatim",
        "bandwidth_long_sequences.csv",
        Datum("bandwidth_mb_s"),
        keys=[
            *(Key("program", "program"), Key("cell_construct", "pair")),
            *(Key("cell_part", "part"), Key("seq_index", "place")),
        ],
        across=["mpi", "statistic"],
    ),
]

SHOWN = [
    Drawn(
        "Figure 14",
        after="Table 9",
        check="su3_rmd",
        only=["picture-profile-su3_rmd", "profile-su3-rmd"],
    ),
    Drawn(
        "Protocol limits in the text",
        after="Appendices F and G, with MPI_Irecv",
        check="echo",
        only=["picture-echo-fits", "table-echo-switches"],
    ),
]

CLAIMS = {
    "linpack": Claim(rate_of("lam"), rate_of("mpich"), POINTS, more_than=1),
    "linpack lead": Claim(rate_of("lam"), rate_of("mpich"), POINTS, more_than=1.026),
    "lattice": Claim(
        lattice("launch", "lam"),
        lattice("launch", "mpich"),
        ["params.nx", "params.nt", "params.trajectories", "ranks"],
        less_than=1,
    ),
    "smallest lattice": Claim(smallest("mpich", 16), smallest("lam", 16), more_than=2.2),
    "CPU and wall time": Claim(
        less_cpu_more_wall, None, ["params.nx", "params.trajectories", "ranks"], more_than=1
    ),
    "scaling": Claim(smallest("mpich", 16), smallest("mpich", 2), more_than=1),
    "remote shells": Claim(start("lam"), start("mpich-hydra"), ["ranks"], less_than=1),
    "slurm": Claim(start("lam"), start("mpich"), ["ranks"], less_than=1),
    "messages": Claim(
        half_round_trip("lam"),
        half_round_trip("mpich"),
        ["at.construct", LENGTH],
        each="at.construct",
        less_than=1,
    ),
    "daemons": Claim(
        of_run("hpl", "rate", {"environment": "lam-lamd"}),
        of_run("hpl", "rate", {"environment": "lam"}),
        POINTS,
        less_than=1,
    ),
    "too early": Claim(
        too_early("best"),
        of_run("pt2pt", "bandwidth_best", {**NODES, "params.reply_before_wait": False}),
        ["at.construct", LENGTH],
        more_than=1,
    ),
    "experiment 5": Claim(largest("lam"), largest("mpich"), less_than=1),
    "start of MPICH": Claim(
        start_at("mpich-hydra", "greatest"), start_at("mpich-hydra", "least"), more_than=2
    ),
    "Ssend and Wait": Claim(ssend_and_wait, more_than=0.5),
    "start of LAM": Claim(start_at("lam", "greatest"), start_at("lam", "least"), less_than=1.25),
}

STUDY = Study("wyeast-2003", ranks_per_node=2, tables=TABLES, shown=SHOWN, claims=CLAIMS)
