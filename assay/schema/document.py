# SPDX-License-Identifier: Apache-2.0
"""A YAML file that people write, as plain values, with the line of each key.

Accepted are one document, mappings with distinct words as keys, lists, and scalars by the rules of
YAML 1.2. Tags, anchors, aliases and merge keys are refused before any value is made of them.
"""

from __future__ import annotations

import math
import re
import unicodedata
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn, cast

import yaml

from records.errors import AssayError

MAX_FILE_BYTES = 2**20
MAX_DEPTH = 20
MAX_INTEGER_DIGITS = 30

Location = tuple[str | int, ...]

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
