# SPDX-License-Identifier: Apache-2.0
"""Runs the benches, or those named: python -m bench [NAME …]. Exits 1 when one misses its goal."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

_HERE = Path(__file__).resolve().parent
#: In the order they run. What one measures, and its goal, is the first line of its docstring.
BENCHES = (
    "plan",
    "overhead",
    "su3_rmd",
    "statistics",
    "choice",
    "collectives",
    "point_to_point",
    "report",
    "nightly",
    "chaos_outputs",
)


def main(arguments: list[str]) -> int:
    """Run each bench in a process of its own; gives the exit status."""
    arguments = [name.replace("-", "_") for name in arguments]
    unknown = [name for name in arguments if name not in BENCHES]
    if unknown:
        print(f"bench: no bench {unknown[0]!r}; there are {', '.join(BENCHES)}", file=sys.stderr)
        return 2
    missed = []
    for name in arguments or BENCHES:
        text = ast.get_docstring(ast.parse((_HERE / f"{name}.py").read_text())) or name
        print(f"== {name}: {text.splitlines()[0]}", flush=True)
        if name == "overhead" and os.geteuid() != 0:
            print("skipped: needs root for a virtual cluster; run: sudo make bench")
        elif subprocess.run([sys.executable, "-m", f"bench.{name}"], check=False).returncode:
            missed.append(name)
    if missed:
        print(f"missed its goal or failed: {', '.join(missed)}", file=sys.stderr)
    return bool(missed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
