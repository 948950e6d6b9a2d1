# SPDX-License-Identifier: Apache-2.0
"""The values that criteria are judged by: a run's launches, and those of its re-runs after them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from records.criteria import Criterion, Selection
from records.flags import INVALID_ON_PURPOSE
from records.metric import Register
from records.plan import PlannedCase
from reports.load.loading import AtKey, Run

Floats = NDArray[np.float64]
Blocks = NDArray[np.int64]


@dataclass(frozen=True)
class Values:
    """One metric at one point of one case: `values[i]` is the launch of `blocks[i]`, SI units.

    Blocks of re-runs are numbered on after those of the run; `fresh` says from which block on.
    """

    case: PlannedCase
    metric: str
    at: Mapping[str, Any]
    blocks: Blocks
    values: Floats
    fresh: int

    @property
    def first(self) -> Values:
        """Only the launches of the run itself."""
        return self._part(self.blocks < self.fresh)

    @property
    def again(self) -> Values:
        """Only the launches of re-runs."""
        return self._part(self.blocks >= self.fresh)

    def _part(self, chosen: NDArray[np.bool_]) -> Values:
        return Values(
            self.case, self.metric, self.at, self.blocks[chosen], self.values[chosen], self.fresh
        )

    def by_block(self) -> dict[int, float]:
        """Value by block."""
        return dict(zip(self.blocks.tolist(), self.values.tolist(), strict=True))


@dataclass(frozen=True)
class LaunchRef:
    """One launch and where its raw output lies, relative to the run directory."""

    run_id: str
    case_id: str
    block: int
    attempt: int
    status: str
    reason: str | None
    flags: tuple[str, ...]
    artifacts: Mapping[str, str]


@dataclass(frozen=True)
class Evidence:
    """All values, all launches, the run's metrics, and what the site declares of itself."""

    values: list[Values]
    launches: Mapping[tuple[str, int], LaunchRef]
    planned: list[PlannedCase]
    register: Register
    core_peak_flop_per_s: float | None
    fresh: int

    def select(self, chosen: Selection, environment: str | None = None) -> list[Values]:
        """The values a selection names, in the plan's order."""
        return [v for v in self.values if matches(v, chosen, environment)]


def matches(values: Values, chosen: Selection, environment: str | None) -> bool:
    """Whether a selection names these values."""
    case = values.case
    if (case.check, values.metric) != (chosen.check, chosen.metric):
        return False
    if environment is not None and case.environment != environment:
        return False
    return all(_has(values, name, wanted) for name, wanted in chosen.where.items())


def _has(values: Values, name: str, wanted: object) -> bool:
    found = values.at[name] if name in values.at else values.case.params.get(name)
    same_kind = isinstance(found, bool) == isinstance(wanted, bool)
    return same_kind and bool(found == wanted)


def environments_of(criterion: Criterion, evidence: Evidence) -> list[str]:
    """The environments a criterion is judged in, in the plan's order."""
    if criterion.environment is not None:
        return [criterion.environment]
    planned = (case.environment for case in evidence.planned if case.check == criterion.check)
    return list(dict.fromkeys(planned))


def gather(run: Run, reruns: Sequence[Run]) -> Evidence:
    """The evidence of a run and its re-runs."""
    launches = dict(_launches(run, 0))
    columns: dict[tuple[str, str, AtKey], list[tuple[Blocks, Floats]]] = {}
    offset = 0
    for part in (run, *reruns):
        for series in part.series:
            key = (part.plan.cases[series.case].id, series.metric, series.at)
            columns.setdefault(key, []).append((series.blocks + offset, series.values))
        launches |= dict(_launches(part, offset))
        offset += part.plan.blocks
    cases = {case.id: case for case in run.plan.cases}
    fresh = run.plan.blocks + 1
    values = [
        Values(
            cases[case_id],
            metric,
            dict(at),
            np.concatenate([blocks for blocks, _ in parts]),
            np.concatenate([numbers for _, numbers in parts]),
            fresh,
        )
        for (case_id, metric, at), parts in columns.items()
        if case_id in cases
    ]
    peak = run.provenance.site.core_peak_flop_per_s
    return Evidence(
        values,
        launches,
        list(run.plan.cases),
        run.plan.register,
        peak if peak and peak > 0 else None,
        fresh,
    )


def _launches(part: Run, offset: int) -> Iterator[tuple[tuple[str, int], LaunchRef]]:
    for launch in part.counted():
        if INVALID_ON_PURPOSE in launch.flags:
            continue
        case = part.case(launch)
        yield (
            (case.id, launch.block + (offset if launch.block else 0)),
            LaunchRef(
                run_id=part.run_id,
                case_id=case.id,
                block=launch.block,
                attempt=launch.attempt,
                status=launch.status,
                reason=launch.reason,
                flags=launch.flags,
                artifacts=launch.artifacts or {},
            ),
        )
