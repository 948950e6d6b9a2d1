# SPDX-License-Identifier: Apache-2.0
"""The answer: a state, one sentence, what is not known, the command that comes next."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Annotated, Literal

from records.forms import Part, key
from reports.commands import NOTHING, NextCommand

#: Words of a headline, by construction, as separated by spaces.
HEADLINE_WORDS = 20

#: What an answer is shown in: green, amber, red, or no colour.
Colour = Literal["good", "warn", "bad", "plain"]


class State(Enum):
    """The plain word of a state, and the class of its colour."""

    DECIDED = "decided", "good"
    OPEN = "open", "warn"
    UNFINISHED = "not finished", "warn"
    MEASURED = "measured", "plain"
    EMPTY = "nothing run yet", "plain"
    FAILED = "failed", "bad"
    PASS = "PASS", "good"
    INCONCLUSIVE = "INCONCLUSIVE", "warn"
    SUSPECT = "SUSPECT", "warn"
    FAIL = "FAIL", "bad"
    LEARNING = "LEARNING", "plain"

    @property
    def word(self) -> str:
        """The text of the badge; it says everything that the colour does."""
        return self.value[0]

    @property
    def colour(self) -> Colour:
        """The class of the colour."""
        return self.value[1]


class AnswerPart(Part):
    """The answer, the same on pages, on the terminal and in machine forms."""

    state: Annotated[
        str, key("The state: decided, open, unfinished, measured, empty, failed, pass, …")
    ]
    word: Annotated[str, key("The state in a word for people.")]
    colour: Annotated[Colour, key("The colour class of the state.")]
    sentence: Annotated[str, key("The answer, at most twenty words.")]
    unknown: Annotated[str, key("Statement of what is not known and why; empty: nothing.")]
    command: Annotated[str, key("The command that comes next; empty: none.")]
    details: Annotated[list[str], key("Further sentences, the most important first.")]


@dataclass(frozen=True, slots=True)
class Answer:
    """`sentence`: the answer, with the number that carries it. `unknown`: one line, what is not
    known and why. `command`: what comes next, "" where nothing does. `details`: further sentences,
    the most important first.
    """

    state: State
    sentence: str
    unknown: str = ""
    command: NextCommand = NOTHING
    details: tuple[str, ...] = ()

    @property
    def part(self) -> AnswerPart:
        """The answer in a machine form."""
        state = self.state
        return AnswerPart.filled(
            self, state=state.name.lower(), word=state.word, colour=state.colour
        )


def listed(names: Sequence[str], most: int = 4, last: str = "and") -> str:
    """ "a, b and c"; of more than `most` names "a, b and 3 others"."""
    shown = list(names)
    if len(shown) > most:
        shown = [*shown[: most - 1], f"{len(shown) - most + 1} others"]
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} {last} {shown[-1]}"


def clipped(text: str, most: int) -> str:
    """A text of at most `most` words."""
    words = text.split()
    return " ".join(words if len(words) <= most else [*words[: most - 1], "…"])
