# SPDX-License-Identifier: Apache-2.0
"""Runs the benches, or the one named with its arguments: python -m bench [NAME [ARGUMENT …]].

Exits 1 when one missed its goal.
"""

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
    "prediction",
    "report",
    "nightly",
    "small_sites",
)
#: Those that take long, gather others or are gathered by `verdicts`; they run when they are named.
ON_REQUEST = (
    "verdicts",
    "acceptance",
    "neighbours",
    "pair_scans",
    "scan_files",
    "sequential",
    "short_launches",
    "resampling",
    "large_run",
    "chaos_kills",
    "planted",
    "choice_designs",
    "one_job",
    "site_at_size",
    "site_cost",
    "prediction_witness",
)
_NEED_ROOT = ("overhead", "chaos_kills", "planted", "one_job", "site_at_size")


def main(arguments: list[str]) -> int:
    """Entry point; each bench runs in a process of its own."""
    names, there = [name.replace("-", "_") for name in arguments[:1]], (*BENCHES, *ON_REQUEST)
    if names and names[0] not in there:
        print(f"bench: no bench {names[0]!r}; there are {', '.join(there)}", file=sys.stderr)
        return 2
    missed = []
    for name in names or BENCHES:
        text = ast.get_docstring(ast.parse((_HERE / f"{name}.py").read_text())) or name
        print(f"== {name}: {text.splitlines()[0]}", flush=True)
        if name in _NEED_ROOT and os.geteuid() != 0:
            print("skipped: needs root for a virtual cluster; run it with sudo")
            continue
        words = [sys.executable, "-m", f"bench.{name}", *arguments[1:]]
        if subprocess.run(words, check=False).returncode:
            missed.append(name)
    if missed:
        print(f"missed its goal or failed: {', '.join(missed)}", file=sys.stderr)
    return bool(missed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
