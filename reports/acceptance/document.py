# SPDX-License-Identifier: Apache-2.0
"""The document to be signed: the dossier as one HTML page, made so that it prints well."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from urllib.parse import quote

from records.run.belonging import checksum_of
from reports.acceptance.answer import answer_of_acceptance
from reports.acceptance.bounds import ORDER
from reports.acceptance.dossier import FOLDER, Dossier
from reports.acceptance.model import Item, JudgedCriterion
from reports.acceptance.pictures import margins, nodes_by_criterion, panels
from reports.acceptance.values import LaunchRef
from reports.acceptance.wording import (
    bound_text,
    centre_text,
    limit_words,
    margin_text,
    measured_text,
    sentences,
)
from reports.notation.units import moment_text
from reports.show.listings import provenance_rows
from reports.show.panel import Panel, Picture
from reports.show.raw_links import PAGES, RawLinks
from reports.write.page import fill_in

#: Items of one criterion that the page shows; the machine form has all.
MOST_ITEMS = 120
#: Launches of one item that are linked one by one.
MOST_LINKS = 12
#: Below a picture that leaves its document.
NOT_SIGNED = "From the acceptance document; the document with its seal is what is signed."
_MARK = {"PASS": "✓", "FAIL": "✗", "INCONCLUSIVE": "?", "SUSPECT": "!"}


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
    source: str


@dataclass(frozen=True)
class Document:
    """The page, and its links to raw output by run."""

    text: str
    links: Mapping[str, RawLinks]


def render_document(dossier: Dossier) -> Document:
    """The page. The same dossier gives the same text; everything from records is escaped."""
    run, judgement = dossier.run, dossier.judgement
    rows = _Rows(dossier)
    titles = {result.id: result.title for result in judgement.criteria}
    content = {
        "dossier": dossier,
        "run": run,
        "judgement": judgement,
        "verdict": judgement.verdict,
        "criteria": dossier.criteria,
        "answer": answer_of_acceptance(dossier),
        "sentences": sentences(dossier),
        "named": [
            (finding, [(titles[a.criterion], rows.row(a.item)) for a in finding.accusations])
            for finding in judgement.named
        ],
        "cleared": [finding for finding in judgement.findings if not finding.named],
        "overview": overview(dossier),
        "parts": [rows.part(result) for result in judgement.criteria],
        "provenance": provenance_rows(run.provenance),
        "started": moment_text(run.provenance.started_at, "not recorded"),
        "files": [(name, value) for name, value in dossier.form.files.items() if "/" not in name],
        "file_count": len(dossier.form.files),
        "day": dossier.day.isoformat(),
        "mark": _MARK.__getitem__,
    }
    return Document(fill_in("acceptance.html.j2", content), rows.links)


def overview(dossier: Dossier) -> list[Panel]:
    """The pictures of all criteria together: margins to the limits, nodes by criterion."""
    criteria = dossier.judgement.criteria
    footer = f"judged {dossier.day.isoformat()} · run {dossier.run.run_id}"
    first = margins(criteria, footer)
    return [*([first] if first else []), *nodes_by_criterion(criteria, footer)]


def pictures_of(dossier: Dossier) -> list[Picture]:
    """All pictures of the document, to be taken out."""
    run, day = dossier.run.run_id, dossier.day.isoformat()
    found = [
        Picture(f"acceptance-{number}", dossier.criteria.title, NOT_SIGNED, [panel], [])
        for number, panel in enumerate(overview(dossier), start=1)
    ]
    for result in dossier.judgement.criteria:
        if drawn := panels(result, run, day):
            anchor = f"criterion-{result.id}"
            found.append(Picture(anchor, result.title, f"{result.statement}.", drawn, []))
    return found


@dataclass(frozen=True)
class _Rows:
    """Judged items as rows of the page, linked with the raw output in their run directories."""

    dossier: Dossier

    @cached_property
    def _sources(self) -> dict[str, str]:
        """Where the limit of each criterion comes from, where its file says it."""
        return {one.id: one.source for one in self.dossier.criteria.criteria}

    @cached_property
    def links(self) -> dict[str, RawLinks]:
        """The links from the document's folder into each run directory."""
        here = self.dossier.run.directory.resolve() / FOLDER
        found = {}
        for run in (self.dossier.run, *self.dossier.reruns):
            root = quote(os.path.relpath(run.directory.resolve(), here))
            found[run.run_id] = RawLinks(root, f"{root}/report/{PAGES}")
        return found

    def part(self, result: JudgedCriterion) -> CriterionPart:
        """A criterion with the rows of its items; with too many, those of the worst verdicts."""
        items = list(result.items)
        if len(items) > MOST_ITEMS:
            items.sort(key=lambda item: -ORDER.index(item.verdict))
        telling = result.most_telling()
        return CriterionPart(
            result=result,
            telling=self.row(telling) if telling else None,
            rows=tuple(self.row(item) for item in items[:MOST_ITEMS]),
            omitted=max(0, len(items) - MOST_ITEMS),
            pictures=tuple(panels(result, self.dossier.run.run_id, self.dossier.day.isoformat())),
            waived=any(item.waived for item in items),
            shares=any(item.measured is not None for item in items),
            source=self._sources.get(result.id, "").rstrip("."),
        )

    def row(self, item: Item) -> ItemRow:
        """An item in words, with links to the raw output of its launches."""
        launches = self.dossier.evidence.launches
        found = [launches[key] for key in item.launches if key in launches]
        return ItemRow(
            item=item,
            measured=measured_text(item),
            observed=centre_text(item),
            bound=bound_text(item),
            limit=limit_words(item),
            margin=margin_text(item),
            links=tuple(self.link(launch) for launch in found[:MOST_LINKS]),
            further=max(0, len(found) - MOST_LINKS),
        )

    def link(self, launch: LaunchRef) -> Link:
        """The raw output of a launch; that of a re-run is called r1, r2, …"""
        again = launch.run_id != self.dossier.run.run_id
        digest = checksum_of(launch.artifacts, "stdout")
        told = [f"{launch.case_id}, block {launch.block}, {launch.status}", *launch.flags]
        return Link(
            text=f"r{launch.block}" if again else str(launch.block),
            href=self.links[launch.run_id].to(launch.artifacts.get("stdout", "")),
            title=", ".join(told + ([f"SHA-256 {digest}"] if digest else [])),
        )
