# SPDX-License-Identifier: Apache-2.0
"""Content of a history, as the store gives it and the nightly judgement reads it; the context of a
run, from its provenance."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

import msgspec
import numpy as np
from numpy.typing import NDArray

from records.errors import AssayError
from records.history import USUAL_FINDS
from records.metric import Better
from records.run.provenance import Provenance
from records.site.node_facts import facts_by_value, value_text
from records.site.pair_scans import NODE, PEER

Kind = Literal["regression", "improvement"]
#: early: a step in a series' first nights; since when is then unknown. peers: a node is slower than
#: the other nodes of its kind.
Stage = Literal["tonight", "lasting", "drift", "early", "peers"]


#: Values of the launches behind a median, in the order of blocks, by (series, night).
Launches = dict[tuple[int, int], tuple[float, ...]]


@dataclass(frozen=True, slots=True)
class SeriesKey:
    """Key of a series, a value a night: a metric at one point of one case. `at` in SI units.

    `title` and `check_title` name metric and check to readers. The direction of an imported figure
    may be unknown; such a series is shown and not judged.
    """

    case_id: str
    check: str
    environment: str
    params: Mapping[str, Any]
    metric: str
    unit: str
    better: Better | Literal["unknown"]
    at: Mapping[str, Any]
    title: str
    check_title: str

    @property
    def is_of_a_node(self) -> bool:
        """Tell whether it is of one node, and not of a pair."""
        return NODE in self.at and PEER not in self.at


@dataclass(frozen=True, slots=True)
class NightValues:
    """Values of the ok launches of one series in one night, in SI base units."""

    series: SeriesKey
    launches: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Night:
    """A run in a history. `context` is software and machine, flat: "host.kernel" -> "6.1".

    `statuses` counts launches by status; `failures` says what went wrong, one line each.
    `id` is 0 before the store has given one; `run_path` is where the run directory was. `kinds` is
    the hardware of each node whose hardware is known; `finds` the least change, a fraction, that
    the night's judgement was to find. `imported`: its launches were not run and proven by Assay.
    """

    run_id: str
    site: str
    campaign: str
    started_at: str
    context: Mapping[str, str]
    nodes: tuple[str, ...]
    statuses: Mapping[str, int]
    failures: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    run_path: str = ""
    judged: bool = False
    kinds: Mapping[str, str] = field(default_factory=dict)
    finds: float = USUAL_FINDS
    imported: bool = False
    id: int = 0

    @property
    def date(self) -> str:
        """The day, and the time to the minute (UTC)."""
        return self.started_at[:16].replace("T", " ")


@dataclass(frozen=True, slots=True)
class Missed:
    """A night that could not run, or not to its end, and why; `at` is when that was known (UTC)."""

    site: str
    campaign: str
    at: str
    reason: str

    @property
    def date(self) -> str:
        """The day, and the time to the minute (UTC)."""
        return self.at[:16].replace("T", " ")


@dataclass(frozen=True, slots=True)
class Acceptance:
    """Who took a change as the new reference, when, and why."""

    author: str
    reason: str
    at: str


@dataclass(frozen=True, slots=True)
class Change:
    """A change of one series that was found. `since`, `found`, `closed` are ids of nights.

    `before` and `after` are medians in SI base units, `ratio` is after/before. `closed` is set when
    a regression went back by itself.
    """

    series: int
    kind: Kind
    stage: Stage
    since: int
    found: int
    before: float
    after: float
    n_before: int
    closed: int | None = None
    accepted: Acceptance | None = None
    id: int = 0

    @property
    def ratio(self) -> float:
        """after/before."""
        return self.after / self.before

    @property
    def open(self) -> bool:
        """A regression that neither went back nor was accepted."""
        return self.kind == "regression" and self.closed is None and self.accepted is None


@dataclass(frozen=True)
class History:
    """Nights in order of time, series, and one value for each pair.

    `values` (medians), `reruns` (medians of the same night's re-runs) and `counts` (launches) have
    the shape (series, nights); NaN where nothing was measured. `series_ids` are the store's.
    `elsewhere` are medians of re-runs kept off the night's nodes, on `other_nodes` (by the night's
    id). `unexplained`: values that are worse than allowed and that no re-run has explained.
    `launches` and `relaunches` hold the launches of series of single nodes by (series, night's
    position), of nights that are not judged and of the newest.
    """

    nights: list[Night]
    series: list[SeriesKey]
    series_ids: list[int]
    values: NDArray[np.float64]
    counts: NDArray[np.int64]
    reruns: NDArray[np.float64]
    rerun_counts: NDArray[np.int64]
    elsewhere: NDArray[np.float64]
    unexplained: NDArray[np.bool_]
    changes: list[Change] = field(default_factory=list)
    other_nodes: Mapping[int, tuple[str, ...]] = field(default_factory=dict)
    launches: Launches = field(default_factory=dict)
    relaunches: Launches = field(default_factory=dict)

    @cached_property
    def _positions(self) -> dict[int, int]:
        return {night.id: place for place, night in enumerate(self.nights)}

    def position(self, night_id: int) -> int:
        """The place of a night of this history. Raises AssayError for another's."""
        place = self._positions.get(night_id)
        if place is None:
            raise AssayError(f"night {night_id} is not in this history; it was removed or damaged")
        return place


#: Parts of provenance.json that make the context; the rest (times, seeds, ids) differs every night.
_PARTS = ("harness", "site", "host", "slurm", "environments", "variables")
#: Differ from night to night and decide nothing.
_LEFT_OUT = ("site.asked_as", "site.description", "site.nodes_left_out", "site.partition_nodes")
#: Begins the names of facts of nodes: one value, or each with the nodes that have it.
NODE_FACT = "node."
#: What Slurm sets for each job says nothing about the software.
_JOB_VARIABLES = "variables.SLURM_"


def context_of(provenance: Provenance, nodes: Sequence[str]) -> dict[str, str]:
    """Name -> text, e.g. {"host.kernel": "6.1.0", "environments.lam.packages.liblam4": "7.1.4"}."""
    flat: dict[str, str] = {}
    known = msgspec.to_builtins(provenance)
    for part in _PARTS:
        flat |= dict(_leaves(part, known[part]))
    kept = {
        name: text
        for name, text in flat.items()
        if name not in _LEFT_OUT and not name.startswith(_JOB_VARIABLES)
    }
    facts = facts_by_value(provenance.nodes)
    told = {f"{NODE_FACT}{fact}": value_text(values) for fact, values in facts.items()}
    return {**kept, **told, "nodes": " ".join(nodes)}


def _leaves(name: str, value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _leaves(f"{name}.{key}", inner)
    elif isinstance(value, list):
        yield name, " ".join(map(str, value))
    elif value is not None:
        yield name, str(value)
