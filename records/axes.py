# SPDX-License-Identifier: Apache-2.0
"""Axes: the keys of a value's `at` and the parameters by which values are laid out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any


@dataclass(frozen=True, slots=True)
class Axis:
    """`title` names it to readers; `unit` is "" for words and counts. Points that differ only along
    their first axis with a unit make one curve. `lists`: the parameter lists points, and each point
    carries its own. `procedure`: it says how often or how far something is measured, not what."""

    name: str
    title: str
    unit: str = ""
    lists: bool = False
    procedure: bool = False


MESSAGE_BYTES = "message_bytes"

_KNOWN = {
    axis.name: axis
    for axis in (
        Axis(MESSAGE_BYTES, "message length", "bytes"),
        *(Axis("n", "N"), Axis("nb", "NB"), Axis("placement", "")),
        *(Axis(name, name, lists=True) for name in ("constructs", "operations", "sizes")),
    )
}
_PROCEDURE = frozenset(
    {
        *("iterations", "warmup", "repetitions", "repeats", "samples", "seed"),
        *("latency_iterations", "bandwidth_iterations"),
        *("least_bytes", "greatest_bytes", "perturbation_bytes"),
    }
)
#: Last words of names that carry their unit.
_UNITS = {"bytes": "bytes", "s": "s"}


@lru_cache(maxsize=1024)
def axis_of(name: str) -> Axis:
    """The axis of this name; of an unknown one the unit is the last word, if that is one."""
    found = _KNOWN.get(name)
    unit = _UNITS.get(name.rpartition("_")[2], "")
    return found or Axis(name, name.replace("_", " "), unit, procedure=name in _PROCEDURE)


def along_curve(at: Sequence[tuple[str, Any]]) -> tuple[str, Any] | None:
    """The first coordinate of a point that has a unit: where the point stands on its curve."""
    return next((item for item in at if axis_of(item[0]).unit), None)


def beside_curve(at: Sequence[tuple[str, Any]]) -> tuple[tuple[str, Any], ...]:
    """The coordinates of a point that all points of its curve share."""
    along = along_curve(at)
    return tuple(item for item in at if item is not along)
