# SPDX-License-Identifier: Apache-2.0
"""Every verdict against simulations with known truth (goal: each row its target).

python -m bench verdicts [--quick|--thorough] [--write] [BENCH …]. Runs each bench of bench/claims,
or those named. --quick: fewer runs, a minute or two; --thorough: more, hours; --write: the tables
of docs/verdict-proofs.md and docs/machine-proofs.md anew. Exits 1 when a row misses its target.
"""

from __future__ import annotations

import sys
import time
from importlib import import_module
from pathlib import Path

from bench.rows import Effort, Row
from records.files import write_whole

_HERE = Path(__file__).resolve().parent
PAGE = _HERE.parent / "docs" / "verdict-proofs.md"
MACHINE_PAGE = PAGE.with_name("machine-proofs.md")


def benches() -> list[str]:
    """The names of all benches of claims."""
    return sorted(path.stem for path in (_HERE / "claims").glob("[!_]*.py"))


def table(name: str, topic: str, rows: list[Row], effort: Effort) -> str:
    """The Markdown of one bench's rows."""
    option = "" if effort == "usual" else f"--{effort} "
    words = {"yes": "yes", "no": "**no**", "open": "open", "": "–"}
    shown = [row for row, after in zip(rows, [*rows[1:], None], strict=True) if _shown(row, after)]
    lines = [
        f"**{topic}** (`python -m bench verdicts {option}{name}`)",
        "",
        "| what | target | found | holds |",
        "|---|---|---|---|",
        *(
            f"| {row.what} | {row.target or '–'} | {row.found} | {words[row.holds]} |"
            for row in shown
        ),
    ]
    if len(shown) < len(rows):
        lines += ["", f"{len(rows) - len(shown)} further lines have no target."]
    return "\n".join(lines)


def _shown(row: Row, after: Row | None) -> bool:
    """True if the page has a row: one with a target, and the head of such a one."""
    heads = after is not None and after.what.startswith("…") and bool(after.target)
    return bool(row.target) or (heads and not row.what.startswith("…"))


def written(page: str, name: str, made: str) -> str:
    """`page` with the table of a bench in the place of its last one, or after all others."""
    first, last = f"<!-- rows of {name} -->", f"<!-- end of {name} -->"
    block = f"{first}\n{made}\n{last}"
    if first in page:
        before, rest = page.split(first)
        return f"{before}{block}{rest.split(last)[1]}"
    mark = "<!-- end of all rows -->"
    assert mark in page, f"{PAGE}: no line {mark}"
    return page.replace(mark, f"{block}\n\n{mark}")


def page_of(name: str) -> Path:
    """The page with the table of a bench; a new table goes to `PAGE`."""
    machine = f"<!-- rows of {name} -->" in MACHINE_PAGE.read_text(encoding="utf-8")
    return MACHINE_PAGE if machine else PAGE


def main(arguments: list[str]) -> int:
    """Entry point; see the module's docstring."""
    options = {word for word in arguments if word.startswith("-")}
    names = [word.replace("-", "_") for word in arguments if not word.startswith("-")]
    there = benches()
    if wrong := [*(options - {"--quick", "--thorough", "--write"}), *(set(names) - set(there))]:
        print(
            f"bench verdicts: {wrong[0]!r}; allowed: --quick, --thorough, --write,"
            f" {', '.join(there)}",
            file=sys.stderr,
        )
        return 2
    effort: Effort = "quick" if "--quick" in options else "usual"
    effort = "thorough" if "--thorough" in options else effort
    missed = count = 0
    for name in names or there:
        module = import_module(f"bench.claims.{name}")  # slow: only what is run
        print(f"== {name}: {module.TOPIC}", flush=True)
        begun = time.process_time()
        rows: list[Row] = []
        for row in module.rows(*module.RUNS[effort]):
            print(row, flush=True)
            rows.append(row)
        print(f"-- {name}: {time.process_time() - begun:.0f} s of CPU", flush=True)
        if "--write" in options:
            made = table(name, module.TOPIC, rows, effort)
            page = page_of(name)
            write_whole(page, written(page.read_text(encoding="utf-8"), name, made).encode())
        count += len(rows)
        missed += sum(not row.kept for row in rows)
    print(f"{count} rows, {missed} miss their target")
    return bool(missed)
