# SPDX-License-Identifier: Apache-2.0
"""What a `study.yaml` says: tables of a paper, what a run has of the same kind, claims."""

from __future__ import annotations

import csv
from collections.abc import Callable, Mapping
from functools import cache
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import BeforeValidator, Field, PrivateAttr, ValidationError, model_validator

from plugins.papers.fields import Field as RunField
from plugins.papers.run_values import RunValues
from records.errors import AssayError
from records.sections import Name, Scalar, Section
from records.units import UNITS

#: One folder a study.
FOLDER = Path(__file__).with_name("studies")
#: The files of a study: its text and tables, and, in `CALCULATIONS`, what is calculated for them.
FILE, CODE = "study.yaml", "study.py"
#: Units by the ending of a column's or key's name: for readers, in SI, and printed value to SI.
ENDINGS: dict[str, tuple[str, str, float]] = {
    "_us": ("µs", "s", 1e-6),
    "_s": ("s", "s", 1.0),
    "_mbit_s": ("Mbit/s", "bytes/s", 1.25e5),
    "_kb_s": ("kB/s", "bytes/s", 1e3),
    "_mb_s": ("MB/s", "bytes/s", 1e6),
    "_bytes": ("bytes", "bytes", 1.0),
    "_kbytes": ("kbytes", "bytes", 1024.0),
    "_kb": ("kB", "bytes", 1e3),
    "_mb": ("MB", "bytes", 1e6),
    "_mb_min": ("MB at least", "bytes", 1e6),
    "_gb": ("GB", "bytes", 1e9),
    "_mhz": ("MHz", "1/s", 1e6),
    "_ghz": ("GHz", "1/s", 1e9),
    "_mflops": ("Mflop/s", "flop/s", 1e6),
    "_pct": ("%", "1", 0.01),
}

#: Where in a run a quantity or a key is found: of the case, or of the point inside a launch.
Place = Annotated[str, Field(pattern=r"^(params|at)\.[a-z][a-z0-9_]*$|^(ranks|nodes|environment)$")]
#: A file in the study's folder.
FileName = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*$")]


def ending_of(name: str) -> str:
    """The longest ending of a name that says a unit; "" where none does."""
    return max((one for one in ENDINGS if name.endswith(one)), key=len, default="")


class RunMetric(Section):
    """Values of a run: a metric of a check, where cases and points have these values."""

    check: str
    metric: str
    where: dict[Place, Scalar | list[Scalar]] = {}

    def __call__(self, run: RunValues) -> RunField:
        """The values of a run."""
        return run.values(self.check, self.metric, self.where)


#: A metric as it is, or the name of a calculation: `(RunValues) -> fields.Field`.
Quantity = RunMetric | str


class PrintedColumn(Section):
    """A quantity of a printed table, and the same quantity of a run.

    `column` is its name in the CSV file, or one that the table's law adds; printed values times
    `factor` are in the SI unit `unit`, by the ending of the name where neither is given. `spread`
    is the column of the standard deviation. `calculated` names what is made of printed values and
    in the same way of a run's: `(fields.Field) -> fields.Field`. `were` says what a printed value
    is: mean of five runs, one run. `without` says why a run has nothing of the kind.
    """

    column: str
    title: str
    unit: str
    factor: Annotated[float, Field(gt=0)] = 1.0
    spread: str = ""
    calculated: str = ""
    were: str
    ours: Quantity | None = None
    without: str = ""

    @model_validator(mode="before")
    @classmethod
    def _with_unit(cls, found: Any) -> Any:
        if isinstance(found, dict) and "unit" not in found:
            _, unit, factor = ENDINGS.get(ending_of(str(found.get("column"))), ("", "", 1.0))
            return {"factor": factor, **found, "unit": unit}
        return found

    @model_validator(mode="after")
    def _one_of_both(self) -> PrintedColumn:
        if (self.ours is None) == (not self.without):
            raise ValueError("a column has `ours`, or `without` with the reason")
        if self.unit not in UNITS:
            raise ValueError(f"found unit {self.unit!r}; allowed is one of {', '.join(UNITS)}")
        return self


class PrintedKey(Section):
    """A column that tells rows of a printed table apart, and the place where a run has the same.

    Without a `column` all rows have `then`. `today`: printed word → the run's, where they differ.
    """

    column: str = ""
    then: str = ""
    title: str
    ours: Place | None = None
    today: dict[str, Scalar] = {}

    @property
    def axis(self) -> str:
        """What calculations call it."""
        return self.ours or self.column or self.title


class RowKind(Section):
    """Rows of a run in a table of machines, where they are of several kinds.

    `ours`: column → its quantity in these rows, others are empty; without any as in the columns.
    """

    title: str
    ours: dict[str, Quantity] = {}


class Plane(Section):
    """A figure of machines as points: column `y` against column `x`, both logarithmic."""

    x: str
    y: str
    figures: str


class Doubtful(Section):
    """A misprint or doubtful digit in a sentence, and the printed values that it is about.

    `rows`: column → values printed there; without any no value is marked, without `columns` all.
    """

    said: str
    rows: dict[str, list[str]] = {}
    columns: list[str] = []

    def is_about(self, row: Mapping[str, str], column: str) -> bool:
        """Whether a printed row's value of this column is a doubtful one."""
        asked = not self.columns or column in self.columns
        return bool(self.rows) and asked and all(row[k] in v for k, v in self.rows.items())


def _as_doubtful(found: Any) -> Any:
    return {"said": found} if isinstance(found, str) else found


class PrintedTable(Section):
    """A table of the paper: its rows in a CSV file, and what of a run is shown with them.

    `number` is as the paper counts it: Table 6, Appendix E. `rows`: column → values of the rows
    that belong to it. `law` names what adds columns to each row at each combination of the
    coordinates `at`: `(row, coordinates) -> {column: value or None}`. `nearest`: keys held at one
    value, in a run at the nearest that it has. `across` are columns whose values are side by side,
    with `libraries` each compared with today's of its name. `stands` says what a line is in a table
    without keys. `x` is the key on a figure's x axis, without it there is none; of columns it has
    those `drawn`, or all. Without `printed` the numbers are drawn only; without `further` points
    that only the run has are left out.
    """

    number: str
    title: str
    file: FileName
    rows: dict[str, list[str]] = {}
    law: str = ""
    at: dict[str, list[float]] = {}
    nearest: dict[str, float] = {}
    keys: list[PrintedKey] = []
    across: list[str] = []
    libraries: bool = False
    stands: str = "machine"
    values: Annotated[list[PrintedColumn], Field(min_length=1)]
    variants: list[RowKind] = []
    x: str = ""
    drawn: list[str] = []
    plane: Plane | None = None
    printed: bool = True
    figures: str = ""
    note: str = ""
    further: bool = True
    doubtful: list[Annotated[Doubtful, BeforeValidator(_as_doubtful)]] = []


class Claim(Section):
    """A sentence of the paper, and how a run can hold or break it.

    A claim is that `value` over `than` (1 in SI units without it), a geometric mean over the points
    that both have in common at the places `match`, is above `more_than` or below `less_than`;
    without an environment it is asked of each. With `each`, one of `match`, it holds where it holds
    at every value of that place. `untestable` says why no run of today can tell.
    """

    said: str
    where: str
    value: Quantity | None = None
    than: Quantity | None = None
    match: list[Place] = []
    each: Place | None = None
    more_than: float | None = None
    less_than: float | None = None
    untestable: str = ""

    @property
    def limit(self) -> float:
        """What the value is held against; 0 of a claim that cannot be tested."""
        return next((one for one in (self.more_than, self.less_than) if one is not None), 0.0)

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


class ShownPart(Section):
    """A figure or statement without numbers, with which a run's own part of the report is shown.

    It follows the table numbered `after`. `only`: anchors of the tables and pictures; none: all.
    """

    number: str
    title: str
    after: str
    check: str
    shows: Literal["section", "mpi_profile"]
    only: list[str] = []
    note: str


class InputFile(Section):
    """A file that the paper prints."""

    file: FileName
    title: str
    note: str


class Uncounted(Section):
    """A table or figure without a counterpart, and why."""

    number: str
    title: str
    why: str


class Study(Section):
    """A paper: what it is, its tables in their order, its claims.

    `words`: words of the files → the same for readers. `machines` is a YAML file of the folder that
    describes the machines of then, `then` does so in sentences, `procedure` how they were measured.
    `ranks_per_node`: most processes on a node then, 0: not stated.
    """

    schema_: Annotated[Literal[1], Field(alias="schema")]
    name: Name
    year: int
    authors: str
    title: str
    published: str
    question: str
    machines: FileName | None = None
    words: dict[str, str] = {}
    then: list[str] = []
    inputs: list[InputFile] = []
    procedure: list[str]
    ranks_per_node: Annotated[int, Field(ge=0)] = 0
    tables: Annotated[list[PrintedTable], Field(min_length=1)]
    shown: list[ShownPart] = []
    claims: list[Claim]
    missing: list[Uncounted] = []

    _folder: Path = PrivateAttr(default=FOLDER)
    _calculations: Mapping[str, Callable[..., Any]] = PrivateAttr(default={})

    @property
    def folder(self) -> Path:
        """Its folder."""
        return self._folder

    def printed(self, table: PrintedTable) -> list[dict[str, str]]:
        """The rows of a table, as printed."""
        rows = _rows(self.folder / table.file)
        return [row for row in rows if all(row[k] in wanted for k, wanted in table.rows.items())]

    def calculation(self, asked: Quantity) -> Callable[..., Any]:
        """What a quantity, `calculated` or `law` names."""
        return asked if isinstance(asked, RunMetric) else self._calculations[asked]

    def names(self) -> list[str]:
        """The calculations that are named somewhere."""
        asked: list[Quantity | None] = [s for one in self.claims for s in (one.value, one.than)]
        for table in self.tables:
            asked += [table.law, *(one for v in table.variants for one in v.ours.values())]
            asked += [one for column in table.values for one in (column.ours, column.calculated)]
        return list(dict.fromkeys(one for one in asked if isinstance(one, str) and one))


@cache
def _rows(path: Path) -> tuple[dict[str, str], ...]:
    with path.open(newline="") as file:
        return tuple(csv.DictReader(file))


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
        several = (
            f"{asked} may be {' or '.join(found)}" if found else f"there is no study {asked!r}"
        )
        allowed = ", ".join(studies())
        raise AssayError(f"{several}; allowed is one of {allowed}, or a folder with a {FILE}")
    return read_study(*found.values())


def read_study(path: Path) -> Study:
    """The study that a study.yaml and the study.py in its folder describe.

    Raises AssayError for a faulty one.
    """
    try:
        study = Study.model_validate(yaml.safe_load(path.read_text()))
    except yaml.YAMLError as error:
        raise AssayError(f"{path}: no YAML: {' '.join(str(error).split())}") from error
    except ValidationError as error:
        faults = [f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in error.errors()]
        if any(one["type"] == "extra_forbidden" for one in error.errors()):
            faults.append(f"calculations belong in {CODE}, see plugins/papers/studies/README.md")
        raise AssayError(f"{path}: " + "; ".join(faults)) from error
    study._folder = path.parent
    code = path.with_name(CODE)
    study._calculations = _calculations(code) if code.is_file() else {}
    if lacking := [name for name in study.names() if name not in study._calculations]:
        raise AssayError(f"{code}: no {', '.join(lacking)} in CALCULATIONS, but {FILE} names them")
    return study


def _calculations(path: Path) -> Mapping[str, Callable[..., Any]]:
    """`CALCULATIONS` of a study.py. Raises AssayError where it has none or fails."""
    spec = spec_from_file_location(f"assay_study_{path.parent.name}", path)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
        found: Mapping[str, Callable[..., Any]] = module.CALCULATIONS
    except Exception as error:
        raise AssayError(f"{path}: {type(error).__name__}: {error}") from error
    return found
