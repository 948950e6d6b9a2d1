# SPDX-License-Identifier: Apache-2.0
"""The hypercubes of 1988 (T. H. Dunigan, ORNL/TM-10881): arithmetic, ring, echo."""

from __future__ import annotations

from functools import cache

from reports.studies import rows

#: The hypercubes' nodes, and the VAX that stands beside them in tables 3 and 4.
HYPERCUBES = ("ametek_s14", "intel_ipsc1", "intel_ipsc2", "ncube")
MACHINES = (*HYPERCUBES, "vax_11_780")
#: The machines as the study names them.
MACHINE_NAMES = {
    "ametek_s14": "Ametek S14",
    "intel_ipsc1": "Intel iPSC/1",
    "intel_ipsc2": "Intel iPSC/2",
    "ncube": "Ncube",
    "vax_11_780": "VAX 11/780",
}
#: Steps of the ring's message: 100 turns round 64 nodes.
RING_STEPS = 100 * 64


def operation_us(operand: str, operation: str, machine: str) -> str:
    """Table 3: µs of an operation on operands like "real64", as printed; "–" where not measured."""
    kind = operand.rstrip("0123456789")
    bits = int(operand.removeprefix(kind))
    for row in rows("hypercube-1988/arithmetic"):
        if (
            row["data_type"].rstrip("0123456789") == kind
            and int(row["operand_bytes"]) * 8 == bits
            and (row["operation"], row["machine"]) == (operation, machine)
        ):
            return row["time_us"]
    return "–"


def synthetic_s(test: str, machine: str) -> str:
    """Table 4: seconds of a synthetic test, as printed; "–" where not measured."""
    for row in rows("hypercube-1988/synthetic"):
        if (row["test"], row["machine"]) == (test, machine):
            return row["wall_s"]
    return "–"


@cache
def ring_s() -> dict[tuple[int, str], float]:
    """Table 6: seconds of 100 turns round 64 nodes by message length in bytes and machine."""
    return {
        (int(row["length_bytes"]), row["machine"]): float(row["wall_s"])
        for row in rows("hypercube-1988/ring")
    }


@cache
def times_by_hops() -> dict[tuple[str, int], dict[int, float]]:
    """Tables 8 to 11, by machine and message length in bytes: half round trip in s by hop count.

    The study prints rates, length over half a round trip, in kB/s of 1000 bytes. Machines that
    reached neighbours only are left out.
    """
    found: dict[tuple[str, int], dict[int, float]] = {}
    for row in rows("hypercube-1988/data_rates"):
        if row["path"] == "node" and row["rate_kb_s"]:
            size = int(row["length_bytes"])
            times = found.setdefault((row["machine"], size), {})
            times[int(row["hops"])] = size / (1e3 * float(row["rate_kb_s"]))
    return {key: times for key, times in found.items() if len(times) > 1}
