# SPDX-License-Identifier: Apache-2.0
"""What a `study.yaml` says: the tables of a paper, what of a run stands beside them, its claims."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import Field, PrivateAttr, ValidationError, field_validator, model_validator

from records.errors import AssayError
from records.sections import Name, Scalar, Section, key
from records.units import UNITS
from reports.models.collectives import Form
from reports.studies import FOLDER, rows

#: Where in a run a quantity or a key is found: of the case, or of the point inside a launch.
_PLACE = r"^(params|at)\.[a-z][a-z0-9_]*$|^(ranks|nodes|environment)$"

#: The file that makes a folder a study.
FILE = "study.yaml"

Place = Annotated[str, Field(pattern=_PLACE)]
#: A file beside the study.yaml.
FileName = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*$")]


#: What each kind of step needs beside `do`.
_NEEDS: dict[str, tuple[str, ...]] = {
    "best": ("along",),
    "mean": ("along",),
    "pick": ("at",),
    "relative": ("at",),
    "less": ("at",),
    "line": ("along", "gives"),
    "inverse": (),
    "aggregated": ("axes",),
    "lead": ("names",),
    "law": ("axes", "forms", "gives"),
}


class Step(Section):
    """One calculation over the points of a quantity.

    An axis is a column of the CSV file for printed values, a place of a run for measured ones.
    """

    do: Literal[
        "best", "mean", "pick", "relative", "less", "line", "inverse", "aggregated", "lead", "law"
    ] = key(
        "best, mean: of the values along an axis. pick: those at a point. relative: the value at a"
        " point over each. less: each less the value at a point. line: a straight line by least"
        " squares along an axis of lengths. inverse: 1 over each. aggregated: bytes that a"
        " collective operation moves in all over its time. lead: one name's value over another's."
        " law: a·f(p) + b + (c·g(p) + d)·m by least squares, with given forms."
    )
    along: list[str] = key("Axes that the step takes away.", default=[])
    at: dict[str, Scalar] = key("Point: axis → value, `least` or `greatest`.", default={})
    gives: Literal["start_up", "per_byte", "half_length", "a", "b", "c", "d", "r_infinity", ""] = (
        key("What of the line: the first three; or of the law.", default="")
    )
    up_to: float | None = key("Greatest length that the line goes through.", "bytes", None)
    axes: list[str] = key("Axes of operation, number of ranks and length.", default=[])
    names: list[str] = key("The one that leads, and the other.", default=[])
    forms: dict[str, Annotated[list[Form], Field(min_length=1, max_length=2)]] = key(
        "Operation → the forms f of start-up and g of delay in a law.", default={}
    )

    @model_validator(mode="after")
    def _complete(self) -> Step:
        lacks = [name for name in _NEEDS[self.do] if not getattr(self, name)]
        if lacks:
            raise ValueError(f"the step {self.do} needs {' and '.join(lacks)}")
        return self

    @property
    def named(self) -> tuple[str, ...]:
        """The axes that it names."""
        return tuple(dict.fromkeys([*self.along, *self.at, *self.axes]))


class Measured(Section):
    """Values of a run: a metric of a check, at some of its cases and points."""

    check: str = key("Name of the check.")
    metric: str = key("Name of the metric.")
    where: dict[Place, Scalar | list[Scalar]] = key(
        "What the cases and points must have: params.NAME, at.NAME, ranks, nodes, environment.",
        default={},
    )
    on_purpose: bool = key("Values of launches that are wrong on purpose.", default=False)
    steps: list[Step] = key("Calculations over its points.", default=[])
    over: Measured | None = key("Divided by this, block by block.", default=None)
    times: Measured | None = key("Times this, block by block.", default=None)
    of_line_rate: bool = key("As a share of the network's nominal rate.", default=False)
    rest: bool = key("1 less it: what a share leaves.", default=False)


class Column(Section):
    """One column of a printed table, and what of a run stands beside it."""

    column: str = key("Its name in the CSV file.")
    title: str = key("What it is, for readers.")
    unit: str = key("SI unit of the values.")
    factor: float = key("Printed value times this gives the SI unit.", "1", 1.0, gt=0)
    spread: str = key("Column with the standard deviation, in the same unit.", default="")
    steps: list[Step] = key("Calculations over the printed values.", default=[])
    over: str = key("Divided by this column.", default="")
    were: str = key("What the printed value is: mean of five runs, one run, least of …")
    ours: Measured | None = key("The same quantity of a run.", default=None)
    without: str = key("Why nothing of a run stands beside it.", default="")

    @model_validator(mode="after")
    def _one_of_both(self) -> Column:
        if (self.ours is None) == (not self.without):
            raise ValueError("a column has `ours`, or `without` with the reason")
        if self.unit not in UNITS:
            raise ValueError(f"found unit {self.unit!r}; allowed is one of {', '.join(UNITS)}")
        return self


class Key(Section):
    """A column that tells rows of a printed table apart, and where a run has the same."""

    column: str = key("Its name in the CSV file; none: all rows have `then`.", default="")
    then: str = key("What all printed rows have, where no column says it.", default="")
    title: str = key("What it is, for readers.")
    ours: Place | None = key("Where in a run it is found; null: nowhere.", default=None)
    today: dict[str, Scalar] = key("Printed word → the run's, where they differ.", default={})


class ClosedForm(Section):
    """A law of the paper, evaluated with the coefficients of each row."""

    law: Literal["collective", "half_length", "latency_and_rate"] = key("Which law.")
    at: dict[str, list[float]] = key("Columns of coordinates that it adds, and their values.")


class Variant(Section):
    """Rows of a run beside a table of machines, where they are of several kinds."""

    title: str = key("What these rows are: inside a node.")
    where: dict[Place, Scalar | list[Scalar]] = key(
        "What the cases and points must have, instead of what the columns say.", default={}
    )
    ours: dict[str, Measured] = key(
        "Column → what is measured, where another check or metric has it; columns that are not"
        " named are then empty.",
        default={},
    )

    def of(self, column: Column) -> Column:
        """A column with what these rows have of it."""
        if self.ours:
            ours = self.ours.get(column.column)
            if ours and column.ours and column.ours.of_line_rate:
                ours = ours.model_copy(update={"of_line_rate": True})
        elif column.ours:
            where = {**column.ours.where, **self.where}
            ours = column.ours.model_copy(update={"where": where})
        else:
            ours = None
        return column.model_copy(update={"ours": ours})


class Plane(Section):
    """A figure of machines as points: one quantity against another, both logarithmic."""

    x: str = key("Column of the x axis.")
    y: str = key("Column of the y axis.")
    figures: str = key("Which figure of the paper it is.")


class Doubtful(Section):
    """A misprint or doubtful digit, and the printed values that it is about."""

    said: str = key("What is doubtful, and why, in a sentence.")
    rows: dict[str, list[str]] = key(
        "Rows whose values are marked: column → values printed there; none named: no value is.",
        default={},
    )
    columns: list[str] = key("Columns whose values are marked; none named: all.", default=[])

    def is_about(self, row: Mapping[str, str], column: str) -> bool:
        """Whether a printed row's value of this column is a doubtful one."""
        asked = not self.columns or column in self.columns
        return bool(self.rows) and asked and all(row[k] in v for k, v in self.rows.items())


class PrintedTable(Section):
    """A table of the paper: its rows in a CSV file, and what of a run stands beside them."""

    number: str = key("As the paper counts it: Table 6, Appendix E.")
    title: str = key("What it shows.")
    file: FileName = key("CSV file in the study's folder.")
    law: ClosedForm | None = key("Rows hold coefficients of this law.", default=None)
    nearest: dict[str, float] = key(
        "Keys held at one value, in a run at the nearest that it has: column → value of then.",
        default={},
    )
    rows: dict[str, list[str]] = key("Rows of the file: column → values printed there.", default={})
    keys: list[Key] = key("What tells rows apart.", default=[])
    across: list[str] = key("Columns whose values stand side by side: machine, mpi.", default=[])
    libraries: bool = key("Those are libraries, each beside today's of that name.", default=False)
    stands: str = key("What a line is, in a table without keys.", default="machine")
    values: Annotated[list[Column], Field(min_length=1)] = key("The quantities.")
    variants: list[Variant] = key(
        "Kinds of rows of a run, where the table has machines and no keys.", default=[]
    )
    x: str = key("Key column that is the figure's x axis; none: no figure.", default="")
    drawn: list[str] = key("Columns that the figure shows; none named: all.", default=[])
    plane: Plane | None = key("A figure of all machines as points.", default=None)
    printed: bool = key("Whether its numbers stand in a table, or are drawn only.", default=True)
    figures: str = key("Which figures of the paper show it.", default="")
    note: str = key("What a reader must know of it.", default="")
    further: bool = key("Whether points that only a run has stand in the table.", default=True)
    doubtful: list[Doubtful] = key(
        "Misprints and doubtful digits: each a sentence, or `said` with the rows it marks.",
        default=[],
    )

    @field_validator("doubtful", mode="before")
    @classmethod
    def _sentences(cls, found: Any) -> Any:
        if not isinstance(found, list):
            return found
        return [{"said": one} if isinstance(one, str) else one for one in found]


class Claim(Section):
    """A sentence of the paper, and how a run can hold or break it.

    A claim is that `value` over `than` (1 without it), a geometric mean over the points that both
    have, lies above `more_than` or below `less_than`; without an environment it is asked of each.
    With `each` it holds where it holds at every value of that place.
    """

    said: str = key("The claim, in a sentence.")
    where: str = key("Where the paper says it.")
    value: Measured | None = key("What is compared.", default=None)
    than: Measured | None = key("With what; without it, with 1 in SI units.", default=None)
    match: list[Place] = key("What both must have in common, point by point.", default=[])
    each: Place | None = key(
        "Of `match`: the claim must hold at each value of this place by itself.", default=None
    )
    more_than: float | None = key("Holds above.", "SI or 1", None)
    less_than: float | None = key("Holds below.", "SI or 1", None)
    untestable: str = key("Why no run of today can tell.", default="")

    @model_validator(mode="after")
    def _testable_or_not(self) -> Claim:
        limits = [one for one in (self.more_than, self.less_than) if one is not None]
        if bool(self.untestable) == bool(self.value) or (self.value and len(limits) != 1):
            raise ValueError(
                "a claim has `untestable` with the reason, or `value` and one of `more_than` and"
                " `less_than`"
            )
        if self.each is not None and self.each not in self.match:
            raise ValueError(f"found each: {self.each}; allowed is a place of `match`")
        return self


class Shown(Section):
    """A figure or statement of the paper without numbers, beside which a run shows its own."""

    number: str = key("As the paper counts it.")
    title: str = key("What it shows.")
    after: str = key("Number of the table that it follows.")
    check: str = key("Name of the check.")
    shows: Literal["section", "mpi_profile", "protocol_switches", "hops"] = key(
        "Which part of the report: all that it has of the check, or one thing."
    )
    only: list[str] = key(
        "Anchors of its tables and pictures that it shows; none: all.", default=[]
    )
    note: str = key("What a reader must know of it.")


class InputFile(Section):
    """A file that the paper prints."""

    file: FileName = key("File in the study's folder.")
    title: str = key("What it is.")
    note: str = key("What a reader must know of it.")


class Uncounted(Section):
    """A table or figure without a counterpart."""

    number: str = key("As the paper counts it.")
    title: str = key("What it shows.")
    why: str = key("Why nothing of today stands beside it.")


class Study(Section):
    """A paper: what it is, its tables in their order, its claims."""

    schema_: Literal[1] = key("Version of this format.", alias="schema")
    name: Name = key("Its folder's name.")
    year: int = key("Year of the paper.")
    authors: str = key("Authors.")
    title: str = key("Title.")
    published: str = key("Where.")
    question: str = key("What it asked, in a sentence.")
    machines: str = key("File of the folder that describes the machines of then.", default="")
    words: dict[str, str] = key(
        "What stands side by side in the files → the same for readers.", default={}
    )
    then: list[str] = key("The machines of then, a sentence each.", default=[])
    inputs: list[InputFile] = key("Files that it prints.", default=[])
    procedure: list[str] = key("How it measured, a sentence each.")
    ranks_per_node: int = key("Most processes on a node then; 0: not told.", "1", 0, ge=0)
    tables: Annotated[list[PrintedTable], Field(min_length=1)] = key("Its tables, in its order.")
    shown: list[Shown] = key("What a run shows beside figures without numbers.", default=[])
    claims: list[Claim] = key("Its claims.")
    missing: list[Uncounted] = key("Tables and figures that nothing stands beside.", default=[])

    _folder: Path = PrivateAttr(default=FOLDER)

    @property
    def folder(self) -> Path:
        """Where its files lie."""
        return self._folder

    def printed(self, table: PrintedTable) -> list[dict[str, str]]:
        """The rows of a table, as printed."""
        return [
            row
            for row in rows(str(self.folder / table.file.removesuffix(".csv")))
            if all(row[column] in wanted for column, wanted in table.rows.items())
        ]

    def machines_of_then(self) -> Any:
        """What the description of the machines says; None without one."""
        if not self.machines:
            return None
        return yaml.safe_load((self.folder / self.machines).read_text())


def studies() -> dict[str, Path]:
    """The folders with a `study.yaml`, by name."""
    return {path.parent.name: path for path in sorted(FOLDER.glob(f"*/{FILE}"))}


def load_study(asked: str) -> Study:
    """The study of a name, of the year that a name ends with, or in a folder.

    Raises AssayError: none, several, or a faulty file.
    """
    outside = Path(asked) / FILE
    if asked not in studies() and outside.is_file():
        return read_study(outside)
    found = {name: path for name, path in studies().items() if asked in (name, name[-4:])}
    if len(found) != 1:
        known = ", ".join(studies())
        several = (
            f"{asked} may be {' or '.join(found)}" if found else f"there is no study {asked!r}"
        )
        raise AssayError(f"{several}; allowed is one of {known}, or a folder with a {FILE}")
    (path,) = found.values()
    return read_study(path)


def read_study(path: Path) -> Study:
    """The study that the file describes. Raises AssayError for a faulty one."""
    try:
        study = Study.model_validate(yaml.safe_load(path.read_text()))
    except yaml.YAMLError as error:
        raise AssayError(f"{path}: no YAML: {' '.join(str(error).split())}") from error
    except ValidationError as error:
        faults = (f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in error.errors())
        raise AssayError(f"{path}: " + "; ".join(faults)) from error
    study._folder = path.parent
    return study
