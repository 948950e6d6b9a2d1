# SPDX-License-Identifier: Apache-2.0
"""Launches as tables: those that are not ok, by reason, holes, and the evidence of each case."""

from __future__ import annotations

import numpy as np

from records.flags import INVALID_ON_PURPOSE
from records.run.belonging import checksum_of, raw_paths
from records.run.plan import PlannedCase
from reports.analysis.run import Analysis, Hole
from reports.load.launches import Launch, Mask
from reports.load.loading import Run
from reports.notation.units import count_text, fixed, moment_text
from reports.result import Badge, Section, Sentence
from reports.show.raw_links import RawLinks
from reports.show.tables import MOST_ROWS, Cell, Heading, Table, numeric, pivot, slug

MOST_EVIDENCE_CASES = 300
#: Ok launches that are listed with their raw output, of all these cases together; of each case at
#: least LEAST_LISTED.
MOST_LISTED, LEAST_LISTED = 10_000, 20
MOST_REASON = 600
_OUTPUT = "raw output, SHA-256"
#: Reasons that are listed one by one.
MOST_REASONS = 6


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


def listed_with_raw_output(run: Run) -> Mask:
    """Marks the launches that are listed with their raw output: all that are not ok, and of the
    others those of the first blocks, of a run with very many."""
    cases = min(len(run.plan.cases), MOST_EVIDENCE_CASES)
    most = max(LEAST_LISTED, MOST_LISTED // max(1, cases))
    return np.asarray(~run.launches.of_status("ok") | (run.launches.block <= most))


def evidence(analysis: Analysis, links: RawLinks) -> list[Section]:
    """The launches of each case in the plan's order, with their raw output; the first cases only
    when there are very many."""
    by_case: dict[int, list[Launch]] = {}
    launches, wanted = analysis.run.launches, listed_with_raw_output(analysis.run)
    listed = launches.where(wanted & (launches.case < MOST_EVIDENCE_CASES))
    for launch in sorted(listed, key=lambda item: (item.block, item.attempt)):
        by_case.setdefault(launch.case, []).append(launch)
    further = np.bincount(launches.case[~wanted], minlength=len(analysis.run.plan.cases)).tolist()

    def cells(launch: Launch) -> list[str | Cell]:
        artifacts = launch.artifacts or {}
        files = tuple(
            Cell(kind if href else f"{kind} {path}", href=href, code=checksum_of(artifacts, kind))
            for kind, path in raw_paths(artifacts).items()
            for href in (links.to(path),)
        )
        numbers = str(launch.block), str(launch.attempt)
        started = moment_text(launch.started_at, "–")
        return [*numbers, launch.status, launch.job_id or "–", started, Cell("", parts=files)]

    headings = [*numeric("block", "attempt"), "status", "job", "started, UTC", _OUTPUT]

    def section(place: int, case: PlannedCase) -> Section:
        label, anchor = analysis.title(case), slug(case.id)
        ok = count_text(further[place], "further launch", "further launches")
        note = f"{ok} that ended ok: unzip -p raw/bBLOCK.zip '{case.id}.*' prints them."
        note = note if further[place] else ""
        found = by_case.get(place, [])
        table = pivot(found, [(headings, cells)], anchor=f"of-{anchor}", title=label, note=note)
        return Section(
            f"case-{anchor}",
            label,
            lambda: [table or Sentence("No launch recorded.")],
            badge=Badge(case.id),
            environment=case.environment,
            folded=True,
        )

    return [section(*item) for item in enumerate(analysis.run.plan.cases[:MOST_EVIDENCE_CASES])]
