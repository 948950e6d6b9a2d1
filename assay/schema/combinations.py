# SPDX-License-Identifier: Apache-2.0
"""The combinations of parameters that an entry of `cases` stands for."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping
from typing import Any

from assay.schema.document import Location
from assay.schema.model import Campaign, CaseGroup
from checks.common.definition import CheckDefinition
from records.errors import AssayError

MAX_CASES = 1_000_000


def axis_settings(check: CheckDefinition[Any], axis: str, value: object) -> dict[str, Any]:
    """Settings of one value of an axis: a mapping sets its keys, unless the axis is a parameter."""
    if isinstance(value, Mapping) and axis not in _parameters(check):
        return dict(value)
    return {axis: value}


def _parameters(check: CheckDefinition[Any]) -> set[str]:
    return {*check.parameters.model_fields, *check.sizing}


def combinations(entry: CaseGroup, check: CheckDefinition[Any]) -> Iterator[dict[str, Any]]:
    """Each combination's parameters as given, in the file's order, the last axis fastest."""
    axes = [
        [axis_settings(check, axis, value) for value in values]
        for axis, values in entry.matrix.items()
    ]
    for choice in itertools.product(*axes):
        params = dict(entry.fixed)
        for settings in choice:
            params.update(settings)
        yield params


def probes(
    entry: CaseGroup, check: CheckDefinition[Any], place: Location
) -> Iterator[tuple[dict[str, Any], dict[str, Location]]]:
    """Combinations that use every value of every axis at least once, with the location of each
    parameter; the entry is at `place`.

    The first combination, then each further value of each axis with the others at their first:
    their number grows with the values, not with the combinations.
    """
    first = dict.fromkeys(entry.matrix, 0)
    further = [(axis, i) for axis, values in entry.matrix.items() for i in range(1, len(values))]
    for choice in [first, *(first | {axis: index} for axis, index in further)]:
        params = dict(entry.fixed)
        places: dict[str, Location] = {name: (*place, "fixed", name) for name in params}
        for axis, index in choice.items():
            for name, value in axis_settings(check, axis, entry.matrix[axis][index]).items():
                inside: Location = (axis,) if name == axis else (axis, index, name)
                if name == axis and axis in _parameters(check):
                    inside = (axis, index)
                params[name], places[name] = value, (*place, "matrix", *inside)
        yield params, places


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
