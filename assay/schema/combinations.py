# SPDX-License-Identifier: Apache-2.0
"""The combinations of parameters that an entry of `cases` stands for."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from assay.schema.document import Location
from assay.schema.model import Campaign, CaseEntry
from checks.common.registry import CHECKS
from records.errors import AssayError

MAX_CASES = 1_000_000


def axis_settings(check: str, axis: str, value: object) -> dict[str, Any]:
    """What one value of an axis sets: a mapping sets its keys, unless the axis is a parameter."""
    if isinstance(value, Mapping) and axis not in CHECKS[check].parameters.model_fields:
        return dict(value)
    return {axis: value}


def combinations(entry: CaseEntry) -> Iterator[dict[str, Any]]:
    """Each combination's parameters as given, in the file's order, the last axis fastest."""
    axes = [
        [axis_settings(entry.check, axis, value) for value in values]
        for axis, values in entry.matrix.items()
    ]
    for choice in itertools.product(*axes):
        params = dict(entry.fixed)
        for settings in choice:
            params.update(settings)
        yield params


def probes(entry: CaseEntry) -> Iterator[dict[str, tuple[Any, Location]]]:
    """Combinations that use every value of every axis at least once, with each value's place.

    The first combination, then each further value of each axis with the others at their first: as
    many as there are values, not as many as there are combinations.
    """
    first = dict.fromkeys(entry.matrix, 0)
    yield _placed(entry, first)
    for axis, values in entry.matrix.items():
        for index in range(1, len(values)):
            yield _placed(entry, first | {axis: index})


def _placed(entry: CaseEntry, choice: Mapping[str, int]) -> dict[str, tuple[Any, Location]]:
    params: dict[str, tuple[Any, Location]] = {
        name: (value, ("fixed", name)) for name, value in entry.fixed.items()
    }
    for axis, index in choice.items():
        value = entry.matrix[axis][index]
        for name, setting in axis_settings(entry.check, axis, value).items():
            place = _axis_place(entry.check, axis, index, name)
            params[name] = (setting, place)
    return params


def _axis_place(check: str, axis: str, index: int, name: str) -> Location:
    """Where the file sets a parameter: by an axis of its name, or in a mapping of another axis."""
    if name != axis:
        return ("matrix", axis, index, name)
    known = axis in CHECKS[check].parameters.model_fields
    return ("matrix", axis, index) if known else ("matrix", axis)


def entry_count(entry: CaseEntry, environments: int) -> int:
    """Cases of an entry, without making them."""
    return math.prod(len(values) for values in entry.matrix.values()) * environments


def refuse_too_many_cases(campaign: Campaign) -> None:
    """Raise AssayError with the arithmetic when the entries stand for more than MAX_CASES cases."""
    counts = [
        (entry_count(entry, len(campaign.environments_of(entry))), place, entry)
        for place, entry in enumerate(campaign.cases)
    ]
    total = sum(count for count, _, _ in counts)
    if total <= MAX_CASES:
        return
    count, place, entry = max(counts, key=lambda counted: counted[0])
    environments = len(campaign.environments_of(entry))
    raise AssayError(
        f"{campaign.place(place)}: {_product(entry.matrix.values())} ×"
        f" {environments} environments = {count} cases, {total} in the whole campaign;"
        f" allowed are at most {MAX_CASES}; shorten the axes or split the campaign"
    )


def _product(axes: Iterator[Any] | Any) -> str:
    lengths: Sequence[int] = [len(values) for values in axes]
    return " × ".join(map(str, lengths)) if lengths else "1"
