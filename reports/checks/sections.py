# SPDX-License-Identifier: Apache-2.0
"""The section of each check, found by name: our module, a `report.py`, or the generic one."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path

from records.plugins import folders, hooks
from records.units import axis_of
from reports.analysis.run import Analysis
from reports.notation.labels import value_text
from reports.show.draw import svg_of
from reports.show.panel import Picture
from reports.show.section import (
    Section,
    generic_section,
    launches_picture,
    statistics_tables,
)
from reports.show.tables import Cell, Table, slug

#: Packages of ours, of which a section from outside imports `reports.show` alone.
_OURS = frozenset({"assay", "bench", "checks", "plugins", "records", "reports", "virtual_cluster"})


@dataclass(frozen=True, slots=True)
class CheckPart:
    """Part of a report that shows a check; `constant` is what all its cases have in common."""

    check: str
    anchor: str
    title: str
    constant: str
    pictures: list[Picture]
    tables: list[Table]


def check_parts(
    analysis: Analysis, folders: Sequence[Path] = (), *, pictures: bool = True
) -> tuple[list[CheckPart], list[str]]:
    """The parts of all checks in the order of the plan, and what was wrong with foreign sections.

    A check of ours has its section in the module of its name; for another one `folders` are
    searched for NAME/report.py. A check without a section, or with one that fails, gets the
    generic one.
    """
    parts, faults = [], []
    for check in analysis.checks:
        own = own_section(check)
        files = (folder / check / "report.py" for folder in folders if not own)
        file = next((file for file in files if file.is_file()), None)
        if file is not None:
            try:
                part = _part(analysis, check, read_section(file), pictures=pictures)
                _demand_sound(part)
                parts.append(part)
                continue
            except (Exception, SystemExit) as error:
                faults.append(
                    f"{file}: the section of {check} failed, and the generic one stands in its"
                    f" place: {type(error).__name__}: {error}"
                )
        section = own or generic_section(analysis, check)
        parts.append(_part(analysis, check, section, pictures=pictures))
    return parts, faults


def own_section(check: str) -> Section | None:
    """The `SECTION` of the module named as the check, here or in a plugin."""
    if not check.isidentifier():
        return None
    names = (f"{package}.{check}" for package in (__package__, *folders("sections")))
    name = next((name for name in names if find_spec(name)), "")
    return getattr(import_module(name), "SECTION", None) if name else None


def read_section(file: Path) -> Section:
    """The `SECTION` of a report.py from outside; it may import `reports.show` of us, no more."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom):
            alone = [f"{node.module}.{alias.name}" for alias in node.names]
            names = alone if node.module == "reports" else [node.module or ""]
        for name in names:
            if name.split(".")[0] in _OURS and name != "reports.show":
                raise ImportError(f"it imports {name}; allowed of Assay: reports.show")
    spec = spec_from_file_location(f"assay_section_{file.parent.name}", file)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    section = getattr(module, "SECTION", None)
    if not isinstance(section, Section):
        raise TypeError("it has no SECTION = Section(…)")
    return section


def _part(analysis: Analysis, check: str, section: Section, *, pictures: bool) -> CheckPart:
    drawn: list[Picture] = []
    further = [make(analysis, check) for make in hooks("check_parts")]
    if pictures:
        drawn = [picture for make in section.pictures if (picture := make(analysis))]
        if not drawn and (launches := launches_picture(analysis, check)):
            drawn = [launches]
        drawn += [picture for pictures_of, _ in further for picture in pictures_of()]
    tables = [table for make in section.tables if (table := make(analysis))]
    tables += [table for _, tables_of in further for table in tables_of()]
    own = section.statistics
    tables += own(analysis) if own else statistics_tables(analysis, check)
    constant = ", ".join(
        f"{name} {value_text(value)}"
        for name, value in sorted(analysis.labels[check].constant.items())
        if not axis_of(name).lists
    )
    return CheckPart(
        check,
        slug(check),
        analysis.register.check_title(check),
        f"The same for all cases: {constant}." if constant else "",
        drawn,
        tables,
    )


def _demand_sound(part: CheckPart) -> None:
    """Raise TypeError where a foreign section made something that is no picture or no table."""
    for picture in part.pictures:
        if not isinstance(picture, Picture):
            raise TypeError(f"a picture is a {type(picture).__name__}, not a Picture")
        for panel in picture.panels:
            svg_of(panel)  # a mark that cannot be drawn fails here, not in the page
    for table in part.tables:
        if not isinstance(table, Table):
            raise TypeError(f"a table is a {type(table).__name__}, not a Table")
        for row in table.rows:
            if len(row) != len(table.columns) or not all(isinstance(c, Cell) for c in row):
                raise TypeError(f"table {table.title}: each row must have a Cell for each column")
