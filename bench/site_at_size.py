# SPDX-License-Identifier: Apache-2.0
"""A site of 1,000 nodes on this machine: acceptance, many launches side by side, the driver killed.

python -m bench site_at_size [--quick] [--part PART] [--nodes N] [--launches N] [--at-once N]
[--kills N]. Slurm, driver, session, records and reports are real, the answers of ranks are those of
a machine with known truth (simulated_site.py). Needs root. Exits 1 when a row misses its goal.
--keep FOLDER keeps everything there; with `--part many` the same again goes on with the launches
that it has.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean
from typing import Any

from bench.rows import Row, printed
from bench.simulated.machines import LEAF
from bench.simulated.ranks import LINK
from bench.simulated.site import START_S, SimulatedSite, Usage, note_memory
from bench.simulated.slurm import CORES, OneKernelSlurm, enter_namespaces
from records.run.record import CASE_ID, latest_attempts
from records.run.run_directory import RunDirectory

_ACCEPTANCE = """
schema: 1
name: acceptance-at-size
question: Is every node and every link like the others?
environments: [fabric-a]
blocks: 5
seed: 2026
cases:
  - check: node
    fixed:
      {nodes: all, ranks_per_node: fill, turns: auto, kernels: [stream, dgemm, hpl],
       stream_bytes: 16777216, repetitions: 5}
  - check: alltoall_pairs
    fixed: {nodes: all, latency_iterations: 500, bandwidth_bytes: 524288, bandwidth_iterations: 15}
limits: {launch_s: 600}
"""
_CRITERIA = """
schema: 1
name: at-size
title: Every node and link like the others
reruns_at_most: 0
criteria:
  - {id: stream, kind: nodes, title: Memory bandwidth, check: node, metric: stream_triad}
  - {id: bandwidth, kind: links, title: Bandwidth of every pair, check: alltoall_pairs,
     metric: pair_bandwidth, at_least: 0.93}
  - {id: promise, kind: limit, title: What was promised, check: node, metric: stream_triad,
     at_least: 1.0e+9, unit: bytes/s}
"""
_MANY = """
schema: 1
name: many-at-size
question: Which library passes messages faster?
environments: [fabric-a, fabric-b]
blocks: {blocks}
seed: 7
cases:
  - check: pt2pt
    matrix:
      constructs: [[Send/Recv], [Isend/Recv], [Ssend/Recv], [Send/Irecv], [Isend/Irecv]]
      sizes: {sizes}
      iterations: {iterations}
    fixed: {{placement: between-nodes, warmup: 3}}
    alone: false
limits: {{launch_s: 600}}
"""
#: Message lengths of the campaign above, its cases of one number of iterations, and the blocks that
#: a campaign may have.
_SIZES = [[8, 65536], [64, 131072], [512, 262144], [4096, 524288]]
_CASES, _BLOCKS = 5 * len(_SIZES) * len(START_S), 1000
_PATIENCE_S = 900.0


@dataclass(frozen=True)
class Size:
    """How much is simulated."""

    nodes: int
    launches: int
    at_once: int
    kills: int

    def truth(self) -> dict[str, Any]:
        """A slow node, a bad pair, a switch whose uplinks carry half; nodes count from 0."""
        return {
            "nodes": self.nodes,
            "slow_nodes": {f"n{LEAF // 2 + 1}": 0.85},
            "pairs": [[LEAF + 1, LEAF + 8, 0.7]],
            "interfaces": {},
            "uplinks": {"0": 0.5},
        }

    def named(self) -> set[str]:
        """What an acceptance must name of it, and nothing else."""
        return {
            f"slow node n{LEAF // 2 + 1}",
            f"slow link n{LEAF + 2}–n{LEAF + 9}",
            f"slow cut between n[1-{LEAF}] and n[{LEAF + 1}-{self.nodes}]",
        }


USUAL, QUICK = Size(1000, 5000, 20, 10), Size(2 * LEAF, 160, 8, 2)


def rows(size: Size, folder: Path, part: str) -> Iterator[Row]:
    """All rows, or those of a part; see the module's docstring."""
    begun, slurm = time.monotonic(), OneKernelSlurm(folder / "slurm", size.nodes)
    slurm.start()
    took_s = time.monotonic() - begun
    yield Row(f"{size.nodes:,} slurmd and slurmctld on one kernel", "", f"up in {took_s:.0f} s")
    site = SimulatedSite(folder, size.truth(), size.at_once)
    if part != "many":
        yield from _acceptance(size, site)
    if part != "acceptance":
        yield from _many(size, site, slurm)


def _acceptance(size: Size, site: SimulatedSite) -> Iterator[Row]:
    (site.folder / "acceptance.yaml").write_text(_ACCEPTANCE)
    (site.folder / "criteria.yaml").write_text(_CRITERIA)
    used = site.assay("run", "acceptance.yaml", "--site", "at-size", "--no-report")
    run = RunDirectory(site.run_directory("acceptance-at-size"))
    pairs = size.nodes * (size.nodes - 1) // 2
    what = f"node check of {size.nodes * CORES:,} ranks and {pairs:,} pairs, 5 times each"
    yield Row(what, "", _told(used))
    statuses = Counter(record.status for record in run.records())
    yield Row("… launches that are ok", "10", f"{statuses['ok']}", statuses == {"ok": 10})
    yield Row("… run directory", "", _files(run.path))
    judged = site.assay("accept", str(run.path), "--criteria", "criteria.yaml", "--json")
    yield Row("… judged", "", _told(judged))
    told = json.loads(judged.said[judged.said.index("{") :])
    right = told["verdict"] == "FAIL" and set(told["named"]) == size.named()
    found = f"{told['verdict']}: {'; '.join(told['named'])}"
    yield Row("… FAIL, and just the slow node, pair and cut are named", "yes", found, right)
    reported = site.assay("report", str(run.path))
    yield Row("… report", "", _told(reported), reported.status == 0)


def _many(size: Size, site: SimulatedSite, slurm: OneKernelSlurm) -> Iterator[Row]:
    iterations = list(range(100, 100 + -(-size.launches // (_CASES * _BLOCKS))))
    cases = _CASES * len(iterations)
    blocks = -(-size.launches // cases)
    described = _MANY.format(blocks=blocks, sizes=_SIZES, iterations=iterations)
    (site.folder / "many.yaml").write_text(described)
    begun, found = time.monotonic(), site.run_directories("many-at-size")
    if found:
        yield Row("… launches that the folder has already", "", f"{_lines(RunDirectory(found[0]))}")
    memory, alive_s = _killed(size, site)
    run = RunDirectory(site.run_directory("many-at-size"))
    before, slurm_s = _lines(run), slurm.processor_s()
    last = site.assay("run", "--resume", str(run.path), "--no-report")
    took_s, slurm_s = time.monotonic() - begun, slurm.processor_s() - slurm_s
    memory = {kind: max(memory[kind], last.memory.get(kind, 0)) for kind in memory}
    launches, undisturbed = blocks * cases, max(1, _lines(run) - before)
    what = f"{launches:,} launches, {size.at_once} side by side, driver killed {size.kills} times"
    yield Row(what, "", f"{took_s:.0f} s, {_bytes(memory)}")
    yield Row("… of the last driver, which nobody killed", "", f"{undisturbed} launches")
    for who, seconds in (
        ("wall time", last.wall_s),
        ("processor time of driver, session and srun", last.processor_s),
        ("processor time of Slurm's daemons and of the launches", slurm_s),
    ):
        yield Row(f"… its {who}", "", f"{1000 * seconds / undisturbed:.0f} ms a launch")
    yield Row("… a resume, until its first launch has ended", "", f"{alive_s:.0f} s")
    yield from _nothing_lost(run, launches)
    yield Row("… run directory", "", _files(run.path))
    for words in (("status",), ("verify",), ("report", "--format", "html", "--format", "json")):
        used = site.assay(words[0], str(run.path), *words[1:])
        yield Row(f"… assay {words[0]}", "", _told(used), used.status == 0)
    yield from _judged_rightly(run)


def _judged_rightly(run: RunDirectory) -> Iterator[Row]:
    """The faster library is found, and so much faster as it is; neighbours do not matter."""
    first, second = START_S
    wires = [size / LINK for sizes in _SIZES for size in sizes]
    true = fmean((START_S[second] + wire) / (START_S[first] + wire) for wire in wires)
    (pair,) = json.loads((run.path / "report" / "verdicts.json").read_text())["choice"]["score"][
        "pairs"
    ]
    lower, upper = sorted(1 / ratio for ratio in pair["interval"])
    right = pair["environments"] == [first, second] and lower <= true <= upper
    costs = f"{100 * (lower - 1):.2f} … {100 * (upper - 1):.2f} %"
    yield Row(f"… {second} costs more than {first} by", f"{100 * (true - 1):.2f} %", costs, right)
    said = (
        "No effect of neighbours was resolved" in (run.path / "report" / "index.html").read_text()
    )
    yield Row("… no effect of neighbours", "yes", "yes" if said else "no", said)


def _killed(size: Size, site: SimulatedSite) -> tuple[dict[str, int], float]:
    """Begin the many launches and kill each driver at a random moment of its work; the greatest
    memory of its processes, and the mean time until a resumed one has its first launch."""
    dice, memory, first_s = random.Random(7), {"driver": 0, "session": 0}, []  # noqa: S311
    words = ["many.yaml", "--site", "at-size"]
    for _ in range(size.kills):
        found = site.run_directories("many-at-size")
        words = ["--resume", str(found[0])] if found else words
        begun, process = time.monotonic(), site.begin("run", *words, "--no-report")
        before = _lines(RunDirectory(found[0])) if found else 0
        kill_at: float | None = None
        while process.poll() is None and time.monotonic() - begun < _PATIENCE_S:
            note_memory(process.pid, memory)
            found = site.run_directories("many-at-size")
            if kill_at is None and found and _lines(RunDirectory(found[0])) > before:
                first_s.append(time.monotonic() - begun)
                kill_at = time.monotonic() + dice.uniform(0, 15)
            if kill_at is not None and time.monotonic() >= kill_at:
                break
            time.sleep(0.1)
        if process.poll() == 0:  # no launch was left
            break
        if process.poll() is not None or kill_at is None:
            raise RuntimeError((site.folder / "said").read_text()[-2000:])
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    return memory, sum(first_s) / max(1, len(first_s))


def _nothing_lost(run: RunDirectory, launches: int) -> Iterator[Row]:
    """Each launch of the plan has one final record, and no two have the same step."""
    records = [record for record in run.records() if record.block > 0]
    final = latest_attempts(records, CASE_ID)
    counted = Counter(
        (record.case_id, record.block) for record in records if record.status != "lost"
    )
    twice = sum(count > 1 for count in counted.values())
    statuses = Counter(record.status for record in final.values())
    yield Row("… records", "", f"{len(records):,}")
    yield Row(
        "… launches without a record", "0", f"{launches - len(counted)}", len(counted) == launches
    )
    yield Row("… launches with two", "0", f"{twice}", twice == 0)
    ok = f"{statuses['ok']:,} of {launches:,}"
    yield Row("… launches that are ok", "all", ok, statuses == {"ok": launches})
    beside = [len(record.neighbours or []) for record in records]
    most = f"{sum(beside) / max(1, len(beside)):.1f} in the mean, {max(beside, default=0)} at most"
    yield Row("… neighbours of a launch", "", most)


def _lines(run: RunDirectory) -> int:
    try:
        return run.records_file.read_bytes().count(b"\n")
    except FileNotFoundError:
        return 0


def _told(used: Usage) -> str:
    told = f"{used.wall_s:.0f} s, processor {used.processor_s:.1f} s, {_bytes(used.memory)}"
    return told if used.status in (0, 1, 3) else f"{told}: {used.said[-500:]}"


def _bytes(memory: dict[str, int]) -> str:
    return ", ".join(f"{kind} {size / 2**20:.0f} MiB" for kind, size in sorted(memory.items()))


def _files(folder: Path) -> str:
    sizes = [path.stat().st_size for path in folder.rglob("*") if path.is_file()]
    return f"{len(sizes)} files, {sum(sizes) / 1e6:.1f} MB"


def main(arguments: Sequence[str]) -> int:
    """Entry point; see the module's docstring."""
    parser = argparse.ArgumentParser(prog="python -m bench site_at_size")
    parser.add_argument("--quick", action="store_true", help="a small site, in two minutes")
    parser.add_argument("--part", choices=["all", "acceptance", "many"], default="all")
    for name in ("nodes", "launches", "at-once", "kills"):
        parser.add_argument(f"--{name}", type=int)
    parser.add_argument("--keep", metavar="FOLDER", type=Path, help="keep everything in it")
    asked = parser.parse_args(arguments)
    enter_namespaces("bench.site_at_size", arguments)
    base = QUICK if asked.quick else USUAL
    given = {name: value for name in vars(base) if (value := getattr(asked, name)) is not None}
    size = replace(base, **given)
    if asked.keep is not None:
        asked.keep.mkdir(parents=True, exist_ok=True)
        return printed(rows(size, asked.keep.resolve(), asked.part))
    with tempfile.TemporaryDirectory(prefix="assay-bench-") as folder:
        return printed(rows(size, Path(folder), asked.part))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
