# SPDX-License-Identifier: Apache-2.0
"""Write the durations of a run of the tests as docs/durations.csv keeps them.

Reads build/durations-all.csv (seconds, tier, test), which `make test-all` leaves, and writes a row
for each module or class of a tier: number and seconds of its tests, the slowest one.
"""

from __future__ import annotations

import csv
import sys
from itertools import groupby
from typing import TextIO


def _place(row: dict[str, str]) -> tuple[str, str]:
    return row["test"].split("[", maxsplit=1)[0].rpartition("::")[0], row["tier"]


def main(source: TextIO, target: TextIO) -> None:
    """Fold the rows of tests, which stand slowest first."""
    rows = csv.writer(target, lineterminator="\n")
    rows.writerow(["scope", "tier", "tests", "seconds", "slowest_s", "slowest"])
    for place, found in groupby(sorted(csv.DictReader(source), key=_place), key=_place):
        tests = list(found)
        slowest = tests[0]
        name = slowest["test"].removeprefix(place[0] + "::")
        total = sum(float(one["seconds"]) for one in tests)
        rows.writerow([*place, len(tests), f"{total:.1f}", slowest["seconds"], name])


if __name__ == "__main__":
    main(sys.stdin, sys.stdout)
