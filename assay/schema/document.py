# SPDX-License-Identifier: Apache-2.0
"""A YAML file that people write, read into plain values with the line of every key.

Accepted are one document, mappings with distinct words as keys, lists, and scalars by the rules of
YAML 1.2. Tags, anchors, aliases and merge keys are refused before any value is made of them.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

import yaml

from records.errors import AssayError

MAX_FILE_BYTES = 2**20
MAX_DEPTH = 20
MAX_INTEGER_DIGITS = 30

Location = tuple[str | int, ...]

_INTEGER = re.compile(r"[-+]?(0|[1-9][0-9]*)")
_NUMBER = re.compile(r"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?")
_NULLS = {"", "~", "null", "Null", "NULL"}
#: Unicode categories that a terminal executes or hides: control, format, surrogate.
_HIDDEN = {"Cc", "Cf", "Cs"}
_YAML = "tag:yaml.org,2002:"


def clipped(text: str, width: int = 60) -> str:
    """A text from a file, short enough to stand in a message."""
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
        raise AssayError(
            f"{path}:{line}: is not UTF-8 text (byte 0x{content[error.start]:02x} at offset"
            f" {error.start}); save it as UTF-8"
        ) from None


@dataclass(frozen=True)
class Problem:
    """One fault, at a place of a document."""

    location: Location
    message: str


@dataclass
class Document:
    """The plain value of a file, the line (from 1) of every place, and what the reader refused."""

    file: str
    value: object = None
    lines: dict[Location, int] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)

    def line(self, location: Location) -> int:
        """The line of a place, or of the nearest place around it."""
        while location and location not in self.lines:
            location = location[:-1]
        return self.lines.get(location, 1)


class _Refused(Exception):  # noqa: N818 - not an error of the program
    """The file holds YAML that is not accepted; `line` counts from 1."""

    def __init__(self, line: int, message: str) -> None:
        super().__init__(message)
        self.line = line


class _Loader(yaml.SafeLoader):
    """Composes nodes; refuses tags, references and deep nesting."""

    depth = 0

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        event = self.peek_event()  # type: ignore[no-untyped-call]
        line = event.start_mark.line + 1
        anchor = getattr(event, "anchor", None)
        if isinstance(event, yaml.AliasEvent):
            raise _Refused(line, f"the alias *{clipped(str(anchor))} is not allowed; write it out")
        if anchor is not None:
            raise _Refused(line, f"the anchor &{clipped(anchor)} is not allowed; write it out")
        tag = getattr(event, "tag", None)
        if tag is not None:
            shown = clipped(str(tag).replace(_YAML, "!!"))
            raise _Refused(line, f"the tag {shown} is not allowed; write a plain value")
        if self.depth >= MAX_DEPTH:
            raise _Refused(line, f"nested more than {MAX_DEPTH} deep; about 6 are needed")
        self.depth += 1
        node = super().compose_node(parent, index)
        self.depth -= 1
        return node


def parse(file: str, text: str, needs: str) -> Document:
    """Read a text; `file` is its name for messages, `needs` tells what an empty file lacks.

    Raises AssayError for a text that is not YAML of the accepted kind; faults that leave the rest
    readable (a key twice, an unquoted `no`) are gathered in `problems`.
    """
    document = Document(file)
    try:
        loader = _Loader(text)
        node: yaml.Node | None = loader.get_single_node()
    except _Refused as refused:
        raise AssayError(f"{file}:{refused.line}: {refused}") from None
    except yaml.YAMLError as error:
        raise AssayError(_syntax_message(file, text, error)) from None
    except (ValueError, OverflowError):  # an escape as \U00110000, a version of 5000 digits
        raise AssayError(
            f"{file}:{loader.line + 1}: holds an escape or a number that stands for nothing;"
            " allowed are escapes up to \\U0010FFFF"
        ) from None
    if node is None:
        raise AssayError(f"{file}: is empty; {needs}")
    document.value = _Reader(document).value(node, ())
    return document


def _syntax_message(file: str, text: str, error: yaml.YAMLError) -> str:
    if isinstance(error, yaml.reader.ReaderError):
        line = text.count("\n", 0, int(error.position)) + 1
        code = error.character if isinstance(error.character, int) else ord(error.character)
        return f"{file}:{line}: the character U+{code:04X} is not allowed in YAML; remove it"
    mark = getattr(error, "problem_mark", None)
    line = mark.line + 1 if mark is not None else 1
    problem = getattr(error, "problem", None) or "cannot be read"
    if "document" in str(getattr(error, "context", None)):
        return f"{file}:{line}: holds more than one document; allowed is one: remove the ---"
    return f"{file}:{line}: is not valid YAML: {problem}"


class _Reader:
    """Turns nodes into values; notes their lines and gathers their faults."""

    def __init__(self, document: Document) -> None:
        self.document = document

    def refuse(self, location: Location, message: str) -> None:
        self.document.problems.append(Problem(location, message))

    def value(self, node: yaml.Node, location: Location) -> object:
        self.document.lines.setdefault(location, node.start_mark.line + 1)
        if isinstance(node, yaml.MappingNode):
            return dict(self.entries(node, location))
        if isinstance(node, yaml.SequenceNode):
            return [self.value(item, (*location, i)) for i, item in enumerate(node.value)]
        return self.scalar(cast(yaml.ScalarNode, node), location)

    def entries(self, node: yaml.MappingNode, location: Location) -> Iterator[tuple[str, object]]:
        first_lines: dict[str, int] = {}
        for key_node, value_node in node.value:
            line = key_node.start_mark.line + 1
            key = self.key(key_node, location)
            if key is None:
                continue
            if key in first_lines:
                self.document.lines.setdefault((*location, key, "again"), line)
                self.refuse(
                    (*location, key, "again"),
                    f"the key {clipped(key)} is already given in line {first_lines[key]}; keep one",
                )
                continue
            first_lines[key] = line
            self.document.lines[(*location, key)] = line
            yield key, self.value(value_node, (*location, key))

    def key(self, node: yaml.Node, location: Location) -> str | None:
        """A key's text, or None when it was refused."""
        place = (*location, f"line {node.start_mark.line + 1}")
        self.document.lines[place] = node.start_mark.line + 1
        if not isinstance(node, yaml.ScalarNode):
            self.refuse(place, "a key is a mapping or a list; allowed are words")
            return None
        if node.value == "<<" and node.style is None:
            self.refuse(place, "the merge key << is not allowed; write the keys out")
            return None
        key = self.scalar(node, place)
        if key is _REFUSED or isinstance(key, str):
            return key if isinstance(key, str) else None
        self.refuse(
            place, f"the key {clipped(node.value or 'null')} is not a word; put it in quotes"
        )
        return None

    def scalar(self, node: yaml.ScalarNode, location: Location) -> object:
        if node.style is not None:
            return self.string(node.value, location)
        value = _plain(node)
        if isinstance(value, _Unreadable):
            self.refuse(location, value.message)
            return _REFUSED
        return self.string(value, location) if isinstance(value, str) else value

    def string(self, text: str, location: Location) -> object:
        for character in text:
            if unicodedata.category(character) in _HIDDEN and character not in "\n\t":
                self.refuse(
                    location, f"holds the hidden character U+{ord(character):04X}; remove it"
                )
                return _REFUSED
        return text


@dataclass(frozen=True)
class _Unreadable:
    message: str


#: Stands for a refused value: its place exists, but is not validated again.
_REFUSED = object()


def _plain(node: yaml.ScalarNode) -> object:
    """The value of an unquoted scalar: null, boolean, number, else its text."""
    text: str = node.value
    if text in _NULLS:
        return None
    if text.lower() in {"true", "false"} and text in {text.lower(), text.title(), text.upper()}:
        return text.lower() == "true"
    if node.tag == _YAML + "bool":
        meant = "true" if text.lower() in {"yes", "on"} else "false"
        return _Unreadable(
            f'found an unquoted {text}, which YAML reads as {meant}; write "{text}" in quotes'
            f" for a word, or {meant}"
        )
    if node.tag in {_YAML + "int", _YAML + "float"} or _NUMBER.fullmatch(text):
        return _number(text)
    return text


def _number(text: str) -> object:
    shown = clipped(text)
    if _INTEGER.fullmatch(text):
        if len(text) > MAX_INTEGER_DIGITS:
            return _Unreadable(f"found {shown}, an integer of {len(text)} digits; that is too many")
        return int(text)
    if not _NUMBER.fullmatch(text) or re.fullmatch(r"[-+]?0[0-9]+", text):
        return _Unreadable(
            f"found {shown}; allowed are finite decimal numbers such as 4800, 0.5 or 1e9,"
            " and quotes around a word"
        )
    value = float(text)
    return value if math.isfinite(value) else _Unreadable(f"found {shown}, too large a number")
