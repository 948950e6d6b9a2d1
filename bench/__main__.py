# SPDX-License-Identifier: Apache-2.0
"""Runs the benches, or the one named with its arguments: python -m bench [NAME [ARGUMENT …]].

python -m bench --against TREE [NAME [ARGUMENT …]] runs each in another tree first, by its own
.venv, to compare before and after. Exits 1 when one missed its goal.
"""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module
from pathlib import Path

#: In the order they run. What one measures, and its goal, is the first line of its docstring.
BENCHES = ("start", "plan", "overhead", "report", "scans", "history", "verdicts")
_ROOT = Path(__file__).resolve().parents[1]


def main(arguments: list[str]) -> int:
    """Entry point; without a name each bench runs in a process of its own."""
    if arguments[:1] == ["--against"] and len(arguments) > 1:
        return _against(Path(arguments[1]).resolve(), arguments[2:])
    if not arguments:
        words = [sys.executable, "-m", "bench"]
        status = {name: subprocess.run([*words, name], check=False).returncode for name in BENCHES}
        missed = [name for name in BENCHES if status[name]]
        if missed:
            print(f"missed its goal or failed: {', '.join(missed)}", file=sys.stderr)
        return bool(missed)
    name = arguments[0].replace("-", "_")
    if name not in BENCHES:
        print(f"bench: no bench {name!r}; there are {', '.join(BENCHES)}", file=sys.stderr)
        return 2
    module = import_module("bench.tests.verdicts" if name == "verdicts" else f"bench.{name}")
    print(f"== {name}: {(module.__doc__ or name).splitlines()[0]}", flush=True)
    return int(bool(module.main(arguments[1:])))


def _against(tree: Path, arguments: list[str]) -> int:
    """Run benches in another tree, then here; the exit status is that of here."""
    status = 0
    for words in [arguments] if arguments else [[name] for name in BENCHES]:
        for title, root in (("before", tree), ("after", _ROOT)):
            print(f"-- {title}: {root}", flush=True)
            own = words[0] == "start"  # which an older tree may not have
            where, given = (_ROOT, [*words[:1], str(root)]) if own else (root, words)
            python = [str(where / ".venv/bin/python"), "-m", "bench", *given]
            last = subprocess.run(python, cwd=where, check=False).returncode
        status |= bool(last)
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
