# SPDX-License-Identifier: Apache-2.0
"""Lists beside the statistics: launches that are not ok, holes, evidence, provenance."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import quote

import msgspec

from records.flags import INVALID_ON_PURPOSE
from records.provenance import Provenance
from reports.analysis import STATUSES, Analysis
from reports.load.loading import Launch
from reports.notation.units import fixed
from reports.show.tables import MOST_ROWS, Cell, Column, Table, columns_of, slug

MOST_EVIDENCE_CASES = 300
MOST_REASON = 600
_HASH_SHOWN = 12


def raw_link(root: str, path: str) -> str:
    """Link to an artifact below the run directory; "" for a path that leads out of it."""
    pure = PurePosixPath(path)
    if pure.is_absolute() or ".." in pure.parts or not pure.parts:
        return ""
    return f"{root}/{quote(str(pure), errors='replace')}"


@lru_cache(maxsize=4)
def status_table(analysis: Analysis) -> Table:
    """Launches by check, environment and status, with those still missing."""
    counts: dict[tuple[str, str], Counter[str]] = {}
    for case in analysis.run.plan.cases:
        counts.setdefault((case.check, case.environment), Counter())
    for (place, status, flags), count in analysis.run.tally.items():
        case = analysis.run.plan.cases[place]
        kind = "on purpose" if INVALID_ON_PURPOSE in flags else status
        counts[case.check, case.environment][kind] += count
    for hole in analysis.holes:
        counts[hole.case.check, hole.case.environment]["missing"] += 1
    kinds = [*STATUSES, "on purpose", "missing"]
    titles = {"on purpose": "wrong on purpose", "missing": "not run"}
    columns = [Column("check"), Column("environment")]
    columns += [Column(titles.get(kind, kind), numeric=True) for kind in kinds]
    rows = [
        [
            Cell(analysis.register.check_title(check)),
            Cell(name, environment=name),
            *(Cell(fixed(found[kind], 0) if found[kind] else "·") for kind in kinds),
        ]
        for (check, name), found in sorted(counts.items(), key=lambda item: item[0][0])
    ]
    starts = [place for place, row in enumerate(rows) if place == 0 or rows[place - 1][0] != row[0]]
    return Table(
        "table-launches",
        "Launches by status",
        columns,
        rows,
        total=len(rows),
        groups=frozenset(starts),
    )


def bad_launches_table(analysis: Analysis, root: str, *, on_purpose: bool = False) -> Table | None:
    """Every launch that is not ok with its reason; those wrong on purpose apart."""
    launches = [
        launch
        for launch in analysis.bad_launches
        if (INVALID_ON_PURPOSE in launch.flags) == on_purpose
    ]
    if not launches:
        return None
    columns = columns_of(
        ["case", "environment"], ["block", "attempt"], ["status", "reason", "raw output"]
    )
    rows = []
    for launch in launches[:MOST_ROWS]:
        case = analysis.run.case(launch)
        rows.append(
            [
                Cell(analysis.title(case), title=case.id),
                Cell(case.environment, environment=case.environment),
                Cell(str(launch.block)),
                Cell(str(launch.attempt)),
                Cell(
                    launch.status,
                    badges=(*launch.flags, *(() if launch.counted else ("replaced",))),
                ),
                Cell((launch.reason or "no reason recorded")[:MOST_REASON]),
                _raw_cell(launch, root),
            ]
        )
    anchor, title = (
        ("table-on-purpose", "Launches that are wrong on purpose")
        if on_purpose
        else ("table-bad", "Launches that are not ok")
    )
    return Table(anchor, title, columns, rows, total=len(launches))


def _raw_cell(launch: Launch, root: str) -> Cell:
    path = (launch.artifacts or {}).get("stdout", "")
    return Cell(path.rsplit("/", 1)[-1] or "–", href=raw_link(root, path) if path else "")


def holes_table(analysis: Analysis) -> Table | None:
    """Cases with planned launches that have no record: which blocks, why."""
    grouped: dict[tuple[str, str], list[int]] = {}
    cases = {hole.case.id: hole.case for hole in analysis.holes}
    for hole in analysis.holes:
        grouped.setdefault((hole.case.id, hole.reason), []).append(hole.block)
    if not grouped:
        return None
    columns = [
        Column("case"),
        Column("check and parameters"),
        Column("environment"),
        Column("blocks without a record"),
        Column("reason"),
    ]
    rows = []
    for (case_id, reason), blocks in list(grouped.items())[:MOST_ROWS]:
        case = cases[case_id]
        rows.append(
            [
                Cell(case_id),
                Cell(analysis.title(case)),
                Cell(case.environment, environment=case.environment),
                Cell(", ".join(str(block) for block in blocks if block) or "–"),
                Cell(reason),
            ]
        )
    return Table("table-holes", "Launches without a record", columns, rows, total=len(grouped))


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
    """A case and all its launches."""

    anchor: str
    case_id: str
    label: str
    environment: str
    launches: list[EvidenceLaunch]


def evidence(analysis: Analysis, root: str) -> list[EvidenceCase]:
    """Launches by case in the plan's order; the first cases only when there are very many."""
    by_case: dict[int, list[Launch]] = {}
    for launch in analysis.run.launches:
        if launch.case < MOST_EVIDENCE_CASES:
            by_case.setdefault(launch.case, []).append(launch)
    result = []
    for index, case in enumerate(analysis.run.plan.cases[:MOST_EVIDENCE_CASES]):
        launches = sorted(by_case.get(index, []), key=lambda item: (item.block, item.attempt))
        result.append(
            EvidenceCase(
                f"case-{slug(case.id)}",
                case.id,
                analysis.title(case),
                case.environment,
                [_evidence_launch(launch, root) for launch in launches],
            )
        )
    return result


def _evidence_launch(launch: Launch, root: str) -> EvidenceLaunch:
    artifacts = launch.artifacts or {}
    shown = tuple(
        (name, path, raw_link(root, path), artifacts.get(f"{name}_sha256", "")[:64])
        for name, path in artifacts.items()
        if not name.endswith("_sha256")
    )
    return EvidenceLaunch(
        launch.block,
        launch.attempt,
        launch.status,
        launch.job_id or "–",
        (launch.started_at or "–")[:19].replace("T", " "),
        shown,
    )


def provenance_rows(provenance: Provenance) -> list[tuple[str, list[tuple[str, str]]]]:
    """Provenance as sections of (key, text); nested objects become dotted keys."""
    plain: list[tuple[str, str]] = []
    sections = []
    for name, value in msgspec.to_builtins(provenance).items():
        if isinstance(value, Mapping):
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
    text = str(value)
    return text if len(text) <= 2000 else text[:1999] + "…"
