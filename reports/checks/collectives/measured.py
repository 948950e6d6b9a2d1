# SPDX-License-Identifier: Apache-2.0
"""From the rows of a run to points of each environment and operation, and the model of them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from reports.analysis.run import Analysis, Row, flags_of
from reports.models.collectives import CollectiveModel, Points, fit_collective, points
from reports.show.rows import message_bytes

CHECK = "collectives"
METRIC = "collective_time"
#: Parameters that do not make a family of their own: on an axis, or how often was measured.
_NO_VARIANT = ("ranks", "repetitions", "runs", "warmup", "seed")


@dataclass(frozen=True, eq=False)
class Measured:
    """Curve family: an operation in an environment over sizes and process counts.

    `variant` names the procedure or the placement where a campaign varies them. The fitted times
    are medians over launches.
    """

    operation: str
    environment: str
    variant: str
    rows: list[Row]
    data: Points
    model: CollectiveModel | str
    flags: tuple[str, ...]

    @property
    def counts(self) -> list[int]:
        """The process counts, ascending."""
        return sorted({int(p) for p in self.data.p})

    @property
    def shortest(self) -> int:
        """The least message length: its time stands for T0."""
        return int(self.data.message_bytes.min())


@lru_cache(maxsize=4)
def measured(analysis: Analysis) -> tuple[Measured, ...]:
    """By operation, variant and environment, in reading order."""
    # Validation sorts each list: the paper's operations, then what goes beyond it.
    lists = (case.params.get("operations") for case in analysis.run.plan.cases)
    listed = (str(name) for given in lists if isinstance(given, list) for name in given)
    places = {name: place for place, name in enumerate(dict.fromkeys(listed))}
    names = list(analysis.looks)
    groups: dict[tuple[int, str, str, int], list[Row]] = {}
    for row in analysis.rows_of(CHECK, METRIC):
        case = analysis.case(row)
        variant = ", ".join(analysis.labels[CHECK].parts(case, without=_NO_VARIANT))
        operation = str(row.series.at_value("operation"))
        place = places.get(operation, len(places)), operation
        groups.setdefault((*place, variant, names.index(case.environment)), []).append(row)
    result = []
    for (_, operation, variant, name), rows in sorted(groups.items(), key=lambda item: item[0]):
        data = points_of(analysis, rows)
        model, flags = fit_collective(data), _flags(analysis, rows)
        result.append(Measured(operation, names[name], variant, rows, data, model, flags))
    return tuple(result)


def _flags(analysis: Analysis, rows: list[Row]) -> tuple[str, ...]:
    """Flags of the launches; one that does not stand at every process count says at which."""
    every = {analysis.case(row).ranks for row in rows}
    found: dict[str, set[int]] = {}
    for row in rows:
        for flag in flags_of([row]):
            found.setdefault(flag.split(" in ")[0], set()).add(analysis.case(row).ranks)
    return tuple(
        flag if counts == every else f"{flag} at p = {', '.join(map(str, sorted(counts)))}"
        for flag, counts in found.items()
    )


def points_of(analysis: Analysis, rows: Iterable[Row]) -> Points:
    """Medians over launches, a point a row."""
    return points([(*position(analysis, row), row.summary.median) for row in rows])


def position(analysis: Analysis, row: Row) -> tuple[int, int]:
    """Process count and message length of a row."""
    return analysis.case(row).ranks, message_bytes(row)


def words(operation: str) -> str:
    """The operation's name for readers."""
    return operation.replace("_", " ")
