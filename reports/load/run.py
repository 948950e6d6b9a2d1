# SPDX-License-Identifier: Apache-2.0
"""A run in memory: its plan, its launches, and its values as series over blocks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from records.chain import Chain
from records.plan import Plan, PlannedCase
from records.provenance import Provenance
from records.record import Status

AtKey = tuple[tuple[str, Any], ...]


class Launch(msgspec.Struct, gc=False):
    """One launch as recorded; `counted` is false when a later attempt replaced it."""

    case: int
    block: int
    attempt: int
    status: Status
    reason: str | None
    flags: tuple[str, ...]
    job_id: str | None
    started_at: str | None
    artifacts: dict[str, str] | None
    counted: bool = True


class Series(msgspec.Struct, frozen=True, eq=False, gc=False):
    """The values of one metric at one point of one case, by ascending block; SI base units."""

    case: int
    metric: str
    at: AtKey
    blocks: NDArray[np.int64]
    values: NDArray[np.float64]

    def at_value(self, key: str) -> Any:
        """The coordinate `key` of the point, or None."""
        return next((value for name, value in self.at if name == key), None)

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
    that of all records."""

    directory: Path
    plan: Plan
    provenance: Provenance
    run_id: str
    launches: list[Launch]
    series: list[Series]
    invalid: list[Series]
    nodes: tuple[str, ...]
    warnings: tuple[str, ...]
    profiled: bool
    chain: Chain

    def case(self, launch: Launch) -> PlannedCase:
        """The planned case of a launch."""
        return self.plan.cases[launch.case]

    def counted(self) -> Iterator[Launch]:
        """The latest attempt of each case and block."""
        return (launch for launch in self.launches if launch.counted)

    @cached_property
    def tally(self) -> Counter[tuple[int, Status, tuple[str, ...]]]:
        """How many counted launches there are of each (position of the case, status, flags)."""
        kinds: dict[tuple[Status, tuple[str, ...]], int] = {}
        counted = list(self.counted())
        found = [kinds.setdefault((launch.status, launch.flags), len(kinds)) for launch in counted]
        cases = np.array([launch.case for launch in counted], dtype=np.int64)
        keys, counts = np.unique_counts(
            cases * max(1, len(kinds)) + np.array(found, dtype=np.int64)
        )
        names = list(kinds)
        tally: Counter[tuple[int, Status, tuple[str, ...]]] = Counter()
        for key, count in zip(keys.tolist(), counts.tolist(), strict=True):
            case, kind = divmod(key, len(names))
            tally[case, *names[kind]] = count
        return tally
