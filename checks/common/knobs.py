# SPDX-License-Identifier: Apache-2.0
"""Turns a check's catalogued parameters into ReFrame variables, so that each is stated once."""

from __future__ import annotations

import types
from typing import Any, Literal, Union, get_args, get_origin

import reframe as rfm
from pydantic import BaseModel
from reframe.core.builtins import variable

#: Names that the check base class already has, in their resolved form.
RESOLVED = frozenset({"ranks", "ranks_per_node"})


def knobs_of(model: type[BaseModel]) -> type:
    """A ReFrame mixin with one typed variable for each field of `model`, and its default.

    Fields without a default become required variables; `-S check.name=value` sets them by hand.
    The meaning, unit and range of each stand in the model (checks.common.registry).
    """
    names = tuple(field for field in model.model_fields if field not in RESOLVED)

    def fill(body: dict[str, Any]) -> None:
        body["knob_names"] = names
        for name in names:
            body[name] = _variable(model, name)

    return types.new_class(f"{model.__name__}Knobs", (rfm.RegressionTestPlugin,), exec_body=fill)


def _variable(model: type[BaseModel], name: str) -> Any:
    field = model.model_fields[name]
    if field.is_required():
        return variable(_plain_type(field.annotation))
    default = field.get_default(call_default_factory=True)
    return variable(type(default), value=default)


def _plain_type(annotation: Any) -> type:
    """The type of a field's values: of words and choices between words, that of the first."""
    origin = get_origin(annotation)
    if origin in (Literal, Union, types.UnionType):
        first = get_args(annotation)[0]
        return type(first) if origin is Literal else _plain_type(first)
    return origin or annotation
