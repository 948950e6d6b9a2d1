# SPDX-License-Identifier: Apache-2.0
"""Write the durations of the last runs of the tests as docs/durations.csv keeps them.

Reads the files build/durations-TIER.csv (seconds, call_s, tier, test) of these runs; of a test that
several have, the last one counts. Writes a row for each module or class of a tier: number of its
tests, seconds with what fixtures make, the test whose call is the slowest.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterable
from itertools import groupby
from pathlib import Path
from typing import TextIO


def _place(row: dict[str, str]) -> tuple[str, str]:
    return row["test"].split("[", maxsplit=1)[0].rpartition("::")[0], row["tier"]


def main(sources: Iterable[Iterable[str]], target: TextIO) -> None:
    """Fold the rows of tests."""
    last = {row["test"]: row for source in sources for row in csv.DictReader(source)}
    rows = csv.writer(target, lineterminator="\n")
    rows.writerow(["scope", "tier", "tests", "seconds", "slowest_s", "slowest"])
    for place, found in groupby(sorted(last.values(), key=_place), key=_place):
        tests = list(found)
        seconds = sum(float(one["seconds"]) for one in tests)
        slowest = max(tests, key=lambda one: float(one["call_s"]))
        name = slowest["test"].removeprefix(place[0] + "::")
        rows.writerow([*place, len(tests), f"{seconds:.1f}", slowest["call_s"], name])


if __name__ == "__main__":
    main([Path(name).read_text().splitlines() for name in sys.argv[1:]], sys.stdout)
