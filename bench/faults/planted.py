# SPDX-License-Identifier: Apache-2.0
"""Faults planted on a virtual cluster: each is found and named, and nothing else is (goal: all).

python -m bench planted [FAULT …]. Brings its own cluster of four nodes on two switches up and takes
it down. Each fault gets a campaign, `assay accept` and up to two re-runs; then one
library made some 5 % slower by its settings is compared with itself. Exits 1 when a row misses.

A node held to half its cores' time is not slow where other work leaves each node less: on a
machine that does other work that row is not judged. In a launch the nodes take turns of a tenth of
a second; many short launches, whose medians are compared, keep other work from hitting one node.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bench.on_cluster import assay, on_cluster, run_campaign
from bench.rows import Row, printed
from virtual_cluster import ClusterSpec

CLUSTER = "planted"
_RERUNS = 2
#: Of the machine's cores: where other work takes more, a node at half its cores' time is not slow.
_IDLE_SHARE = 0.2
_LOOK_S = 2.0


#: What is planted: its title, where, shares of cores' time and of the link, and the words that its
#: finding must have.
FAULTS: dict[str, tuple[str, str, float | None, float | None, list[str]]] = {
    "none": ("no fault", "", None, None, []),
    "node": ("node n2 at half its cores' time", "n2", 0.5, None, ["slow node", "n2"]),
    "link": ("link of n3 at half its rate", "n3", None, 0.5, ["slow link", "n3"]),
    "nic": ("NIC of n4 at 0.7 of its rate", "n4", None, 0.7, ["slow link", "n4"]),
    "trunk": ("trunk of two switches at half its rate", "s1", None, 0.5, ["slow cut", "n1", "n3"]),
}
_MACHINE = """
schema: 1
name: planted
question: Is what was planted named, and nothing else?
environments: [mpich, lam]
blocks: 8
seed: 15
cases:
  - check: node
    environments: [mpich]
    fixed: {ranks: 4, kernels: [dgemm], dgemm_n: 400, repetitions: 8}
  - check: alltoall_pairs
    environments: [lam]
    fixed:
      ranks: 4
      latency_bytes: 8
      latency_iterations: 20
      bandwidth_bytes: 262144
      bandwidth_iterations: 7
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
    at_least: 0.8
"""
#: Above its limit a library asks before it sends: one round trip more, some 6 % of 10 KiB here.
_LIBRARY = """
schema: 1
name: library
question: Is the library whose settings make it ask first slower, and only where it asks?
environments: [lam, lam-asks]
variants:
  lam-asks: {of: lam, settings: {short_message_bytes: 8192}}
blocks: 12
seed: 16
cases:
  - check: pt2pt
    fixed:
      placement: between-nodes
      constructs: [Send/Recv]
      sizes: [4096, 10240]
      iterations: 40
      warmup: 5
"""


def named(folder: Path) -> list[str]:
    """Names that the acceptance of the campaign gives, after re-runs of what it asks for."""
    run = run_campaign(folder, _MACHINE, CLUSTER)
    (folder / "criteria.yaml").write_text(_CRITERIA)
    words = ["accept", str(run), "--criteria", "criteria.yaml", "--json"]
    dossier: dict[str, Any] = {}
    for again in range(1 + _RERUNS):
        dossier = json.loads(assay(folder, *words, *(["--rerun"] if again else [])))
        if not dossier["rerun_wanted"]:
            break
    return list(dossier["named"])


def busy_cores() -> float:
    """Number of the machine's cores that work now, while the bench does nothing."""
    before = _idle_s()
    time.sleep(_LOOK_S)
    return max(0.0, (os.cpu_count() or 1) - (_idle_s() - before) / _LOOK_S)


def _idle_s() -> float:
    """Seconds that all cores were idle, or waited for a disk, since the machine's start."""
    words = Path("/proc/stat").read_text(encoding="ascii").split(maxsplit=6)
    return (int(words[4]) + int(words[5])) / os.sysconf("SC_CLK_TCK")


def faults(names: list[str]) -> Iterator[Row]:
    """A row a fault."""
    spec = ClusterSpec(name=CLUSTER, nodes=4, network="fast-ethernet", switches="2")
    with on_cluster(spec) as (cluster, folder):
        for name in names:
            if name == "library":
                yield _library(folder)
                continue
            (title, place, cpu, link, words), busy = FAULTS[name], busy_cores()
            what = f"planted: {title}"
            if cpu and busy > _IDLE_SHARE * (os.cpu_count() or 1):
                yield Row(what, "", f"not judged: other work takes {busy:.1f} cores")
                continue
            if place:
                cluster.degrade(place, cpu, link)
            found = named(folder)
            if place:
                cluster.mend(place)
            right = [one for one in found if words and all(word in one for word in words)]
            kept = found == right and len(found) == bool(words)
            target = f"{' … '.join(words)} alone" if words else "nothing named"
            yield Row(what, target, "; ".join(found) or "nothing", kept)


def _library(folder: Path) -> Row:
    """Tell if the slower settings are called slower where they act, and nowhere else."""
    run = run_campaign(folder, _LIBRARY, CLUSTER)
    assay(folder, "report", str(run), "--format", "json")
    points = json.loads((run / "report" / "verdicts.json").read_text())["choice"]["points"]
    found = {
        point["at"]["message_bytes"]: (point["verdict"], point["advantage"])
        for point in points
        if point["environment"] == "lam-asks"
    }
    kept = found[10240][0] == "slower" and found[4096][0] not in ("slower", "faster")
    text = "; ".join(
        f"{size:,} B: {word} ({advantage:.3f})" for size, (word, advantage) in found.items()
    )
    return Row("planted: a library asks before 10 KiB", "slower there alone", text, kept)


def main(arguments: list[str]) -> int:
    """Entry point; see the module's docstring."""
    there = [*FAULTS, "library"]
    if wrong := set(arguments) - set(there):
        print(f"bench planted: {min(wrong)!r}; there are {', '.join(there)}", file=sys.stderr)
        return 2
    return printed(faults(arguments or there))
