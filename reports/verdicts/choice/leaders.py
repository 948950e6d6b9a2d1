# SPDX-License-Identifier: Apache-2.0
"""Leaders of the checks, and the message lengths at which the winner changes."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from math import log
from typing import Annotated

from msgspec.structs import replace

from records.forms import Part, key
from records.units import MESSAGE_BYTES
from reports.analysis.cells import Comparison
from reports.analysis.compare import Comparisons
from reports.analysis.ranking import Ends
from reports.notation import units
from reports.show.rows import name_cell
from reports.show.tables import Cell, Table, table_of


def _ratios(ends: Ends) -> str:
    return units.ratios_between(*ends)


def _verdict(word: str) -> Cell:
    return Cell(word, tone="good" if word in ("faster", "slower") else "open")


class Leader(Part):
    """The best environment of a check, and its advantage over the next one."""

    scope: Annotated[str, key("The check, and the placement where there are several.", "best in")]
    metric: Annotated[str, key("The deciding metric.")]
    best: Annotated[str, key("The environment with the best estimate.", "environment", name_cell)]
    runner_up: Annotated[str, key("The next one.", "ahead of", name_cell)]
    n: Annotated[int, key("Common blocks.")]
    advantage: Annotated[
        float,
        key(
            "Best over runner-up in the good direction; 1.05: 5 %.",
            *("by", units.signed_percent),
            numeric=True,
        ),
    ]
    bounds: Annotated[
        Ends | None,
        key(
            "Joint bounds over all questions; null below six blocks.",
            *("bounds that decide", _ratios),
            numeric=True,
        ),
    ]
    verdict: Annotated[
        str, key("faster, equivalent, not slower, not resolved, …", "verdict", _verdict)
    ]
    check: Annotated[str, key("The check.")]
    interval: Annotated[
        Ends, key("Interval of the advantage, by itself.", "this pair alone", _ratios, numeric=True)
    ]
    level: Annotated[float, key("Level of the interval.")]
    unranked: Annotated[tuple[str, ...], key("Environments left out for wrong answers.")]
    failing: Annotated[tuple[str, ...], key("Environments that cannot lead: they fail more often.")]


def leaders(comparisons: Comparisons) -> list[Leader]:
    """For each scope the best environment by its estimate; environments with wrong records out."""
    scopes: dict[tuple[str, str], list[Comparison]] = {}
    for cell in comparisons.overall:
        scopes.setdefault((cell.scope, cell.metric), []).append(cell)
    ranked = (_leader(cells, comparisons.unranked) for cells in scopes.values())
    return [leader for leader in ranked if leader is not None]


def _leader(cells: Sequence[Comparison], wrong: frozenset[tuple[str, str]]) -> Leader | None:
    """The environment that most often has the better estimate, and the runner-up, in one scope.

    Ties go to the greater sum of ln of the advantages. None without two comparable environments.
    """
    unranked = {name for check, name in wrong if check == cells[0].check}
    # They fail beyond doubt more often than another: they lead nothing.
    seen = [turned for cell in cells for turned in (cell, cell.seen_from(cell.reference))]
    failing = {of.environment for of in seen if of.failures[0].unreliable_beside(of.failures[1])}
    scores: defaultdict[str, float] = defaultdict(float)
    wins: Counter[str] = Counter()
    against: dict[tuple[str, str], Comparison] = {}
    for cell in cells:
        mine, theirs = cell.environment, cell.reference
        if cell.effect and not {mine, theirs} & (unranked | failing):
            scores[mine] += log(cell.effect.ratio)
            scores[theirs] -= log(cell.effect.ratio)
            wins[mine if cell.effect.ratio > 1 else theirs] += 1
            against[mine, theirs], against[theirs, mine] = cell, cell.seen_from(theirs)
    ordered = sorted(scores, key=lambda name: (-wins[name], -scores[name]))
    found = against.get((ordered[0], ordered[1])) if ordered else None
    if found is None or found.effect is None:
        return None
    interval = found.effect.interval
    return Leader(
        scope=found.scope,
        metric=found.metric,
        best=found.environment,
        runner_up=found.reference,
        n=found.n,
        advantage=found.effect.ratio,
        bounds=found.judgement.ends if found.judgement else None,
        verdict=found.word,
        check=found.check,
        interval=(interval.low, interval.high),
        level=interval.level,
        unranked=tuple(sorted(unranked)),
        failing=tuple(sorted(failing)),
    )


def leaders_table(
    rows: Sequence[Leader], metric_title: Callable[[str], str], anchor: str = "leaders"
) -> Table | None:
    """Leaders with the bounds that decide; of too few blocks for any the intervals of each pair
    alone. Of several figures of a check each is named."""
    figures = Counter(row.scope for row in rows)
    named = [
        replace(row, scope=f"{row.scope}, {metric_title(row.metric)}")
        if figures[row.scope] > 1
        else row
        for row in rows
    ]
    ends = "bounds" if any(row.bounds for row in rows) else "interval"
    left_out = {f"{name} (wrong answers)" for row in rows for name in row.unranked}
    left_out |= {f"{name} (failed launches)" for row in rows for name in row.failing}
    note = f"Cannot lead: {', '.join(sorted(left_out))}." if left_out else ""
    names = "scope", "best", "runner_up", "advantage", ends, "verdict"
    return table_of(named, *names, anchor=anchor, title="Who leads", note=note)


class Crossover(Part):
    """Change of the resolved winner along `curve`, from `below` to `above` between two lengths;
    between them nothing is resolved."""

    scope: Annotated[str, key("The check and placement.", "scope")]
    curve: Annotated[str, key("The curve.", "curve")]
    below: Annotated[str, key("The winner below.", "wins below", name_cell)]
    last_bytes: Annotated[
        int, key("The greatest length it wins at.", "up to", units.bytes_text, numeric=True)
    ]
    above: Annotated[str, key("The winner above.", "wins above", name_cell)]
    first_bytes: Annotated[
        int, key("The least length it wins at.", "from", units.bytes_text, numeric=True)
    ]


def crossovers(cells: Iterable[Comparison]) -> list[Crossover]:
    """Changes of the winner along each curve and pair, by ascending message length."""
    curves: dict[tuple[str, ...], list[tuple[int, str]]] = {}
    for cell in cells:
        size = dict(cell.at).get(MESSAGE_BYTES)
        if isinstance(size, int) and cell.ahead:
            place = cell.scope, cell.curve, cell.metric, cell.environment, cell.reference
            curves.setdefault(place, []).append((size, cell.ahead[0]))
    return [
        Crossover(scope, curve, below, last, above, first)
        for (scope, curve, *_), winners in curves.items()
        for (last, below), (first, above) in pairwise(sorted(winners, key=lambda item: item[0]))
        if below != above
    ]
