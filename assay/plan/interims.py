# SPDX-License-Identifier: Apache-2.0
"""After which blocks a sequential design is judged."""

from __future__ import annotations

from assay.schema.model import Blocks
from records.plan import Sequential


def sequential_design(blocks: Blocks) -> Sequential:
    """The blocks after which the questions are judged, fixed before the run.

    Each is a quarter above the one before: judging more often spends the error on questions whose
    answer has hardly changed. The last step takes the rest where that is less than half a step.
    """
    found = [blocks.least]
    while (last := found[-1]) < blocks.greatest:
        step = max(1, -(-last // 4))
        found.append(last + step if last + 1.5 * step < blocks.greatest else blocks.greatest)
    return Sequential(interims=found, until=list(dict.fromkeys(blocks.until)))
