# SPDX-License-Identifier: Apache-2.0
"""Faults of files that people write, as messages: place, what was found, what is allowed."""

from __future__ import annotations

import difflib
import json
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from itertools import islice
from typing import Any

from pydantic import BaseModel, ValidationError

from assay.schema.document import Document, Location, Problem, clipped, parse
from records.errors import AssayError

MAX_SHOWN_PROBLEMS = 20

JsonSchema = dict[str, Any]


def checked(
    file: str, text: str, needs: str, problems_of: Callable[[Document], Iterable[Problem]]
) -> Document:
    """The value of a text, a mapping without problems.

    Raises AssayError for the first fault of the YAML, else with all problems of its value; `needs`
    says what the file must hold.
    """
    value = parse(file, text, needs)
    if not isinstance(value, Document):
        raise AssayError(f"{file}:1: found {found(value)}; {needs}")
    problems = [*islice(problems_of(value), MAX_SHOWN_PROBLEMS + 1)]
    if not problems:
        return value
    problems.sort(key=lambda problem: value.line_of(problem.location))
    texts = [f"{file}:{value.line_of(problem.location)}: {problem}" for problem in problems]
    if len(texts) > MAX_SHOWN_PROBLEMS:
        texts[MAX_SHOWN_PROBLEMS:] = [f"{file}: … and more, not shown; correct these first"]
    raise AssayError("\n".join(texts))


def one_of(value: str, allowed: Iterable[str], place: Location) -> Iterator[Problem]:
    """A problem when a word is none of those allowed."""
    allowed = sorted(set(allowed))
    if value not in allowed:
        hint = did_you_mean(value, allowed)
        yield Problem(place, f"found {found(value)}{hint}; allowed is {listed(allowed) or 'none'}")


def model_problems(
    error: ValidationError, model: type[BaseModel], value: object
) -> Iterator[Problem]:
    """Problems, one for each wrong place of `value`, which `model` refused with `error`."""
    schema = _json_schema(model)
    seen: set[Location] = set()
    for detail in error.errors(include_url=False):
        location = _existing(detail["loc"], value, missing=detail["type"] == "missing")
        if location not in seen:
            seen.add(location)
            yield Problem(location, _message(detail, location, schema))


@cache
def _json_schema(model: type[BaseModel]) -> JsonSchema:
    return model.model_json_schema(by_alias=True)


def did_you_mean(word: str, allowed: Iterable[str]) -> str:
    """The hint " (did you mean …?)" where an allowed word is close, else nothing."""
    close = difflib.get_close_matches(word[:100], list(allowed), n=1)
    return f" (did you mean {close[0]}?)" if close else ""


def found(value: object) -> str:
    """A value from a file and its kind, short enough for a message."""
    if value is None:
        return "nothing"
    if isinstance(value, dict):
        return f"a mapping of {len(value)} keys"
    if isinstance(value, list):
        return f"a list of {len(value)} values"
    kinds = {bool: "a switch", int: "an integer", float: "a number", str: "text"}
    if type(value) not in kinds:
        return "a value"
    return f"{clipped(json.dumps(value, ensure_ascii=False))} ({kinds[type(value)]})"


def listed(words: Iterable[str]) -> str:
    """Words with commas; at most thirty."""
    words = list(words)
    return ", ".join(words[:30]) + (", …" if len(words) > 30 else "")


def allowed_text(node: JsonSchema, schema: JsonSchema) -> str:
    """Text of what a place may hold, from its JSON Schema."""
    node = _resolved(node, schema)
    if options := node.get("anyOf") or node.get("oneOf"):
        texts = (allowed_text(o, schema) for o in options if o.get("type") != "null")
        return " or ".join(dict.fromkeys(texts))
    if "const" in node:
        return json.dumps(node["const"])
    if "enum" in node:
        return listed(str(word) for word in node["enum"])
    kind, most, keys = node.get("type", ""), node.get("maxLength"), node.get("properties")
    if "pattern" in node:
        return "a name of up to 64 small letters, digits and hyphens, not starting with a hyphen"
    words = {
        "integer": f"an integer{_range_text(node)}",
        "number": f"a number{_range_text(node)}",
        "string": f"text of 1 to {most} characters" if most else "text",
        "array": f"a list of at least {node['minItems']} value" if "minItems" in node else "a list",
        "object": f"a mapping with the keys {listed(keys)}" if keys else "a mapping",
        "boolean": "true or false",
    }
    return words.get(kind, "a value")


def _range_text(node: JsonSchema) -> str:
    least, most, above = (node.get(k) for k in ("minimum", "maximum", "exclusiveMinimum"))
    if least is not None and most is not None:
        return f" from {least} to {most}" if least != most else f" equal to {least}"
    texts = ((above, f"above {above}"), (least, f"of at least {least}"))
    parts = [text for limit, text in texts if limit is not None]
    parts += [] if most is None else [f"at most {most:g}"]
    return f" {' and '.join(parts)}" if parts else ""


#: What pydantic calls a bound that a value breaks.
_BOUNDS = {"le": "of at most", "lt": "below", "ge": "of at least", "gt": "above"}


def _message(detail: Any, location: Location, schema: JsonSchema) -> str:
    kind = detail["type"]
    if kind == "value_error":
        return str(detail["ctx"]["error"])
    if kind == "extra_forbidden":
        branches = _branches(_descend(location[:-1], schema, schema), schema)
        names = dict.fromkeys(name for one in branches for name in one.get("properties", {}))
        hint = did_you_mean(str(location[-1]), names)
        return f"unknown key{hint}; allowed are {listed(names)}"
    node = _descend(location, schema, schema)
    if kind == "missing":
        meaning = node.get("description", "")
        return f"is missing; allowed is {allowed_text(node, schema)}. {meaning}".strip()
    value = detail["input"]
    options = node.get("enum", [])
    hint = did_you_mean(value, map(str, options)) if isinstance(value, str) else ""
    number_for_text = kind == "string_type" and isinstance(value, bool | int | float)
    quotes = "; put it in quotes" if number_for_text else ""
    allowed = allowed_text(node, schema)
    if allowed == "a number":  # of another kind of the same key
        allowed += "".join(
            f" {_BOUNDS[k]} {v:g}" for k, v in detail.get("ctx", {}).items() if k in _BOUNDS
        )
    return f"found {found(value)}{hint}; allowed is {allowed}{quotes}"


def _existing(location: Location, value: object, *, missing: bool) -> Location:
    """The location without the names that the validator gives to the branches of a union.

    The last part of a `missing` location does not exist in the value.
    """
    kept: list[str | int] = []
    for i, part in enumerate(location):
        absent = missing and i == len(location) - 1
        if isinstance(value, dict) and (part in value or absent):
            kept.append(part)
            value = value.get(part)
        elif isinstance(value, list) and isinstance(part, int) and part < len(value):
            kept.append(part)
            value = value[part]
    return tuple(kept)


def _resolved(node: JsonSchema, schema: JsonSchema) -> JsonSchema:
    reference = node.get("$ref")
    if reference is None:
        return node
    target: JsonSchema = schema["$defs"][reference.rsplit("/", 1)[-1]]
    return target | {k: v for k, v in node.items() if k != "$ref"}


def _branches(node: JsonSchema, schema: JsonSchema) -> list[JsonSchema]:
    """A node and its alternatives."""
    return [
        _resolved(one, schema) for one in (node, *node.get("anyOf", ()), *node.get("oneOf", ()))
    ]


def _descend(location: Location, node: JsonSchema, schema: JsonSchema) -> JsonSchema:
    """Schema of a location below `node` of a JSON Schema; {} where it says nothing."""
    node = _resolved(node, schema)
    if not location:
        return node
    part, rest = location[0], location[1:]
    for option in _branches(node, schema):
        if isinstance(part, int) and "items" in option:
            return _descend(rest, option["items"], schema)
        if part in option.get("properties", {}):
            return _descend(rest, option["properties"][part], schema)
        if isinstance(option.get("additionalProperties"), dict):
            return _descend(rest, option["additionalProperties"], schema)
    return {}
