# SPDX-License-Identifier: Apache-2.0
"""`assay predict` beside SimGrid's SMPI, which runs the lattice program on simulated clusters.

A foreign simulator of flows that share links (H. Casanova et al., J. Parallel Distrib. Comput. 74,
2014; Debian: libsimgrid-dev) gives the times of messages of our own pt2pt and su3_rmd, on 1 to 8
ranks to learn from and on 16 to 64 to compare with. Computing, which it does not simulate, is added
at a fixed rate. Two clusters: a crossbar, whose times must lie in the intervals, and one backbone
that 64 ranks overload, which no count up to 8 shows: reported without a goal.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from bench.judging import predict
from bench.rows import Row, printed
from reports.analysis.run import analyse
from reports.load.loading import load_run
from reports.tests.scaling_machine import SIZES, lattice_params, scaled
from reports.tests.synthetic import case, write_run

_CHECKS = Path(__file__).resolve().parents[1] / "checks"
EXTENTS, STEPS, SITE_STEP_S = (16, 16, 16, 16), 2, 2e-7
LEARNT, TARGETS = (1, 2, 4, 8), (16, 32, 64)
#: Attributes of the cluster beside its links of 1 GB/s and 2 µs.
CLUSTERS = {"crossbar": "", "backbone of 4 GB/s": 'bb_bw="4GBps" bb_lat="1us"'}
_PLATFORM = """<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1"><zone id="all" routing="Full">
<cluster id="c" prefix="n" suffix="" radical="0-63" speed="10Gf" bw="1GBps" lat="2us" {more}/>
</zone></platform>
"""
LATTICE_INPUT = """prompt 0
nx {0}
ny {1}
nz {2}
nt {3}
iseed 1
warms 0
trajecs 1
traj_between_meas 1
beta 6.0
microcanonical_time_step 0.01
steps_per_trajectory {steps}
fresh
forget
"""


def build(folder: Path, *targets: tuple[str, list[str]]) -> None:
    """Compile targets of folders of checks/ for SMPI, whose headers define what ours do."""
    make = ["make", "-s", "CC=smpicc", f"OUT={folder}"]
    for where, what in targets:
        done = subprocess.run(
            [*make, *what], cwd=_CHECKS / where, capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise SystemExit(f"SMPI does not compile {where}: {done.stderr[-2000:]}")


def printed_by(folder: Path, ranks: int, *words: str, **variables: str) -> str:
    """What a program prints on so many simulated hosts; `words` are settings of SimGrid, the
    program and its options, `variables` those of its environment."""
    settings = ["--cfg=smpi/simulate-computation:no", "--log=root.thres:critical"]
    hosts = ["-np", str(ranks), "-platform", "p.xml", "-hostfile", "hosts"]
    done = subprocess.run(
        ["smpirun", *hosts, *settings, *words],
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | variables,
    )
    return done.stdout


def simulated(folder: Path, ranks: int, *words: str) -> list[dict[str, Any]]:
    """The metrics that it prints."""
    text = printed_by(folder, ranks, *words)
    lines = (json.loads(line) for line in text.splitlines() if line[:1] == "{")
    return [line for line in lines if line["assay"] == "metric"]


def lattice_s(folder: Path, ranks: int) -> tuple[float, float]:
    """Program and communication time of the lattice program, s."""
    words = ("--input", "su3.in", "--json", "-", "--kernel", "baseline")
    found = {
        one["name"]: one["value"] for one in simulated(folder, ranks, "./su3_rmd_double", *words)
    }
    work = EXTENTS[0] * EXTENTS[1] * EXTENTS[2] * EXTENTS[3] * STEPS / ranks
    return found["communication_time"] + SITE_STEP_S * work, found["communication_time"]


def rows() -> Iterator[Row]:
    """A row for each cluster and number of ranks."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        build(
            folder,
            ("common/src", [str(folder / "pt2pt")]),
            ("su3_rmd/src", ["PRECISION=double", "su3_rmd"]),
        )
        (folder / "su3.in").write_text(LATTICE_INPUT.format(*EXTENTS, steps=STEPS))
        (folder / "hosts").write_text("".join(f"n{place}\n" for place in range(64)))
        for cluster, more in CLUSTERS.items():
            (folder / "p.xml").write_text(_PLATFORM.format(more=more))
            yield from _compared(folder, cluster, goal=not more)


def _compared(folder: Path, cluster: str, *, goal: bool) -> Iterator[Row]:
    sizes = ",".join(map(str, SIZES))
    words = ("--constructs", "Send/Recv", "--sizes", sizes, "--iterations", "3", "--warmup", "1")
    echo = [
        one for one in simulated(folder, 2, "./pt2pt", *words) if one["name"] == "half_round_trip"
    ]
    times = {ranks: lattice_s(folder, ranks) for ranks in LEARNT}
    params = {"placement": "between-nodes", "constructs": ["Send/Recv"], "sizes": [*SIZES]}
    cases = [scaled(lattice_params(EXTENTS, ranks, STEPS), ranks) for ranks in LEARNT]
    cases.append(case("pt2pt", "mpich", params))

    def edit(record: dict[str, Any]) -> dict[str, Any]:
        names = ("program_time", "communication_time")
        found = [
            {"name": name, "unit": "s", "value": value}
            for name, value in zip(names, times.get(record["ranks"], ()), strict=False)
        ]
        kept = echo if record["check"] == "pt2pt" else found
        chosen = [
            {key: one[key] for key in ("name", "unit", "value", "at") if key in one} for one in kept
        ]
        return record | {"flags": [], "metrics": [{**one, "better": "lower"} for one in chosen]}

    run = write_run(
        folder / cluster.replace(" ", "-").replace("/", "-"), cases, blocks=3, edit=edit
    )
    (found,) = predict(analyse(load_run(run)), TARGETS).predicted
    for one in found.part.points:
        time_s, _ = lattice_s(folder, one.nodes)
        told = one.time_s
        inside = told.low <= time_s <= told.high
        share = f"{one.communication_share:.0%} messages"
        yield Row(
            f"{cluster}: su3_rmd on {one.nodes} ranks, {share}",
            "inside" if goal else "",
            f"{1e3 * told.value:.2f} ms ({1e3 * told.low:.2f} … {1e3 * told.high:.2f});"
            f" SMPI {1e3 * time_s:.2f} ms: {'inside' if inside else 'outside'}",
            inside or not goal,
        )


def main(_: list[str]) -> int:
    """Entry point; see the module's docstring."""
    if not (shutil.which("smpicc") and shutil.which("smpirun")):
        print("skipped: no SimGrid; Debian has it as libsimgrid-dev")
        return 0
    return printed(rows())
