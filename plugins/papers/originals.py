# SPDX-License-Identifier: Apache-2.0
"""Our programs against the original ones: digits of the lattice program case by case, and what
the OSU micro-benchmarks measure alike; tables of these checks in the report of a run."""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from plugins.papers.hops import hops_table
from plugins.papers.paired import compared_cells
from records.run.plan import PlannedCase
from reports.analysis.run import Analysis, Row
from reports.checks.common import ByBlock, by_block, rows_where
from reports.checks.su3_rmd import LAYOUT
from reports.notation.labels import lattice_text
from reports.notation.units import ReadableUnit, bytes_text, count_text, readable_unit
from reports.show.panel import Picture
from reports.show.rows import message_bytes, name_cell
from reports.show.tables import Cell, Column, Lead, Table, numeric, pivot, slug

#: What a measurement prints, in the order of its line, and how readers know it.
NUMBERS = {
    "polyakov_re": "Polyakov loop, real part",
    "polyakov_im": "Polyakov loop, imaginary part",
    "plaquette_space": "plaquette in space",
    "plaquette_time": "plaquette with time",
}
#: What changes no digit: whose program it was and its own choices, where ranks lie, what is judged.
_NO_PROBLEM = frozenset(
    {
        *("implementation", "communication", "overlap", "kernel", "ranks", "ranks_per_node"),
        *("plaquette", "plaquette_tolerance", "mpi_profile"),
    }
)
AGREE = "agree in every printed digit"
_NEAR = {"placement": "between-nodes", "transport": "library"}
#: What we and the suite measure alike: its name and SI unit; our check, metric, parameters and
#: coordinates; the suite's metric and test. OSU's windows are of 64 messages.
_ALIKE: tuple[
    tuple[str, str, tuple[str, str, dict[str, Any], dict[str, str]], tuple[str, str]], ...
] = (
    (
        "one-way time, loop timed",
        "s",
        ("echo", "half_round_trip_loop", {**_NEAR, "distance": 1, "hops": 0}, {}),
        ("osu_latency", "osu_latency"),
    ),
    (
        "bandwidth of windows",
        "bytes/s",
        ("streams", "window_rate", {**_NEAR, "window": 64}, {"direction": "one-way"}),
        ("osu_bandwidth", "osu_bw"),
    ),
    (
        "allreduce",
        "s",
        ("collectives", "collective_time", {}, {"operation": "allreduce"}),
        ("osu_latency", "osu_allreduce"),
    ),
)
#: Ranks, ranks a node, message length, the environment's place in the order of the plan.
_Place = tuple[int, int, int, int]
#: A number by measurement and its place in the line: (3, 2) is the third one's plaquette in space.
Place = tuple[int, int]


@dataclass
class Printed:
    """Output of the good launches of a case: the texts of each number, and how many those
    launches are."""

    case: PlannedCase
    texts: dict[Place, set[str]] = field(default_factory=dict)
    launches: int = 0

    @property
    def is_original(self) -> bool:
        """True where the program was the original."""
        return bool(self.case.params.get("implementation", "assay") == "milc")


def differences(
    ours: Mapping[Place, Iterable[str]], original: Mapping[Place, Iterable[str]]
) -> list[tuple[Place, list[str], list[str]]]:
    """Each number of which not all texts are one, and what each printed, in their order.

    A number that one of them lacks differs, and one that varies between launches of a case.
    """
    found = []
    for place in sorted(ours.keys() | original.keys()):
        one, other = (sorted(set(texts.get(place, ()))) for texts in (ours, original))
        if one != other or len(one) != 1:
            found.append((place, one, other))
    return found


def printed_digits(analysis: Analysis) -> list[Printed]:
    """Each case that kept its measurements, in the order of the plan."""
    found: dict[int, Printed] = {}
    for row in analysis.rows_of("su3_rmd", *NUMBERS):
        series = row.series
        of_case = found.setdefault(series.case, Printed(analysis.case(row)))
        place = int(series.at_value("measurement") or 0), list(NUMBERS).index(series.metric)
        # As the programs print: %e.
        of_case.texts[place] = {f"{value:e}" for value in series.values.tolist()}
        of_case.launches = max(of_case.launches, len(series.values))
    return [found[case] for case in sorted(found)]


def beside_originals(analysis: Analysis) -> list[tuple[Printed, Printed | None]]:
    """Each case of ours that kept its measurements, with the original's of the same problem on as
    many ranks in the same environment; nothing where no original was measured."""
    cases = printed_digits(analysis)
    originals = {_problem(item.case): item for item in cases if item.is_original}
    ours = [item for item in cases if not item.is_original and originals]
    return [(item, originals.get(_problem(item.case))) for item in ours]


def _problem(case: PlannedCase) -> tuple[str, int, str]:
    """Parameters that ours and the original must have in common."""
    asked = {name: value for name, value in case.params.items() if name not in _NO_PROBLEM}
    return json.dumps(asked, sort_keys=True), case.ranks, case.environment


def digits_table(analysis: Analysis) -> Table | None:
    """Each case of ours with the original's in its environment on as many ranks."""
    if (labels := analysis.labels.get("su3_rmd")) is None:
        return None

    def compared(items: list[tuple[Printed, Printed | None]]) -> list[Cell]:
        ours, original = items[0]
        if original is None:
            return [Cell("–"), Cell("–"), Cell("–", title="no valid launch of the original")]
        return [
            Cell(str(len(ours.texts.keys() & original.texts.keys()))),
            Cell(f"{ours.launches} and {original.launches}"),
            _judged(ours, original),
        ]

    leads: list[Lead[tuple[Printed, Printed | None]]] = [
        (
            "lattice",
            lambda pair: Cell(
                lattice_text(pair[0].case.params), href=f"#case-{slug(pair[0].case.id)}"
            ),
        ),
        (
            "settings",
            lambda pair: ", ".join(labels.parts(pair[0].case, (*LAYOUT, "implementation"))) or "–",
        ),
        (numeric("ranks"), lambda pair: str(pair[0].case.ranks)),
        ("environment", lambda pair: name_cell(pair[0].case.environment)),
    ]
    headings = [
        *numeric("numbers", "launches, ours and the original's"),
        Column("digits of ours and of the original"),
    ]
    return pivot(
        beside_originals(analysis),
        leads,
        [(headings, compared)],
        anchor="su3-digits",
        title="Digits beside the original",
        note="Polyakov loop and plaquettes of every measurement, as both programs print them, with"
        " seven digits; all good launches of both. In double precision every digit must agree, in"
        " single precision those of about the first ten trajectories.",
    )


def _judged(ours: Printed, original: Printed) -> Cell:
    """That all digits agree, or the first number that differs."""
    differ = differences(ours.texts, original.texts)
    if not differ:
        return Cell(AGREE)
    (measurement, number), *texts = differ[0]
    name = list(NUMBERS.values())[number]
    mine, theirs = (" and ".join(printed) or "nothing" for printed in texts)
    every = ours.texts.keys() | original.texts.keys()
    return Cell(
        f"differ first in measurement {measurement}, {name}: ours {mine}, the original {theirs}",
        title=f"{count_text(len(differ), 'number differs', 'numbers differ')} of {len(every)}",
        badges=("digits differ",),
    )


def comparison_table(analysis: Analysis) -> Table | None:
    """A line a quantity, length, layout and environment that both measured, with their ratio."""
    names = list(analysis.looks)

    def place(row: Row) -> _Place:
        case = analysis.case(row)
        layout = case.ranks, case.ranks_per_node, message_bytes(row)
        return *layout, names.index(case.environment)

    lines: list[tuple[str, ReadableUnit, _Place, ByBlock, ByBlock]] = []
    for title, si, (check, metric, params, at), (osu_metric, test) in _ALIKE:
        ours = by_block(rows_where(analysis, check, metric, params, **at), place)
        osu = by_block(rows_where(analysis, "osu", osu_metric, {"test": test}), place)
        unit = readable_unit(si, (value for found in ours.values() for value in found.values()))
        lines += [(title, unit, one, ours[one], osu[one]) for one in sorted(ours.keys() & osu)]

    def cells(line: list[tuple[str, ReadableUnit, _Place, ByBlock, ByBlock]]) -> list[Cell]:
        _, unit, _, ours, osu = line[0]
        return compared_cells(ours, osu, unit)

    return pivot(
        lines,
        [
            ("quantity", lambda line: f"{line[0]}, {line[1].label}"),
            (numeric("ranks"), lambda line: str(line[2][0])),
            (numeric("message"), lambda line: bytes_text(line[2][2])),
            ("environment", lambda line: name_cell(names[line[2][3]])),
        ],
        [(numeric("ours", "OSU", "ours / OSU", "95 % interval"), cells)],
        anchor="table-osu-beside-ours",
        title="Our measurements beside the suite's",
        note="Median of the launches, in brackets least and greatest; a ratio pairs launches of one"
        " block, its interval is that of Hodges and Lehmann's estimate. Both one-way times are"
        " means of a loop. Our rates and allreduces are medians over repetitions, of an allreduce"
        " the longest over the ranks of each; OSU's are means, of an allreduce over the ranks too:"
        " a disturbance, and ranks that do not leave together, weigh differently.",
    )


#: Tables of ours by check.
_TABLES: dict[str, Callable[[Analysis], Table | None]] = {
    "su3_rmd": digits_table,
    "osu": comparison_table,
    "echo": lambda analysis: hops_table(analysis, "echo"),
    "pt2pt": lambda analysis: hops_table(analysis, "pt2pt"),
}


def check_parts(
    analysis: Analysis, check: str
) -> tuple[Callable[[], list[Picture]], Callable[[], list[Table]]]:
    """Functions that make the pictures, none, and the table that studies add to a check."""

    def tables() -> list[Table]:
        table = _TABLES[check](analysis) if check in _TABLES else None
        return [table] if table else []

    return list, tables
