# SPDX-License-Identifier: Apache-2.0
"""What `assay profile` costs a program (goal: 2 % with up to 50,000 calls a second), and the size
of a profile of 10⁶ calls (goal: 1 MB).

Pairs of launches of proxy.c with and without the profile, one right after the other and in
an order drawn anew for each pair; two ranks of one node, each bound to a core. Short launches, and
many of them: what launches differ by is more than what passes within one.

python -m bench profile_cost [PAIRS]: so many of the program with a goal, a tenth of the others.
"""

from __future__ import annotations

import os
import random
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from assay.commands import output_of
from assay.profile.collecting import profile_of, read_recordings
from assay.profile.program import build_library
from bench.rows import Row, printed
from records.forms import as_text
from reports.statistics.signed_rank import paired_effect

_PROXY = Path(__file__).resolve().parent / "proxy.c"
MOST, MOST_BYTES, MOST_CALLS = 1.02, 1 << 20, 50_000
#: Launchers whose ranks are bound to cores.
LIBRARIES = {"openmpi": ["--bind-to", "core"], "mpich": ["-bind-to", "core"]}
#: Mix, steps and work a step; a step of halo has 6 calls, one of sums 3.
PROGRAMS = (("halo", 1500, 100), ("halo", 8000, 10), ("sums", 8000, 10))
#: Steps of halo with 10⁶ calls of both ranks.
MANY = 84_000


def rows(most: int = 100) -> Iterator[Row]:
    """Run pairs of each program with each library; the ratios with and without."""
    rng = random.Random(1)  # noqa: S311
    for library, options in LIBRARIES.items():
        with TemporaryDirectory() as name:
            folder, compiler = Path(name), f"mpicc.{library}"
            proxy = str(folder / "proxy")
            subprocess.run([compiler, "-O2", str(_PROXY), "-o", proxy], check=True)
            start = [f"mpirun.{library}", "-np", "2", *options]
            preload = build_library([*start, proxy], len(start), compiler, folder)
            plain = [*start, "env"]
            profiled = [*plain, f"LD_PRELOAD={preload}", f"ASSAY_PROFILE_FOLDER={folder}"]
            for mix, steps, work in PROGRAMS:
                last = [proxy, mix, "1", str(steps), str(work)]
                pairs = most if (mix, steps, work) == PROGRAMS[0] else max(6, most // 10)
                every: list[tuple[float, float]] = []
                for _ in range(pairs):
                    _clear(folder)
                    order = rng.sample([plain, profiled], 2)
                    times = {len(first): _printed_s([*first, *last]) for first in order}
                    every.append((times[len(profiled)], times[len(plain)]))
                effect = paired_effect(*zip(*every, strict=True))
                rate = _calls(folder) / 2 / min(without for _, without in every)
                low, high = effect.interval.low, effect.interval.high
                yield Row(
                    f"{library}, {mix}, {rate:,.0f} calls a second and rank: with over without",
                    f"≤ {MOST:g}" if rate <= MOST_CALLS else "",
                    f"{effect.ratio:.4f} ({low:.4f} … {high:.4f}), n = {pairs}",
                    low <= MOST or rate > MOST_CALLS,
                    effect.ratio <= MOST,
                )
            _clear(folder)
            _printed_s([*profiled, proxy, "halo", "1", str(MANY), "0"])
            number = _calls(folder)
            size = (folder / "made.json").stat().st_size
            what = f"{library}: bytes of a profile of {number:,} calls"
            yield Row(what, f"≤ {MOST_BYTES:,}", f"{size:,}", size <= MOST_BYTES)


def _clear(folder: Path) -> None:
    """Remove the recordings of the launch before."""
    for recording in folder.glob("rank.*.json"):
        recording.unlink()


def _printed_s(command: list[str]) -> float:
    """Run a proxy; the seconds that it prints."""
    root = dict.fromkeys(("OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"), "1")
    printed_text = output_of(command, env=os.environ | root)
    found = re.search(r"^seconds: (\S+)$", printed_text, re.MULTILINE)
    assert found, printed_text
    return float(found[1])


def _calls(folder: Path) -> int:
    """Make the profile of the recordings, made.json; its calls."""
    profile = profile_of(read_recordings(folder), ["proxy"], None)
    (folder / "made.json").write_text(as_text(profile))
    return sum(one.count for one in profile.calls)


def main(arguments: list[str]) -> int:
    """Entry point; see the module's docstring."""
    return printed(rows(*map(int, arguments)))
