# SPDX-License-Identifier: Apache-2.0
"""Faults planted on a virtual cluster: each is found and named, and nothing else is (goal: all).

python -m bench.planted [FAULT …]. Brings its own cluster of four nodes on two switches up and takes
it down; needs root, and a machine that does nothing else: a node held to half its cores' time is
not slow where other work leaves each node less. Each fault gets a campaign, `assay accept` and up
to two re-runs; then one library made some 5 % slower by its settings is compared with itself. Exits
1 when a row misses.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.rows import Row, printed
from virtual_cluster import ClusterSpec, up

CLUSTER = "planted"
_ASSAY = Path(sys.executable).parent / "assay"
_RERUNS = 2


@dataclass(frozen=True, slots=True)
class Fault:
    """What is planted where, and the words that its finding must have."""

    name: str
    place: str = ""
    cpu: float | None = None
    link: float | None = None
    words: tuple[str, ...] = ()


FAULTS = {
    "none": Fault("no fault"),
    "node": Fault("node n2 at half its cores' time", "n2", cpu=0.5, words=("slow node", "n2")),
    "link": Fault("link of n3 at half its rate", "n3", link=0.5, words=("slow link", "n3")),
    "nic": Fault("NIC of n4 at 0.7 of its rate", "n4", link=0.7, words=("slow link", "n4")),
    "trunk": Fault(
        "trunk between two switches at half its rate",
        "s1",
        link=0.5,
        words=("slow cut", "n1", "n3"),
    ),
}
_MACHINE = """
schema: 1
name: planted
question: Is what was planted named, and nothing else?
environments: [mpich, lam]
blocks: 5
seed: 15
cases:
  - check: node
    environments: [mpich]
    fixed: {ranks: 4, kernels: [dgemm], dgemm_n: 400, repetitions: 15}
  - check: alltoall_pairs
    environments: [lam]
    fixed:
      ranks: 4
      latency_bytes: 8
      latency_iterations: 20
      bandwidth_bytes: 262144
      bandwidth_iterations: 5
      turns: true
"""
_CRITERIA = """
schema: 1
name: planted
title: Planted faults
criteria:
  - {id: dgemm, kind: nodes, title: Nodes alike, check: node, metric: dgemm_rate, within: 0.25}
  - id: bandwidth
    kind: links
    title: Links alike
    check: alltoall_pairs
    metric: pair_bandwidth
    of: best
    at_least: 0.85
"""
#: Above its limit a library asks before it sends: one round trip more, some 5 % of 48 KiB.
_LIBRARY = """
schema: 1
name: library
question: Is the library whose settings make it ask first slower, and only where it asks?
environments: [lam, lam-asks]
variants:
  lam-asks: {of: lam, settings: {short_message_bytes: 16384}}
blocks: 12
seed: 16
cases:
  - check: pt2pt
    fixed:
      placement: between-nodes
      constructs: [Send/Recv]
      sizes: [8192, 49152]
      iterations: 40
      warmup: 5
"""


def named(folder: Path) -> list[str]:
    """What the acceptance of the campaign names, after re-runs of what it asks for."""
    run = _run(folder, _MACHINE)
    (folder / "criteria.yaml").write_text(_CRITERIA)
    words = ["accept", str(run), "--criteria", "criteria.yaml", "--json"]
    dossier: dict[str, Any] = {}
    for again in range(1 + _RERUNS):
        dossier = json.loads(_assay(folder, *words, *(["--rerun"] if again else [])))
        if not dossier["rerun_wanted"]:
            break
    return list(dossier["named"])


def _run(folder: Path, campaign: str) -> Path:
    (folder / "campaign.yaml").write_text(campaign)
    _assay(folder, "run", "campaign.yaml", "--site", f"virtual:{CLUSTER}")
    return max(folder.glob("results/*/*"), key=lambda path: path.stat().st_ctime_ns)


def _assay(folder: Path, *words: str) -> str:
    """Run assay in `folder`; its output. Raises RuntimeError where it could not do its work."""
    done = subprocess.run([_ASSAY, *words], cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode in (2, 4):
        raise RuntimeError(f"assay {' '.join(words)}: {done.stderr or done.stdout}")
    return done.stdout


def faults(names: list[str]) -> Iterator[Row]:
    """A row a fault."""
    cluster = up(ClusterSpec(name=CLUSTER, nodes=4, network="fast-ethernet", switches="2"))
    with ExitStack() as stack:
        stack.callback(cluster.down)
        # One folder: what the first campaign builds serves all.
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="assay-bench-")))
        for name in names:
            if name == "library":
                yield _library(folder)
                continue
            fault = FAULTS[name]
            if fault.place:
                cluster.degrade(fault.place, fault.cpu, fault.link)
            found = named(folder)
            if fault.place:
                cluster.mend(fault.place)
            right = [one for one in found if fault.words and all(w in one for w in fault.words)]
            kept = found == right and len(found) == bool(fault.words)
            target = f"{' … '.join(fault.words)} alone" if fault.words else "nothing named"
            yield Row(f"planted: {fault.name}", target, "; ".join(found) or "nothing", kept)


def _library(folder: Path) -> Row:
    """Whether the slower settings are told slower where they act, and nowhere else."""
    run = _run(folder, _LIBRARY)
    _assay(folder, "report", str(run), "--format", "json")
    points = json.loads((run / "report" / "verdicts.json").read_text())["choice"]["points"]
    found = {
        point["at"]["message_bytes"]: (point["verdict"], point["advantage"])
        for point in points
        if point["environment"] == "lam-asks"
    }
    kept = found[49152][0] == "slower" and found[8192][0] not in ("slower", "faster")
    text = "; ".join(
        f"{size:,} B: {word} ({advantage:.3f})" for size, (word, advantage) in found.items()
    )
    return Row("planted: a library asks before 48 KiB", "slower there alone", text, kept)


def main(arguments: list[str]) -> int:
    """Entry point; see the module's docstring."""
    there = [*FAULTS, "library"]
    if wrong := set(arguments) - set(there):
        print(f"bench planted: {min(wrong)!r}; there are {', '.join(there)}", file=sys.stderr)
        return 2
    if os.geteuid() != 0:
        print("bench planted: needs root for a virtual cluster; run it with sudo", file=sys.stderr)
        return 2
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # the cluster is taken down
    return printed(faults(arguments or there))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
