# SPDX-License-Identifier: Apache-2.0
"""What ranks of a machine of known truth would print: a launch of a thousand nodes in some ms.

simulated_ranks.py TRUTH RANKS RANKS_PER_NODE LIBRARY PROGRAM OPTION…: stands where a launcher does,
before the words of one of our programs, on some nodes of an allocation. TRUTH is a JSON file. The
answer is all that rank 0 of the program prints, evidence included, and takes as long as the machine
would. Small answers need few modules of the standard library alone, so that Python starts fast.
"""

from __future__ import annotations

import json
import math
import os
import random
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import Any

#: Bytes a second of a good link; launches scatter by CV, and all values of one by DRIFT.
LINK, CV, DRIFT = 1.15e10, 0.01, 0.01
#: Programs whose answers need numpy, in a module of their own.
LARGE = ("node", "alltoall_pairs")
#: Options that are lists though they may look like a number, and switches that are off.
_LISTS, _OFF = ("sizes", "constructs", "kernels", "only"), ("turns", "reply-before-wait")
_PROBE_BYTES = 262144


class Launch:
    """What was asked, by the words of a command line, and of which machine."""

    def __init__(self, words: list[str]) -> None:
        file, ranks, ranks_per_node, self.library, program, *options = words
        with open(file) as truth:  # noqa: PTH123  pathlib takes long to be imported
            self.truth: Mapping[str, Any] = json.load(truth)
        self.ranks, self.ranks_per_node = int(ranks), int(ranks_per_node)
        self.program, self.options = program.rpartition("/")[2], _options(options)

    @property
    def hosts(self) -> list[str]:
        """The launch's nodes; in an allocation they are listed one by one."""
        nodes = os.environ["SLURM_JOB_NODELIST"].split(",")
        return nodes[: -(-self.ranks // self.ranks_per_node)]


def _options(words: Iterable[str]) -> dict[str, Any]:
    """Options as the program echoes them."""
    found: dict[str, Any] = dict.fromkeys(_OFF, False)
    for word in words:
        if not word.startswith("--"):
            continue
        name, sign, value = word[2:].partition("=")
        number = value.isdecimal() and name not in _LISTS
        found[name] = (int(value) if number else value) if sign else True
    return found


def say(kind: str, **members: Any) -> None:
    """Print a line of ours."""
    token = {"token": found} if (found := os.environ.get("ASSAY_TOKEN")) else {}
    sys.stdout.write(json.dumps({"assay": kind, **token, **members}, separators=(",", ":")) + "\n")


def say_metric(
    name: str,
    unit: str,
    value: float,
    at: Mapping[str, Any] | None = None,
    samples: list[float] | None = None,
) -> None:
    """Print a value as the programs do, with nine digits."""
    further: dict[str, Any] = {"at": at} if at else {}
    if samples is not None:
        further["samples"] = [digits(sample) for sample in samples]
    say("metric", name=name, unit=unit, value=digits(value), **further)


def digits(value: float) -> float:
    """The value with nine significant digits."""
    return float(f"{value:.9g}")


def say_notes(notes: Mapping[str, Any]) -> None:
    """Print what the program says of its work."""
    for key, value in notes.items():
        say("note", key=key, value=value)


def answer(launch: Launch, measure: Callable[[Launch], Mapping[str, Any]]) -> None:
    """All that a program of ours prints; `measure` prints its values and gives its notes."""
    say("program", name=launch.program, mpi=_library(launch), settings=launch.options)
    notes = measure(launch)
    say_notes({"timer": "CLOCK_MONOTONIC", "timer_resolution_s": 2e-8, **notes})
    say("end", program=launch.program, ok=True)
    say_evidence(launch)


def _library(launch: Launch) -> str:
    return f"Simulated {launch.library} 1.0"


def say_evidence(launch: Launch) -> None:
    """Where the ranks ran, and that the probe went from host to host."""
    hosts, on_node, now = launch.hosts, launch.ranks_per_node, time.time()
    ranks = [
        {
            "rank": rank,
            "host": hosts[rank // on_node],
            "pid": 1000 + rank % on_node,
            "cpus": [rank % on_node],
            "boot_id": f"simulated-{hosts[rank // on_node]}",
            "start": round(now, 6),
        }
        for rank in range(launch.ranks)
    ]
    links = [
        {
            "from": place * on_node,
            "to": (place + 1) % len(hosts) * on_node,
            "from_host": host,
            "to_host": hosts[(place + 1) % len(hosts)],
            "sent_bytes": _PROBE_BYTES,
            "arrived_bytes": _PROBE_BYTES + 1500,
        }
        for place, host in enumerate(hosts if len(hosts) > 1 else [])
    ]
    library = _library(launch)
    files = {"library_file": "/simulated/libmpi.so", "standard": "4.0", "device": "simulated"}
    say("evidence", library=library, **files, variables={}, ranks=ranks, links=links, probe_s=1e-3)


def pt2pt(launch: Launch) -> Mapping[str, Any]:
    """Ping-pong of two ranks: a start of the library's own and the link's rate."""
    asked, spent_s = launch.options, 0.0
    start_s, drift = launch.truth["start_s"][launch.library], random.gauss(0, DRIFT)
    for construct in asked["constructs"].split(","):
        for size in map(int, asked["sizes"].split(",")):
            once_s = (start_s + size / LINK) * math.exp(drift)
            times = [once_s * math.exp(random.gauss(0, CV)) for _ in range(asked["iterations"])]
            spent_s += 2 * sum(times)
            at = {"construct": construct, "message_bytes": size}
            found = {
                "": _median(times),
                "_best": min(times),
                "_mean": math.fsum(times) / len(times),
                "_worst": max(times),
            }
            for name, value in found.items():
                samples = None if name else times
                say_metric(f"half_round_trip{name}", "s", value, at, samples)
            for name, value in found.items():
                say_metric(f"bandwidth{name}", "bytes/s", size / value, at)
    time.sleep(spent_s)
    return {
        "warmup": asked["warmup"],
        "order_seed": asked["seed"],
        "buffers": "reused",
        "payload_verified": "simulated",
    }


def _median(times: list[float]) -> float:
    ordered, middle = sorted(times), len(times) // 2
    return (ordered[middle] + ordered[~middle]) / 2


def main(words: list[str]) -> int:
    """Entry point; see the module's docstring."""
    launch = Launch(words)
    if launch.program in LARGE:
        sys.stdout.flush()
        os.environ["PYTHONPATH"] = os.path.dirname(__file__).removesuffix("/bench/simulated")  # noqa: PTH120
        large = [sys.executable, "-P", "-m", "bench.simulated.scans", *words]
        os.execv(large[0], large)  # noqa: S606  no shell is needed
    if launch.program == "placement":  # the proof of an environment
        say_evidence(launch)
    elif launch.program == "pt2pt":
        answer(launch, pt2pt)
    else:
        print(f"simulated_ranks: no answer of {launch.program} is known", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
