# SPDX-License-Identifier: Apache-2.0
"""A plan that was read from a run directory, before its launches reach a job script."""

from __future__ import annotations

from pathlib import Path

from pydantic import BaseModel, ValidationError

from assay.schema.model import Variant
from assay.schema.problems import model_problems
from checks.common.registry import CHECKS
from records.errors import AssayError
from records.input_files import line_with, read_whole
from records.plan import Plan


def planned_variants(plan: Plan, file: Path) -> dict[str, Variant]:
    """The variants that the plan's environments are. Raises AssayError for others than a
    campaign could have asked for."""
    found = {}
    for name, value in plan.variants.items():
        _refuse(Variant, value, file, ("variants", name))
        found[name] = Variant.model_validate(value)
    return found


def refuse_foreign_parameters(plan: Plan, file: Path) -> None:
    """Raise AssayError for a case whose parameters no campaign could have asked for.

    `assay run` validated them when it wrote the plan; since then the file may have been changed.
    """
    for case in plan.cases:
        _refuse(CHECKS[case.check].parameters, case.params, file, ("cases", case.id))


def _refuse(model: type[BaseModel], value: object, file: Path, place: tuple[str, str]) -> None:
    try:
        model.model_validate(value)
    except ValidationError as error:
        problem = next(model_problems(error, model, value))
        where = f"{file}:{line_with(read_whole(file), *place)}"
        named = ".".join(map(str, (place[1], *problem.location)))
        raise AssayError(f"{where}: {named}: {problem.message}") from error
