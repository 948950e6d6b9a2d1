# SPDX-License-Identifier: Apache-2.0
"""The answer: a state, one sentence, what is not known, the command that comes next."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any, Literal

#: The greatest number of words of a sentence, as separated by spaces.
MOST_WORDS = 30

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
        """What stands in the badge; it says everything that the colour does."""
        return self.value[0]

    @property
    def colour(self) -> Colour:
        """The class of the colour."""
        return self.value[1]


@dataclass(frozen=True, slots=True)
class Answer:
    """`sentence`: the answer, with the number that carries it. `unknown`: one line, what is not
    known and why. `command`: what comes next, "" where nothing does. `details`: further sentences,
    the most important first.
    """

    state: State
    sentence: str
    unknown: str = ""
    command: str = ""
    details: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """The answer for machines."""
        return {
            "state": self.state.name.lower(),
            "word": self.state.word,
            "colour": self.state.colour,
            "sentence": self.sentence,
            "unknown": self.unknown,
            "command": self.command,
            "details": list(self.details),
        }


def fitting(*variants: str) -> str:
    """The first variant of at most `MOST_WORDS` words; of the last one so many."""
    for text in variants:
        if len(text.split()) <= MOST_WORDS:
            return text
    return " ".join([*variants[-1].split()[: MOST_WORDS - 1], "…"])
