# SPDX-License-Identifier: Apache-2.0
"""One comparison of a verification, with what it found."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

#: At most so many faults of one kind are listed.
MOST_LISTED = 20


@dataclass(frozen=True)
class Check:
    """One comparison of the verification and its faults; without faults nothing has changed.

    `unproven`: a change could not have been found.
    """

    what: str
    faults: tuple[str, ...] = ()
    note: str = ""
    unproven: bool = False

    @property
    def good(self) -> bool:
        """Whether nothing differs."""
        return not self.faults


def clipped(faults: Iterable[str]) -> tuple[str, ...]:
    """The first MOST_LISTED faults, then the number of the others."""
    found = list(faults)
    more = len(found) - MOST_LISTED
    return (*found[:MOST_LISTED], *([f"and {more} more"] if more > 0 else []))
