# SPDX-License-Identifier: Apache-2.0
"""`assay advise` held against SimGrid's SMPI, which runs the programs on simulated libraries.

Four libraries of a foreign simulator (Debian: libsimgrid-dev): the algorithms of MPICH, Open MPI,
MVAPICH2 and SimGrid itself for collective operations, each with a cost of messages and an eager
limit of its own. Curves are those of our pt2pt and collectives, with launches of 1 % noise; each
program of proxy.c is profiled once by our profile, on four ranks in `PROFILED_IN`, and runs
with longer messages and on more ranks, too; so is su3_rmd. --write: docs/advice.md anew.
"""

from __future__ import annotations

import math
import random
import re
import shutil
import subprocess
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec
import numpy as np

from assay.profile.collecting import profile_of, read_recordings
from bench.advised.advice import ProgramVariant, pairs, show, summary
from bench.prediction_witness import LATTICE_INPUT, build, printed_by, simulated
from records.application_profile import ApplicationProfile
from reports.analysis.run import analyse
from reports.load.loading import load_run
from reports.tests.synthetic import case, write_run

_PROXY = Path(__file__).resolve().parent / "proxy.c"
_PLATFORM = """<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1"><zone id="all" routing="Full">
<cluster id="c" prefix="n" suffix="" radical="0-15" speed="10Gf" bw="1GBps" lat="5us"/>
</zone></platform>
"""
PROFILED_IN = "ompi"
#: Algorithms, cost of a message at either end in s, eager limit in bytes.
LIBRARIES = {
    "mpich": ("mpich", 1.5e-6, 65536),
    "ompi": ("ompi", 1e-6, 4096),
    "mvapich2": ("mvapich2", 0.5e-6, 16384),
    "default": ("default", 3e-6, 262144),
}
LATTICE = "su3_rmd"
MIXES = {"halo": 100, "sums": 100, "spectral": 100, "master": 100, "chain": 50}
STEPS, RANKS, BLOCKS, NOISE = 60, (2, 4, 8), 6, 0.01
PROFILED_ON = 4
#: Times as long, on so many ranks; by these the constants of the advice were chosen.
CHANGES = ((1, 4), (4, 4), (1, 8))
#: Of these as many as `BLIND` were drawn by `SEED` before any of them ran.
SEED, FURTHER, BLIND = 2033, ((2, 4), (8, 4), (1, 6), (2, 8), (4, 8)), 10
_SIZES = "8,64,512,2048,4000,6000,8192,12000,24000,49152,65536,98304"


def settings(library: str) -> list[str]:
    """What makes SMPI this library."""
    algorithms, cost_s, limit = LIBRARIES[library]
    ends = [f"--cfg=smpi/{end}:0:{cost_s}:1e-11" for end in ("os", "or", "ois")]
    return [
        *ends,
        f"--cfg=smpi/coll-selector:{algorithms}",
        f"--cfg=smpi/send-is-detached-thresh:{limit}",
    ]


def curves(folder: Path) -> Path:
    """A run of pt2pt and collectives in each library."""
    cases, times = [], dict[str, list[dict[str, Any]]]()
    for name in LIBRARIES:
        fixed = {"placement": "between-nodes", "constructs": ["Send/Recv"], "sizes": _SIZES}
        cases.append(case("pt2pt", name, fixed))
        words = ("./pt2pt", "--constructs", "Send/Recv", "--sizes", _SIZES, "--iterations", "3")
        times[cases[-1]["id"]] = simulated(folder, 2, *settings(name), *words, "--warmup", "1")
        for direction, window in (("both-ways", 1), ("both-ways", 2), ("one-way", 16)):
            streams: dict[str, object] = {"directions": [direction], "window": window}
            streams |= {"placement": "between-nodes", "sizes": _SIZES}
            cases.append(case("streams", name, streams))
            own = ["./streams", "--directions", direction, "--window", str(window)]
            own += ["--sizes", _SIZES, "--iterations", "3", "--warmup", "1"]
            times[cases[-1]["id"]] = simulated(folder, 2, *settings(name), *own)
        for ranks, procedure in product(RANKS, ("each", "loop")):
            met: dict[str, object] = {"ranks": ranks, "ranks_per_node": 1, "procedure": procedure}
            cases.append(case("collectives", name, met, ranks) | {"nodes": ranks})
            own = ["./collectives", "--sizes", _SIZES, "--procedure", procedure, "--seed", "1"]
            own += ["--repetitions", "5", "--runs", "1", "--warmup", "1", "--operations"]
            own += ["barrier,broadcast,gather,reduce,total_exchange,allreduce"]
            times[cases[-1]["id"]] = simulated(folder, ranks, *settings(name), *own)
    rng = np.random.default_rng(1)

    def edit(record: dict[str, Any]) -> dict[str, Any]:
        made = [
            {key: one[key] for key in ("name", "unit", "at")}
            | {"better": "lower", "value": one["value"] * math.exp(NOISE * rng.standard_normal())}
            for one in times[record["case_id"]]
            if one["name"] in ("half_round_trip", "window_rate", "collective_time")
        ]
        return record | {"flags": [], "metrics": made}

    return write_run(folder / "run", cases, blocks=BLOCKS, edit=edit)


def words_of(name: str, factor: int = 1) -> list[str]:
    """A program and its options."""
    if name == LATTICE:
        return ["./su3_rmd_double", "--input", "su3.in", "--json", "-", "--kernel", "baseline"]
    return ["./proxy", name, str(factor), str(STEPS), str(MIXES[name])]


def program_s(folder: Path, library: str, name: str, factor: int, ranks: int) -> float:
    """What a program takes; of su3_rmd, whose computing is not simulated, its communication."""
    text = printed_by(folder, ranks, *settings(library), *words_of(name, factor))
    found = re.search(
        r'^seconds: (\S+)$|"communication_time".*"value":([^,}]+)', text, re.MULTILINE
    )
    assert found, text
    return float(found[1] or found[2])


def profiled(folder: Path, name: str) -> ApplicationProfile:
    """The profile of a program. All simulated hosts have the name of this one, so that the nodes
    are filled in."""
    with TemporaryDirectory() as recordings:
        program, *words = words_of(name)
        own = [*settings(PROFILED_IN), f"./profiled/{program}", *words]
        printed_by(folder, PROFILED_ON, *own, ASSAY_PROFILE_FOLDER=recordings)
        profile = profile_of(read_recordings(Path(recordings)), [name], None)
    calls = [msgspec.structs.replace(one, nodes=one.ranks) for one in profile.calls]
    return msgspec.structs.replace(
        profile, calls=calls, nodes=PROFILED_ON, ranks_per_node=1, environment=PROFILED_IN
    )


def main(arguments: list[str]) -> int:
    """Entry point; see the module's docstring."""
    if not (shutil.which("smpicc") and shutil.which("smpirun")):
        print("skipped: no SimGrid; Debian has it as libsimgrid-dev")
        return 0
    with TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "profiled").mkdir()
        own, profile = (
            [str(folder / one) for one in ("pt2pt", "streams", "collectives")],
            folder / "profile.o",
        )
        lattice = ["PRECISION=double", "su3_rmd"]
        with_profile = [f"OUT={folder / 'profiled'}", f"LIBS={profile} -lm -ldl", *lattice]
        build(folder, ("common/src", own), ("common/src/mpiprofile", [str(profile)]))
        build(folder, ("su3_rmd/src", lattice), ("su3_rmd/src", with_profile))
        for program, further in (("proxy", []), ("profiled/proxy", [str(profile), "-ldl"])):
            words = ["smpicc", "-O2", "-DSIMULATED", str(_PROXY), "-o", str(folder / program)]
            subprocess.run([*words, *further], check=True, capture_output=True)
        (folder / "su3.in").write_text(LATTICE_INPUT.format(8, 8, 8, 8, steps=2))
        (folder / "p.xml").write_text(_PLATFORM)
        (folder / "hosts").write_text("".join(f"n{place}\n" for place in range(16)))
        analysis = analyse(load_run(curves(folder)))
        drawn = random.Random(SEED).sample([*product(MIXES, FURTHER)], BLIND)  # noqa: S311
        every = [
            ProgramVariant(
                mix,
                factor,
                ranks,
                {one: {1: program_s(folder, one, mix, factor, ranks)} for one in LIBRARIES},
            )
            for mix, (factor, ranks) in [(LATTICE, CHANGES[0]), *product(MIXES, CHANGES), *drawn]
        ]
        profiles = {(name, False): profiled(folder, name) for name in (LATTICE, *MIXES)}
        found = [*pairs(analysis, profiles, every, every[-BLIND:])]
    heading = "`python -m bench advice_witness`, four libraries that SimGrid simulates:"
    show(found, heading, "simulated" if "--write" in arguments else "")
    return 0 if all(row.kept for row in summary(found)) else 1
