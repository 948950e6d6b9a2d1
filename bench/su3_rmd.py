# SPDX-License-Identifier: Apache-2.0
"""Time a site and step of su3_rmd on every MPI library (goal: 0.6 µs, single, 8³×16, one rank).

The measuring program lies with the check, in checks/su3_rmd/src/bench.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

_PROGRAM = Path(__file__).resolve().parents[1] / "checks/su3_rmd/src/bench/all.sh"
GOAL_US = "0.6"

if __name__ == "__main__":
    sys.exit(subprocess.run([_PROGRAM, GOAL_US], check=False).returncode)
