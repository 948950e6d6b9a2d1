# SPDX-License-Identifier: Apache-2.0
"""The HTML page: nothing loaded, complete without its one script; all text is escaped."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from markupsafe import Markup

from reports.analysis import Analysis
from reports.answer.run import answer_of
from reports.checks.sections import CheckPart
from reports.choice.compare import Comparisons
from reports.notation.palette import Look
from reports.notation.units import count_text, level_text, moment_text
from reports.render.page import render_page
from reports.show import listings
from reports.show.choice.pictures import factors_picture, forest, score_picture
from reports.show.choice.sentences import Sentence
from reports.show.choice.tables import choice_tables, comparison_tables
from reports.show.headline import headline_table
from reports.show.invalid import invalid_picture, invalid_table
from reports.show.panel import Picture
from reports.show.tables import Table, slug
from reports.write.content import Content
from reports.write.pieces import (
    INDEX,
    MOST_BESIDE,
    MOST_BYTES,
    MOST_PART,
    Part,
    Piece,
    Sheet,
    laid_out,
)
from reports.write.summary import check_sentences, launches_text, summary_sentences

#: Panels of a check's first picture that stand in the page itself.
MOST_SHOWN = 2
#: The tables of the places and of what decides them, in sight up to so many rows.
_PLACES, MOST_ROWS = ("table-score", "table-score-pairs"), 15
#: A page beside with more parts than these has no contents of its own.
MOST_NAMED = 40
#: Files of values that a page leads to where they are written.
_DATA = ("summary.csv", "values.parquet", "junit.xml", "verdicts.json")


@dataclass(frozen=True)
class CheckShown:
    """What the page says of one check; `picture` and `rest` mark where their pieces stand."""

    anchor: str
    title: str
    sentences: list[Sentence]
    headline: Table | None
    picture: Markup
    rest: Markup


class Pieces:
    """The pieces of a page, rendered as they are added; `data` are files of values beside it."""

    def __init__(self, looks: Mapping[str, Look], data: Sequence[str]) -> None:
        self.made: list[Piece] = []
        self._looks, self._data = looks, data
        self._rendered_items = 0

    def add(
        self,
        name: str,
        title: str,
        *,
        page: str = "",
        pictures: Sequence[Picture] = (),
        tables: Sequence[Table] = (),
        shown: bool = False,
        **further: Sequence[Any],
    ) -> Markup:
        """Render a piece and give the mark of its place; "" where there is nothing in it."""
        content = {"conditions": (), "pictures": pictures, "tables": tables, **further}
        told = [
            count_text(len(content[key]), noun) for key, noun in _NOUNS.items() if content.get(key)
        ]
        if not told:
            return Markup()
        parts = [
            part
            for kind, items in content.items()
            for item in items
            for part in self._parts(f"{name}-{kind}", kind, item)
        ]
        piece = Piece(name, page or name, title, ", ".join(told), parts, shown)
        self.made.append(piece)
        return piece.mark

    def _parts(self, name: str, kind: str, item: Any) -> Iterator[Part]:
        """An item rendered; a long table or picture in several parts."""
        body = self._rendered(name, kind, item)
        count = -(-len(body.encode()) // MOST_PART)
        if count == 1 or not isinstance(item, Table | Picture):
            yield Part(*_NAMES[kind](item), body)
            return
        for part in item.in_parts(count):
            yield Part(*_NAMES[kind](part), self._rendered(name, kind, part))

    def _rendered(self, name: str, kind: str, item: Any) -> str:
        self._rendered_items += 1
        content = {"kind": kind, "item": item, "data": self._data}
        ids = f"{name}-{self._rendered_items}-"
        return render_page("pieces.html.j2", self._looks, content, ids)


#: Id and title of what a piece is made of.
_NAMES: dict[str, Callable[[Any], tuple[str, str]]] = {
    "conditions": lambda _: ("", ""),
    "pictures": lambda item: (item.anchor, item.title),
    "tables": lambda item: (item.anchor, item.title),
    "provenance": lambda item: ("", item[0]),
    "evidence": lambda item: (item.anchor, item.label),
}
#: What a piece is made of, as it is counted.
_NOUNS = {"pictures": "picture", "tables": "table", "provenance": "part", "evidence": "case"}


def render_pages(content: Content) -> dict[str, str]:
    """The page of a run as index.html, and the pages of what would make it too long."""
    analysis = content.analysis
    data = [name for name in _DATA if name in content.files]
    pieces = Pieces(analysis.looks, data)
    # In this order the pieces lie in the pages beside.
    checks = [_check(analysis, part, pieces) for part in content.parts]
    choice, launches = _choice(analysis, pieces), _launches(content, pieces)
    compared, invalid = _compared(analysis, pieces), _invalid(content, pieces)
    closing = _provenance(content, pieces)
    found = {
        "run": analysis.run,
        "answer": answer_of(analysis),
        "data": data,
        "files": [name for name in content.files if name != INDEX],
        "warnings": content.warnings,
        "sentences": summary_sentences(analysis),
        "sections": _contents(
            content, choice=bool(choice["choice"]), invalid=invalid["invalid"] is not None
        ),
        "study": content.study,
        "root": content.root,
        "checks": checks,
        **choice,
        **launches,
        **compared,
        **invalid,
        **closing,
    }
    page = render_page("report.html.j2", analysis.looks, found)

    def cover(sheet: Sheet) -> str:
        return _page_beside(analysis, sheet, data)

    made, root = pieces.made, content.root
    return laid_out(page, made, cover, root, MOST_BYTES, most_beside=MOST_BESIDE, data=data)


def _choice(analysis: Analysis, pieces: Pieces) -> dict[str, Any]:
    """Which environment is best: its place, its score, and how they came about."""
    factors, effects = factors_picture(analysis), forest(analysis)
    score_panel = score_picture(analysis)
    tables = choice_tables(analysis)
    places = [table for table in tables if table.anchor in _PLACES and len(table.rows) <= MOST_ROWS]
    return {
        "score_panel": score_panel,
        "factors": factors,
        "choice": tables,
        "places": places,
        "choice_rest": pieces.add(
            "choice-more",
            "How the places came about",
            page="choice",
            pictures=[effects] if effects else [],
            tables=[table for table in tables if table not in places],
        ),
    }


def _launches(content: Content, pieces: Pieces) -> dict[str, Any]:
    """How the launches ended, and each that is not ok."""
    analysis = content.analysis
    bad = listings.bad_launches_table(analysis, content.links)
    return {
        "counted": launches_text(analysis),
        "reasons": listings.reasons_table(analysis, content.links),
        "holes": len(analysis.holes),
        "launches_rest": pieces.add(
            "launches-more",
            "Every launch that is not ok, and counts by check",
            page="launches",
            tables=_there(bad, listings.holes_table(analysis), listings.status_table(analysis)),
        ),
    }


def _compared(analysis: Analysis, pieces: Pieces) -> dict[str, Any]:
    """The environments beside each other, and what so many blocks can resolve."""
    comparisons, tables = analysis.comparisons, comparison_tables(analysis)
    return {
        "compared": tables,
        "comparison_rest": pieces.add(
            "comparisons", "Every comparison with its interval", tables=tables
        ),
        "power_note": power_note(comparisons),
        "run_unusable": comparisons.unusable,
        "scopes": list(dict.fromkeys(slug(cell.scope) for cell in comparisons.overall)),
    }


def _invalid(content: Content, pieces: Pieces) -> dict[str, Any]:
    """What a fault injected on purpose pretends."""
    analysis = content.analysis
    picture = invalid_picture(analysis)
    on_purpose = listings.bad_launches_table(analysis, content.links, on_purpose=True)
    return {
        "invalid": invalid_table(analysis),
        "invalid_rest": pieces.add(
            "invalid-more",
            "What that fault pretends",
            pictures=[picture] if picture else [],
            tables=_there(on_purpose),
        ),
    }


def _provenance(content: Content, pieces: Pieces) -> dict[str, Any]:
    """What ran where, by which Assay, and the evidence of it."""
    run = content.analysis.run
    provenance, harness = run.provenance, run.provenance.harness
    commit = (harness.git_commit or "")[:12]
    evidence = listings.evidence(content.analysis, content.links)
    return {
        "started": moment_text(provenance.started_at, "not recorded"),
        "provenance_rest": pieces.add(
            "provenance-more",
            "Provenance",
            page="provenance",
            provenance=listings.provenance_rows(provenance),
        ),
        "evidence": len(evidence),
        "evidence_rest": pieces.add(
            "evidence-more", "Evidence: every launch", page="evidence", evidence=evidence
        ),
        "evidence_omitted": len(run.plan.cases) - len(evidence),
        "version": f"{harness.version or ''}{f' ({commit})' if commit else ''}",
    }


def _contents(content: Content, *, choice: bool, invalid: bool) -> list[tuple[str, str]]:
    """The contents of the page: anchors and titles of its sections."""
    return [
        ("answer", "Answer"),
        *([("choice", "Which is best")] if choice else []),
        *([("study", "The study")] if content.study else []),
        *((f"check-{part.anchor}", part.title) for part in content.parts),
        ("launches", "Launches"),
        ("comparison", "Compared"),
        *([("invalid", "Invalid on purpose")] if invalid else []),
        ("provenance", "Provenance, evidence"),
        ("method", "Method"),
    ]


def _page_beside(analysis: Analysis, sheet: Sheet, data: Sequence[str]) -> str:
    """A page of what would make the first too long."""
    named = [(part.anchor, part.title) for part in sheet.parts if part.anchor and part.title]
    body = Markup("\n".join(part.body for part in sheet.parts))  # noqa: S704 (our own page)
    found = {
        "sheet": sheet,
        "sections": named if len(named) <= MOST_NAMED else [],
        "run": analysis.run,
        "data": data,
        "body": body,
    }
    return render_page("details.html.j2", analysis.looks, found)


def _there(*tables: Table | None) -> list[Table]:
    return [table for table in tables if table is not None]


def _check(analysis: Analysis, part: CheckPart, pieces: Pieces) -> CheckShown:
    """One screen of a check: what was found, its first picture, a few rows; the rest folded."""
    first, others = part.pictures[:1], part.pictures[1:]
    shown = [replace(picture, panels=picture.panels[:MOST_SHOWN]) for picture in first]
    left = [
        replace(picture, anchor=f"{picture.anchor}-more", panels=picture.panels[MOST_SHOWN:])
        for picture in first
        if picture.panels[MOST_SHOWN:]
    ]
    name = f"check-{part.anchor}"
    return CheckShown(
        part.anchor,
        part.title,
        check_sentences(analysis, part.check),
        headline_table(analysis, part.check),
        pieces.add(f"{name}-picture", part.title, page=part.anchor, pictures=shown, shown=True),
        pieces.add(
            f"{name}-more",
            f"All of {part.title}",
            page=part.anchor,
            pictures=[*left, *others],
            tables=part.tables,
            conditions=[part.constant] if part.constant else [],
        ),
    )


def power_note(comparisons: Comparisons) -> str:
    """What the exact test can reach at the n at hand."""
    judged = [cell for cell in comparisons.overall if cell.effect]
    if not judged:
        return ""
    cell = max(judged, key=lambda item: item.n)
    assert cell.effect is not None
    if cell.needed_n <= cell.n:
        return ""
    interval = cell.effect.interval
    return (
        f"With n = {cell.n} the least p possible is {cell.effect.least_p:.4g} and the widest"
        f" interval has {level_text(interval.level)}: over {count_text(cell.family, 'cell')}"
        f" nothing can be resolved before n = {cell.needed_n}, however large the difference;"
        " estimates and intervals still show direction and size."
    )
