# SPDX-License-Identifier: Apache-2.0
"""Import of 10^6 lines of ReFrame's logs and the report on them: 30 s and 1 GiB each, at most.

python -m bench history [TESTS NIGHTS REPEATS].
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bench.simulated.reframe_logs import write_logs

MOST_S, MOST_BYTES = 30.0, 2**30


def main(arguments: list[str]) -> int:
    """1 when a command misses its goal."""
    tests, nights, repeats = map(int, arguments or ("463", "720", "3"))
    missed = False
    with tempfile.TemporaryDirectory(prefix="assay-history-") as folder:
        logs = write_logs(Path(folder) / "logs", tests, nights, repeats)
        for words in (["import", str(logs)], ["report"]):
            begun = time.monotonic()
            command = [str(Path(sys.executable).with_name("assay")), "history", *words]
            process = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL)
            _, status, used = os.wait4(process.pid, 0)
            seconds, peak = time.monotonic() - begun, used.ru_maxrss * 1024
            missed |= bool(status) or seconds > MOST_S or peak > MOST_BYTES
            print(
                f"{words[0]} of {tests * nights * repeats} launches: {seconds:.1f} s,"
                f" {peak / 2**20:.0f} MiB (goals {MOST_S:g} s, {MOST_BYTES / 2**20:g} MiB)"
            )
    return int(missed)
