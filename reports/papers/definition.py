# SPDX-License-Identifier: Apache-2.0
"""What a `study.yaml` says: the tables of a paper, what of a run stands beside them, its claims."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import Field, ValidationError, model_validator

from records.errors import AssayError
from records.sections import Name, Scalar, Section, key
from records.units import UNITS
from reports.studies import FOLDER, rows

#: Where in a run a quantity or a key is found: of the case, or of the point inside a launch.
_PLACE = r"^(params|at)\.[a-z][a-z0-9_]*$|^(ranks|nodes|environment)$"

Place = Annotated[str, Field(pattern=_PLACE)]


class Measured(Section):
    """Values of a run: a metric of a check, at some of its cases and points."""

    check: str = key("Name of the check.")
    metric: str = key("Name of the metric.")
    where: dict[Place, Scalar | list[Scalar]] = key(
        "What the cases and points must have: params.NAME, at.NAME, ranks, nodes, environment.",
        default={},
    )


class Column(Section):
    """One column of a printed table, and what of a run stands beside it."""

    column: str = key("Its name in the CSV file.")
    title: str = key("What it is, for readers.")
    unit: str = key("SI unit of the values.")
    factor: float = key("Printed value times this gives the SI unit.", "1", 1.0, gt=0)
    spread: str = key("Column with the standard deviation, in the same unit.", default="")
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

    column: str = key("Its name in the CSV file.")
    title: str = key("What it is, for readers.")
    ours: Place | None = key("Where in a run it is found; null: nowhere.", default=None)
    today: dict[str, Scalar] = key("Printed word → the run's, where they differ.", default={})


class PrintedTable(Section):
    """A table of the paper: its rows in a CSV file, and what of a run stands beside them."""

    number: str = key("As the paper counts it: Table 6, Appendix E.")
    title: str = key("What it shows.")
    file: str = key("CSV file in the study's folder.")
    rows: dict[str, list[str]] = key("Rows of the file: column → values printed there.", default={})
    keys: list[Key] = key("What tells rows apart.", default=[])
    across: list[str] = key("Columns whose values stand side by side: machine, mpi.", default=[])
    libraries: bool = key("Those are libraries, each beside today's of that name.", default=False)
    values: Annotated[list[Column], Field(min_length=1)] = key("The quantities.")
    x: str = key("Key column that is the figure's x axis; none: no figure.", default="")
    figures: str = key("Which figures of the paper show it.", default="")
    note: str = key("What a reader must know of it.", default="")
    doubtful: list[str] = key("Misprints and doubtful digits, a sentence each.", default=[])


class Claim(Section):
    """A sentence of the paper, and how a run can hold or break it.

    A claim is that `value` over `than` (1 without it), a geometric mean over the points that both
    have, lies above `more_than` or below `less_than`; without an environment it is asked of each.
    """

    said: str = key("The claim, in a sentence.")
    where: str = key("Where the paper says it.")
    value: Measured | None = key("What is compared.", default=None)
    than: Measured | None = key("With what; without it, with 1 in SI units.", default=None)
    match: list[Place] = key("What both must have in common, point by point.", default=[])
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
        return self


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
    procedure: list[str] = key("How it measured, a sentence each.")
    tables: Annotated[list[PrintedTable], Field(min_length=1)] = key("Its tables, in its order.")
    claims: list[Claim] = key("Its claims.")
    missing: list[Uncounted] = key("Tables and figures that nothing stands beside.", default=[])

    @property
    def folder(self) -> Path:
        """Where its files lie."""
        return FOLDER / self.name

    def printed(self, table: PrintedTable) -> list[dict[str, str]]:
        """The rows of a table, as printed."""
        return [
            row
            for row in rows(f"{self.name}/{table.file.removesuffix('.csv')}")
            if all(row[column] in wanted for column, wanted in table.rows.items())
        ]

    def machines_of_then(self) -> Any:
        """What the description of the machines says; None without one."""
        if not self.machines:
            return None
        return yaml.safe_load((self.folder / self.machines).read_text())


def studies() -> dict[str, Path]:
    """The folders with a `study.yaml`, by name."""
    return {path.parent.name: path for path in sorted(FOLDER.glob("*/study.yaml"))}


def load_study(asked: str) -> Study:
    """The study of a name, or of the year that a name ends with.

    Raises AssayError: none, several, or a faulty file.
    """
    found = {name: path for name, path in studies().items() if asked in (name, name[-4:])}
    if len(found) != 1:
        known = ", ".join(studies())
        several = (
            f"{asked} may be {' or '.join(found)}" if found else f"there is no study {asked!r}"
        )
        raise AssayError(f"{several}; allowed is one of {known}")
    (path,) = found.values()
    return read_study(path)


def read_study(path: Path) -> Study:
    """The study that the file describes. Raises AssayError for a faulty one."""
    try:
        return Study.model_validate(yaml.safe_load(path.read_text()))
    except yaml.YAMLError as error:
        raise AssayError(f"{path}: no YAML: {' '.join(str(error).split())}") from error
    except ValidationError as error:
        faults = (f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in error.errors())
        raise AssayError(f"{path}: " + "; ".join(faults)) from error
