# SPDX-License-Identifier: Apache-2.0
"""Tables and pictures of the choice: places, pairs, every cell; overall cost, each environment in
each check; launches that are not ok, and the evidence."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from records.flags import INVALID_ON_PURPOSE
from records.metric import Register
from records.run.plan import PlannedCase
from records.run.record import checksum_of, raw_paths
from reports.analysis.cells import ESTIMANDS, LEAST_DIFFERENCE, Comparison
from reports.analysis.compare import Comparisons
from reports.analysis.run import Analysis
from reports.analysis.score import OverallScore, Pair, Standing
from reports.load.launches import Launch, Mask
from reports.load.loading import Run
from reports.notation import units
from reports.notation.labels import INK, QUIET, Look
from reports.notation.units import between, fixed, level_text, moment_text, significant
from reports.result import Badge, Section, Sentence
from reports.show.panel import (
    Axis,
    Heat,
    Mark,
    Panel,
    Picture,
    Scale,
    Series,
    heat_panel,
    rows_axis,
)
from reports.show.rows import name_cell
from reports.show.tables import Cell, Heading, RawLinks, Table, numeric, pivot, slug, table_of
from reports.verdicts.choice.forms import ChoicePart, pair_part

#: Cases whose launches are listed.
MOST_EVIDENCE_CASES = 120
#: Blocks whose ok launches are listed with their raw output.
MOST_LISTED = 40
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
    return np.asarray(~run.launches.of_status("ok") | (run.launches.block <= MOST_LISTED))


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
    every = np.bincount(launches.case, minlength=len(analysis.run.plan.cases)).tolist()
    headings = [*numeric("block", "attempt"), "status", "job", "started, UTC", _OUTPUT]

    def section(place: int, case: PlannedCase) -> Section:
        label, anchor = analysis.title(case), slug(case.id)
        lead = headings, lambda launch: _launch_cells(launch, links)
        rows, total = by_case.get(place, []), every[place]
        table = pivot(rows, [lead], anchor=f"of-{anchor}", title=label, total=total)
        return Section(
            f"case-{anchor}",
            label,
            lambda: [table or Sentence("No launch recorded.")],
            badge=Badge(case.id),
            environment=case.environment,
            folded=True,
        )

    return [section(*item) for item in enumerate(analysis.run.plan.cases[:MOST_EVIDENCE_CASES])]


MOST_SCORED = 12
_FACTORS = Scale(
    "times the best",
    3.0,
    1.0,
    {3.0: "≥ 3 ×", 2.0: "2 ×", 1.5: "1.5 ×", 1.2: "1.2 ×", 1.0: "1 ×"},
    log=True,
)


#: Width of the bounds that decide.
BOUNDS_WIDTH = 2.8
#: Footer of a panel with these numbers of launches a point.
Footer = Callable[[Sequence[int]], str]


def score_picture(score: OverallScore, looks: Mapping[str, Look], footer: Footer) -> Picture:
    """Overall cost over that of the first place, with the bounds that decide the places."""
    shown, first = score.standings[:MOST_SCORED], score.standings[0].environment
    title = f"Overall cost, {first} = 1"
    alike: Any = {"xmin": 1 / LEAST_DIFFERENCE, "xmax": LEAST_DIFFERENCE, "color": QUIET}
    marks: list[Mark] = [
        partial(Axes.axvspan, alpha=0.14, linewidth=0, **alike),
        partial(Axes.axvline, x=1, color=QUIET, linewidth=1),
    ]
    alt, levels = [], set()
    for row, item in enumerate(shown):
        look, ratio, told = looks[item.environment], 1.0, ""
        if item.environment != first:
            pair = score.pair(item.environment, first)
            ratio, alone = pair.effect.ratio, pair.effect.interval
            levels.add(alone.level)
            if pair.judgement and pair.judgement.ends:
                thick = Look(look.colour, "", ())
                ends = [*pair.judgement.ends]
                marks.append(Series(ends, [row] * 2, thick, width=BOUNDS_WIDTH, alpha=0.55))
                told = f" ({pair.judgement.told(3)})"
            thin = Look(INK, "|", ())
            marks.append(Series([alone.low, alone.high], [row] * 2, thin, width=0.8, size=6))
        marks.append(Series([ratio], [row], look, size=6))
        alt.append(f"{item.environment}: place {item.places}, {significant(ratio)}{told}")
    lines = f"\nthick: the bounds that decide\nthin: {level_text(min(levels))} of a pair alone"
    panel = Panel(
        title,
        marks,
        f"{title}. {'; '.join(alt)}",
        Axis(f"smaller is better · grey: ±3 %{lines}"),
        rows_axis([f"{item.environment} ({item.places})" for item in shown]),
        footer([score.n]),
        1.25 + 0.38 * len(shown),
    )
    caption = "Σ w·T over that of the reference; bars: intervals; in brackets: places."
    return Picture("picture-score", "Overall cost of each environment", caption, [panel], [])


def factors_picture(found: Comparisons, names: Sequence[str], footer: Footer) -> Picture | None:
    """Cost of each environment overall and in each check, as a multiple of the best there."""
    rows: list[tuple[str, _Costs]] = []
    if score := found.score:
        separated = [(pair.first, pair.second) for pair in score.pairs if pair.separated]
        overall = {item.environment: item.cost for item in score.standings}
        rows.append(("overall cost", _over_best(overall, separated)))
    scopes: dict[str, list[Comparison]] = {}
    for cell in found.overall:
        scopes.setdefault(cell.scope, []).append(cell)
    rows += [(scope, _scope_costs(cells)) for scope, cells in scopes.items()]
    rows = [(name, costs) for name, costs in rows if len(costs) > 1]
    if not rows:
        return None
    values = np.full((len(rows), len(names)), np.nan)
    texts = {}
    for row, (_, costs) in enumerate(rows):
        for name, (factor, apart) in costs.items():
            at = row, names.index(name)
            values[at] = factor
            texts[at] = f"{'' if apart else '≈ '}{significant(factor)}"
    n = found.score.n if found.score else max(c.n for c in found.overall)
    alt = "; ".join(
        f"{name}: " + ", ".join(f"{env} {significant(times)}" for env, (times, _) in costs.items())
        for name, costs in rows[:8]
    )
    heat = Heat([name for name, _ in rows], names, values, _FACTORS, texts)
    return Picture(
        "picture-factors",
        "Each environment in each check",
        "A multiple of the best in the row; brighter is better. ≈: not told apart from the best."
        " The overall cost is the whole workload's time; a check's row is the geometric mean over"
        " its points, in which a short message counts as much as a long one.",
        [heat_panel("Cost in each check, the row's best = 1", footer([n]), heat, alt)],
        [],
    )


#: Factor over the best, and whether the bounds tell it from the best.
_Costs = dict[str, tuple[float, bool]]


def _scope_costs(cells: Sequence[Comparison]) -> _Costs:
    reference = cells[0].reference
    ratios = {
        cell.environment: 1 / cell.effect.ratio
        for cell in cells
        if cell.reference == reference and cell.effect is not None
    }
    apart = [
        (cell.environment, cell.reference)
        for cell in cells
        if cell.judgement is not None and cell.judgement.separated
    ]
    return _over_best({reference: 1.0, **ratios}, apart)


def _over_best(costs: dict[str, float], apart: Sequence[tuple[str, str]]) -> _Costs:
    """Costs over the least one, told from it where the pair of both is `apart`."""
    best = min(costs, key=costs.__getitem__)
    known = {best, *(name for pair in apart if best in pair for name in pair)}
    return {name: (cost / costs[best], name in known) for name, cost in costs.items()}
