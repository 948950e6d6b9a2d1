# SPDX-License-Identifier: Apache-2.0
"""Lists beside the statistics: launches that are not ok, holes, evidence, provenance."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import msgspec
import numpy as np

from records.flags import INVALID_ON_PURPOSE
from records.run.belonging import checksum_of, raw_paths
from records.run.provenance import Provenance
from records.site.node_facts import facts_by_value, value_text
from reports.analysis import STATUSES, Analysis, Hole
from reports.load.launches import Launch, Mask
from reports.load.loading import Run
from reports.notation.labels import shortened
from reports.notation.units import fixed, moment_text
from reports.show.raw_links import RawLinks
from reports.show.tables import MOST_ROWS, Cell, Heading, Table, numeric, pivot, slug

MOST_EVIDENCE_CASES = 300
#: Ok launches that are listed with their raw output, of all these cases together; of each case at
#: least LEAST_LISTED.
MOST_LISTED, LEAST_LISTED = 10_000, 20
MOST_REASON = 600
#: Reasons that are listed one by one.
MOST_REASONS = 6


@lru_cache(maxsize=4)
def status_table(analysis: Analysis) -> Table:
    """Launches by check, environment and status, with those still missing."""
    cases = analysis.run.plan.cases
    counts: dict[tuple[str, str], Counter[str]] = {}
    for case in cases:
        counts.setdefault((case.check, case.environment), Counter())
    for (place, status, flags), count in analysis.run.tally.items():
        kind = "on purpose" if INVALID_ON_PURPOSE in flags else status
        counts[cases[place].check, cases[place].environment][kind] += count
    for hole in analysis.holes:
        counts[hole.case.check, hole.case.environment]["missing"] += 1
    kinds = [*STATUSES, "on purpose", "missing"]
    titles = {"on purpose": "wrong on purpose", "missing": "not run"}

    def numbers(lines: list[tuple[tuple[str, str], Counter[str]]]) -> list[str]:
        found = lines[0][1]
        return [fixed(found[kind], 0) if found[kind] else "·" for kind in kinds]

    table = pivot(
        sorted(counts.items(), key=lambda item: item[0][0]),
        [
            ("check", lambda line: analysis.register.check_title(line[0][0])),
            ("environment", lambda line: Cell(line[0][1], environment=line[0][1])),
        ],
        [([titles.get(kind, kind) for kind in kinds], numbers)],
        anchor="table-launches",
        title="Launches by status",
        group=1,
    )
    return table or Table("table-launches", "Launches by status", [], [])


def bad_launches_table(
    analysis: Analysis, links: RawLinks, *, on_purpose: bool = False
) -> Table | None:
    """Every launch that is not ok with its reason; those wrong on purpose apart."""
    launches = [
        launch
        for launch in analysis.bad_launches
        if (INVALID_ON_PURPOSE in launch.flags) == on_purpose
    ]

    def cells(launch: Launch) -> list[str | Cell]:
        case = analysis.run.case(launch)
        replaced = () if launch.counted else ("replaced",)
        return [
            Cell(analysis.title(case), title=case.id),
            Cell(case.environment, environment=case.environment),
            str(launch.block),
            str(launch.attempt),
            Cell(launch.status, badges=(*launch.flags, *replaced)),
            _reason(launch),
            _output(launch, links),
        ]

    headings: list[Heading] = ["case", "environment", *numeric("block", "attempt")]
    kind = "are wrong on purpose" if on_purpose else "are not ok"
    return pivot(
        launches[:MOST_ROWS],
        [([*headings, "status", "reason", "raw output"], cells)],
        anchor="table-on-purpose" if on_purpose else "table-bad",
        title=f"Launches that {kind}",
        total=len(launches),
    )


def _reason(launch: Launch) -> str:
    return (launch.reason or "no reason recorded")[:MOST_REASON]


def _output(launch: Launch, links: RawLinks) -> Cell:
    """The raw output of a launch."""
    path = (launch.artifacts or {}).get("stdout", "")
    return Cell(path.rsplit("/", 1)[-1] or "–", href=links.to(path))


def reasons_table(analysis: Analysis, links: RawLinks) -> Table | None:
    """Launches that are not ok by reason, the commonest first, each with one raw output."""
    groups: dict[tuple[str, str | None], list[Launch]] = {}
    for launch in analysis.bad_launches:
        if INVALID_ON_PURPOSE not in launch.flags and launch.status != "skipped":
            groups.setdefault((launch.status, launch.reason), []).append(launch)

    def cells(launches: list[Launch]) -> list[str | Cell]:
        first = launches[0]
        names = dict.fromkeys(analysis.run.case(launch).environment for launch in launches)
        count = fixed(len(launches), 0)
        return [_reason(first), first.status, count, ", ".join(names), _output(first, links)]

    return pivot(
        sorted(groups.values(), key=len, reverse=True)[:MOST_REASONS],
        [(["reason", "status", *numeric("launches"), "environments", "first raw output"], cells)],
        anchor="table-reasons",
        title="Launches that are not ok, by reason",
        total=len(groups),
    )


def holes_table(analysis: Analysis) -> Table | None:
    """Cases with planned launches that have no record: which blocks, why."""
    grouped: dict[tuple[str, str], list[Hole]] = {}
    for hole in analysis.holes:
        grouped.setdefault((hole.case.id, hole.reason), []).append(hole)

    def cells(holes: list[Hole]) -> list[str | Cell]:
        case = holes[0].case
        blocks = ", ".join(str(hole.block) for hole in holes if hole.block)
        environment = Cell(case.environment, environment=case.environment)
        return [case.id, analysis.title(case), environment, blocks or "–", holes[0].reason]

    names = ["case", "check and parameters", "environment", "blocks without a record", "reason"]
    return pivot(
        list(grouped.values())[:MOST_ROWS],
        [([*names], cells)],
        anchor="table-holes",
        title="Launches without a record",
        total=len(grouped),
    )


@dataclass(frozen=True, slots=True)
class EvidenceLaunch:
    """One launch behind a number, with its artifacts as (name, path, link, sha256)."""

    block: int
    attempt: int
    status: str
    job_id: str
    started_at: str
    artifacts: tuple[tuple[str, str, str, str], ...]


@dataclass(frozen=True, slots=True)
class EvidenceCase:
    """A case with its launches; `further` ok ones are counted only."""

    anchor: str
    case_id: str
    label: str
    environment: str
    launches: list[EvidenceLaunch]
    further: int


def listed_with_raw_output(run: Run) -> Mask:
    """Marks the launches that are listed with their raw output: all that are not ok, and of the
    others those of the first blocks, of a run with very many."""
    cases = min(len(run.plan.cases), MOST_EVIDENCE_CASES)
    most = max(LEAST_LISTED, MOST_LISTED // max(1, cases))
    return np.asarray(~run.launches.of_status("ok") | (run.launches.block <= most))


def evidence(analysis: Analysis, links: RawLinks) -> list[EvidenceCase]:
    """Launches by case in the plan's order; the first cases only when there are very many."""
    by_case: dict[int, list[EvidenceLaunch]] = {}
    launches, wanted = analysis.run.launches, listed_with_raw_output(analysis.run)
    listed = launches.where(wanted & (launches.case < MOST_EVIDENCE_CASES))
    for launch in sorted(listed, key=lambda item: (item.block, item.attempt)):
        artifacts = launch.artifacts or {}
        shown = tuple(
            (kind, path, links.to(path), checksum_of(artifacts, kind)[:64])
            for kind, path in raw_paths(artifacts).items()
        )
        found = launch.status, launch.job_id or "–", moment_text(launch.started_at, "–"), shown
        by_case.setdefault(launch.case, []).append(
            EvidenceLaunch(launch.block, launch.attempt, *found)
        )
    further = np.bincount(launches.case[~wanted], minlength=len(analysis.run.plan.cases)).tolist()
    return [
        EvidenceCase(
            *(f"case-{slug(case.id)}", case.id, analysis.title(case), case.environment),
            *(by_case.get(place, []), further[place]),
        )
        for place, case in enumerate(analysis.run.plan.cases[:MOST_EVIDENCE_CASES])
    ]


def provenance_rows(provenance: Provenance) -> list[tuple[str, list[tuple[str, str]]]]:
    """Provenance as sections of (key, text); nested objects become dotted keys.

    Of nodes each fact is told once, with the nodes of each value where they are not alike.
    """
    plain: list[tuple[str, str]] = []
    sections = []
    for name, value in msgspec.to_builtins(provenance).items():
        if name == "nodes":
            facts = facts_by_value(provenance.nodes)
            sections.append((name, [(fact, value_text(one)) for fact, one in facts.items()]))
        elif isinstance(value, Mapping):
            sections.append((name, list(_flat(value.items(), ""))))
        else:
            plain.append((name, _text(value)))
    return [("run", plain), *sections]


def _flat(items: Iterable[tuple[Any, Any]], prefix: str) -> Iterator[tuple[str, str]]:
    for key, value in items:
        name = f"{prefix}{key}"
        if isinstance(value, Mapping) and value and "hash" not in value:
            yield from _flat(value.items(), f"{name}.")
        else:
            yield name, _text(value)


def _text(value: object) -> str:
    if isinstance(value, bool) or value is None:
        return str(value).lower()
    if isinstance(value, list):
        return ", ".join(map(_text, value)) or "none"
    if isinstance(value, Mapping):
        return "; ".join(f"{key}: {_text(item)}" for key, item in value.items()) or "none"
    return shortened(str(value), 2000)
