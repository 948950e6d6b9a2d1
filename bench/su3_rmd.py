# SPDX-License-Identifier: Apache-2.0
"""Time a site and step of su3_rmd on every MPI library (goal: 0.6 µs, single, 8³×16, one rank).

Then what a second rank gains, beside the limits of the machine (goal: efficiency of 90 % on 16³×32,
single, or the bound of these limits). The measuring programs lie with the check, in
checks/su3_rmd/src/bench.

usage: python -m bench su3_rmd [--only times|scaling] [--repetitions N]
"""

from __future__ import annotations

import argparse
import subprocess
from pathlib import Path

_PROGRAMS = Path(__file__).resolve().parents[1] / "checks/su3_rmd/src/bench"
GOAL_US = "0.6"


def main(arguments: list[str]) -> int:
    """Run the parts; 1: one missed its goal."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", choices=("times", "scaling"))
    parser.add_argument("--repetitions", type=int, default=9, help="of scaling (default 9)")
    options = parser.parse_args(arguments)
    parts = {
        "times": [str(_PROGRAMS / "all.sh"), GOAL_US],
        "scaling": [str(_PROGRAMS / "scaling.sh"), str(options.repetitions)],
    }
    chosen = [options.only] if options.only else list(parts)
    return max(min(subprocess.run(parts[name], check=False).returncode, 1) for name in chosen)
