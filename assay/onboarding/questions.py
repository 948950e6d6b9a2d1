# SPDX-License-Identifier: Apache-2.0
"""Asks the person at the terminal, with a guess as the default; or takes the guesses."""

from __future__ import annotations

import sys
from collections.abc import Iterable

from records.errors import AssayError


class Questions:
    """Answers of a person, or with `guess` the defaults."""

    def __init__(self, *, guess: bool) -> None:
        if not guess and not sys.stdin.isatty():
            raise AssayError(
                "assay site init asks questions, and standard input is no terminal; say --yes to"
                " take its guesses"
            )
        self._guess = guess

    def text(self, question: str, guess: str) -> str:
        """A word; an empty answer is the guess."""
        if self._guess:
            return guess
        try:
            return input(f"{question} [{guess}]: ").strip() or guess
        except EOFError:
            raise AssayError("no answer: the input ended; nothing was written") from None

    def several(self, question: str, offered: Iterable[str], guess: Iterable[str]) -> list[str]:
        """Some of what is offered, by names with blanks or commas between."""
        known, default = list(offered), " ".join(guess)
        while True:
            said = self.text(f"{question} (of {' '.join(known)})", default)
            words = said.replace(",", " ").split()
            odd = [word for word in words if word not in known]
            if words and not odd:
                return list(dict.fromkeys(words))
            print(f"{odd[0] if odd else 'nothing'} is none of them")

    def yes(self, question: str, *, guess: bool) -> bool:
        """Yes or no."""
        return self.text(question, "yes" if guess else "no").lower() in ("y", "yes")
