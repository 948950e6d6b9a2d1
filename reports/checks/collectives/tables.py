# SPDX-License-Identifier: Apache-2.0
"""Tables of collective operations: expressions beside the paper's, choices of laws, T0 and R∞."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from reports.analysis import Analysis
from reports.checks.collectives.expressions import delay_text, expression_text, startup_text
from reports.checks.collectives.measured import Measured, measured, words
from reports.models.collectives import Choice, Law, asymptotic_bandwidth
from reports.notation.units import bytes_text, fixed, percent, three_digits
from reports.show.tables import Cell, Column, Table, columns_of
from reports.studies.collectives_1996 import MACHINES, published, quoted_bandwidths

_UNDETERMINED = "undetermined"


def expressions(analysis: Analysis) -> Table | None:
    """T(m, p) of every operation, today's environments beside the machines of 1996."""
    families = measured(analysis)
    if not families:
        return None
    names = [name for name in analysis.looks if any(f.environment == name for f in families)]
    columns = [Column("operation")]
    columns += [Column("fitted", environment=name) for name in names]
    columns += [Column(f"{machine}, 1996") for machine in MACHINES]
    found = {(f.operation, f.variant, f.environment): f for f in families}
    rows = [
        [
            Cell(_joined(words(operation), variant)),
            *(_fitted_cell(found.get((operation, variant, name))) for name in names),
            *(_published_cell(operation, machine) for machine in MACHINES),
        ]
        for operation, variant in dict.fromkeys((f.operation, f.variant) for f in families)
    ]
    return Table(
        "table-collective-expressions",
        "Time of collective operations in closed form, as Table 3 of Hwang, Wang and Wang (1996)",
        columns,
        rows,
        "T(m, p) = T0(p) + D(m, p) in µs for m bytes a pair on p processes: the law with the least"
        " BIC. Where two laws fit alike the cell says undetermined and gives both; the choices"
        " stand in the next table. Operations without numbers of 1996 are beyond the paper. Its"
        " fits hold for 2 to 128 nodes (T3D 64).",
    )


def _fitted_cell(family: Measured | None) -> Cell:
    if family is None:
        return Cell("–", title="no valid launch")
    if isinstance(family.model, str):
        return Cell("no law", title=family.model, badges=family.flags)
    model = family.model
    text = expression_text(model.best.startup, model.best.delay)
    others = []
    if not model.startup.determined:
        others.append(f"T0 or {startup_text(model.startup.runner_up)}")
    if model.delay and not model.delay.determined:
        others.append(f"D or {delay_text(model.delay.runner_up)}")
    badges = ((_UNDETERMINED,) if others else ()) + family.flags
    title = f"{model.points} points, p = {_counts(family)}, rms {percent(model.best.rms)}"
    return Cell("; ".join([text, *others]), title=title, badges=badges)


def _published_cell(operation: str, machine: str) -> Cell:
    cell = published().get((operation, machine))
    if cell is None:
        return Cell("–", title="not in the paper", quiet=True)
    return Cell(expression_text(cell.startup, cell.delay))


def choices(analysis: Analysis) -> Table | None:
    """How each law was chosen: the runner-up, ΔBIC, errors of left-out process counts, rms."""
    families = measured(analysis)
    if not families:
        return None
    rows: list[list[Cell]] = []
    groups = set()
    last = ""
    for family in families:
        if family.operation != last:
            groups.add(len(rows))
        last = family.operation
        rows += _choice_rows(family)
    return Table(
        "table-collective-choices",
        "How the laws were chosen",
        columns_of(
            ["operation", "environment", "part", "law, µs", "runner-up, µs"],
            ["ΔBIC", "left-out p: error, runner-up's", "rms of the fit"],
            ["verdict"],
        ),
        rows,
        "Candidates: T0 a, a + b·log₂p, a + b·p; D/m c, c + d·log₂p, c + d·p, c + d·(p−1)/p; all"
        " pairs fitted by relative least squares to the medians over launches. A simpler law is"
        " chosen at ΔBIC ≥ 2, any other at ≥ 6, and only where no other law predicts left-out"
        " process counts better by more than a tenth and it misses them by at most 50 %. Where"
        " even the best pair is off by more than 25 % rms, or every pair misses left-out counts by"
        " more than 50 %, there is no law: ranks share cores, at some counts or at all, or the"
        " library changes its algorithm with the length.",
        total=len(rows),
        groups=frozenset(groups),
    )


def _choice_rows(family: Measured) -> list[list[Cell]]:
    head = [
        Cell(_joined(words(family.operation), family.variant)),
        Cell(family.environment, environment=family.environment, badges=family.flags),
    ]
    if isinstance(family.model, str):
        dash = Cell("–")
        verdict = Cell(f"no law: {family.model}")
        return [[*head, Cell("T0, D"), dash, dash, dash, dash, dash, verdict]]
    model = family.model
    rms = Cell(percent(model.best.rms))
    rows = [[*head, Cell("T0"), *_choice_cells(model.startup, startup_text), rms]]
    if model.delay:
        rows.append([*head, Cell("D"), *_choice_cells(model.delay, delay_text), rms])
    verdicts = [c.determined for c in (model.startup, model.delay) if c]
    return [
        [*row, Cell("determined" if clear else _UNDETERMINED)]
        for row, clear in zip(rows, verdicts, strict=True)
    ]


def _choice_cells(choice: Choice, text: Callable[[Law], str]) -> list[Cell]:
    first, second = choice.left_out_rms
    return [
        Cell(text(choice.law)),
        Cell(text(choice.runner_up)),
        Cell(fixed(choice.delta_bic, 1)),
        Cell(f"{percent(first)}, {percent(second)}"),
    ]


def latencies(analysis: Analysis) -> Table | None:
    """Measured startup latency T0(p) and aggregated bandwidth R∞(p), a column a process count."""
    families = measured(analysis)
    if not families:
        return None
    counts = sorted({p for family in families for p in family.counts})
    columns = [Column("operation"), Column("environment")]
    columns += [Column(f"T0({p}), µs", numeric=True) for p in counts]
    columns += [Column(f"R∞({p}), MB/s", numeric=True) for p in counts if p > 1]
    rows = [_latency_row(family, counts) for family in families]
    shortest = sorted({f.shortest for f in families if f.operation != "barrier"})
    lengths = ", ".join(bytes_text(size) for size in shortest)
    return Table(
        "table-collective-latencies",
        "Startup latency T0(p) and aggregated bandwidth R∞(p)",
        columns,
        rows,
        f"T0: median time of the shortest message ({lengths}; the barrier has none). R∞ = f/D from"
        " the fitted delay, f = p − 1 messages for broadcast, gather, scatter, reduce and scan,"
        " p(p − 1) for total exchange (1996), and so for allgather and reduce-scatter, 2(p − 1)"
        " for allreduce. R∞ in 1996: "
        + ", ".join(
            f"{words(operation)} {machine} {rate / 1e6:.0f} MB/s at {p}"
            for operation, machine, p, rate in quoted_bandwidths()
        )
        + ".",
        total=len(rows),
    )


def _latency_row(family: Measured, counts: Sequence[int]) -> list[Cell]:
    data = family.data
    cells = [
        Cell(_joined(words(family.operation), family.variant)),
        Cell(family.environment, environment=family.environment, badges=family.flags),
    ]
    for p in counts:
        at = (data.p == p) & (data.message_bytes == family.shortest)
        times = data.time_s[at].tolist()
        cells.append(Cell(three_digits(times[0] * 1e6) if times else "–"))
    return [*cells, *(_bandwidth_cell(family, p) for p in counts if p > 1)]


def _bandwidth_cell(family: Measured, p: int) -> Cell:
    model = family.model
    if isinstance(model, str) or model.best.delay is None or p not in family.counts:
        return Cell("–")
    rate = asymptotic_bandwidth(family.operation, model.best.delay, p)
    return Cell("–" if rate is None else three_digits(rate / 1e6))


def _joined(operation: str, variant: str) -> str:
    return f"{operation}, {variant}" if variant else operation


def _counts(family: Measured) -> str:
    return ", ".join(str(p) for p in family.counts)
