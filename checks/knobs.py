# SPDX-License-Identifier: Apache-2.0
"""Turns a check's catalogued parameters into ReFrame variables, so that each is stated once."""

from __future__ import annotations

from typing import Any, get_origin

import reframe as rfm
from pydantic import BaseModel
from reframe.core.builtins import variable
from reframe.core.meta import make_test

#: Names that the check base class already has, in their resolved form.
RESOLVED = frozenset({"ranks", "ranks_per_node"})


def knobs_of(model: type[BaseModel]) -> type:
    """A ReFrame mixin with one typed variable for each field of `model`, and its default.

    Fields without a default become required variables; `-S check.name=value` sets them by hand.
    The meaning, unit and range of each stand in the model (checks.catalogue).
    """
    body: dict[str, Any] = {"knob_names": tuple(f for f in model.model_fields if f not in RESOLVED)}
    for name in body["knob_names"]:
        body[name] = _variable(model, name)
    return make_test(f"{model.__name__}Knobs", (rfm.RegressionMixin,), body)


def _variable(model: type[BaseModel], name: str) -> Any:  # noqa: ANN401
    field = model.model_fields[name]
    if field.is_required():
        return variable(get_origin(field.annotation) or field.annotation)
    default = field.get_default(call_default_factory=True)
    return variable(type(default), value=default)
