# SPDX-License-Identifier: Apache-2.0
"""A run in memory: its plan, its launches, and its values as series over blocks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from records.chain import Chain
from records.interims import Interim, asked_blocks
from records.plan import Plan, PlannedCase
from records.provenance import Provenance
from records.record import Status
from reports.load.launches import Launch, Launches
from reports.load.scans import Scan

AtKey = tuple[tuple[str, Any], ...]


class Series(msgspec.Struct, frozen=True, eq=False, gc=False):
    """The values of one metric at one point of one case, by ascending block; SI base units."""

    case: int
    metric: str
    at: AtKey
    blocks: NDArray[np.int64]
    values: NDArray[np.float64]

    def at_value(self, key: str) -> Any:
        """The coordinate `key` of the point, or None."""
        for name, value in self.at:
            if name == key:
                return value
        return None

    def by_block(self) -> dict[int, float]:
        """Each block's value."""
        return dict(zip(self.blocks.tolist(), self.values.tolist(), strict=True))


def stacked(series: Sequence[Series]) -> NDArray[np.float64]:
    """The values of series of the same n as the rows of a matrix; at least one."""
    return np.concatenate([item.values for item in series]).reshape(len(series), -1)


@dataclass(frozen=True)
class Run:
    """A run directory in memory. `series` holds counted ok launches, `invalid` the values of
    launches that were wrong on purpose; `profiled`: some record holds an MPI profile; `chain`:
    that of all records; `interims`: what a sequential design decided so far; `scans`: values of
    pairs that lie in files beside the records, of which `series` has a summary."""

    directory: Path
    plan: Plan
    provenance: Provenance
    run_id: str
    launches: Launches
    series: list[Series]
    invalid: list[Series]
    nodes: tuple[str, ...]
    warnings: tuple[str, ...]
    profiled: bool
    chain: Chain
    interims: tuple[Interim, ...] = ()
    scans: tuple[Scan, ...] = ()

    def until(self, block: int) -> Run:
        """The run as it stood after a block."""
        series = [
            Series(item.case, item.metric, item.at, item.blocks[:end], item.values[:end])
            for item in self.series
            if (end := int(np.searchsorted(item.blocks, block, side="right")))
        ]
        launches = self.launches.part(self.launches.block <= block)
        scans = tuple(scan for one in self.scans if (scan := one.until(block)).files)
        return replace(self, series=series, launches=launches, scans=scans)

    @cached_property
    def asked(self) -> dict[tuple[str, str], int]:
        """For each environment and check the block up to which its launches were asked for."""
        return asked_blocks(self.plan, self.interims)

    @property
    def blocks(self) -> int:
        """How many blocks were asked for, of what went on to the end."""
        return max(self.asked.values(), default=self.plan.blocks)

    @cached_property
    def judged_after(self) -> list[int]:
        """The blocks after which a sequential design was judged; where that is not recorded, those
        whose launches are all there."""
        if self.interims or self.plan.sequential is None:
            return [interim.block for interim in self.interims]
        done = self.launches.places()
        feasible = [place for place, case in enumerate(self.plan.cases) if case.skipped is None]
        present: dict[int, set[str]] = {}
        for place, block in done:
            present.setdefault(block, set()).add(self.plan.cases[place].environment)
        return [
            block
            for block in self.plan.sequential.interims
            if block in present
            and all(
                (place, block) in done
                for place in feasible
                if self.plan.cases[place].environment in present[block]
            )
        ]

    def case(self, launch: Launch) -> PlannedCase:
        """The planned case of a launch."""
        return self.plan.cases[launch.case]

    def counted(self) -> Iterator[Launch]:
        """The latest attempt of each case and block."""
        return self.launches.where(self.launches.counted)

    @cached_property
    def first_alike(self) -> list[int]:
        """For each case the first one of its check and parameters: those of environments that are
        paired, and named alike."""
        encode = msgspec.json.Encoder(order="deterministic").encode
        known: dict[tuple[str, bytes], int] = {}
        return [
            known.setdefault((case.check, encode(case.params)), place)
            for place, case in enumerate(self.plan.cases)
        ]

    @property
    def done(self) -> int:
        """How many launches of blocks have a record, the latest attempt alone."""
        return int((self.launches.counted & (self.launches.block > 0)).sum())

    @cached_property
    def tally(self) -> Counter[tuple[int, Status, tuple[str, ...]]]:
        """How many counted launches there are of each (position of the case, status, flags)."""
        launches = self.launches
        of_each = max(1, len(launches.kinds))
        keys, counts = np.unique_counts((launches.case * of_each + launches.kind)[launches.counted])
        tally: Counter[tuple[int, Status, tuple[str, ...]]] = Counter()
        for key, count in zip(keys.tolist(), counts.tolist(), strict=True):
            case, kind = divmod(key, of_each)
            tally[case, *launches.kinds[kind]] = count
        return tally
