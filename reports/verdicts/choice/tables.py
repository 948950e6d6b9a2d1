# SPDX-License-Identifier: Apache-2.0
"""Tables of the choice: places, pairs, every cell; launches that are not ok, and the evidence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from records.flags import INVALID_ON_PURPOSE
from records.metric import Register
from records.run.plan import PlannedCase
from records.run.record import checksum_of, raw_paths
from reports.analysis.cells import ESTIMANDS
from reports.analysis.run import Analysis
from reports.analysis.score import OverallScore, Pair, Standing
from reports.load.launches import Launch, Mask
from reports.load.loading import Run
from reports.notation import units
from reports.notation.units import between, count_text, fixed, moment_text
from reports.result import Badge, Section, Sentence
from reports.show.rows import name_cell
from reports.show.tables import Cell, Heading, RawLinks, Table, numeric, pivot, slug, table_of
from reports.verdicts.choice.forms import ChoicePart, pair_part

#: Cases whose launches are listed.
MOST_EVIDENCE_CASES = 120
#: Ok launches that are listed with their raw output, of all these cases together; of each case at
#: least LEAST_LISTED.
MOST_LISTED, LEAST_LISTED = 10_000, 20
MOST_REASON = 600
_OUTPUT = "raw output, SHA-256"
#: Reasons that are listed one by one.
MOST_REASONS = 6


def score_table(score: OverallScore, devices: Mapping[str, str]) -> Table | None:
    """Places and costs of the environments, and what each costs over the first place; those without
    a score last with the reason."""
    first = score.standings[0].environment
    bounded = any(item.bounds for item in score.standings)
    levels = [item.level for item in score.standings if item.level]
    ends = "bounds that decide" if bounded else f"{units.level_text(min(levels))} of a pair alone"

    def cells(item: Standing | tuple[str, str]) -> list[str | Cell]:
        if not isinstance(item, Standing):
            name, why = item
            why_not = Cell(why, href="#launches", tone="bad")
            return ["", name_cell(name, ["not ranked"]), "–", "–", "", why_not]
        name, interval = item.environment, item.bounds if bounded else item.interval
        pair = score.pair(name, first) if name != first else None
        return [
            item.places,
            name_cell(name, [devices[name]] if name in devices else []),
            Cell(units.fixed(item.cost, 3), title=f"{item.cost:.6g}"),
            between(*interval, 3) if interval else "–",
            units.signed_percent(pair.effect.ratio) if pair else "",
            _remark(item, score.reference),
        ]

    lines: list[Standing | tuple[str, str]] = [*score.standings, *score.excluded]
    headings: list[Heading] = [*numeric("place"), "environment", *numeric("cost", ends)]
    return pivot(
        lines,
        [([*headings, f"over {first}", "remark"], cells)],
        anchor="table-score",
        title="Places",
        note=f"Cost of the campaign's workload, {score.reference} = 1, at n = {score.n} blocks.",
    )


def _remark(item: Standing, reference: str) -> Cell:
    failed = f"failed in {item.failed} of {item.launched} launches" if item.failed else ""
    behind = "ranks behind for it" if item.unreliable else ""
    texts = "reference" if item.environment == reference else "", failed, behind
    return Cell("; ".join(filter(None, texts)), tone="bad" if item.failed else "")


def score_note(score: OverallScore, register: Register) -> str:
    """Formula, weights and what places rest on, in words."""
    total = sum(share.weight for share in score.shares)
    judged_by = {
        name: f"{register.metric_title(check.deciding)}; "
        for name, check in register.checks.items()
        if check.deciding
    }
    shares = ", ".join(
        f"{register.check_title(share.check)} {units.weight_text(share.weight / total)}"
        f" ({judged_by.get(share.check, '')}{share.points} of"
        f" {units.count_text(share.points_planned, 'point')})"
        for share in score.shares
    )
    origin = "declared by the campaign" if score.declared else "equal, none are declared"
    return (
        f"Cost = Σ w·T / Σ w·T_ref, smaller is better, as a ratio to {score.reference} paired by"
        f" block; each point of a check has the same share of {score.reference}'s time. Weights"
        f" ({origin}): {shares}. A place is narrowed only where two environments are separated:"
        " the bounds of their ratio, which hold together with all bounds below, exclude 1; the"
        f" interval of a pair alone decides nothing. {ESTIMANDS} Failed"
        " launches rank last; who is proven to fail more often than another, and in more than 1 %,"
        " ranks behind."
    )


def pairs_table(pairs: Sequence[Pair]) -> Table | None:
    """Every pair's ratio of costs with its bounds: what the places rest on."""
    parts = [pair_part(pair.seen_from(pair.by_estimate[0])) for pair in pairs]
    columns = ["environments", "ratio", "bounds", "p_family", "separated"]
    title = "Overall cost, pair by pair"
    return table_of(parts, *columns, anchor="table-score-pairs", title=title)


def comparison_tables(choice: ChoicePart, *, every_pair: bool) -> list[Table]:
    """Every judged cell: over all points, by curve, by point."""
    whom = "every pair" if every_pair else f"against {choice.reference}"
    columns = ["scope", "label", "environment", "reference", "n", "advantage", "bounds", "p_family"]
    made = (
        table_of(cells, *columns, "text", anchor=anchor, title=title)
        for anchor, title, cells in (
            ("table-overall", "Over all points, every pair", choice.overall),
            ("table-groups", f"Each curve, {whom}", choice.groups),
            ("table-points", f"Each point, {whom}", choice.points),
        )
    )
    return [table for table in made if table is not None]


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


def listed_with_raw_output(run: Run) -> Mask:
    """Marks the launches that are listed with their raw output: all that are not ok, and of the
    others those of the first blocks, of a run with very many."""
    cases = min(len(run.plan.cases), MOST_EVIDENCE_CASES)
    most = max(LEAST_LISTED, MOST_LISTED // max(1, cases))
    return np.asarray(~run.launches.of_status("ok") | (run.launches.block <= most))


def _launch_cells(launch: Launch, links: RawLinks) -> list[str | Cell]:
    artifacts = launch.artifacts or {}
    files = tuple(
        Cell(kind if href else f"{kind} {path}", href=href, code=checksum_of(artifacts, kind))
        for kind, path in raw_paths(artifacts).items()
        for href in (links.to(path),)
    )
    numbers = str(launch.block), str(launch.attempt)
    status = launch.status if launch.status == "ok" else f"{launch.status}: {_reason(launch)}"
    started = moment_text(launch.started_at, "–")
    end = Cell(status, badges=(*launch.flags, *(() if launch.counted else ("replaced",))))
    return [*numbers, end, launch.job_id or "–", started, Cell("", parts=files)]


def evidence(analysis: Analysis, links: RawLinks) -> list[Section]:
    """The launches of each case in the plan's order, with their raw output; the first cases only
    when there are very many."""
    by_case: dict[int, list[Launch]] = {}
    launches, wanted = analysis.run.launches, listed_with_raw_output(analysis.run)
    listed = launches.where(wanted & (launches.case < MOST_EVIDENCE_CASES))
    for launch in sorted(listed, key=lambda item: (item.block, item.attempt)):
        by_case.setdefault(launch.case, []).append(launch)
    further = np.bincount(launches.case[~wanted], minlength=len(analysis.run.plan.cases)).tolist()

    headings = [*numeric("block", "attempt"), "status", "job", "started, UTC", _OUTPUT]

    def section(place: int, case: PlannedCase) -> Section:
        label, anchor = analysis.title(case), slug(case.id)
        ok = count_text(further[place], "further launch", "further launches")
        note = f"{ok} that ended ok: unzip -p raw/bBLOCK.zip '{case.id}.*' prints them."
        note = note if further[place] else ""
        found = by_case.get(place, [])
        lead = headings, lambda launch: _launch_cells(launch, links)
        table = pivot(found, [lead], anchor=f"of-{anchor}", title=label, note=note)
        return Section(
            f"case-{anchor}",
            label,
            lambda: [table or Sentence("No launch recorded.")],
            badge=Badge(case.id),
            environment=case.environment,
            folded=True,
        )

    return [section(*item) for item in enumerate(analysis.run.plan.cases[:MOST_EVIDENCE_CASES])]
