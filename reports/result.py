# SPDX-License-Identifier: Apache-2.0
"""A result is a value: what a verdict found, as every renderer shows it.

A verdict makes a `Result` and knows no format; a renderer (`reports/render`) takes one and knows no
verdict. A fact is worded where it is found and nowhere else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Generic, Literal, NamedTuple, TypeVar

from records.forms import Form
from reports.answers import Answer
from reports.notation.labels import Look
from reports.show.panel import Picture
from reports.show.tables import Table

#: How a word or a sentence is meant; the colour follows.
Tone = Literal["plain", "good", "open", "bad"]
#: Where a section is shown: on pages, in a short text (Markdown), on a terminal.
Medium = Literal["page", "text", "terminal"]
EVERYWHERE: frozenset[Medium] = frozenset({"page", "text", "terminal"})
ON_PAPER: frozenset[Medium] = frozenset({"page", "text"})
ON_PAGE: frozenset[Medium] = frozenset({"page"})
ON_TERMINAL: frozenset[Medium] = frozenset({"terminal"})

Data = TypeVar("Data", bound=Form)


@dataclass(frozen=True, slots=True)
class Badge:
    """A word that classifies what it is beside: a verdict, a state."""

    word: str
    tone: Tone = "plain"


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence; `href` leads to the rows behind it, `environment` is the one that it is of.

    `code` is a command or a path that follows it.
    """

    text: str
    href: str = ""
    tone: Tone = "plain"
    environment: str = ""
    badge: Badge | None = None
    code: str = ""


@dataclass(frozen=True, slots=True)
class Facts:
    """Names with their values, in order; `codes` are the names of those in a fixed-width font."""

    pairs: Sequence[tuple[str, str]]
    title: str = ""
    codes: frozenset[str] = frozenset()


def carried(devices: Mapping[str, str]) -> list[tuple[str, str]]:
    """Devices that carry the messages of environments, as a fact; none where nothing is known."""
    told = ", ".join(f"{name} {device}" for name, device in devices.items())
    return [("messages carried by", told)] if told else []


@dataclass(frozen=True)
class Section:
    """Blocks that belong together below a title; `make` gives them when a renderer needs them, None
    for what there is not.

    `note` explains the section below its title, `short` is the title in the contents. `folded`: a
    page shows the title alone until a reader opens it. `shown_on` are the media that have it.
    """

    anchor: str
    title: str
    make: Callable[[], Iterable[Block | None]]
    badge: Badge | None = None
    note: str = ""
    short: str = ""
    environment: str = ""
    folded: bool = False
    shown_on: frozenset[Medium] = ON_PAPER

    @cached_property
    def blocks(self) -> tuple[Block, ...]:
        """Its blocks, made once."""
        return tuple(block for block in self.make() if block is not None)


@dataclass(frozen=True, slots=True)
class FileText:
    """A file's text as it is, in a fixed-width font."""

    title: str
    note: str
    text: str


@dataclass(frozen=True, slots=True)
class Signing:
    """Statement that is signed, in a sentence, and who signs: role, organisation, name."""

    statement: str
    parties: Sequence[tuple[str, str, str]]


Block = Sentence | Facts | Table | Picture | Section | FileText | Signing


class Test(NamedTuple):
    """A test case as JUnit has it: `outcome` is "" for one that passed. A tuple, for a run may have
    half a million."""

    suite: str
    name: str
    outcome: Literal["", "failure", "error", "skipped"] = ""
    message: str = ""
    kind: str = ""
    output: str = ""


@dataclass(frozen=True, slots=True)
class Sample:
    """A gauge's value: name without prefix and unit, its help text, SI unit, labels."""

    name: str
    text: str
    value: float
    labels: Mapping[str, str]
    unit: str = ""


@dataclass(frozen=True, slots=True)
class SealMark:
    """The run or the contract that a document is of, the SHA-256 of what it says, and what it is
    called."""

    run: str
    digits: str
    what: str = "Run"


@dataclass(frozen=True)
class Result(Generic[Data]):
    """Result of a verdict.

    `kicker` says of what it is a result, `answer` is the one sentence with its state. `data` is the
    machine form. `sentences` say the same at more length, the most important first; `first` is what
    pages and texts show before all sections. `tests` and `samples` are made when a renderer needs
    them. `looks` are the environments' signs, `devices` what carries their messages. `dense`: it
    is printed in small type. The page of a result with a `seal` is a document: it has no script,
    and the seal on each printed page.
    """

    kicker: str
    title: str
    data: Data
    answer: Answer | None = None
    facts: Facts = Facts(())
    warnings: Sequence[str] = ()
    sentences: Sequence[Sentence] = ()
    first: Section | None = None
    sections: Sequence[Section] = ()
    looks: Mapping[str, Look] = field(default_factory=dict)
    devices: Mapping[str, str] = field(default_factory=dict)
    closing: str = ""
    dense: bool = False
    tests: Callable[[], Iterable[Test]] = tuple
    samples: Callable[[], Iterable[Sample]] = tuple
    seal: SealMark | None = None

    def sections_on(self, medium: Medium) -> list[Section]:
        """The sections that a medium shows."""
        return [section for section in self.sections if medium in section.shown_on]

    def pictures(self) -> list[Picture]:
        """All pictures of the pages, in order."""
        return [picture for section in self.sections for picture in _pictures(section)]


def _pictures(section: Section) -> Iterable[Picture]:
    for block in section.blocks:
        if isinstance(block, Section):
            yield from _pictures(block)
        elif isinstance(block, Picture):
            yield block
