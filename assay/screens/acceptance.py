# SPDX-License-Identifier: Apache-2.0
"""An acceptance, for people: the answer, what is named and open, a line a criterion, the files."""

from __future__ import annotations

from assay.screens.answer import show_answer, show_rest
from assay.screens.screen import Screen, Tone
from reports.acceptance import store
from reports.acceptance.dossier import FOLDER, Dossier
from reports.acceptance.wording import bound_text, limit_words, sentences
from reports.answers import AnswerPart

TONES: dict[str, Tone] = {"PASS": "good", "FAIL": "bad", "SUSPECT": "open", "INCONCLUSIVE": "open"}


def show_acceptance(screen: Screen, answer: AnswerPart, dossier: Dossier) -> None:
    """The last screen of `assay accept`."""
    show_answer(screen, answer)
    show_rest(screen, answer)
    screen.blank()
    screen.line((dossier.criteria.title, "head"))
    for sentence in sentences(dossier):
        screen.line(sentence.text, indent=2, hang=2)
    screen.blank()
    for result in dossier.judgement.criteria:
        item = result.most_telling()
        waived = " (waived)" if result.verdict != result.effective else ""
        verdict = (f"{result.verdict}{waived} ", TONES[result.verdict])
        screen.line(verdict, f" {result.id}: {result.title}", hang=13)
        if item is None:
            screen.line(result.note, indent=13, hang=2)
        elif result.kind != "answers":
            told = f"{item.subject}, {item.environment}: {bound_text(item)} (limit"
            told = f"{told} {limit_words(item)}, n = {item.bounds.n}) {item.note}"
            screen.line(told, indent=13, hang=2)
    screen.blank()
    folder = dossier.run.directory / FOLDER
    for name in (store.DOCUMENT, store.PRINT, store.MACHINE, store.RERUN):
        if (folder / name).is_file():
            screen.line(str(folder / name), indent=2)
