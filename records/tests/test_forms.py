# SPDX-License-Identifier: Apache-2.0
"""A key is written once: its bytes, its JSON Schema and its row in docs follow from one field."""

from dataclasses import dataclass
from typing import Annotated, Any

import jsonschema
import msgspec
import numpy as np
import pytest

from records.forms import Form, Part, as_bytes, as_text, json_schema, key, key_table


@dataclass
class Launch:
    block: Any
    seconds: Any
    extra: str = ""


class LaunchPart(Part):
    block: Annotated[int, key("Its block.")]
    seconds: Annotated[float | None, key("How long it took, s.")]


class RunForm(Form, kw_only=True):
    schema: Annotated[int, key("The version of this form.")] = 3
    launches: Annotated[list[LaunchPart], key("Every launch.")]
    note: Annotated[str | msgspec.UnsetType, key("A remark.")] = msgspec.UNSET


class Longer(LaunchPart):
    extra: Annotated[str, key("What is new.")]


class LongerForm(Form, kw_only=True):
    launches: Annotated[list[Longer], key("Every launch.")]


def test_a_new_field_is_in_the_bytes_the_schema_and_the_table_without_another_line() -> None:
    form = LongerForm(launches=[Longer.filled(Launch(1, 2.5, "x"))])
    assert as_bytes(form) == b'{"schema":1,"launches":[{"block":1,"seconds":2.5,"extra":"x"}]}'
    schema = json_schema(LongerForm, "run")
    assert schema["$defs"]["Longer"]["properties"]["extra"]["description"] == "What is new."
    assert "| `launches[].extra` | What is new |" in key_table(schema)


def test_bytes_keep_to_the_schema_and_its_version() -> None:
    form = RunForm(launches=[LaunchPart(1, float("nan"))])
    schema = json_schema(RunForm, "run")
    found = msgspec.json.decode(as_text(form))
    jsonschema.Draft202012Validator(schema).validate(found)
    assert found == {"schema": 3, "launches": [{"block": 1, "seconds": None}]}
    assert schema["properties"]["schema"]["const"] == 3
    assert schema["required"] == ["schema", "launches"]
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(found | {"schema": 2}, schema)


def test_values_of_numpy_are_taken_and_other_types_are_not() -> None:
    part = LaunchPart.filled(Launch(np.int64(2), np.float64(0.5)))
    assert as_bytes(part) == b'{"block":2,"seconds":0.5}'
    with pytest.raises(msgspec.ValidationError, match="seconds"):
        LaunchPart.filled(Launch(1, "fast"))
    with pytest.raises(TypeError, match="no form in JSON"):
        as_bytes({"at": object()})
