# SPDX-License-Identifier: Apache-2.0
"""Write the durations of the last runs of the tests as docs/durations.csv keeps them.

Reads what these runs leave as build/durations-TIER.csv; of a test that several have, the last one
counts. Writes a row for each module or class of a tier: number of its tests, seconds with what
fixtures make, the test whose call is the slowest.
"""

import csv
import sys
from collections.abc import Iterable
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import TextIO


def main(sources: Iterable[Iterable[str]], target: TextIO) -> None:
    """Fold the rows of tests."""
    last = {row["test"]: row for source in sources for row in csv.DictReader(source)}
    rows = csv.writer(target, lineterminator="\n")
    rows.writerow(["scope", "tier", "tests", "seconds", "slowest_s", "slowest"])
    place_of = itemgetter("scope", "tier")
    for place, found in groupby(sorted(last.values(), key=place_of), key=place_of):
        tests = list(found)
        seconds = sum(float(one["seconds"]) for one in tests)
        slowest = max(tests, key=lambda one: float(one["call_s"]))
        name = slowest["test"].removeprefix(place[0] + "::")
        rows.writerow([*place, len(tests), f"{seconds:.1f}", slowest["call_s"], name])


if __name__ == "__main__":
    main([Path(name).read_text().splitlines() for name in sys.argv[1:]], sys.stdout)
