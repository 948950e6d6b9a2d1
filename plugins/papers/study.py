# SPDX-License-Identifier: Apache-2.0
"""Model of a study: tables of a paper, what a run has of the same kind, claims."""

from __future__ import annotations

import csv
import re
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from plugins.papers.fields import Field
from plugins.papers.run_values import RunValues
from records.errors import AssayError

#: A folder a study: its `study.py` has `STUDY`.
FOLDER = Path(__file__).with_name("studies")
#: SI unit and factor of printed values by the ending of a column's name.
ENDINGS = {
    "_us": ("s", 1e-6),
    "_s": ("s", 1.0),
    "_kb_s": ("bytes/s", 1e3),
    "_mb_s": ("bytes/s", 1e6),
    "_bytes": ("bytes", 1.0),
    "_kbytes": ("bytes", 1024.0),
    "_mhz": ("1/s", 1e6),
    "_mflops": ("flop/s", 1e6),
    "_pct": ("1", 0.01),
}

#: Calculation of a quantity from a run's values.
Quantity = Callable[[RunValues], Field]
#: Columns that a paper's law adds to a printed row at given coordinates.
PrintedLaw = Callable[[Mapping[str, str], Mapping[str, float]], Mapping[str, float | None]]
#: A row of a printed table, as printed: text by column, "" for what is not printed.
PrintedRow = Mapping[str, str]


@dataclass(frozen=True)
class Datum:
    """A quantity of a printed table, and the same quantity of a run.

    `column` is its name in the CSV file, or one that the table's law adds; printed values times
    `factor` are in the SI unit `unit`, by the ending of the name where neither is given. `spread`
    is the column of the standard deviation. `calculated` makes the quantity of printed values and
    in the same way of a run's. The rest is of `paper.md`: `were` says what a printed value is: mean
    of five runs, one run; `without`, why a run has nothing of the kind.
    """

    column: str
    ours: Quantity | None = None
    unit: str = ""
    factor: float = 1.0
    spread: str = ""
    calculated: Callable[[Field], Field] | None = None
    title: str = ""
    were: str = ""
    without: str = ""

    def __post_init__(self) -> None:
        if not self.unit:
            endings = (ending for ending in ENDINGS if self.column.endswith(ending))
            unit, factor = ENDINGS[max(endings, key=len)]
            object.__setattr__(self, "unit", unit)
            object.__setattr__(self, "factor", factor)


@dataclass(frozen=True)
class Key:
    """A column that tells rows of a printed table apart, and the place where a run has the same:
    `params.n`, `at.message_bytes`, `ranks`; "" where it has none.

    Without a `column` all rows have `then`. `today`: printed word → the run's, where they differ.
    """

    column: str
    title: str
    ours: str = ""
    today: Mapping[str, object] = field(default_factory=dict)
    then: str = ""

    @property
    def axis(self) -> str:
        """Name of the coordinate in calculations."""
        return self.ours or self.column or self.title


@dataclass(frozen=True)
class Doubt:
    """A misprint or doubtful digit in a sentence, and the printed values that it is about.

    `rows`: column → values printed there; without any no value is marked, without `columns` all.
    """

    remark: str
    rows: Mapping[str, Sequence[str]]
    columns: Sequence[str]

    def is_about(self, row: PrintedRow, column: str) -> bool:
        """True where a printed row's value of this column is doubtful."""
        asked = not self.columns or column in self.columns
        return bool(self.rows) and asked and all(row[k] in v for k, v in self.rows.items())


@dataclass(frozen=True)
class PrintedTable:
    """A table of the paper: its rows in a CSV file, and what of a run is shown with them.

    `number` is as the paper counts it: Table 6, Appendix E. `only`: column → values of the rows
    that belong to it. `law` adds columns to each row at each combination of the coordinates `at`.
    `nearest`: keys held at one value, in a run at the nearest that it has. `across` are columns
    whose values are side by side, with `libraries` each compared with today's of its name.
    `stands` says what a line is in a table without keys. `variants` are the kinds of rows that a
    run has of a table of machines: title → column → quantity, others are empty; without any as in
    the columns. `figures` names the figures of the same numbers, over the last key, of the columns
    `drawn` or all. Without `printed`
    the numbers are drawn only; without `further` points that only the run has are left out. The
    rest is of `paper.md` and `doubtful.csv`.
    """

    number: str
    file: str
    values: Sequence[Datum]
    keys: Sequence[Key] = ()
    across: Sequence[str] = ("machine",)
    only: Mapping[str, Sequence[str]] = field(default_factory=dict)
    law: PrintedLaw | None = None
    at: Mapping[str, Sequence[float]] = field(default_factory=dict)
    nearest: Mapping[str, float] = field(default_factory=dict)
    libraries: bool = False
    stands: str = "machine"
    variants: Mapping[str, Mapping[str, Quantity]] = field(default_factory=dict)
    figures: str = ""
    drawn: Sequence[str] = ()
    printed: bool = True
    further: bool = True
    title: str = ""
    note: str = ""
    doubts: Sequence[Doubt] = ()


def table(number: str, file: str, *values: Datum, **further: Any) -> PrintedTable:
    """A printed table with these columns; `further` as in PrintedTable."""
    return PrintedTable(number, file, values, **further)


@dataclass(frozen=True)
class Claim:
    """A sentence of the paper, and how a run can hold or break it.

    Judged is the ratio of `value` to `than` (1 in SI units without it), a geometric mean over the
    points that both have in common at the places `match`. The claim holds where it is above
    `more_than` or below `less_than`; without an environment it is asked of each. With `each`, a
    place of `match`, it holds where it holds at every value of that place. Without a value
    `untestable` says why no run of today can tell.
    """

    value: Quantity | None = None
    than: Quantity | None = None
    match: Sequence[str] = ()
    more_than: float | None = None
    less_than: float | None = None
    each: str = ""
    said: str = ""
    where: str = ""
    untestable: str = ""

    @property
    def limit(self) -> float:
        """The value that the ratio is held against; 0 of a claim that cannot be tested."""
        return self.more_than or self.less_than or 0.0


@dataclass(frozen=True)
class Drawn:
    """A figure or statement without numbers, with which a run's own part of the report is shown.

    It follows the table numbered `after`. `only`: anchors of the tables and pictures; none: all.
    """

    number: str
    after: str
    check: str
    only: Sequence[str] = ()
    title: str = ""
    note: str = ""


@dataclass(frozen=True)
class Uncounted:
    """A table or figure without a counterpart, and why."""

    number: str
    title: str
    why: str


@dataclass(frozen=True)
class Study:
    """A paper: what it is, its tables in their order, its claims.

    `ranks_per_node`: most processes on a node then, 0: not stated. The rest is of `paper.md`:
    `then` describes the machines of then, `procedure` how they were measured; `words`: words of the
    CSV files → the same for readers; `files`: title, note and text of those that the paper prints.
    """

    name: str
    tables: Sequence[PrintedTable]
    claims: Mapping[str, Claim]
    shown: Sequence[Drawn] = ()
    ranks_per_node: int = 0
    title: str = ""
    authors: str = ""
    published: str = ""
    question: str = ""
    procedure: Sequence[str] = ()
    then: Sequence[str] = ()
    words: Mapping[str, str] = field(default_factory=dict)
    missing: Sequence[Uncounted] = ()
    files: Sequence[tuple[str, str, str]] = ()

    @property
    def year(self) -> int:
        """Its year, with which the name ends."""
        return int(self.name[-4:])

    @property
    def folder(self) -> Path:
        """Its folder."""
        return FOLDER / self.name

    def printed(self, table: PrintedTable) -> list[PrintedRow]:
        """The rows of a table, as printed."""
        rows = _rows(self.folder / table.file)
        return [row for row in rows if all(row[k] in wanted for k, wanted in table.only.items())]

    def with_text(self) -> Study:
        """The study with the text of its `paper.md` and the remarks of its `doubtful.csv`."""
        head, *parts = re.split(r"^## ", (self.folder / "paper.md").read_text(), flags=re.MULTILINE)
        named = (part.partition("\n") for part in parts)
        sections = defaultdict(str, {name: text for name, _, text in named})
        title, sources, question = _paragraphs(head)
        authors, _, published = sources.partition("  ")
        entries = _entries(sections["Tables and figures"])
        texts = {number: (title, text) for number, title, text in entries}
        return replace(
            self,
            title=title.removeprefix("# "),
            authors=authors,
            published=published.strip(),
            question=question,
            procedure=_items(sections["How it was measured then"]),
            then=_items(sections["The machines of then"]),
            words=dict(item.split(": ") for item in _items(sections["Words"])),
            tables=[self._told(part, *texts[part.number]) for part in self.tables],
            shown=[
                replace(part, title=title, note=" ".join(note))
                for part in self.shown
                for title, note in [texts[part.number]]
            ],
            claims={
                name: replace(
                    self.claims.get(name, Claim()), where=where, said=said, untestable=" ".join(why)
                )
                for name, where, (said, *why) in _entries(sections["Claims"])
            },
            missing=[
                Uncounted(number, title, " ".join(why))
                for number, title, why in _entries(sections["Without counterpart"])
            ],
            files=[
                (title, " ".join(note), (self.folder / name).read_text())
                for name, title, note in _entries(sections["Files"])
            ],
        )

    def _told(self, table: PrintedTable, title: str, text: list[str]) -> PrintedTable:
        """The table with its text: a legend of its columns, and a note."""
        rows = ([cell.strip() for cell in line.split("|")] for line in text[0].split("\n")[2:])
        values = [
            replace(value, title=quantity, were=were, without=without)
            for value, (_, _, quantity, were, without, _) in zip(table.values, rows, strict=True)
        ]
        doubts = self._doubts(table)
        return replace(table, title=title, note=" ".join(text[1:]), values=values, doubts=doubts)

    def _doubts(self, table: PrintedTable) -> list[Doubt]:
        return [
            Doubt(row["remark"], _selection(row["rows"]), row["columns"].split())
            for row in _rows(self.folder / "doubtful.csv")
            if row["table"] == table.number
        ]


@cache
def _rows(path: Path) -> tuple[PrintedRow, ...]:
    with path.open(newline="") as file:
        return tuple(csv.DictReader(file))


def _selection(text: str) -> dict[str, list[str]]:
    """Column → values of "machine=T3D|SP2; p=2"."""
    parts = (part.partition("=") for part in text.split("; ") if part)
    return {column: values.split("|") for column, _, values in parts}


def _paragraphs(text: str) -> list[str]:
    """Paragraphs of Markdown, their lines joined but those of tables."""
    parts = re.split(r"\n\n+", text.strip())
    return [part if part.startswith("|") else " ".join(part.split("\n")) for part in parts]


def _items(text: str) -> list[str]:
    """Items of a list in Markdown."""
    return [" ".join(part.split()) for part in re.split(r"^- ", text, flags=re.MULTILINE)[1:]]


def _entries(text: str) -> list[tuple[str, str, list[str]]]:
    """Name, title and paragraphs of each part that begins "### NAME: TITLE"."""
    parts = (_paragraphs(part) for part in re.split(r"^### ", text, flags=re.MULTILINE)[1:])
    named = ((heading.partition(": "), rest) for heading, *rest in parts)
    return [(name, title, rest) for (name, _, title), rest in named]


def studies() -> list[str]:
    """The names of all studies."""
    return sorted(path.parent.name for path in FOLDER.glob("*/study.py"))


def load_study(asked: str) -> Study:
    """The study of a name, or of the year that a name ends with.

    Raises AssayError where there is none, or more than one.
    """
    names = [name for name in studies() if asked in (name, name[-4:])]
    if len(names) != 1:
        several = (
            f"{asked} may be {' or '.join(names)}" if names else f"there is no study {asked!r}"
        )
        raise AssayError(f"{several}; allowed is one of {', '.join(studies())}")
    module: Any = import_module(f"{__package__}.studies.{names[0]}.study")
    study: Study = module.STUDY
    return study.with_text()
