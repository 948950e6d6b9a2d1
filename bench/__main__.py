# SPDX-License-Identifier: Apache-2.0
"""Runs the benches, or those named: python -m bench [NAME …] [OPTION …]; 1: one missed its goal.

Options are given to the last one named.
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
    "chaos_outputs",
)
#: Those that take an hour, or gather others; they run when they are named.
ON_REQUEST = (
    "large_run",
    "chaos_kills",
    "verdicts",
    "planted",
    "choice_designs",
    "one_job",
    "site_at_size",
    "prediction_witness",
)
_NEED_ROOT = ("overhead", "chaos_kills", "planted", "one_job", "site_at_size")


def main(arguments: list[str]) -> int:
    """Run each bench in a process of its own; gives the exit status."""
    first = next((n for n, word in enumerate(arguments) if word.startswith("-")), len(arguments))
    names, options = [name.replace("-", "_") for name in arguments[:first]], arguments[first:]
    there = (*BENCHES, *ON_REQUEST)
    unknown = [name for name in names if name not in there]
    if unknown:
        print(f"bench: no bench {unknown[0]!r}; there are {', '.join(there)}", file=sys.stderr)
        return 2
    missed = []
    for name in names or BENCHES:
        text = ast.get_docstring(ast.parse((_HERE / f"{name}.py").read_text())) or name
        print(f"== {name}: {text.splitlines()[0]}", flush=True)
        if name in _NEED_ROOT and os.geteuid() != 0:
            print("skipped: needs root for a virtual cluster; run: sudo make bench")
            continue
        words = [sys.executable, "-m", f"bench.{name}", *(options if [name] == names[-1:] else [])]
        if subprocess.run(words, check=False).returncode:
            missed.append(name)
    if missed:
        print(f"missed its goal or failed: {', '.join(missed)}", file=sys.stderr)
    return bool(missed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
