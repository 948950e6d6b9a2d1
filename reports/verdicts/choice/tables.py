# SPDX-License-Identifier: Apache-2.0
"""Tables of the choice: score and places, wins and losses, crossovers, every cell."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from records.metric import Register
from records.run.interims import Interim
from reports.analysis.cells import ESTIMAND, ESTIMANDS, Comparison, ComparisonJudgement
from reports.analysis.compare import Comparisons
from reports.analysis.leaders import Crossover, Tally, crossovers, win_tie_loss
from reports.analysis.ranking import Pair, Standing
from reports.analysis.run import Analysis, Row
from reports.analysis.score import OverallScore
from reports.notation.units import (
    ReadableUnit,
    bytes_text,
    count_text,
    decimals,
    fixed,
    level_text,
    p_text,
    percent,
    readable_unit,
    signed_percent,
    weight_text,
)
from reports.notation.values import between, interval_text
from reports.show.rows import measured_in
from reports.show.tables import MOST_ROWS, Cell, Column, Heading, Table, numeric, pivot, slug
from reports.statistics.descriptive import Interval
from reports.statistics.serial import lag_1_limit
from reports.statistics.signed_rank import LEAST_N, PairedEffect, paired_effects

#: Headings of the bounds that decide, and of the interval that does not.
_BOUNDS = "bounds that decide", "this pair alone", "level"
_EFFECT: list[Heading] = numeric("advantage", _BOUNDS[0], "p", *_BOUNDS[1:], "lag 1")
#: Open questions of one judgement that the table names.
MOST_OPEN = 6
STARTUP = "startup"


def choice_tables(analysis: Analysis) -> list[Table]:
    """The tables above the comparisons of single cells; those without content left out."""
    made = (score_table, interims_table, matrix_table, crossover_table, startup_table, pairs_table)
    return [table for make in made if (table := make(analysis)) is not None]


def score_table(analysis: Analysis) -> Table | None:
    """Places and scores of the environments, those without a score last with the reason."""
    score = analysis.comparisons.score
    if score is None:
        return None

    def cells(standing: Standing | tuple[str, str]) -> list[str | Cell]:
        if isinstance(standing, tuple):
            name, why = standing
            head = [Cell(name, environment=name), Cell("not ranked", badges=("veto",))]
            return [*head, *["–"] * 7, Cell(why, href="#launches")]
        interval, judged, rate = standing.interval, standing.judgement, standing.failures
        remark = "reference" if standing.environment == score.reference else ""
        return [
            Cell(standing.environment, environment=standing.environment),
            standing.place,
            Cell(fixed(standing.score, 3), title=f"{standing.score:.6g}"),
            judged.told(3) if judged else "–",
            between(interval.low, interval.high, 3) if interval else "–",
            level_text(interval.level) if interval else "–",
            str(score.n),
            f"{rate.failed} of {rate.launched}",
            between(rate.interval.low, rate.interval.high, percent) if rate.interval else "–",
            "ranks behind: fails too often" if standing.unreliable else remark,
        ]

    numbers = numeric("place", "cost against the reference", *_BOUNDS, "n")
    numbers += numeric("failed", "95 % interval of failing")
    lines: list[Standing | tuple[str, str]] = [*score.standings, *score.excluded]
    return pivot(
        lines,
        [(["environment", *numbers, "remark"], cells)],
        anchor="table-score",
        title="Overall score and places",
        note=score_note(score, analysis.register),
    )


def interims_table(analysis: Analysis) -> Table | None:
    """The judgements of a sequential design: what was open, and what went on for it."""
    ended = {
        "answered": "all known",
        "blocks": "no block is left",
        "forecast": "the last block would not tell",
        "node_hours": "limits.node_hours is used up",
    }

    def cells(item: Interim) -> list[str | Cell]:
        return [
            str(item.block),
            str(len(item.open)),
            "; ".join(item.open[:MOST_OPEN]) + "; …" * (len(item.open) > MOST_OPEN) or "–",
            ended[item.ended] if item.ended else item.going_told(analysis.run.plan),
        ]

    note = (
        "A question is a pair of environments that may still be the best in something. It is"
        " closed by faster, equivalent, or bounds no wider than the zone of equivalence. Only"
        " launches that bear on an open question are made. The bounds of all judgements hold"
        " together at 95 %."
    )
    headings: list[Heading] = numeric("after block", "open")
    return pivot(
        analysis.run.interims,
        [([*headings, "open questions", "goes on with"], cells)],
        anchor="table-interims",
        title="Judged until it is known",
        note=note,
    )


def score_note(score: OverallScore, register: Register) -> str:
    """Formula, weights and what the test can reach, in words."""
    total = sum(share.weight for share in score.shares)
    shares = ", ".join(
        f"{register.check_title(share.check)} {weight_text(share.weight / total)}"
        f" ({_judged_by(share.check, register)}{share.points} of"
        f" {count_text(share.points_planned, 'point')})"
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
    if score.friedman is not None:
        text += f" Friedman test over all: {p_text(score.friedman.p)}."
    if score.n < score.needed_n:
        text += f" With n = {score.n} nothing can be separated; that needs n = {score.needed_n}."
    return text


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
    alike = lag is not None and lag > lag_1_limit(effect.n)
    return [
        Cell(advantage(effect.ratio), title=f"ratio {effect.ratio:.6g}"),
        judged.told(advantage) if judged else "–",
        Cell(f"{judged.p:.2g}" if judged else "–", title=f"p {effect.p:.3g} by itself"),
        between(effect.interval.low, effect.interval.high, advantage),
        level_text(effect.interval.level),
        Cell("–" if lag is None else fixed(lag, 2), badges=("blocks alike",) if alike else ()),
    ]


def pairs_table(analysis: Analysis) -> Table | None:
    """Every pair's ratio of costs with its interval: what the places rest on."""
    score = analysis.comparisons.score

    def cells(pair: Pair) -> list[str | Cell]:
        """The pair with the better estimate first: the cost of the other over its own."""
        better, other = pair.by_estimate
        turned = pair.seen_from(better)
        return [
            *(Cell(name, environment=name) for name in (better, other)),
            *_effect_cells(turned.effect, turned.judgement, turned.lag, signed_percent),
            "separated" if pair.separated else f"not separated at n = {turned.effect.n}",
        ]

    return pivot(
        score.pairs if score else (),
        [(["better", "against", *_EFFECT, "verdict"], cells)],
        anchor="table-score-pairs",
        title="Overall score, pair by pair",
    )


def matrix_table(analysis: Analysis) -> Table | None:
    """Wins, ties and losses of each environment against each other, over the finest cells in which
    n suffices to resolve anything."""
    found = analysis.comparisons
    counted, what = found.overall, "checks (all points of one placement)"
    for cells, word in ((found.points, "points"), (found.groups, "curves")):
        if any(cell.effect and cell.needed_n <= cell.n for cell in cells):
            counted, what = cells, word
            break
    names = list(dict.fromkeys(analysis.run.plan.environments))
    tallies = {(t.environment, t.other): t for t in win_tie_loss(counted, names)}

    def cell(tally: Tally | None) -> Cell:
        if tally is None:
            return Cell("–")
        text = f"{tally.wins} – {tally.ties} – {tally.losses}"
        badges = (f"{tally.unresolved} open",) if tally.unresolved else ()
        return Cell(text, title="won – equivalent – lost", badges=badges)

    note = (
        f"Number of {what} won – equivalent – lost by the environment on the left, and of those"
        " not resolved (open)."
    )
    if not found.every_pair:
        note += f" Only pairs with {found.reference} are judged: there are too many."
    return pivot(
        names if tallies else (),
        [
            ("environment, against", lambda name: Cell(name, environment=name)),
            (
                [Column("", environment=name) for name in names],
                lambda name: [cell(tallies.get((name, other))) for other in names],
            ),
        ],
        anchor="table-matrix",
        title="Wins, ties and losses",
        note=note,
    )


def crossover_table(analysis: Analysis) -> Table | None:
    """Message lengths at which the winner changes, each end resolved by itself."""
    finest = analysis.comparisons.finest
    if not any(cell.at for cell in finest):
        return None
    found = crossovers(finest)

    def cells(item: Crossover) -> list[str | Cell]:
        return [
            item.scope,
            item.curve,
            Cell(item.below, environment=item.below),
            Cell(bytes_text(item.last_bytes), title=item.cells[0].verdict),
            Cell(item.above, environment=item.above),
            Cell(bytes_text(item.first_bytes), title=item.cells[1].verdict),
        ]

    note = "Between the two lengths nothing is resolved."
    if not found:
        note = "As far as resolved, no environment wins at one length and loses at another."
    least = min((cell.needed_n for cell in finest), default=0)
    if max((cell.n for cell in finest), default=0) < least:
        note = f"With so many points nothing can be resolved at a point before n = {least}."
    headings: list[Heading] = ["scope", "curve", "wins below", *numeric("up to")]
    headings += ["wins above", *numeric("from")]
    anchor, title = "table-crossovers", "Message lengths at which the winner changes"
    table = pivot(found, [(headings, cells)], anchor=anchor, title=title, note=note)
    return table or Table(anchor, title, [], [], note)


def startup_table(analysis: Analysis) -> Table | None:
    """Median time to start a job by ranks and environment, with the paired difference from the
    reference."""
    check = analysis.register.checks.get(STARTUP)
    metric = check.deciding if check else ""
    rows = analysis.rows_of(STARTUP, metric)
    reference = analysis.comparisons.reference
    names = measured_in(analysis, rows)
    if len(names) < 2 or reference not in names:
        return None
    unit = readable_unit("s", (row.summary.median for row in rows))

    def cells(line: list[Row]) -> list[Cell]:
        found = {analysis.case(row).environment: row for row in line}
        return [_startup_cell(found.get(name), found.get(reference), unit) for name in names]

    # Runs from before `whole_start` are compared without daemons.
    extra = "; starting LAM's daemons comes on top" if metric == "all_heard" else ""
    return pivot(
        rows,
        [("case", lambda row: analysis.labels[STARTUP].label(analysis.case(row)))],
        [([Column("", numeric=True, environment=name) for name in names], cells)],
        anchor="table-startup-cost",
        title="What starting a job costs",
        note=f"{analysis.register.metric_title(metric).capitalize()}, medians in {unit.label}; in"
        f" brackets the difference from {reference}, paired by block (Hodges–Lehmann estimate; its"
        f" interval is the cell's title). {ESTIMAND} Every job pays this once{extra}.",
    )


def _startup_cell(row: Row | None, other: Row | None, unit: ReadableUnit) -> Cell:
    """A median, and its difference from the reference's row `other`."""
    if row is None:
        return Cell("–", title="no valid launch")
    places = decimals(row.summary.median / unit.factor, (row.summary.stddev or 0) / unit.factor)
    text = fixed(row.summary.median / unit.factor, places)
    if other is None or other is row:
        return Cell(text, title=f"n = {row.summary.n}")
    found = difference(row, other)
    if found is None:
        return Cell(text, title=f"fewer than {LEAST_N} common blocks")

    def signed(value: float) -> str:
        return ("+" if value >= 0 else "") + fixed(value / unit.factor, places)

    estimate, interval = found
    title = f"{interval_text(interval, signed)} {unit.label}"
    return Cell(f"{text} ({signed(estimate)})", title=title)


def difference(row: Row, reference: Row) -> tuple[float, Interval] | None:
    """Hodges–Lehmann estimate of T − T_ref in seconds over common blocks, and its interval."""
    _, mine, theirs = np.intersect1d(
        row.series.blocks, reference.series.blocks, return_indices=True
    )
    if len(mine) < LEAST_N:
        return None
    differences = row.series.values[mine] - reference.series.values[theirs]
    scale = float(np.abs(differences).max()) or 1.0
    effect = paired_effects(differences[np.newaxis, :] / scale)[0]
    found = effect.interval
    ends = np.log([effect.ratio, found.low, found.high]) * scale
    estimate, low, high = ends.tolist()
    return estimate, Interval(low, high, found.level, found.method)


def comparison_tables(analysis: Analysis) -> list[Table]:
    """Every judged cell: over all points, by curve, by point."""
    found: Comparisons = analysis.comparisons
    whom = "every pair" if found.every_pair else f"against {found.reference}"
    made = (
        _comparison_table(analysis.register, anchor, title, cells)
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
