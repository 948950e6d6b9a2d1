# SPDX-License-Identifier: Apache-2.0
"""Tables of the choice: score and places, wins and losses, crossovers, every cell."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from records.metric import Register
from reports.analysis import Analysis
from reports.choice.cells import Comparison
from reports.choice.compare import Comparisons
from reports.choice.matrix import Tally, crossovers, win_tie_loss
from reports.choice.ranking import Pair, Standing
from reports.choice.score import OverallScore
from reports.choice.startup_cost import startup_table
from reports.notation.units import bytes_text, fixed, level_text, p_text, percent, signed_percent
from reports.show.tables import MOST_ROWS, Cell, Column, Table, columns_of, slug


def choice_tables(analysis: Analysis) -> list[Table]:
    """The tables above the comparisons of single cells; those without content left out."""
    made = (make(analysis) for make in CHOICE_TABLES)
    return [table for table in made if table is not None]


def score_table(analysis: Analysis) -> Table | None:
    """Places and scores of the environments, those without a score last with the reason."""
    score = analysis.comparisons.score
    if score is None:
        return None
    columns = columns_of(
        ["environment"],
        ["place", "cost against the reference", "interval", "level", "n"],
        ["remark"],
    )
    rows = [_standing_row(score, standing) for standing in score.standings]
    rows += [_excluded_row(name, why) for name, why in score.excluded]
    return Table(
        "table-score",
        "Overall score and places",
        columns,
        rows,
        score_note(score, analysis.register),
    )


def score_note(score: OverallScore, register: Register) -> str:
    """Formula, weights and what the test can reach, in words."""
    total = sum(share.weight for share in score.shares)
    shares = ", ".join(
        f"{register.check_title(share.check)} {percent(share.weight / total, 0)}"
        f" ({share.points} of {share.points_planned} points)"
        for share in score.shares
    )
    origin = "declared by the campaign" if score.declared else "equal, none are declared"
    text = (
        f"Cost = Σ w·T / Σ w·T_ref, smaller is better; T_ref: medians of {score.reference}."
        f" Weights ({origin}): {shares}. A place is narrowed only where two environments are"
        f" separated: p ≤ 0.05 after Holm over {len(score.pairs)} pairs."
    )
    if score.friedman is not None:
        text += f" Friedman test over all: {p_text(score.friedman.p)}."
    if score.n < score.needed_n:
        text += f" With n = {score.n} nothing can be separated; that needs n = {score.needed_n}."
    return text


def _standing_row(score: OverallScore, standing: Standing) -> list[Cell]:
    interval = standing.interval
    remark = "reference" if standing.environment == score.reference else ""
    return [
        Cell(standing.environment, environment=standing.environment),
        Cell(standing.place),
        Cell(fixed(standing.score, 3), title=f"{standing.score:.6g}"),
        Cell(f"{fixed(interval.low, 3)} … {fixed(interval.high, 3)}" if interval else "–"),
        Cell(level_text(interval.level) if interval else "–"),
        Cell(str(score.n)),
        Cell(remark),
    ]


def _excluded_row(name: str, why: str) -> list[Cell]:
    head = [Cell(name, environment=name), Cell("not ranked", badges=("veto",))]
    return [*head, *(Cell("–") for _ in range(4)), Cell(why, href="#launches")]


def pairs_table(analysis: Analysis) -> Table | None:
    """Every pair's ratio of costs with its interval: what the places rest on."""
    score = analysis.comparisons.score
    if score is None:
        return None
    columns = columns_of(
        ["better", "against"], ["advantage", "interval", "level", "p, Holm"], ["verdict"]
    )
    rows = [_pair_row(pair) for pair in score.pairs]
    return Table("table-score-pairs", "Overall score, pair by pair", columns, rows)


def _pair_row(pair: Pair) -> list[Cell]:
    """The pair with the better estimate first, as an advantage: cost of the other over its own."""
    effect = pair.effect
    interval, turned = effect.interval, effect.ratio < 1
    better, other = (pair.first, pair.second) if turned else (pair.second, pair.first)
    ratio, low, high = effect.ratio, interval.low, interval.high
    if turned:
        ratio, low, high = 1 / ratio, 1 / high, 1 / low
    verdict = "separated" if pair.separated else f"not separated at n = {effect.n}"
    return [
        Cell(better, environment=better),
        Cell(other, environment=other),
        Cell(signed_percent(ratio), title=f"ratio {ratio:.6g}"),
        Cell(f"{signed_percent(low)} … {signed_percent(high)}"),
        Cell(level_text(interval.level)),
        Cell(f"{pair.p_holm:.2g}", title=f"p {effect.p:.3g} before adjustment"),
        Cell(verdict),
    ]


def matrix_table(analysis: Analysis) -> Table | None:
    """Wins, ties and losses of each environment against each other."""
    cells, what = countable_cells(analysis.comparisons)
    names = list(dict.fromkeys(analysis.run.plan.environments))
    tallies = {(t.environment, t.other): t for t in win_tie_loss(cells, names)}
    if not tallies:
        return None
    columns = [Column("environment, against"), *(Column("", environment=name) for name in names)]
    rows = [
        [
            Cell(name, environment=name),
            *(_tally_cell(tallies.get((name, other))) for other in names),
        ]
        for name in names
    ]
    note = (
        f"Number of {what} won – equivalent – lost by the environment on the left, and of those"
        " not resolved (open)."
    )
    if not analysis.comparisons.every_pair:
        note += f" Only pairs with {analysis.comparisons.reference} are judged: there are too many."
    return Table("table-matrix", "Wins, ties and losses", columns, rows, note)


def countable_cells(comparisons: Comparisons) -> tuple[list[Comparison], str]:
    """The finest family in which n suffices for the exact test to resolve anything after Holm."""
    families = ((comparisons.points, "points"), (comparisons.groups, "curves"))
    for cells, what in families:
        if any(cell.effect and cell.needed_n <= cell.n for cell in cells):
            return cells, what
    return comparisons.overall, "checks (all points of one placement)"


def _tally_cell(tally: Tally | None) -> Cell:
    if tally is None:
        return Cell("–")
    text = f"{tally.wins} – {tally.ties} – {tally.losses}"
    badges = (f"{tally.unresolved} open",) if tally.unresolved else ()
    return Cell(text, title="won – equivalent – lost", badges=badges)


def crossover_table(analysis: Analysis) -> Table | None:
    """Message lengths at which the winner changes, each end resolved by itself."""
    found = crossovers(analysis.comparisons.finest)
    if not any(cell.at for cell in analysis.comparisons.finest):
        return None
    columns = [
        Column("scope"),
        Column("curve"),
        Column("wins below"),
        Column("up to", numeric=True),
        Column("wins above"),
        Column("from", numeric=True),
    ]
    rows = [
        [
            Cell(item.scope),
            Cell(item.curve),
            Cell(item.below, environment=item.below),
            Cell(bytes_text(item.last_bytes), title=item.cells[0].verdict),
            Cell(item.above, environment=item.above),
            Cell(bytes_text(item.first_bytes), title=item.cells[1].verdict),
        ]
        for item in found[:MOST_ROWS]
    ]
    note = (
        "Between the two lengths nothing is resolved."
        if rows
        else "As far as resolved, no environment wins at one length and loses at another."
    )
    least = min((c.needed_n for c in analysis.comparisons.finest), default=0)
    most = max((c.n for c in analysis.comparisons.finest), default=0)
    if most < least:
        note = f"With so many points nothing can be resolved at a point before n = {least}."
    title = "Message lengths at which the winner changes"
    return Table("table-crossovers", title, columns, rows, note, len(found))


def comparison_tables(analysis: Analysis) -> list[Table]:
    """Every judged cell: over all points, by curve, by point."""
    comparisons = analysis.comparisons
    whom = "every pair" if comparisons.every_pair else f"against {comparisons.reference}"
    return [
        comparison_table(analysis.register, anchor, title, cells)
        for anchor, title, cells in (
            ("table-overall", "Over all points, every pair", comparisons.overall),
            ("table-groups", f"Each curve, {whom}", comparisons.groups),
            ("table-points", f"Each point, {whom}", comparisons.points),
        )
        if cells
    ]


#: Tables of the choice in their order; models add theirs here.
CHOICE_TABLES: tuple[Callable[[Analysis], Table | None], ...] = (
    score_table,
    matrix_table,
    crossover_table,
    startup_table,
    pairs_table,
)


def comparison_table(
    register: Register, anchor: str, title: str, cells: Sequence[Comparison]
) -> Table:
    """Comparisons with effect, interval and verdict."""
    columns = columns_of(
        ["scope", "cell", "environment", "against"],
        ["n", "advantage", "interval", "level", "p, Holm"],
        ["verdict"],
    )
    rows: list[list[Cell]] = []
    groups, last = set(), ""
    for cell in cells[:MOST_ROWS]:
        if f"{cell.scope}/{cell.label}" != last:
            groups.add(len(rows))
        rows.append(_comparison_row(cell, register.metric_title(cell.metric)))
        last = f"{cell.scope}/{cell.label}"
    return Table(anchor, title, columns, rows, "", len(cells), frozenset(groups))


def _comparison_row(cell: Comparison, metric: str) -> list[Cell]:
    effect = cell.effect
    points = f"{cell.points} of {cell.points_planned} points" if cell.points_planned > 1 else ""
    head = [
        Cell(cell.scope, title=metric),
        Cell(cell.label, title=points),
        Cell(
            cell.environment, environment=cell.environment, href=f"#case-{slug(cell.case_ids[0])}"
        ),
        Cell(cell.reference, environment=cell.reference, href=f"#case-{slug(cell.case_ids[1])}"),
        Cell(str(cell.n)),
    ]
    if effect is None:
        return [*head, Cell("–"), Cell("–"), Cell("–"), Cell("–"), Cell(cell.verdict)]
    interval = effect.interval
    return [
        *head,
        Cell(cell.difference, title=f"ratio {effect.ratio:.6g}"),
        Cell(f"{signed_percent(interval.low)} … {signed_percent(interval.high)}"),
        Cell(level_text(interval.level)),
        Cell(f"{cell.p_holm:.2g}", title=f"p {effect.p:.3g} before adjustment"),
        Cell(cell.verdict),
    ]
