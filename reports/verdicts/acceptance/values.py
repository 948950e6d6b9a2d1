# SPDX-License-Identifier: Apache-2.0
"""The values that criteria are judged by: a run's launches, and those of its re-runs after them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from records.criteria import Criterion, Selection
from records.flags import INVALID_ON_PURPOSE
from records.metric import Register
from records.plugins import hooks
from records.run.plan import PlannedCase
from records.run.provenance import SiteAsRun
from records.run.rerun import rerun_ids
from records.site.limits import Nominal, payload_rate
from records.site.pair_scans import NODE, PEER, SUMMARY, Indices
from records.text.plain_text import natural_order
from reports.judgement import LaunchKey
from reports.load.loading import AtKey, PairColumns, Run, Scan, Series, columns_of, joined

Floats = NDArray[np.float64]
Blocks = NDArray[np.int64]


@dataclass(frozen=True)
class Values:
    """A metric at one point of a case: `values[i]` is the launch of `blocks[i]`, SI units.

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
        return tuple(str(self.at[name]) for name in (NODE, PEER) if name in self.at)

    def has(self, name: str, wanted: object) -> bool:
        """True where a coordinate, or else a parameter, is as wanted; True is not 1. Of a pair
        either node may be the one wanted."""
        if name in (NODE, PEER) and len(self.place) == 2:
            return wanted in self.place
        found = self.at[name] if name in self.at else self.case.params.get(name)
        return isinstance(found, bool) == isinstance(wanted, bool) and bool(found == wanted)

    def by_block(self) -> dict[int, float]:
        """Value by block."""
        return dict(zip(self.blocks.tolist(), self.values.tolist(), strict=True))


@dataclass(frozen=True)
class Rows:
    """Values of one metric: `matrix` has a point of a case a row and a block a column, NaN where a
    block has none; `values` gives those of a row, `launches` are behind all."""

    blocks: Blocks
    matrix: Floats
    values: Callable[[int], Values]
    launches: tuple[LaunchKey, ...]
    environments: frozenset[str]


def rows_of(members: Sequence[Values]) -> Rows:
    """The rows of values in records, at least of one."""
    blocks = np.unique(np.concatenate([values.blocks for values in members]))
    matrix = np.full((len(members), len(blocks)), np.nan)
    for row, values in enumerate(members):
        matrix[row, np.searchsorted(blocks, values.blocks)] = values.values
    launches = dict.fromkeys((v.case.id, block) for v in members for block in v.blocks.tolist())
    environments = frozenset(values.case.environment for values in members)
    return Rows(blocks, matrix, members.__getitem__, tuple(launches), environments)


@dataclass(frozen=True)
class ScanValues:
    """A metric of the pairs of a case whose values lie in files, which are read when `columns`
    are asked for. `parts` are the run's and its re-runs', each with the block before its first."""

    case: PlannedCase
    metric: str
    parts: Sequence[tuple[Scan | PairColumns, int]]

    @cached_property
    def columns(self) -> PairColumns:
        """All values."""
        found = []
        for part, offset in self.parts:
            read = part.columns(self.metric) if isinstance(part, Scan) else part
            found.append(replace(read, blocks=tuple(block + offset for block in read.blocks)))
        return joined(found)

    @property
    def rows(self) -> Rows:
        """The values of all pairs."""
        blocks, values = self.columns.blocks, self.columns.values.astype(np.float64)
        launches = tuple((self.case.id, block) for block in blocks)
        environments = frozenset([self.case.environment])
        return Rows(np.array(blocks), values, self.row, launches, environments)

    def row(self, row: int) -> Values:
        """The values of a pair."""
        columns = self.columns
        known = np.isfinite(columns.values[row])
        node, peer = (columns.names[int(end[row])] for end in (columns.low, columns.high))
        return Values(
            self.case,
            self.metric,
            {NODE: node, PEER: peer},
            np.array(columns.blocks)[known],
            columns.values[row][known].astype(np.float64),
        )

    def narrowed(self, where: Mapping[str, Any]) -> ScanValues:
        """Select the pair that `where` names, a node's pairs, or all."""
        wanted = [where[end] for end in (NODE, PEER) if end in where]
        if not wanted:
            return self
        columns = self.columns
        rows = np.ones(len(columns.low), dtype=bool)
        for name in wanted:
            number = columns.names.index(name) if name in columns.names else -1
            rows &= (columns.low == number) | (columns.high == number)
        low, high = columns.low[rows], columns.high[rows]
        part = replace(columns, low=low, high=high, values=columns.values[rows])
        return ScanValues(self.case, self.metric, [(part, 0)])


@dataclass(frozen=True)
class LaunchRef:
    """A launch and the path of its raw output, relative to the run directory."""

    run_id: str
    case_id: str
    block: int
    status: str
    flags: tuple[str, ...]
    artifacts: Mapping[str, str]


@dataclass(frozen=True)
class CriterionEvidence:
    """All values, all launches, the run's metrics, and what the site declares of itself.

    `nodes` are all that the run's launches were on. Blocks from `fresh` on are those of re-runs.
    `scans` are not among the values, but for a summary. Where jobs were handed in at once,
    `mix_blocks` are one mix, and `throughputs` those of whole mixes by their first block.
    `unmeasured` are the nodes of the partition that no value belongs to. `is_local`: measured on
    one machine without a scheduler.
    """

    values: list[Values]
    launches: Mapping[tuple[str, int], LaunchRef]
    planned: list[PlannedCase]
    register: Register
    rates: Nominal
    nodes: tuple[str, ...]
    fresh: int
    scans: tuple[ScanValues, ...] = ()
    mix_blocks: int = 0
    throughputs: Mapping[int, float] = field(default_factory=dict)
    unmeasured: tuple[str, ...] = ()
    is_local: bool = False

    def without(self, flags: Collection[str]) -> CriterionEvidence:
        """Leave out values of launches that carry one of these flags."""
        gone = {
            key for key, launch in self.launches.items() if not {*flags}.isdisjoint(launch.flags)
        }
        values = []
        for one in self.values if gone else ():
            kept = np.array([(one.case.id, block) not in gone for block in one.blocks.tolist()])
            if kept.any():
                values.append(replace(one, blocks=one.blocks[kept], values=one.values[kept]))
        return replace(self, values=values) if gone else self

    @cached_property
    def _by_metric(self) -> dict[tuple[str, str], list[Values]]:
        found: dict[tuple[str, str], list[Values]] = {}
        for values in self.values:
            found.setdefault((values.case.check, values.metric), []).append(values)
        return found

    def inside(self, chosen: Selection, environment: str | None = None) -> list[Values]:
        """The values in records that a selection names, in the plan's order; the summary of a scan
        only where it is asked for."""
        scanned = {scan.case.id for scan in self.scans} if SUMMARY not in chosen.where else set()
        return [
            values
            for values in self._by_metric.get((chosen.check, chosen.metric), ())
            if environment in (None, values.case.environment)
            and not (values.case.id in scanned and SUMMARY in values.at)
            and all(values.has(name, wanted) for name, wanted in chosen.where.items())
        ]

    def scans_of(self, chosen: Selection, environment: str | None = None) -> list[ScanValues]:
        """The scans of which a selection names all pairs or some, of these pairs alone."""
        environment = environment or getattr(chosen, "environment", None)
        params = {k: v for k, v in chosen.where.items() if k not in (NODE, PEER)}
        found = [
            scan.narrowed(chosen.where)
            for scan in self.scans
            if (scan.case.check, scan.metric) == (chosen.check, chosen.metric)
            and environment in (None, scan.case.environment)
            and all(scan.case.params.get(name) == wanted for name, wanted in params.items())
        ]
        return [scan for scan in found if len(scan.columns.low)]

    def cases_of(self, criterion: Criterion) -> list[PlannedCase]:
        """The case of every value in records, and of every scan, that a criterion names."""
        inside = self.inside(criterion, criterion.environment)
        return [values.case for values in inside] + [scan.case for scan in self.scans_of(criterion)]

    def rows(self, criterion: Criterion) -> Iterator[Rows]:
        """The values a criterion names, environment by environment in the plan's order: of each
        case those of its nodes, pairs, or neither, then each scan."""
        for environment in self.environments_of(criterion):
            groups: dict[tuple[str, int], list[Values]] = {}
            for values in self.inside(criterion, environment):
                groups.setdefault((values.case.id, len(values.place)), []).append(values)
            yield from map(rows_of, groups.values())
            yield from (scan.rows for scan in self.scans_of(criterion, environment))

    def select(self, chosen: Selection, environment: str | None = None) -> list[Values]:
        """The values a selection names, those of scans after those in records."""
        scans = self.scans_of(chosen, environment)
        return [
            *self.inside(chosen, environment),
            *(scan.row(row) for scan in scans for row in range(len(scan.columns.low))),
        ]

    def environments_of(self, criterion: Criterion) -> list[str]:
        """The environments that a criterion is about, in the plan's order."""
        if criterion.environment is not None:
            return [criterion.environment]
        planned = (case for case in self.planned if case.check == criterion.check)
        return list(dict.fromkeys(case.environment for case in planned))

    def selected(self, criterion: Criterion) -> list[Values]:
        """The values a criterion names, environment by environment in the plan's order."""
        names = self.environments_of(criterion)
        return [values for name in names for values in self.select(criterion, name)]

    def nominal_rate(self, values: Values) -> tuple[float | None, str]:
        """Rate that the site promises of a value, None where it states none, and the key of
        site.yaml that states it. The limit of a metric follows from its unit and nodes where the
        metric does not say it."""
        case, rates, places = values.case, self.rates, len(values.place)
        metric, nodes = self.register.metrics[values.metric], places or case.nodes
        if metric.limit == "flop" or (metric.limit != "memory" and metric.unit == "flop/s"):
            ranks = case.ranks_per_node * nodes if places else case.ranks
            rate = rates.core_flop_per_s and ranks * rates.core_flop_per_s
            return rate, NOMINAL_KEYS["flop"]
        if metric.limit == "memory" or (places == 1 and not metric.limit):
            rate = rates.node_memory_bytes_per_s and nodes * rates.node_memory_bytes_per_s
            return rate, NOMINAL_KEYS["memory"]
        return rates.link_bytes_per_s, NOMINAL_KEYS["link"]

    def pairs_of(self, case_id: str) -> tuple[Sequence[str], Indices, Indices]:
        """The pairs of nodes of which a case has values, each once: names, and the numbers of both
        ends among them."""
        scan = next((one for one in self.scans if one.case.id == case_id), None)
        if scan is not None:
            return scan.columns.names, scan.columns.low, scan.columns.high
        found = {
            frozenset(values.place): values.place
            for values in self.values
            if values.case.id == case_id and len(values.place) == 2
        }
        number: dict[str, int] = {}
        ends = [[number.setdefault(n, len(number)) for n in place] for place in found.values()]
        node, peer = np.array(ends, dtype=np.int64).reshape(-1, 2).T
        return [*number], node, peer

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


def gather(run: Run, reruns: Sequence[Run]) -> CriterionEvidence:
    """The evidence of a run and its re-runs."""
    launches: dict[tuple[str, int], LaunchRef] = {}
    columns: dict[tuple[str, str, AtKey], list[tuple[Blocks, Floats]]] = {}
    offset = 0
    scans: dict[tuple[str, str], list[tuple[Scan | PairColumns, int]]] = {
        (run.plan.cases[scan.case].id, metric): [] for scan in run.scans for metric in scan.metrics
    }
    for part in (run, *reruns):
        ids = rerun_ids(run.plan, part.plan)
        for scanned_key, scanned in _scanned(part, ids, scans):
            scans[scanned_key].append((scanned, offset))
        for series in part.series:
            case_id = ids.get(part.plan.cases[series.case].id, "")
            if (case_id, series.metric) in scans and not _is_summary(series):
                continue
            key = (case_id, series.metric, series.at)
            columns.setdefault(key, []).append((series.blocks + offset, series.values))
        launches |= dict(_launches(part, ids, offset))
        offset += part.plan.blocks
    cases = {case.id: case for case in run.plan.cases}
    values = [
        Values(cases[case_id], metric, dict(at), *map(np.concatenate, zip(*parts, strict=True)))
        for (case_id, metric, at), parts in columns.items()
        if case_id in cases
    ]
    return CriterionEvidence(
        values,
        launches,
        list(run.plan.cases),
        run.plan.register,
        stated_rates(run.provenance.site),
        run.nodes,
        run.plan.blocks + 1,
        tuple(ScanValues(cases[key[0]], key[1], tuple(parts)) for key, parts in scans.items()),
        run.plan.mix_blocks,
        _throughputs([run, *reruns]),
        _unmeasured(run, values),
        run.provenance.site.is_local,
    )


def _unmeasured(run: Run, values: Sequence[Values]) -> tuple[str, ...]:
    """The nodes of the partition that no value belongs to, where nodes or pairs are measured by
    themselves or a launch has as many nodes as it may."""
    site, known = run.provenance.site, {node for one in values for node in one.place}
    most = max((case.nodes for case in run.plan.cases if case.skipped is None), default=0)
    if run.scans or (not known and most >= (site.nodes or 0)):
        known |= {*run.nodes}
    return tuple(natural_order({*(site.partition_nodes or ())} - known)) if known else ()


def _throughputs(parts: Sequence[Run]) -> dict[int, float]:
    """Throughputs of the whole mixes of a run and its re-runs, by their first blocks."""
    found, offset = dict[int, float](), 0
    for part in parts:
        for throughputs in hooks("throughputs") if part.plan.mix_blocks else ():
            found |= {first + offset: rate for first, rate in throughputs(part).items()}
        offset += part.plan.blocks
    return found


def _is_summary(series: Series) -> bool:
    return any(name == SUMMARY for name, _ in series.at)


def _scanned(
    part: Run, ids: Mapping[str, str], wanted: Collection[tuple[str, str]]
) -> Iterator[tuple[tuple[str, str], Scan | PairColumns]]:
    """Parts of the `wanted` scans in a run or a re-run, by case and metric: files, or the values of
    few pairs in its records."""
    for scan in part.scans:
        case_id = ids.get(part.plan.cases[scan.case].id, "")
        yield from (((case_id, m), scan) for m in scan.metrics if (case_id, m) in wanted)
    inside: dict[tuple[str, str], list[Series]] = {}
    for series in part.series:
        key = ids.get(part.plan.cases[series.case].id, ""), series.metric
        if key in wanted and not _is_summary(series):
            inside.setdefault(key, []).append(series)
    yield from ((key, columns_of(found)) for key, found in inside.items())


def stated_rates(site: SiteAsRun) -> Nominal:
    """The nominal rates that a site states."""
    network = site.network
    bits_per_second, share = _stated(network.bits_per_second), _stated(network.payload_share)
    return Nominal(
        link_bytes_per_s=payload_rate(bits_per_second, share),
        core_flop_per_s=_stated(site.core_peak_flop_per_s),
        node_memory_bytes_per_s=_stated(site.memory_bytes_per_second),
    )


def _stated(rate: float | None) -> float | None:
    return rate if rate and rate > 0 else None


def _launches(
    part: Run, ids: Mapping[str, str], offset: int
) -> Iterator[tuple[tuple[str, int], LaunchRef]]:
    """Launches by the case of the run that they are of; `ids` are those of the part's cases."""
    every = part.launches
    for launch in every.where(every.counted & ~every.flagged(INVALID_ON_PURPOSE)):
        case_id, block = part.case(launch).id, launch.block
        files = launch.artifacts or {}
        found = LaunchRef(part.run_id, case_id, block, launch.status, launch.flags, files)
        yield (ids.get(case_id, case_id), block + offset if block else 0), found
