# SPDX-License-Identifier: Apache-2.0
"""Tables of PVM's protocols, after the study of 1995."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import groupby

from reports.analysis import Analysis, Row
from reports.checks.pvm.measured import PVM, Key, Line, cost_ratios, lines_of
from reports.notation.units import bytes_text, decimals, fixed
from reports.show.tables import Cell, Table, columns_of
from reports.statistics.descriptive import Summary, summarise
from reports.studies.pvm_1995 import STUDY, copies, latencies_and_bandwidths

#: In the study's order of cost: psend, then InPlace and Raw, then Default (XDR).
PROTOCOLS = ("psend", "InPlace", "Raw", "Default")
#: Which protocol costs no more than which, by the study.
ORDER = (("psend", "InPlace"), ("psend", "Raw"), ("InPlace", "Default"), ("Raw", "Default"))
STEPS = ("pack_time", "send_time", "wait_time", "unpack_time")
LEAST_N = 3


def protocols_table(analysis: Analysis) -> Table | None:
    """Protocol against latency and bandwidth, MPI's on the same nodes above PVM's."""
    lines = lines_of(analysis, "half_round_trip_mean")
    if not any(line.key.check == PVM for line in lines):
        return None
    names = list(analysis.looks)
    lines.sort(key=lambda line: _rank(line.key, names))
    medians = {line.key: line for line in lines_of(analysis, "half_round_trip")}
    return Table(
        "table-pvm-protocols",
        "PVM's protocols beside MPI's: latency and bandwidth",
        columns_of(
            ["tasks", "environment", "protocol", "route"],
            ["latency ± s, µs", "shortest message ± s, µs", "at", "bandwidth ± s, MB/s", "at", "n"],
        ),
        [_protocol_row(line, medians.get(line.key, line)) for line in lines],
        "From the mean of each launch's half round trips, as in"
        f" {STUDY}: latency is the intercept of a straight line through the messages up to 1024"
        " bytes, no measured time; bandwidth is that of the longest message. Beside them the half"
        " round trip of the shortest message, as the launches' medians have it. Mean and standard"
        " deviation over launches, n of them. direct: a TCP connection of the two tasks; daemon:"
        " from daemon to daemon. psend: pvm_psend and pvm_precv; the others: pvm_send and"
        " pvm_recv with this encoding.",
        total=len(lines),
        groups=_starts([(line.key.placement, line.key.check == PVM) for line in lines]),
    )


def _rank(key: Key, names: Sequence[str]) -> tuple[object, ...]:
    place = PROTOCOLS.index(key.protocol) if key.check == PVM else 0
    return (
        key.placement,
        key.check == PVM,
        key.check,
        names.index(key.environment),
        key.route != "direct",
        place,
    )


def _starts(marks: Sequence[object]) -> frozenset[int]:
    return frozenset(i for i, mark in enumerate(marks) if i == 0 or mark != marks[i - 1])


def _protocol_row(line: Line, medians: Line) -> list[Cell]:
    size, bandwidths = line.bandwidths()
    shortest = min(medians.points)
    key = line.key
    return [
        Cell(key.placement.replace("-", " ")),
        Cell(key.environment, environment=key.environment, badges=tuple(sorted(line.flags))),
        Cell(key.protocol if key.check == PVM else f"{key.protocol} ({key.check})"),
        Cell(key.route or "–"),
        _mean_cell(line.latencies(), 1e-6),
        _mean_cell(list(medians.points[shortest].values()), 1e-6),
        Cell(bytes_text(shortest)),
        _mean_cell(bandwidths, 1e6),
        Cell(bytes_text(size)),
        Cell(str(len(line.points[size]))),
    ]


def _mean_cell(values: Sequence[float], factor: float) -> Cell:
    if not values:
        return Cell("–", quiet=True)
    return Cell(_spread(summarise([value / factor for value in values])))


def _spread(summary: Summary) -> str:
    places = decimals(summary.mean, summary.stddev)
    if summary.stddev is None:
        return fixed(summary.mean, places)
    return f"{fixed(summary.mean, places)} ± {fixed(summary.stddev, places)}"


def order_table(analysis: Analysis) -> Table | None:
    """Does what was dearer in 1995 cost as much or more here? Each pair, route and length."""
    lines = {line.key: line for line in lines_of(analysis, "half_round_trip")}
    places = sorted(
        {(k.placement, k.environment, k.route) for k in lines if k.check == PVM},
        key=lambda place: (place[0], place[1], place[2] != "direct"),
    )
    rows: list[list[Cell]] = []
    groups = set()
    for place in places:
        groups.add(len(rows))
        rows += _order_rows(lines, *place)
    if not rows:
        return None
    return Table(
        "table-pvm-order",
        "The order of cost: psend ≤ InPlace, Raw ≤ Default",
        columns_of(
            ["tasks", "environment", "route"],
            ["message", *(f"{dear} over {cheap}" for cheap, dear in ORDER)],
        ),
        rows,
        "Ratio of the launches' median half round trips, paired by block: geometric mean and its"
        " 95 % interval (Student's, of the logarithms). “as in 1995”: the whole interval is at or"
        " above 1; “reversed”: below 1; else the order is not resolved at this n. The study counted"
        f" {_copies_text()} with a receive that was posted before. This is the order of its"
        " bandwidths; in latency it found InPlace, two messages on the network, dearer than Raw.",
        total=len(rows),
        groups=frozenset(groups),
    )


def _copies_text() -> str:
    counted = copies()
    parts = [f"{counted[name]} copies in memory for {name}" for name in PROTOCOLS[:3]]
    return ", ".join(parts)


def _order_rows(
    lines: dict[Key, Line], placement: str, environment: str, route: str
) -> list[list[Cell]]:
    own = {p: lines.get(Key(placement, environment, PVM, p, route)) for p in PROTOCOLS}
    cells: dict[int, dict[tuple[str, str], Cell]] = {}
    for pair in ORDER:
        cheap, dear = own[pair[0]], own[pair[1]]
        if cheap is not None and dear is not None:
            for size, logs in cost_ratios(cheap, dear):
                cells.setdefault(size, {})[pair] = _ratio_cell(logs)
    return [
        [
            Cell(placement.replace("-", " ")),
            Cell(environment, environment=environment),
            Cell(route),
            Cell(bytes_text(size)),
            *(found.get(pair, Cell("–", quiet=True)) for pair in ORDER),
        ]
        for size, found in sorted(cells.items())
    ]


def _ratio_cell(logs: Sequence[float]) -> Cell:
    if not logs:
        return Cell("–", quiet=True)
    summary = summarise(logs)
    ratio = f"{math.exp(summary.mean):.3g}"
    interval = summary.mean_interval
    if interval is None or summary.n < LEAST_N:
        return Cell(f"{ratio}: not resolved at n = {summary.n}", quiet=True)
    text = f"{ratio} ({math.exp(interval.low):.3g} to {math.exp(interval.high):.3g})"
    if interval.low >= 0:
        return Cell(f"{text}: as in 1995")
    if interval.high < 0:
        return Cell(f"{text}: reversed")
    return Cell(f"{text}: not resolved at n = {summary.n}", quiet=True)


def steps_table(analysis: Analysis) -> Table | None:
    """Where the time of a round trip goes on the asking task, beside the price of one copy."""
    found = analysis.rows_of(PVM, *STEPS, "copy_time")
    by_case = groupby(sorted(found, key=_by_case), key=lambda row: row.series.case)
    rows: list[list[Cell]] = []
    groups = set()
    for _, of_case in by_case:
        groups.add(len(rows))
        rows += _step_rows(analysis, list(of_case))
    if not rows:
        return None
    return Table(
        "table-pvm-steps",
        "Where the time of a PVM round trip goes",
        columns_of(
            ["case, message", "environment", "protocol"],
            [*(f"{name.removesuffix('_time')}, µs" for name in STEPS), "one copy, µs", "n"],
        ),
        rows,
        "Steps of the asking task, timed in round trips of their own: packing (pvm_initsend and"
        " pvm_pk…), the send call, waiting for the answer to be in, unpacking; the partner's own"
        " packing and unpacking lies in the waiting. One copy: memcpy of the message. Mean and"
        " standard deviation over launches of the launch's median.",
        total=len(rows),
        groups=frozenset(groups),
    )


def _by_case(row: Row) -> int:
    return row.series.case


def _step_rows(analysis: Analysis, rows: Sequence[Row]) -> list[list[Cell]]:
    at = {(r.series.metric, r.series.at_value("construct"), _size(r)): r for r in rows}
    case = analysis.case(rows[0])
    label = ", ".join(analysis.labels[PVM].parts(case))
    points = sorted(
        {(_size(r), str(r.series.at_value("construct"))) for r in rows if r.series.metric in STEPS},
        key=lambda point: (point[0], PROTOCOLS.index(point[1])),
    )
    return [
        [
            Cell(", ".join(part for part in (label, bytes_text(size)) if part)),
            Cell(case.environment, environment=case.environment),
            Cell(protocol),
            *(_time_cell(at.get((step, protocol, size))) for step in STEPS),
            _time_cell(at.get(("copy_time", None, size))),
            Cell(str(at["send_time", protocol, size].summary.n)),
        ]
        for size, protocol in points
    ]


def _size(row: Row) -> int:
    return int(row.series.at_value("message_bytes") or 0)


def _time_cell(row: Row | None) -> Cell:
    if row is None:
        return Cell("–", quiet=True)
    return _mean_cell(row.series.values.tolist(), 1e-6)


def study_table(analysis: Analysis) -> Table | None:
    """The study's machines, beside which today's numbers stand."""
    if not analysis.rows_of(PVM, "half_round_trip_mean"):
        return None
    rows = [
        [
            Cell(row["machine"]),
            Cell(row["library"]),
            Cell(row["protocol"]),
            Cell(row["mode"].replace("_", " ") or "–"),
            Cell(row["latency_us"]),
            Cell(row["bandwidth_mb_s"]),
        ]
        for row in latencies_and_bandwidths()
    ]
    return Table(
        "table-pvm-study",
        "The machines of 1995",
        columns_of(["machine", "library", "protocol", "mode"], ["latency, µs", "bandwidth, MB/s"]),
        rows,
        f"As printed in Table 2 of {STUDY}, PVM 3.3.8 beside the native calls (CMMD, NX, MPL) and"
        " IBM's PVMe.",
        total=len(rows),
        groups=_starts([cells[0].text for cells in rows]),
    )
