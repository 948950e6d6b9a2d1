# SPDX-License-Identifier: Apache-2.0
"""Start of the command line (goal: `assay --help` in 0.05 s), and a report of a small run.

python -m bench start [TREE]: of another tree with its own .venv, to compare before and after.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from bench.rows import Row, printed
from bench.tests.simulated.finished_run import make_run

TIMES, LAUNCHES = 11, 160
HELP_GOAL_S = 0.05
#: Commands, how often each is run, and the most seconds that its median may take.
COMMANDS: dict[str, tuple[list[str], int, float | None]] = {
    "assay --help": (["--help"], TIMES, HELP_GOAL_S),
    "assay checks": (["checks"], TIMES, None),
    "assay plan quick": (["plan", "quick", "--site", "virtual"], TIMES, None),
    f"assay status of a run of {LAUNCHES} launches": (["status", "RUN"], TIMES, None),
    "assay report of it, HTML": (["report", "RUN", "--format", "html"], 3, None),
}


def rows(tree: Path) -> Iterator[Row]:
    """The median of the wall time of each command."""
    with tempfile.TemporaryDirectory(prefix="assay-bench-") as folder:
        run = make_run(Path(folder) / "run", LAUNCHES)
        for what, (words, times, most_s) in COMMANDS.items():
            argv = [str(tree / ".venv/bin/assay"), *(str(run) if w == "RUN" else w for w in words)]
            took_s = []
            for _ in range(times):
                begun = time.perf_counter()
                done = subprocess.run(argv, cwd=folder, capture_output=True, check=False)
                took_s.append(time.perf_counter() - begun)
                if done.returncode not in (0, 1, 3):
                    raise RuntimeError(f"{' '.join(argv)}: {done.stderr.decode()[-500:]}")
            found_s = statistics.median(took_s)
            kept = most_s is None or found_s <= most_s
            text = f"{found_s:.3f} s ({min(took_s):.3f} … {max(took_s):.3f}) of {times}"
            yield Row(what, "" if most_s is None else f"≤ {most_s:g} s", text, kept, kept)


def main(arguments: list[str]) -> int:
    """Entry point; see the module's docstring."""
    here = Path(sys.executable).parents[2]
    return printed(rows(Path(arguments[0]).resolve() if arguments else here))
