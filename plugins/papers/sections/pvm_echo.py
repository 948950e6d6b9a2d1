# SPDX-License-Identifier: Apache-2.0
"""PVM's protocols: their order of cost, and where the time of a round trip goes."""

import math

from plugins.papers.paired import together
from reports.analysis.run import Analysis, Row, flags_of
from reports.checks.common import ByBlock, by_block
from reports.notation.units import ReadableUnit, between, bytes_text, not_resolved, significant
from reports.show.lines import joined
from reports.show.rows import message_bytes, name_cell, value_cell
from reports.show.section import Section
from reports.show.tables import Cell, Table, across, numeric, pivot
from reports.statistics.descriptive import summarise

_CHECK = "pvm_echo"
#: In the order of cost of 1995: psend, then InPlace and Raw, then Default (XDR).
PROTOCOLS = ("psend", "InPlace", "Raw", "Default")
#: Which protocol costs no more than which, by the study.
ORDER = (("psend", "InPlace"), ("psend", "Raw"), ("InPlace", "Default"), ("Raw", "Default"))
STEPS = ("pack_time", "send_time", "wait_time", "unpack_time")
LEAST_N = 3
#: Lines of the table of steps: a study has some 70.
_MOST_STEPS = 100

_US = ReadableUnit("µs", 1e-6)
#: Placement, environment, whether not by the direct route, route, message length.
_Place = tuple[str, str, bool, str, int]


def order_table(analysis: Analysis) -> Table | None:
    """Ratios of what was dearer in 1995 over what was cheaper, by pair, route and length."""

    def place(row: Row) -> tuple[_Place, str]:
        case, params = analysis.case(row), analysis.case(row).params
        route = str(params.get("route", ""))
        where = str(params.get("placement", "")), case.environment, route != "direct", route
        return (*where, message_bytes(row)), str(row.series.at_value("construct"))

    found: dict[_Place, dict[str, ByBlock]] = {}
    rows = analysis.rows_of(_CHECK, "half_round_trip")
    for (where, protocol), times in by_block(rows, place).items():
        found.setdefault(where, {})[protocol] = times
    return pivot(
        (
            (where, protocols)
            for where, protocols in sorted(found.items(), key=lambda item: item[0])
            if any(set(pair) <= protocols.keys() for pair in ORDER)
        ),
        [
            ("tasks", lambda line: line[0][0].replace("-", " ")),
            ("environment", lambda line: name_cell(line[0][1])),
            ("route", lambda line: line[0][3]),
            (numeric("message"), lambda line: bytes_text(line[0][4])),
        ],
        [
            (
                [f"{dear} over {cheap}" for cheap, dear in ORDER],
                lambda line: [_ratio_cell(line[0][1], *pair) for pair in ORDER],
            )
        ],
        anchor="table-pvm-order",
        title="The order of cost: psend ≤ InPlace, Raw ≤ Default",
        note="Ratio of the launches' median one-way times, paired by block: geometric mean and"
        " its 95 % interval (Student's, of the logarithms). “as in 1995”: the whole interval is at"
        " or above 1; “reversed”: below 1; else the order is not resolved at this n. This is the"
        " order of the study's bandwidths; in latency it found InPlace, two messages on the"
        " network, dearer than Raw.",
    )


def _ratio_cell(times: dict[str, ByBlock], cheap: str, dear: str) -> Cell:
    pairs = together(times.get(cheap, {}), times.get(dear, {}))
    if not pairs:
        return Cell("–")
    summary = summarise([math.log(b / a) for a, b in pairs])
    ratio = significant(math.exp(summary.mean))
    interval = summary.mean_interval
    if interval is None or summary.n < LEAST_N:
        return Cell(f"{ratio}: {not_resolved(summary.n)}")
    ends = between(interval.low, interval.high, lambda log: significant(math.exp(log)))
    word = "as in 1995" if interval.low >= 0 else "reversed" if interval.high < 0 else ""
    return Cell(f"{ratio} ({ends}): {word or not_resolved(summary.n)}")


def _at(row: Row) -> tuple[int, int]:
    return row.series.case, message_bytes(row)


def steps_table(analysis: Analysis) -> Table | None:
    """Steps of a round trip on the asking task, with the price of one copy."""
    copies = {_at(row): [row] for row in analysis.rows_of(_CHECK, "copy_time")}

    def order(row: Row) -> tuple[int, int, int]:
        return *_at(row), PROTOCOLS.index(str(row.series.at_value("construct")))

    def case_and_message(row: Row) -> str:
        parts = analysis.labels[_CHECK].parts(analysis.case(row))
        return joined(*parts, bytes_text(message_bytes(row)))

    def of_copy(rows: list[Row]) -> Cell:
        return value_cell(copies.get(_at(rows[0]), []), _US)

    return pivot(
        sorted(analysis.rows_of(_CHECK, *STEPS), key=order),
        [
            ("case, message", case_and_message),
            ("environment", lambda row: name_cell(analysis.case(row).environment, flags_of([row]))),
            ("protocol", lambda row: str(row.series.at_value("construct"))),
        ],
        [
            across(
                STEPS,
                lambda row: row.series.metric,
                lambda rows: value_cell(rows, _US),
                lambda step: f"{step.removesuffix('_time')}, µs",
            ),
            ("one copy, µs", of_copy),
            ("n", lambda rows: str(max(row.summary.n for row in rows))),
        ],
        anchor="table-pvm-steps",
        title="Where the time of a PVM round trip goes",
        note="Steps of the asking task, timed in round trips of their own: packing (pvm_initsend"
        " and pvm_pk…), the send call, waiting for the answer to be in, unpacking; the partner's"
        " own packing and unpacking lies in the waiting. One copy: memcpy of the message. Mean and"
        " standard deviation over launches of the launch's median.",
        most=_MOST_STEPS,
    )


SECTION = Section(tables=(order_table, steps_table))
