# SPDX-License-Identifier: Apache-2.0
"""Asks the person at the terminal, with a guess as the default; or takes the guesses."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable

from assay.terminal import say
from records.errors import AssayError

#: What is wrong with an answer, and what is allowed; None for a right one.
Fault = Callable[[str], str | None]


class Questions:
    """Answers of a person, or with `guess` the defaults."""

    def __init__(self, *, guess: bool) -> None:
        if not guess and not sys.stdin.isatty():
            raise AssayError(
                "assay site init asks questions, and standard input is no terminal; say --yes to"
                " take its guesses"
            )
        self._guess = guess

    def text(self, question: str, guess: str, fault: Fault = lambda _: None) -> str:
        """A word; an empty answer is the guess, one with a fault is asked for again."""
        if self._guess:
            return guess
        while True:
            try:
                answer = input(f"{question} [{guess}]: ").strip() or guess
            except EOFError:
                raise AssayError("no answer: the input ended; nothing was written") from None
            told = fault(answer)
            if told is None:
                return answer
            say(f"  {told}")

    def several(self, question: str, offered: Iterable[str], guess: Iterable[str]) -> list[str]:
        """Some of what is offered, by names with blanks or commas between."""
        known = list(offered)

        def fault(answer: str) -> str | None:
            odd = [word for word in _words(answer) if word not in known]
            if not odd and _words(answer):
                return None
            return f"found {odd[0] if odd else 'none'}; allowed are {', '.join(known)}"

        return _words(self.text(f"{question} (of {' '.join(known)})", " ".join(guess), fault))

    def yes(self, question: str, *, guess: bool) -> bool:
        """Yes or no."""

        def fault(answer: str) -> str | None:
            known = ("yes", "y", "no", "n")
            return None if answer.lower() in known else f"found {answer}; allowed are yes and no"

        return self.text(question, "yes" if guess else "no", fault).lower() in ("y", "yes")


def _words(answer: str) -> list[str]:
    return list(dict.fromkeys(answer.replace(",", " ").split()))
