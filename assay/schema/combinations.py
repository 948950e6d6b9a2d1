# SPDX-License-Identifier: Apache-2.0
"""The combinations of parameters that an entry of `cases` stands for."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping
from typing import Any

from assay.schema.document import Location
from assay.schema.model import Campaign, CaseEntry
from checks.common.registry import CHECKS
from records.errors import AssayError

MAX_CASES = 1_000_000


def axis_settings(check: str, axis: str, value: object) -> dict[str, Any]:
    """What one value of an axis sets: a mapping sets its keys, unless the axis is a parameter."""
    known = CHECKS[check].parameters.model_fields.keys() | CHECKS[check].sizing
    if isinstance(value, Mapping) and axis not in known:
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

    The first combination, then each further value of each axis with the others at their first:
    their number grows with the values, not with the combinations.
    """
    first = dict.fromkeys(entry.matrix, 0)
    yield _placed(entry, first)
    for axis, values in entry.matrix.items():
        for index in range(1, len(values)):
            yield _placed(entry, first | {axis: index})


def _placed(entry: CaseEntry, choice: Mapping[str, int]) -> dict[str, tuple[Any, Location]]:
    """The parameters of one combination, each with its place inside the entry."""
    known = CHECKS[entry.check].parameters.model_fields.keys() | CHECKS[entry.check].sizing
    params: dict[str, tuple[Any, Location]] = {
        name: (value, ("fixed", name)) for name, value in entry.fixed.items()
    }
    for axis, index in choice.items():
        for name, value in axis_settings(entry.check, axis, entry.matrix[axis][index]).items():
            place: Location = ("matrix", axis)
            if name != axis:
                place = (*place, index, name)
            elif axis in known:
                place = (*place, index)
            params[name] = (value, place)
    return params


def refuse_too_many_cases(campaign: Campaign) -> None:
    """Raise AssayError with the arithmetic when the entries stand for more than MAX_CASES cases."""
    counts = []
    for index, entry in enumerate(campaign.cases):
        lengths = [len(values) for values in entry.matrix.values()]
        environments = len(campaign.environments_of(entry))
        counts.append((math.prod(lengths) * environments, index, lengths, environments))
    total = sum(count for count, *_ in counts)
    if total > MAX_CASES:
        count, index, lengths, environments = max(counts, key=lambda counted: counted[0])
        raise AssayError(
            f"{campaign.place(index)}: {' × '.join(map(str, lengths)) or '1'} × {environments}"
            f" environments = {count} cases, {total} in the whole campaign; allowed are at most"
            f" {MAX_CASES}; shorten the axes or split the campaign"
        )
