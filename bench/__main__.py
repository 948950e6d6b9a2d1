# SPDX-License-Identifier: Apache-2.0
"""Runs the benches, or the one named with its arguments: python -m bench [NAME [ARGUMENT …]].

Exits 1 when one missed its goal.
"""

import subprocess
import sys

from bench.rows import printed
from records.plugins import loaded

#: In the order they run: functions that give rows, and the proofs of the verdicts. What one
#: measures, and its goal, is the first line of its docstring.
BENCHES = {
    "start": "bench.costs:start",
    "plan": "bench.costs:plan",
    "overhead": "bench.costs:overhead",
    "report": "bench.costs:report",
    "history": "bench.costs:history",
    "verdicts": "bench.tests.verdicts:main",
}


def main(arguments: list[str]) -> int:
    """Entry point; without a name each bench runs in a process of its own."""
    if not arguments:
        words = [sys.executable, "-m", "bench"]
        status = {name: subprocess.run([*words, name], check=False).returncode for name in BENCHES}
        missed = [name for name in BENCHES if status[name]]
        if missed:
            print(f"missed its goal or failed: {', '.join(missed)}", file=sys.stderr)
        return bool(missed)
    name, *more = arguments
    if name not in BENCHES:
        print(f"bench: no bench {name!r}; there are {', '.join(BENCHES)}", file=sys.stderr)
        return 2
    bench = loaded(BENCHES[name])
    print(f"== {name}: {bench.__doc__.splitlines()[0]}", flush=True)
    return int(bench(more)) if name == "verdicts" else printed(bench(*more))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
