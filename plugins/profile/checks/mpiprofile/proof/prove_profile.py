# SPDX-License-Identifier: Apache-2.0
"""Prove the profile of prove_profile.c, read from standard input: counts, peers, bytes, sizes.

usage: prove_profile.py RANKS [evidence]     (evidence: the evidence line must be there too)
"""

import json
import sys
from typing import Any

ROUNDS, SMALL, LARGE, INTS, DOUBLE = 10, 100, 5000, 32, 8


def expected_calls(rank: int, ranks: int) -> dict[tuple[str, int | None], tuple[int, int]]:
    """Count and bytes by call and peer; the ring's communicator has the ranks reversed."""
    to, behind = (rank - 1) % ranks, (rank + 1) % ranks
    calls: dict[tuple[str, int | None], tuple[int, int]] = {
        ("Isend", to): (ROUNDS, ROUNDS * SMALL),
        ("Irecv", behind): (ROUNDS, ROUNDS * LARGE),
        ("Sendrecv", to): (ROUNDS, ROUNDS * LARGE),
        ("Waitall", None): (2 * ROUNDS + 1, 0),
        ("Startall", None): (1, 0),
        ("Allreduce", None): (ROUNDS, ROUNDS * 4 * DOUBLE),
        ("Bcast", None): (1, 3 * DOUBLE if rank == 0 else 0),
        ("Barrier", None): (1, 0),
        ("Comm_split", None): (1, 0),
        ("Comm_free", None): (1, 0),
    }
    for name, each in (("Start", ROUNDS), ("Startall", 1)):
        for peer in (to, behind):
            count, size = calls.get((name, peer), (0, 0))
            calls[name, peer] = (count + each, size + each * INTS)
    if rank != 0:
        calls["Send", 0] = (1, 1)
    for other in range(1, ranks if rank == 0 else 1):
        calls["Recv", other] = (1, 1)
    return calls


def prove_rank(line: dict[str, Any], ranks: int) -> bool:
    """Compare a rank's line; prints what differs."""
    rank = line["rank"]
    found = {(c["call"], c["peer"]): (c["count"], c["bytes"]) for c in line["calls"]}
    expected = expected_calls(rank, ranks)
    for key in sorted(set(found) | set(expected), key=str):
        if found.get(key) != expected.get(key):
            print(f"WRONG  {key}: found {found.get(key)}, expected {expected.get(key)}")
    sizes = {(c["call"], c["peer"]): c["sizes"] for c in line["calls"]}
    to = (rank - 1) % ranks
    classes = sizes["Isend", to] == {"128": ROUNDS} and sizes["Sendrecv", to] == {"8192": ROUNDS}
    times = all(0 <= c["greatest_s"] <= c["time_s"] <= line["elapsed_s"] for c in line["calls"])
    total = abs(sum(c["time_s"] for c in line["calls"]) - line["mpi_s"]) < 1e-6
    right = found == expected and classes and times and total and line["ranks"] == ranks
    print(f"{'right' if right else 'WRONG':6} profile of rank {rank} of {ranks}")
    return right


def main(arguments: list[str]) -> int:
    """Judge the output of one run."""
    ranks = int(arguments[0])
    lines = [json.loads(text) for text in sys.stdin if text.startswith('{"assay"')]
    profiles = [line for line in lines if line["assay"] == "profile"]
    evidence = [line for line in lines if line["assay"] == "evidence"]
    right = [line["rank"] for line in profiles] == list(range(ranks))
    print(f"{'right' if right else 'WRONG':6} one line a rank: {len(profiles)} of {ranks}")
    wanted = 1 if "evidence" in arguments else 0
    together = len(evidence) == wanted
    print(f"{'right' if together else 'WRONG':6} evidence lines: {len(evidence)} of {wanted}")
    results = [prove_rank(line, ranks) for line in profiles]
    return 0 if right and together and all(results) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
