# SPDX-License-Identifier: Apache-2.0
"""The launches of a run as columns, one of them an object only while it is looked at; and their
values as series over blocks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from records.run.record import Status

AtKey = tuple[tuple[str, Any], ...]
Numbers = NDArray[np.int64]
Mask = NDArray[np.bool_]
#: Status and flags of a launch.
Kind = tuple[Status, tuple[str, ...]]


class Details(msgspec.Struct, frozen=True, gc=False):
    """Facts of a launch that only pages show."""

    reason: str | None = None
    job_id: str | None = None
    started_at: str | None = None
    artifacts: dict[str, str] | None = None


class Launch(msgspec.Struct, frozen=True, gc=False):
    """Launch as recorded; `counted` is false when a later attempt replaced it.

    The members of `Details` are there of bad launches and of those that a page lists.
    """

    case: int
    block: int
    attempt: int
    status: Status
    flags: tuple[str, ...]
    counted: bool
    reason: str | None
    job_id: str | None
    started_at: str | None
    artifacts: dict[str, str] | None


@dataclass(frozen=True, eq=False)
class Launches:
    """All launches in recorded order, an entry of each column a launch.

    `kind` is a place in `kinds`; `details` goes by the launch's place. The other columns are the
    members of `Launch`.
    """

    case: Numbers
    block: Numbers
    attempt: Numbers
    kind: Numbers
    kinds: tuple[Kind, ...]
    counted: Mask
    details: Mapping[int, Details] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.case)

    def where(self, mask: Mask) -> Iterator[Launch]:
        """The launches that `mask` marks."""
        nothing = Details()
        columns = (self.case, self.block, self.attempt, self.kind, self.counted)
        rows = zip(*(column[mask].tolist() for column in columns), strict=True)
        places = np.flatnonzero(mask).tolist()
        for index, (case, block, attempt, kind, counted) in zip(places, rows, strict=True):
            details = msgspec.structs.astuple(self.details.get(index, nothing))
            status, flags = self.kinds[kind]
            yield Launch(case, block, attempt, status, flags, counted, *details)

    def of_status(self, *statuses: Status) -> Mask:
        """Marks those of one of these statuses."""
        return self._of_kinds([status in statuses for status, _ in self.kinds])

    def flagged(self, flag: str) -> Mask:
        """Marks those with a flag."""
        return self._of_kinds([flag in flags for _, flags in self.kinds])

    def _of_kinds(self, wanted: list[bool]) -> Mask:
        return np.array(wanted, dtype=np.bool_)[self.kind]

    def places(self, mask: Mask | slice = slice(None)) -> set[tuple[int, int]]:
        """Case and block of those that `mask` marks; of all without it."""
        return {*zip(self.case[mask].tolist(), self.block[mask].tolist(), strict=True)}

    def part(self, mask: Mask) -> Launches:
        """Launches that `mask` marks."""
        kept = enumerate(np.flatnonzero(mask).tolist())
        return Launches(
            *(self.case[mask], self.block[mask], self.attempt[mask], self.kind[mask], self.kinds),
            self.counted[mask],
            {new: self.details[old] for new, old in kept if old in self.details},
        )


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
