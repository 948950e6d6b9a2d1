# SPDX-License-Identifier: Apache-2.0
"""Parts of sections: values by block, half round trips; pictures over lengths, over a parameter."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from reports.analysis.run import Analysis, Row
from reports.show.lines import BY_LENGTH, lines_picture
from reports.show.panel import Axis, Picture
from reports.show.rows import message_bytes

K = TypeVar("K")
DrawPicture = Callable[[Analysis], Picture | None]

ByBlock = dict[int, float]
#: Where echo times are looked for, in this order: checks, and the construct that counts where a
#: check has several.
_ECHOES = {"echo": None, "pt2pt": "Send/Recv", "pvm_echo": "InPlace"}
_PLAIN = {"distance": 1, "route": "direct", "reply_before_wait": False}


def rows_where(
    analysis: Analysis, check: str, metric: str, params: Mapping[str, Any], **at: Any
) -> list[Row]:
    """Rows at points with these coordinates, of cases with these parameters: a parameter that a
    case does not state is right."""
    return [
        row
        for row in analysis.rows_of(check, metric)
        if all(analysis.case(row).params.get(name, v) == v for name, v in params.items())
        and all(row.series.at_value(name) == value for name, value in at.items())
    ]


def by_block(rows: Iterable[Row], key: Callable[[Row], K]) -> dict[K, ByBlock]:
    """Values by key and block; of rows with one key the last counts."""
    values: dict[K, ByBlock] = {}
    for row in rows:
        values.setdefault(key(row), {}).update(row.series.by_block())
    return values


def echo_times(
    analysis: Analysis, environment: str, placement: str = "between-nodes"
) -> dict[int, ByBlock]:
    """Half round trips in s between neighbouring nodes, or within one, by message length and block.

    Those of our echo; where a campaign has none, of pt2pt's Send/Recv or of PVM's InPlace on the
    direct route.
    """
    for check, construct in _ECHOES.items():
        near = [
            row
            for row in rows_where(analysis, check, "half_round_trip", _PLAIN, construct=construct)
            if (case := analysis.case(row)).environment == environment
            and case.params.get("transport", "library") == "library"
            and case.params.get("placement", "between-nodes") == placement
            and case.params.get("hops", 0) <= 1
        ]
        if near:
            return by_block(near, message_bytes)
    return {}


def over(
    check: str, metrics: Sequence[str], parameter: str, axis: str, least: int = 1, **words: Any
) -> DrawPicture:
    """Metrics against a parameter, a panel for each combination of what else varies; None where
    the parameter has fewer than `least` values. `words` are those of `lines_picture`."""

    def picture(analysis: Analysis) -> Picture | None:
        def place(row: Row) -> float:
            case = analysis.case(row)
            return float({"ranks": case.ranks, **case.params}.get(parameter, 0))

        rows, x = analysis.rows_of(check, *metrics), Axis(axis, counts=True)
        if len({*map(place, rows)}) < least:
            return None
        return lines_picture(analysis, rows, place, x, without=(parameter,), **words)

    return picture


def chosen_construct(rows: Sequence[Row]) -> object:
    """The construct that stands for all: Send/Recv, or the first; None where there is none."""
    constructs = [row.series.at_value("construct") for row in rows]
    return "Send/Recv" if "Send/Recv" in constructs else next(iter(constructs), None)


def latency_and_bandwidth(check: str, *metrics: str) -> DrawPicture:
    """A time and a rate against message length, of the plain send and receive."""

    def picture(analysis: Analysis) -> Picture | None:
        rows = analysis.rows_of(check, *metrics)
        plain = chosen_construct(rows)
        mine = [row for row in rows if row.series.at_value("construct") == plain]
        drawn = [row for row in mine if message_bytes(row)]
        return lines_picture(
            analysis,
            drawn,
            message_bytes,
            BY_LENGTH,
            without=("message_bytes",),
            anchor=f"picture-{check}",
            title="Latency and bandwidth against message length",
            caption=f"{plain or 'Send and receive'}, all lengths measured"
            + ("; 0 bytes stand in the tables." if len(drawn) < len(mine) else "."),
            log_y=True,
            from_zero=True,
        )

    return picture
