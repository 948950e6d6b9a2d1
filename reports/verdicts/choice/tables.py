# SPDX-License-Identifier: Apache-2.0
"""Tables of the choice: places, pairs, judgements, crossovers, every cell."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from records.metric import Register
from records.run.interims import Interim
from records.run.plan import Plan
from reports.analysis.cells import ESTIMANDS, Comparison, ComparisonJudgement
from reports.analysis.compare import Comparisons
from reports.analysis.ranking import Pair, Standing
from reports.analysis.score import OverallScore
from reports.notation import units
from reports.notation.values import between
from reports.show.rows import name_cell
from reports.show.tables import MOST_ROWS, Cell, Heading, Table, numeric, pivot, slug, table_of
from reports.statistics.max_t import LEAST_BLOCKS
from reports.statistics.serial import lag_1_limit
from reports.statistics.signed_rank import PairedEffect
from reports.verdicts.choice.leader import carried_by
from reports.verdicts.choice.leaders import crossovers

#: Headings of the bounds that decide, and of the interval that does not.
_BOUNDS = "bounds that decide", "this pair alone", "level"
_EFFECT: list[Heading] = numeric("advantage", _BOUNDS[0], "p", *_BOUNDS[1:], "lag 1")
#: Open questions of one judgement that the table names.
MOST_OPEN = 6
_ENDED = {
    "answered": "all known",
    "blocks": "no block is left",
    "forecast": "the last block would not tell",
    "node_hours": "limits.node_hours is used up",
}
_INTERIMS = (
    "A question is a pair of environments that may still be the best in something. It is closed by"
    " faster, equivalent, or bounds no wider than the zone of equivalence. Only launches that bear"
    " on an open question are made. The bounds of all judgements hold together at 95 %."
)


def score_table(
    score: OverallScore, register: Register, devices: Mapping[str, str]
) -> Table | None:
    """Places and costs of the environments, and what each costs over the first place; those without
    a score last with the reason."""
    first = score.standings[0].environment
    bounded = any(item.bounds for item in score.standings)

    def cells(item: Standing | tuple[str, str]) -> list[str | Cell]:
        if not isinstance(item, Standing):
            name, why = item
            dashes = ["–"] * (2 if bounded else 3)
            why_not = Cell(why, href="#launches", tone="bad")
            return ["", name_cell(name, ["not ranked"]), *dashes, "", why_not]
        name, ends = item.environment, item.bounds if bounded else item.interval
        pair = score.pair(name, first) if name != first else None
        more = [units.signed_percent(pair.effect.ratio), carried_by(pair, register)] if pair else []
        level = units.level_text(item.level) if item.level else "–"
        return [
            item.places,
            name_cell(name, [devices[name]] if name in devices else []),
            Cell(units.fixed(item.cost, 3), title=f"{item.cost:.6g}"),
            between(*ends, 3) if ends else "–",
            *([] if bounded else [level]),
            ", ".join(filter(None, more)),
            _remark(item, score.reference),
        ]

    ends = _BOUNDS[:1] if bounded else _BOUNDS[1:]
    lines: list[Standing | tuple[str, str]] = [*score.standings, *score.excluded]
    headings: list[Heading] = [*numeric("place"), "environment", *numeric("cost", *ends)]
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


def interims_table(plan: Plan, interims: Sequence[Interim]) -> Table | None:
    """The judgements of a sequential design: what was open, and what went on for it."""

    def cells(item: Interim) -> list[str | Cell]:
        return [
            str(item.block),
            str(len(item.open)),
            "; ".join(item.open[:MOST_OPEN]) + "; …" * (len(item.open) > MOST_OPEN) or "–",
            _ENDED[item.ended] if item.ended else item.going_told(plan),
        ]

    headings: list[Heading] = numeric("after block", "open")
    return pivot(
        interims,
        [([*headings, "open questions", "goes on with"], cells)],
        anchor="table-interims",
        title="Judged until it is known",
        note=_INTERIMS,
    )


def score_note(score: OverallScore, register: Register) -> str:
    """Formula, weights and what places rest on, in words."""
    total = sum(share.weight for share in score.shares)
    shares = ", ".join(
        f"{register.check_title(share.check)} {units.weight_text(share.weight / total)}"
        f" ({_judged_by(share.check, register)}{share.points} of"
        f" {units.count_text(share.points_planned, 'point')})"
        for share in score.shares
    )
    origin = "declared by the campaign" if score.declared else "equal, none are declared"
    text = (
        f"Cost = Σ w·T / Σ w·T_ref, smaller is better, as a ratio to {score.reference} paired by"
        f" block; each point of a check has the same share of {score.reference}'s time. Weights"
        f" ({origin}): {shares}. A place is narrowed only where two environments are separated:"
        " the bounds of their ratio, which hold together with all bounds below, exclude 1; the"
        f" interval of a pair alone decides nothing. {ESTIMANDS} Failed"
        " launches rank last; who is proven to fail more often than another, and in more than 1 %,"
        " ranks behind."
    )
    p = score.friedman_p
    return text if p is None else f"{text} Friedman test over all: {units.p_text(p)}."


def _judged_by(check: str, register: Register) -> str:
    """The deciding metric of a check that has one, as it precedes the points."""
    known = register.checks.get(check)
    return f"{register.metric_title(known.deciding)}; " if known and known.deciding else ""


def _effect_cells(
    effect: PairedEffect | None,
    judged: ComparisonJudgement | None,
    lag: float | None,
    advantage: Callable[[float], str],
) -> list[str | Cell]:
    """The cells below the headings `_EFFECT`."""
    if effect is None:
        return ["–"] * len(_EFFECT)
    alike = ("blocks alike",) if lag is not None and lag > lag_1_limit(effect.n) else ()
    return [
        Cell(advantage(effect.ratio), title=f"ratio {effect.ratio:.6g}"),
        judged.told(advantage) if judged else "–",
        Cell(f"{judged.p:.2g}" if judged else "–", title=f"p {effect.p:.3g} by itself"),
        between(effect.interval.low, effect.interval.high, advantage),
        units.level_text(effect.interval.level),
        Cell(units.fixed(lag, 2), badges=alike),
    ]


def pairs_table(pairs: Sequence[Pair], register: Register) -> Table | None:
    """Every pair's ratio of costs with its interval: what the places rest on."""

    def cells(pair: Pair) -> list[str | Cell]:
        """The pair with the better estimate first: the cost of the other over its own."""
        better, other = pair.by_estimate
        turned = pair.seen_from(better)
        return [
            *map(name_cell, (better, other)),
            *_effect_cells(turned.effect, turned.judgement, turned.lag, units.signed_percent),
            carried_by(pair, register),
            "separated" if pair.separated else f"not separated at n = {turned.effect.n}",
        ]

    return pivot(
        pairs,
        [(["better", "against", *_EFFECT, "carried by", "verdict"], cells)],
        anchor="table-score-pairs",
        title="Overall cost, pair by pair",
    )


def crossover_table(finest: Sequence[Comparison]) -> Table | None:
    """Message lengths at which the winner changes, each end resolved by itself."""
    if not any(cell.at for cell in finest):
        return None
    note = "As far as resolved, no environment wins at one length and loses at another."
    if max(cell.n for cell in finest) < LEAST_BLOCKS:
        note = f"With so many points nothing can be resolved at a point before n = {LEAST_BLOCKS}."
    anchor, title = "table-crossovers", "Message lengths at which the winner changes"
    between_them = "Between the two lengths nothing is resolved."
    table = table_of(crossovers(finest), anchor=anchor, title=title, note=between_them)
    return table or Table(anchor, title, [], [], note)


def comparison_tables(found: Comparisons, register: Register) -> list[Table]:
    """Every judged cell: over all points, by curve, by point."""
    whom = "every pair" if found.every_pair else f"against {found.reference}"
    made = (
        _comparison_table(register, anchor, title, cells)
        for anchor, title, cells in (
            ("table-overall", "Over all points, every pair", found.overall),
            ("table-groups", f"Each curve, {whom}", found.groups),
            ("table-points", f"Each point, {whom}", found.points),
        )
    )
    return [table for table in made if table is not None]


def _comparison_table(
    register: Register, anchor: str, title: str, comparisons: Sequence[Comparison]
) -> Table | None:
    """Comparisons with effect, interval and verdict."""

    def cells(cell: Comparison) -> list[str | Cell]:
        of = f"{cell.points} of {cell.points_planned} points" if cell.points_planned > 1 else ""
        ends = [
            Cell(name, environment=name, href=f"#case-{slug(case)}")
            for name, case in zip((cell.environment, cell.reference), cell.case_ids, strict=True)
        ]
        return [
            Cell(cell.scope, title=register.metric_title(cell.metric)),
            Cell(cell.label, of),
            *ends,
            str(cell.n),
            *_effect_cells(cell.effect, cell.judgement, cell.lag, cell.advantage),
            cell.verdict,
        ]

    names: list[Heading] = ["scope", "cell", "environment", "against"]
    return pivot(
        comparisons[:MOST_ROWS],
        [([*names, *numeric("n"), *_EFFECT, "verdict"], cells)],
        anchor=anchor,
        title=title,
        group=2,
        total=len(comparisons),
    )
