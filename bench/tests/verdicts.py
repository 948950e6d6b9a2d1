# SPDX-License-Identifier: Apache-2.0
"""Every verdict against simulations with known truth (goal: each row its target).

python -m bench verdicts [--quick|--thorough] [--write] [BENCH …]. Runs each bench of
bench/tests/claims, or those named. --quick: fewer runs, a minute or two; --thorough: more, hours;
--write: the tables of docs/verdict-proofs.md anew. Exits 1 when a row misses its target.
"""

import re
import sys
import time
from collections import defaultdict
from dataclasses import replace
from pathlib import Path

from bench.rows import Effort, Row
from records.files import write_whole
from records.plugins import loaded

PAGE = Path(__file__).resolve().parents[2] / "docs" / "verdict-proofs.md"
#: Benches of claims, each loaded as it is run.
BENCHES = {
    "acceptance": "acceptance:ACCEPTANCE",
    "choice": "choice:CHOICE",
    "contracts": "contracts:CONTRACTS",
    "nightly": "nightly:NIGHTLY",
    "pair_scans": "acceptance:PAIR_SCANS",
    "prediction": "prediction:PREDICTION",
    "sequential": "choice:SEQUENTIAL",
    "small_sites": "nightly:SMALL_SITES",
}


def table(name: str, topic: str, rows: list[Row], effort: Effort) -> str:
    """The Markdown of one bench's rows with a target: those of one claim, the tail of a title, are
    one line."""
    option = "" if effort == "usual" else f"--{effort} "
    claims = defaultdict[tuple[str, str], list[Row]](list)
    head = ""
    for row in rows:
        # A title that begins with … has the head of the title before.
        what = f"{head}: {row.what[2:]}" if row.what.startswith("… ") else row.what
        head = what.split(": ")[0]
        tail = re.sub(r" \([^)]*\)$", "", what).split(": ")[-1]
        if row.target:
            claim = tail if row.found[:1].isdigit() else what
            claims[claim, row.target].append(replace(row, what=what))
    lines = [
        f"**{topic}** (`python -m bench verdicts {option}{name}`)",
        "",
        "| what | target | cases | found | holds |",
        "|---|---|---|---|---|",
        *(_line(claim, target, group) for (claim, target), group in claims.items()),
    ]
    return "\n".join(lines)


def _line(claim: str, target: str, rows: list[Row]) -> str:
    """A line of the table; of several cases the least and the greatest that was found."""
    found, holds = rows[0].found, [row.holds for row in rows]
    if len(rows) == 1:
        claim = rows[0].what
    else:
        ordered = sorted((float(row.found.split()[0].replace(",", "")), row.found) for row in rows)
        found = " … ".join(dict.fromkeys(text for _, text in (ordered[0], ordered[-1])))
    words = [f"**{holds.count('no')} no**"] * ("no" in holds)
    words += [f"{holds.count('open')} open"] * ("open" in holds)
    return f"| {claim} | {target} | {len(rows)} | {found} | {', '.join(words) or 'yes'} |"


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


def main(arguments: list[str]) -> int:
    """Entry point; see the module's docstring."""
    options = {word for word in arguments if word.startswith("-")}
    names = [word.replace("-", "_") for word in arguments if not word.startswith("-")]
    if wrong := [*(options - {"--quick", "--thorough", "--write"}), *({*names} - {*BENCHES})]:
        print(
            f"bench verdicts: {wrong[0]!r}; allowed: --quick, --thorough, --write,"
            f" {', '.join(BENCHES)}",
            file=sys.stderr,
        )
        return 2
    effort: Effort = "quick" if "--quick" in options else "usual"
    effort = "thorough" if "--thorough" in options else effort
    missed = count = 0
    for name in names or BENCHES:
        bench = loaded(f"bench.tests.claims.{BENCHES[name]}")
        print(f"== {name}: {bench.topic}", flush=True)
        begun = time.process_time()
        rows: list[Row] = []
        for row in bench.rows(effort):
            print(row, flush=True)
            rows.append(row)
        print(f"-- {name}: {time.process_time() - begun:.0f} s of CPU", flush=True)
        if "--write" in options:
            made = table(name, bench.topic, rows, effort)
            write_whole(PAGE, written(PAGE.read_text(encoding="utf-8"), name, made).encode())
        count += len(rows)
        missed += sum(not row.kept for row in rows)
    print(f"{count} rows, {missed} miss their target")
    return bool(missed)
