# SPDX-License-Identifier: Apache-2.0
"""The ReFrame class of each check: that of its run.py, or OwnProgram; parameters are variables."""

from __future__ import annotations

import types
from importlib import import_module
from typing import Any, Literal, Union, cast, get_args, get_origin

from pydantic.fields import FieldInfo
from reframe.core.builtins import variable

from checks.common.base import MpiCheck, OwnProgram
from checks.common.definition import CheckDefinition
from checks.common.guard import CheckError, form_of, line_below, wrappers

#: Parameters that MpiCheck has already, in their resolved form.
RESOLVED = frozenset({"ranks", "ranks_per_node"})
#: Methods that a class Run has of a check.
_METHODS = (
    *("command", "read", "came_to_its_end", "wrong_answer", "partial", "write_inputs"),
    "nodes_asked",
)


def leaf_of(definition: CheckDefinition[Any]) -> type[MpiCheck]:
    """The class that runs a check; `-S check.name=value` sets its variables by hand.

    Parameters without a default become required variables. The definition's model validates all
    values.
    """
    base: type[MpiCheck] = OwnProgram
    if (definition.folder / "run.py").is_file():
        base = (
            import_module(f"{definition.package}.run").Run
            if definition.is_shipped
            else _run_of(definition)
        )
    guarded = {} if definition.is_shipped else wrappers(definition, base, MpiCheck, _METHODS)
    own = base.parts_of(definition)
    knobs = {
        name: _variable(field)
        for name, field in definition.parameters.model_fields.items()
        if name not in RESOLVED and own is None
    }
    body: dict[str, Any] = {
        **knobs,
        "knob_names": tuple(knobs),
        "definition": definition,
        "__module__": __name__,
        "__doc__": definition.__doc__,
        **guarded,
        **(own or {}),
    }
    kinds = sorted(definition.features & {"mpi", "pvm"})
    if kinds:
        body["valid_prog_environs"] = [" ".join(f"+{kind}" for kind in kinds)]

    def fill(space: dict[str, Any]) -> None:
        for name, value in body.items():
            space[name] = value  # one by one: ReFrame's namespace notices variables so

    made: type[MpiCheck] = types.new_class(f"{definition.name}_leaf", (base,), exec_body=fill)
    return made


def _run_of(definition: CheckDefinition[Any]) -> type[MpiCheck]:
    """The class Run of a check outside the tree. Raises CheckError where it cannot be used."""
    try:
        run = import_module(f"{definition.package}.run").Run
        if not issubclass(run, MpiCheck):
            raise TypeError("Run is no subclass of checks.common.base.MpiCheck")
        for name in ("command", "read"):
            if getattr(run, name) is getattr(MpiCheck, name):
                raise TypeError(f"Run has no {form_of(getattr(MpiCheck, name))}")
    except (Exception, SystemExit) as error:
        where = line_below([definition.folder], error) or definition.folder / "run.py"
        said = f"{where}: check {definition.name} cannot be run: {type(error).__name__}: {error}"
        raise CheckError(f"{said}; see docs/writing-a-check.md") from error
    return cast(type[MpiCheck], run)


def _variable(field: FieldInfo) -> Any:
    if field.is_required():
        return variable(_plain_type(field.annotation))
    default = field.get_default(call_default_factory=True)
    if default is None:
        return variable(_plain_type(field.annotation), type(None), value=None)
    return variable(type(default), value=default)


def _plain_type(annotation: Any) -> type:
    """The type of a field's values: of words and choices between words, that of the first."""
    origin = get_origin(annotation)
    if origin in (Literal, Union, types.UnionType):
        first = get_args(annotation)[0]
        return type(first) if origin is Literal else _plain_type(first)
    plain: type = origin or annotation
    return plain
