# SPDX-License-Identifier: Apache-2.0
"""A YAML file that people write: plain values, the line of each key, faults as messages that say
place, what was found and what is allowed.

Accepted are one document, mappings with distinct words as keys, lists, and scalars by the rules of
YAML 1.2. Tags, anchors, aliases and merge keys are refused before any value is made of them.
"""

import difflib
import json
import math
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any, NoReturn, cast

import yaml
from pydantic import BaseModel, ValidationError

from records.errors import AssayError

MAX_FILE_BYTES = 2**20
MAX_DEPTH = 20
MAX_INTEGER_DIGITS = 30
MAX_SHOWN_PROBLEMS = 20

Location = tuple[str | int, ...]
JsonSchema = dict[str, Any]

_INTEGER = re.compile(r"[-+]?(0|[1-9][0-9]*)")
_NUMBER = re.compile(r"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?")
_LEADING_ZERO = re.compile(r"[-+]?0[0-9]+")
_WORDS = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
#: Unicode categories that a terminal executes or hides: control, format, surrogate.
_HIDDEN = {"Cc", "Cf", "Cs"}
_YAML = "tag:yaml.org,2002:"
_PLAIN_TAGS = {f"{_YAML}{kind}" for kind in ("str", "seq", "map")}
_TOO_DEEP = f"nested more than {MAX_DEPTH} deep; about 6 are needed"


def clipped(text: str, width: int = 60) -> str:
    """A text from a file, short enough for a message."""
    return text if len(text) <= width else text[: width - 1] + "…"


def read_text(path: Path) -> str:
    """The text of a file that people write, at most MAX_FILE_BYTES of UTF-8."""
    try:
        with path.open("rb") as file:
            content = file.read(MAX_FILE_BYTES + 1)
    except OSError as error:
        raise AssayError(
            f"{path}: cannot be read ({error.strerror}); check the file and its permissions"
        ) from None
    if len(content) > MAX_FILE_BYTES:
        raise AssayError(f"{path}: is larger than {MAX_FILE_BYTES} bytes; shorten or split it")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        byte = f"byte 0x{content[error.start]:02x} at offset {error.start}"
        raise AssayError(f"{path}:{line}: is not UTF-8 text ({byte}); save it as UTF-8") from None


@dataclass(frozen=True)
class Problem:
    """Fault of the value at a location."""

    location: Location
    message: str

    def __str__(self) -> str:
        # As people write a place: cases[0].fixed.nb
        parts = (f"[{p}]" if isinstance(p, int) else f".{clipped(p)}" for p in self.location)
        where = "".join(parts).removeprefix(".")
        return f"{where}{': ' * bool(where)}{self.message}"


class Document(dict[str, Any]):
    """The mapping of a file; `lines`: where each key and each value of a list is written."""

    def __init__(self, value: dict[str, Any], lines: dict[Location, int]) -> None:
        super().__init__(value)
        self.lines = lines

    def nearest(self, location: Location) -> Location:
        """The location, or what is around it of what the file lacks."""
        while location not in self.lines:
            location = location[:-1]
        return location

    def line_of(self, location: Location) -> int:
        """The line of a location, from 1."""
        return self.lines[self.nearest(location)]


def parse(file: str, text: str, needs: str) -> object:
    """The value of a text, a mapping as a Document; `file` is its name for messages, `needs` states
    what an empty file lacks. Raises AssayError for a text that is not YAML of the accepted kind."""
    try:
        loader = yaml.BaseLoader(text)
        node: yaml.Node | None = loader.get_single_node()
    except yaml.YAMLError as error:
        raise AssayError(_syntax_message(file, text, error)) from None
    except RecursionError:
        raise AssayError(f"{file}:1: {_TOO_DEEP}") from None
    except (ValueError, OverflowError):  # an escape as \U00110000, a version of 5000 digits
        raise AssayError(
            f"{file}:{loader.line + 1}: holds an escape or a number without a value;"
            " allowed are escapes up to \\U0010FFFF"
        ) from None
    if node is None:
        raise AssayError(f"{file}: is empty; {needs}")
    lines = dict[Location, int]()
    value = _Values(file, lines).of(node, ())
    return Document(value, lines) if isinstance(value, dict) else value


def _syntax_message(file: str, text: str, error: yaml.YAMLError) -> str:
    if isinstance(error, yaml.reader.ReaderError):
        line = text.count("\n", 0, int(error.position)) + 1
        code = error.character if isinstance(error.character, int) else ord(error.character)
        return f"{file}:{line}: the character U+{code:04X} is not allowed in YAML; remove it"
    mark = getattr(error, "problem_mark", None)
    line = mark.line + 1 if mark is not None else 1
    if "document" in str(getattr(error, "context", None)):
        return f"{file}:{line}: holds more than one document; allowed is one: remove the ---"
    problem = getattr(error, "problem", None) or "cannot be read"
    return f"{file}:{line}: is not valid YAML: {problem}"


class _Values:
    """Values of nodes; `lines` takes theirs. Raises AssayError for the first that is refused."""

    def __init__(self, file: str, lines: dict[Location, int]) -> None:
        self._file, self._lines, self._seen = file, lines, set[int]()

    def of(self, node: yaml.Node, location: Location) -> object:
        """The value of a node."""
        self._lines.setdefault(location, node.start_mark.line + 1)
        if len(location) >= MAX_DEPTH:
            self._refuse(node, (), _TOO_DEEP)
        if node.tag not in _PLAIN_TAGS:
            tag = clipped(node.tag.replace(_YAML, "!!"))
            self._refuse(node, location, f"the tag {tag} is not allowed; write a plain value")
        if id(node) in self._seen:
            self._refuse(node, location, "an alias (*NAME) is not allowed; write it out")
        self._seen.add(id(node))
        if isinstance(node, yaml.SequenceNode):
            return [self.of(inner, (*location, i)) for i, inner in enumerate(node.value)]
        if not isinstance(node, yaml.MappingNode):
            return self._scalar(cast(yaml.ScalarNode, node), location)
        value = dict[str, object]()
        for key_node, inner in node.value:
            key = self._key(key_node, location)
            inside, line = (*location, key), key_node.start_mark.line + 1
            if key in value:
                first = self._lines[inside]
                text = f"the key {clipped(key)} is already given in line {first}; keep one"
                self._refuse(key_node, inside, text)
            self._lines[inside] = line
            value[key] = self.of(inner, inside)
        return value

    def _key(self, node: yaml.Node, location: Location) -> str:
        if not isinstance(node, yaml.ScalarNode):
            self._refuse(node, location, "a key is a mapping or a list; allowed are words")
        if node.value == "<<" and node.style is None:
            self._refuse(node, location, "the merge key << is not allowed; write the keys out")
        key = self._scalar(node, location)
        if not isinstance(key, str):
            shown = clipped(node.value or "null")
            self._refuse(node, location, f"the key {shown} is not a word; put it in quotes")
        return key

    def _scalar(self, node: yaml.ScalarNode, location: Location) -> object:
        value = _plain(node.value) if node.style is None else node.value
        for character in value if isinstance(value, str) else "":
            if unicodedata.category(character) in _HIDDEN and character not in "\n\t":
                text = f"holds the hidden character U+{ord(character):04X}; remove it"
                self._refuse(node, location, text)
        return value

    def _refuse(self, node: yaml.Node, location: Location, text: str) -> NoReturn:
        raise AssayError(f"{self._file}:{node.start_mark.line + 1}: {Problem(location, text)}")


def _plain(text: str) -> object:
    """The value of an unquoted scalar by YAML 1.2: null, boolean, finite decimal number, else its
    text."""
    if text in _WORDS:
        return _WORDS[text]
    if _INTEGER.fullmatch(text):
        return int(text) if len(text) <= MAX_INTEGER_DIGITS else text
    real = _NUMBER.fullmatch(text) and not _LEADING_ZERO.fullmatch(text)
    return float(text) if real and math.isfinite(float(text)) else text


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
