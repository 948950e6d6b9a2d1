# SPDX-License-Identifier: Apache-2.0
"""The values that criteria are judged by: a run's launches, and those of its re-runs after them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from records.criteria import Criterion, Selection
from records.flags import INVALID_ON_PURPOSE
from records.limits import Nominal, nominal
from records.metric import Register
from records.plan import PlannedCase
from records.provenance import SiteAsRun
from records.rerun import rerun_ids
from reports.load.loading import AtKey, Run

Floats = NDArray[np.float64]
Blocks = NDArray[np.int64]


@dataclass(frozen=True)
class Values:
    """One metric at one point of one case: `values[i]` is the launch of `blocks[i]`, SI units.

    Blocks of re-runs are numbered on after those of the run.
    """

    case: PlannedCase
    metric: str
    at: Mapping[str, Any]
    blocks: Blocks
    values: Floats

    @property
    def place(self) -> tuple[str, ...]:
        """The nodes that it belongs to: one, a pair, or none."""
        return tuple(str(self.at[name]) for name in ("node", "peer") if name in self.at)

    def has(self, name: str, wanted: object) -> bool:
        """Whether a coordinate, or else a parameter, is as wanted; True is not 1."""
        found = self.at[name] if name in self.at else self.case.params.get(name)
        return isinstance(found, bool) == isinstance(wanted, bool) and bool(found == wanted)

    def by_block(self) -> dict[int, float]:
        """Value by block."""
        return dict(zip(self.blocks.tolist(), self.values.tolist(), strict=True))


@dataclass(frozen=True)
class LaunchRef:
    """One launch and where its raw output lies, relative to the run directory."""

    run_id: str
    case_id: str
    block: int
    status: str
    flags: tuple[str, ...]
    artifacts: Mapping[str, str]


@dataclass(frozen=True)
class Evidence:
    """All values, all launches, the run's metrics, and what the site declares of itself.

    `nodes` are all that the run's launches were on. Blocks from `fresh` on are those of re-runs.
    """

    values: list[Values]
    launches: Mapping[tuple[str, int], LaunchRef]
    planned: list[PlannedCase]
    register: Register
    rates: Nominal
    nodes: tuple[str, ...]
    fresh: int

    @cached_property
    def _by_metric(self) -> dict[tuple[str, str], list[Values]]:
        found: dict[tuple[str, str], list[Values]] = {}
        for values in self.values:
            found.setdefault((values.case.check, values.metric), []).append(values)
        return found

    def select(self, chosen: Selection, environment: str | None = None) -> list[Values]:
        """The values a selection names, in the plan's order."""
        return [
            values
            for values in self._by_metric.get((chosen.check, chosen.metric), ())
            if environment in (None, values.case.environment)
            and all(values.has(name, wanted) for name, wanted in chosen.where.items())
        ]

    def selected(self, criterion: Criterion) -> list[Values]:
        """The values a criterion names, environment by environment in the plan's order."""
        names = [criterion.environment]
        if criterion.environment is None:
            planned = (case for case in self.planned if case.check == criterion.check)
            names = list(dict.fromkeys(case.environment for case in planned))
        return [values for name in names for values in self.select(criterion, name)]

    def nominal_rate(self, values: Values) -> float | None:
        """What the site's nominal rates promise of a value; None where it states none."""
        case, rates = values.case, self.rates
        kind = self._limited_by(values.metric, len(values.place))
        nodes = len(values.place) or case.nodes
        if kind == "flop":
            ranks = case.ranks_per_node * nodes if values.place else case.ranks
            return rates.core_flop_per_s and ranks * rates.core_flop_per_s
        if kind == "memory":
            return rates.node_memory_bytes_per_s and nodes * rates.node_memory_bytes_per_s
        return rates.link_bytes_per_s

    def nominal_key(self, metric: str, chosen: Sequence[Values]) -> str:
        """The key of site.yaml that states a metric's nominal rate."""
        nodes = len(chosen[0].place) if chosen else 0
        return NOMINAL_KEYS[self._limited_by(metric, nodes)]

    def _limited_by(self, metric: str, nodes: int) -> str:
        """What bounds a metric; by its unit and nodes where a plan of schema 1 does not say it."""
        definition = self.register.metrics[metric]
        if definition.limit in ("flop", "memory"):
            return definition.limit
        if definition.unit == "flop/s":
            return "flop"
        return "memory" if nodes == 1 and not definition.limit else "link"

    def raw_output(self, key: tuple[str, int]) -> str:
        """A launch's raw output by name: "run id/raw/case.b1.a1.out"."""
        launch = self.launches.get(key)
        if launch is None:
            return f"{key[0]} block {key[1]}"
        return f"{launch.run_id}/{launch.artifacts.get('stdout', f'{key[0]} block {launch.block}')}"


#: The keys of site.yaml that state nominal rates.
NOMINAL_KEYS = {
    "flop": "core_peak_flop_per_s",
    "memory": "memory_bytes_per_second",
    "link": "network.bits_per_second",
}


def gather(run: Run, reruns: Sequence[Run]) -> Evidence:
    """The evidence of a run and its re-runs."""
    launches: dict[tuple[str, int], LaunchRef] = {}
    columns: dict[tuple[str, str, AtKey], list[tuple[Blocks, Floats]]] = {}
    offset = 0
    for part in (run, *reruns):
        ids = rerun_ids(run.plan, part.plan)
        for series in part.series:
            case_id = ids.get(part.plan.cases[series.case].id, "")
            key = (case_id, series.metric, series.at)
            columns.setdefault(key, []).append((series.blocks + offset, series.values))
        launches |= dict(_launches(part, ids, offset))
        offset += part.plan.blocks
    cases = {case.id: case for case in run.plan.cases}
    values = [
        Values(
            cases[case_id],
            metric,
            dict(at),
            np.concatenate([blocks for blocks, _ in parts]),
            np.concatenate([numbers for _, numbers in parts]),
        )
        for (case_id, metric, at), parts in columns.items()
        if case_id in cases
    ]
    return Evidence(
        values,
        launches,
        list(run.plan.cases),
        run.plan.register,
        stated_rates(run.provenance.site),
        run.nodes,
        run.plan.blocks + 1,
    )


def stated_rates(site: SiteAsRun) -> Nominal:
    """The nominal rates that a site states."""
    return nominal(
        bits_per_second=_stated(site.network.bits_per_second),
        payload_share=_stated(site.network.payload_share),
        core_peak_flop_per_s=_stated(site.core_peak_flop_per_s),
        memory_bytes_per_second=_stated(site.memory_bytes_per_second),
    )


def _stated(rate: float | None) -> float | None:
    return rate if rate and rate > 0 else None


def _launches(
    part: Run, ids: Mapping[str, str], offset: int
) -> Iterator[tuple[tuple[str, int], LaunchRef]]:
    """Launches by the case of the run that they are of; `ids` are those of the part's cases."""
    for launch in part.counted():
        if INVALID_ON_PURPOSE in launch.flags:
            continue
        case_id, block = part.case(launch).id, launch.block
        files = launch.artifacts or {}
        found = LaunchRef(part.run_id, case_id, block, launch.status, launch.flags, files)
        yield (ids.get(case_id, case_id), block + offset if block else 0), found
