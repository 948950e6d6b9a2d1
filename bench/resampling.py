# SPDX-License-Identifier: Apache-2.0
"""How often judging names a node or link: the records of a run resampled by whole blocks.

python -m bench resampling RUN --criteria FILE [--times 20]

Blocks are drawn with replacement, so a resampled run keeps what its launches had in common. On a
machine with nothing slow no resample may name anything.
"""

from __future__ import annotations

import argparse
from collections import Counter
from dataclasses import replace
from datetime import date
from pathlib import Path

import numpy as np

from assay.criteria.loading import load_criteria
from bench.judging import CriterionEvidence, gather
from bench.judging import judge_acceptance as judge
from records.criteria import Criteria
from reports.load.loading import load_run


def resampled(evidence: CriterionEvidence, seed: int) -> CriterionEvidence:
    """The evidence with its blocks drawn anew, renumbered 1, 2, …; launches stay as they are."""
    blocks = sorted({int(b) for values in evidence.values for b in values.blocks})
    drawn = np.random.default_rng(seed).choice(blocks, len(blocks))
    found = []
    for values in evidence.values:
        known = values.by_block()
        anew = {place: known[int(b)] for place, b in enumerate(drawn, start=1) if int(b) in known}
        places, numbers = np.array(list(anew), dtype=np.int64), np.array(list(anew.values()))
        found.append(replace(values, blocks=places, values=numbers.astype(np.float64)))
    return replace(evidence, values=found)


def names(evidence: CriterionEvidence, criteria: Criteria, times: int) -> Counter[str]:
    """How many resamples name each node or link."""
    found: Counter[str] = Counter()
    for seed in range(1, times + 1):
        result = judge(criteria, resampled(evidence, seed), date(2026, 1, 1), 0)
        found.update(finding.title for finding in result.named)
    return found


def main(given: list[str]) -> None:
    """Print who is named in how many resamples."""
    parser = argparse.ArgumentParser(description="Who is named on resampled records of a run.")
    parser.add_argument("run", type=Path)
    parser.add_argument("--criteria", required=True)
    parser.add_argument("--times", type=int, default=20)
    arguments = parser.parse_args(given)
    criteria, _ = load_criteria(arguments.criteria)
    found = names(gather(load_run(arguments.run), []), criteria, arguments.times)
    print(f"{arguments.times} resamples of {arguments.run}")
    for title, count in found.most_common():
        print(f"  {title}: named in {count}")
    if not found:
        print("  nothing is named in any of them")
