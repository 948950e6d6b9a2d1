# SPDX-License-Identifier: Apache-2.0
"""The document to be signed: the dossier as one HTML page, made so that it prints well."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from reports.acceptance.dossier import FOLDER, Dossier
from reports.acceptance.made_with import page_made_with
from reports.acceptance.model import Finding, Item, JudgedCriterion
from reports.acceptance.pictures import panels
from reports.acceptance.summary import sentences
from reports.acceptance.wording import (
    bound_text,
    centre_text,
    limit_words,
    margin_text,
    measured_text,
)
from reports.load.loading import Run
from reports.show.canvas import Panel
from reports.show.listings import provenance_rows
from reports.write.page import fill_in

#: Items of one criterion that the page shows; the machine form has all.
MOST_ITEMS = 120
#: Launches of one item that are linked one by one.
MOST_LINKS = 12
_MARK = {"PASS": "✓", "FAIL": "✗", "INCONCLUSIVE": "?"}


@dataclass(frozen=True)
class Link:
    """A launch's raw output: its name for readers, where it lies, its checksum."""

    text: str
    href: str
    title: str


@dataclass(frozen=True)
class ItemRow:
    """One judged item in words."""

    item: Item
    subject: str
    measured: str
    observed: str
    bound: str
    limit: str
    margin: str
    links: tuple[Link, ...]
    further: int


@dataclass(frozen=True)
class CriterionPart:
    """One criterion with what the page shows of it."""

    result: JudgedCriterion
    telling: ItemRow | None
    rows: tuple[ItemRow, ...]
    omitted: int
    pictures: tuple[Panel, ...]
    waived: bool
    shares: bool


def render_document(dossier: Dossier) -> str:
    """The page. The same dossier gives the same text; everything from records is escaped."""
    return fill_in(
        "acceptance.html.j2", {**_context(dossier), "mark": lambda verdict: _MARK[verdict]}
    )


def _context(dossier: Dossier) -> Mapping[str, Any]:
    roots = {run.run_id: _root(run, dossier.run) for run in (dossier.run, *dossier.reruns)}
    judgement = dossier.judgement
    parts = [_part(result, dossier, roots) for result in judgement.criteria]
    return {
        "dossier": dossier,
        "run": dossier.run,
        "judgement": judgement,
        "verdict": judgement.verdict,
        "criteria": dossier.criteria,
        "sentences": sentences(dossier),
        "named": [(f, _finding_rows(f, dossier, roots)) for f in judgement.named],
        "cleared": [f for f in judgement.findings if f.state == "not confirmed"],
        "parts": parts,
        "provenance": provenance_rows(dossier.run.provenance),
        "started": dossier.run.provenance.started_at or "",
        "files": _head_files(dossier),
        "file_count": len(dossier.files),
        "day": dossier.day.isoformat(),
        "page_made_with": page_made_with(),
    }


def _root(run: Run, main: Run) -> str:
    """The way from the document's folder to a run directory, as a link needs it."""
    return quote(os.path.relpath(run.directory.resolve(), main.directory.resolve() / FOLDER))


def _part(result: JudgedCriterion, dossier: Dossier, roots: Mapping[str, str]) -> CriterionPart:
    order = {"FAIL": 0, "INCONCLUSIVE": 1, "PASS": 2}
    items = sorted(result.items, key=lambda item: order[item.verdict])
    shown = items[:MOST_ITEMS] if len(items) > MOST_ITEMS else list(result.items)
    telling = result.most_telling()
    day = dossier.day.isoformat()
    return CriterionPart(
        result=result,
        telling=_row(telling, dossier, roots) if telling else None,
        rows=tuple(_row(item, dossier, roots) for item in shown),
        omitted=len(items) - len(shown),
        pictures=tuple(panels(result, dossier.run.run_id, day)),
        waived=any(item.waived for item in result.items),
        shares=any(item.measured is not None for item in result.items),
    )


def _finding_rows(
    finding: Finding, dossier: Dossier, roots: Mapping[str, str]
) -> list[tuple[str, ItemRow]]:
    titles = {result.id: result.title for result in dossier.judgement.criteria}
    return [
        (titles[accusation.criterion], _row(accusation.item, dossier, roots))
        for accusation in finding.accusations
    ]


def _row(item: Item, dossier: Dossier, roots: Mapping[str, str]) -> ItemRow:
    links = list(_links(item, dossier, roots))
    return ItemRow(
        item=item,
        subject=item.subject,
        measured=measured_text(item),
        observed=centre_text(item),
        bound=bound_text(item),
        limit=limit_words(item),
        margin=margin_text(item),
        links=tuple(links[:MOST_LINKS]),
        further=max(0, len(links) - MOST_LINKS),
    )


def _links(item: Item, dossier: Dossier, roots: Mapping[str, str]) -> Iterator[Link]:
    for key in item.launches:
        launch = dossier.evidence.launches.get(key)
        if launch is None:
            continue
        path = launch.artifacts.get("stdout", "")
        again = launch.run_id != dossier.run.run_id
        root = roots.get(launch.run_id, "")
        text = f"r{launch.block}" if again else str(launch.block)
        told = f"{launch.case_id}, block {launch.block}, {launch.status}"
        flags = f", {', '.join(launch.flags)}" if launch.flags else ""
        digest = launch.artifacts.get("stdout_sha256", "")
        title = f"{told}{flags}, SHA-256 {digest}" if digest else f"{told}{flags}"
        yield Link(text, f"{root}/{quote(path)}" if path else "", title)


def _head_files(dossier: Dossier) -> Sequence[tuple[str, str]]:
    """The files at the top of the run directory with their checksums."""
    return [(name, value) for name, value in dossier.files.items() if "/" not in name]
