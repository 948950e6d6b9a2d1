# SPDX-License-Identifier: Apache-2.0
"""The section of each check, found by name, here or in a plugin; else the generic one."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec

from records.plugins import folders, hooks
from records.units import axis_of
from reports.analysis.run import Analysis
from reports.checks.benchmarks import SECTIONS
from reports.notation.labels import value_text
from reports.show.panel import Picture
from reports.show.section import (
    Section,
    generic_section,
    metric_picture,
    statistics_tables,
)
from reports.show.tables import Table, slug


@dataclass(frozen=True, slots=True)
class CheckPart:
    """Part of a report that shows a check; `constant` is what all its cases have in common."""

    check: str
    anchor: str
    title: str
    constant: str
    pictures: list[Picture]
    tables: list[Table]


def check_parts(analysis: Analysis, *, pictures: bool = True) -> list[CheckPart]:
    """The parts of all checks in the order of the plan."""
    return [_part(analysis, check, pictures=pictures) for check in analysis.checks]


def own_section(check: str) -> Section | None:
    """The section of a check, or the `SECTION` of the module of its name, here or in a plugin."""
    if check in SECTIONS or not check.isidentifier():
        return SECTIONS.get(check)
    names = (f"{package}.{check}" for package in (__package__, *folders("sections")))
    name = next((name for name in names if find_spec(name)), "")
    return getattr(import_module(name), "SECTION", None) if name else None


def _part(analysis: Analysis, check: str, *, pictures: bool) -> CheckPart:
    section = own_section(check) or generic_section(analysis, check)
    drawn: list[Picture] = []
    further = [make(analysis, check) for make in hooks("check_parts")]
    if pictures:
        drawn = [picture for make in section.pictures if (picture := make(analysis))]
        known = analysis.register.checks.get(check)
        if not drawn and known and known.shown in analysis.metrics_of(check):
            made = metric_picture(analysis, check, known.shown, None)
            drawn = [made] if made else []
        drawn += [picture for pictures_of, _ in further for picture in pictures_of()]
    tables = [table for make in section.tables if (table := make(analysis))]
    tables += [table for _, tables_of in further for table in tables_of()]
    tables += statistics_tables(analysis, check)
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
