# SPDX-License-Identifier: Apache-2.0
"""Import of 10^6 lines of ReFrame's logs and the report on them: 30 s together, 1 GiB, at most.

python -m bench history [TESTS NIGHTS REPEATS].
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from bench.rows import measured
from bench.tests.simulated.reframe_logs import write_logs

MOST_S, MOST_BYTES = 30.0, 2**30


def main(arguments: list[str]) -> int:
    """1 when a command misses its goal."""
    tests, nights, repeats = map(int, arguments or ("463", "720", "3"))
    seconds, status, peak = 0.0, 0, 0
    with tempfile.TemporaryDirectory(prefix="assay-history-") as folder:
        logs = write_logs(Path(folder) / "logs", tests, nights, repeats)
        for words in (["import", str(logs)], ["report"]):
            assay = str(Path(sys.executable).with_name("assay"))
            used = measured([assay, "nightly", *words], folder)
            seconds, status = seconds + used.seconds, status or used.status
            peak = max(peak, used.peak_bytes)
            print(f"{words[0]} of {tests * nights * repeats} launches: {used}")
    print(f"together {seconds:.2f} s (goals {MOST_S:g} s, {MOST_BYTES / 2**20:g} MiB)")
    return int(status != 0 or seconds > MOST_S or peak > MOST_BYTES)
