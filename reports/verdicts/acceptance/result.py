# SPDX-License-Identifier: Apache-2.0
"""A judged acceptance as a result: the document to be signed, its tables, pictures and tests."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Literal
from urllib.parse import quote

from msgspec.structs import replace

from records.run.record import checksum_of
from reports import answers, result
from reports.judgement import Item, JudgedCriterion
from reports.notation import units
from reports.notation.units import quantity
from reports.show.panel import Picture
from reports.show.rows import provenance_rows
from reports.show.tables import PAGES, TONES, Cell, Lead, RawLinks, numeric, pivot, table_of
from reports.statistics.bounds import ORDER, Verdict
from reports.verdicts.acceptance.dossier import FOLDER, AcceptanceForm, Dossier
from reports.verdicts.acceptance.summary import answer_of_acceptance, margins, sentences
from reports.verdicts.acceptance.values import LaunchRef

#: Items of one criterion that the page shows; the machine form has all.
MOST_ITEMS = 120
#: Launches of an item that are linked one by one; nodes and faults named in a sentence.
MOST_LINKS, MOST_NODES, MOST_FAULTS = 12, 12, 6
_MARK = {"PASS": "✓", "FAIL": "✗", "INCONCLUSIVE": "?", "SUSPECT": "!"}
#: What a verdict is for a test's reader.
OUTCOMES: dict[Verdict, Literal["", "failure", "skipped"]] = {
    "PASS": "",
    "FAIL": "failure",
    "SUSPECT": "skipped",
    "INCONCLUSIVE": "skipped",
}
#: The heading over the subjects of a criterion's items, by its kind.
_SUBJECTS = {"nodes": "node", "links": "pair of nodes", "answers": "check"}
#: The headings over an item's numbers, which `number_cells` gives.
NUMBERS = numeric("observed", "bound", "limit", "n", "margin")
_RULE = (
    "Each verdict rests on a bound, not on a mean: PASS if the whole bound is inside the limit,"
    " FAIL if it is outside, SUSPECT if it is outside and fails unless a re-run clears it, else"
    " INCONCLUSIVE. A row shows the value nearest to its limit; all values follow below."
)
_METHOD = (
    "The unit is one launch; n counts launches. A launch’s value is the median of its samples"
    " unless the metric says otherwise; a launch with a wrong answer has none.",
    "Bounds of single values are one-sided order statistics of the median from 5 launches on,"
    " Student’s bound of the mean below; below {least} there is no verdict. From 6 launches on they"
    " are wider by the correlation of neighbouring launches.",
    "Nodes and pairs are held against the good ones: the upper of two clusters, or the median. What"
    " all share in a launch is taken off; noise is pooled over all.",
    "A node or link is suspected from 5 launches on, and fails when at least two re-runs, and more"
    " than half of them, show it again. Half of the nodes or of their links, and a cut between"
    " groups of nodes, fail at once, unless re-runs clear them.",
    "Spread: the deviation pooled over nodes or pairs, by bounds of χ²; one that scatters beyond"
    " the limit and beyond the others is named when re-runs show it too.",
    "Nothing passes without an absolute limit, from the contract or from nominal rates: limits from"
    " the machine itself cannot detect a fault common to all nodes.",
)


def raw_links(dossier: Dossier) -> dict[str, RawLinks]:
    """The links from the document's folder into each run directory, by run."""
    here = dossier.run.directory.resolve() / FOLDER
    found = {}
    for run in (dossier.run, *dossier.reruns):
        root = quote(os.path.relpath(run.directory.resolve(), here))
        found[run.run_id] = RawLinks(root, f"{root}/report/{PAGES}")
    return found


def acceptance_result(
    dossier: Dossier, name: str = "", links: Mapping[str, RawLinks] | None = None
) -> result.Result[AcceptanceForm]:
    """A judged acceptance as a result; the same dossier gives the same.

    `name` is what commands call the run, its id by default: a document stays the same wherever its
    run is. `links` lead to raw output, and learn of the pages that they need.
    """
    run, criteria = dossier.run, dossier.criteria
    answer = answer_of_acceptance(dossier, name)
    ways = raw_links(dossier) if links is None else links
    method = [result.Sentence(text.format(least=criteria.least_launches)) for text in _METHOD]
    waivers = table_of(dossier.judgement.waivers, anchor="", title="Waivers")
    parts = provenance_rows(run.provenance)
    machine = [result.Facts(pairs, name) for name, pairs in parts if pairs]
    return result.Result(
        kicker=" · ".join(filter(None, (f"Acceptance of site {run.plan.site}", criteria.contract))),
        title=criteria.title,
        data=replace(dossier.form, answer=answer.part),
        answer=answer,
        facts=result.Facts(_facts(dossier), codes=frozenset({"run", "seal"})),
        sentences=sentences(dossier),
        sections=[
            result.Section("in-short", "", lambda: _in_short(dossier), shown_on=result.ON_TERMINAL),
            result.Section("criteria", "Criteria", lambda: _criteria(dossier)),
            result.Section("signatures", "Signatures", lambda: [_signing(dossier)]),
            result.Section("margins", "Margins to the limits", lambda: _margins(dossier)),
            result.Section("named", "Slow nodes and links", lambda: _named(dossier)),
            result.Section("details", "Every value", lambda: _details(dossier, ways)),
            result.Section("waivers", "Waivers", lambda: [waivers or result.Sentence("None.")]),
            result.Section("method", "How the verdicts come about", lambda: method),
            result.Section("provenance", "Appendix: machine and software", lambda: machine),
            result.Section("seals", "Appendix: what is signed", lambda: _seals(dossier)),
        ],
        closing=f"Made with {dossier.form.made_with}.",
        tests=lambda: map(_test, dossier.judgement.criteria),
        devices=run.provenance.devices,
        seal=result.SealMark(run.run_id, dossier.seal),
    )


def _facts(dossier: Dossier) -> list[tuple[str, str]]:
    run, criteria = dossier.run, dossier.criteria
    more = ", …" if len(run.nodes) > MOST_NODES else ""
    return [
        ("campaign", run.plan.campaign),
        ("run", run.run_id),
        ("measured from", f"{units.moment_text(run.provenance.started_at, 'not recorded')} UTC"),
        ("judged on", dossier.day.isoformat()),
        ("criteria file", criteria.name),
        ("nodes", f"{len(run.nodes)}: {', '.join(run.nodes[:MOST_NODES])}{more}"),
        *result.carried(run.provenance.devices),
        ("confidence of each bound", f"{units.level_text(criteria.confidence)}, one-sided"),
        ("seal", dossier.seal),
    ]


def _in_short(dossier: Dossier) -> Iterator[result.Block | None]:
    """A criterion a line, with its most telling value, on a terminal."""
    for criterion in dossier.judgement.criteria:
        item, lines = criterion.most_telling(), [criterion.note]
        if item is not None:
            text = f"{answers.item_text(item)} {item.note}".rstrip()
            lines = [text] if criterion.kind != "answers" else []
        waived = " (waived)" if criterion.verdict != criterion.effective else ""
        badge = result.Badge(f"{criterion.verdict}{waived}", TONES[criterion.verdict])
        title = f"{criterion.id}: {criterion.title}"
        yield result.Section(criterion.id, title, partial(map, result.Sentence, lines), badge)


def _criteria(dossier: Dossier) -> Iterator[result.Block | None]:
    """All criteria in a table."""
    yield result.Sentence(_RULE)
    yield pivot(
        dossier.judgement.criteria,
        [
            ("what must hold", lambda one: Cell(one.title, href=f"#criterion-{one.id}")),
            ("verdict", judged_cell),
            (["nearest to the limit", *NUMBERS], telling_cells),
        ],
        anchor="table-criteria",
        title="Criteria",
    )


def _margins(dossier: Dossier) -> Iterator[result.Block | None]:
    """The margins of all criteria to their limits, in a picture."""
    criteria, run = dossier.judgement.criteria, dossier.run.run_id
    if drawn := [*margins(criteria, f"judged {dossier.day.isoformat()} · run {run}")]:
        caption = "What is signed is the document with its seal, not a picture taken from it."
        yield Picture("acceptance", "All criteria", caption, drawn, [])


def judged_cell(criterion: JudgedCriterion) -> Cell:
    """A criterion's verdict, and whether it is waived."""
    waived = "waived" if criterion.effective == "PASS" else "partly waived"
    return _verdict_cell(
        criterion.verdict, waived if any(i.waived for i in criterion.items) else ""
    )


def _verdict_cell(verdict: Verdict, badge: str = "") -> Cell:
    badges = (badge,) if badge else ()
    return Cell(f"{_MARK[verdict]} {verdict}", tone=TONES[verdict], badges=badges)


def telling_cells(criterion: JudgedCriterion) -> list[str]:
    """Place of a criterion's most telling item, and its numbers."""
    item = criterion.most_telling()
    if item is None:
        return [criterion.note, *["–"] * len(NUMBERS)]
    charged = f", charged to {item.charged_to}" if item.charged_to else ""
    return [f"{answers.place_text(item)}{charged}", *number_cells(item)]


def number_cells(item: Item) -> list[str]:
    """The observed value, the bound, the limit, n and the margin."""
    words = [answers.centre_text(item), answers.bound_text(item), answers.limit_words(item)]
    return [*words, str(item.n), answers.margin_text(item)]


def _named(dossier: Dossier) -> Iterator[result.Block | None]:
    judgement = dossier.judgement
    titles = {criterion.id: criterion.title for criterion in judgement.criteria}
    yield pivot(
        [(finding, item) for finding in judgement.named for item in finding.accusations],
        [
            ("named", lambda row: Cell(units.sentence_case(row[0].title), badges=(row[0].state,))),
            ("by criterion", lambda row: titles[row[1].criterion]),
            ("where", lambda row: answers.place_text(row[1])),
            (numeric("measured"), lambda row: _measured(row[1])),
            (NUMBERS, lambda row: number_cells(row[1])),
            ("re-runs", lambda row: row[1].note),
        ],
        anchor="table-named",
        title="Slow nodes and links",
    )
    if not judgement.named:
        yield result.Sentence(
            "None: no node and no link is found beyond the limits of these criteria."
        )
    if cleared := [finding.title for finding in judgement.findings if not finding.named]:
        yield result.Sentence(f"Not confirmed by re-runs, and so not named: {', '.join(cleared)}.")
    yield result.Section("reruns", "Re-runs", lambda: _reruns(dossier))


def _reruns(dossier: Dossier) -> Iterator[result.Block | None]:
    if wanted := len(dossier.judgement.rerun):
        cases = units.count_text(wanted, "case is", "cases are")
        yield result.Sentence(
            f"Wanted: {cases} undecided or await confirmation. This runs those"
            " of acceptance/rerun.yaml and judges them:",
            code=f"assay accept {dossier.run.run_id} --rerun",
        )
    elif dossier.reruns:
        runs = ", ".join(rerun.run_id for rerun in dossier.reruns)
        text = "Their launches are listed as r1, r2, … with the others."
        yield result.Sentence(f"Re-runs that enter: {runs}. {text}")


def _details(dossier: Dossier, links: Mapping[str, RawLinks]) -> Iterator[result.Block | None]:
    for criterion in dossier.judgement.criteria:
        make = partial(_criterion, dossier, links, criterion)
        badge = result.Badge(_verdict_cell(criterion.verdict).text, TONES[criterion.verdict])
        yield result.Section(f"criterion-{criterion.id}", criterion.title, make, badge)


def _criterion(
    dossier: Dossier, links: Mapping[str, RawLinks], criterion: JudgedCriterion
) -> Iterator[result.Block | None]:
    """Statement and items of a criterion; of too many those of the worst verdicts."""
    sources = {one.id: one.source.rstrip(".") for one in dossier.criteria.criteria}
    yield result.Sentence(f"{units.sentence_case(criterion.statement)}. Criterion {criterion.id}.")
    if source := sources.get(criterion.id):
        yield result.Sentence(f"Source of the limit: {source}.")
    if criterion.note:
        yield result.Sentence(f"{units.sentence_case(criterion.note)}.")
    items, columns = criterion.items, _item_columns(dossier, links, criterion)
    if len(items) > MOST_ITEMS:
        items = tuple(sorted(items, key=lambda item: -ORDER.index(item.verdict)))
    yield pivot(items, columns, anchor="", title=criterion.title, most=MOST_ITEMS)
    if criterion.further:
        more = units.count_text(
            criterion.further, "further one passes and is", "further ones pass and are"
        )
        yield result.Sentence(f"{more} listed nowhere.")


def _item_columns(
    dossier: Dossier, links: Mapping[str, RawLinks], criterion: JudgedCriterion
) -> Sequence[Lead[Item]]:
    """The columns of a criterion's items, without those that would be empty."""

    def subject(item: Item) -> str:
        return f"{item.subject}, {item.point}" if item.point and item.place else item.subject

    columns: list[Lead[Item]] = [
        (_SUBJECTS.get(criterion.kind, "value"), subject),
        ("verdict", lambda item: _verdict_cell(item.verdict, "waived" if item.waived else "")),
        ("environment", lambda item: Cell(item.environment, environment=item.environment)),
    ]
    if any(item.measured is not None for item in criterion.items):
        columns.append((numeric("measured"), _measured))
    columns.append((NUMBERS, number_cells))
    if any(map(_note, criterion.items)):
        columns.append(("note", _note))
    return [*columns, ("raw output, by block", partial(_raw, dossier, links))]


def _measured(item: Item) -> str:
    """The plain value behind a share."""
    if item.measured is None:
        return ""
    return quantity(item.measured, units.readable_unit(item.measured_unit, [item.measured]))


def _note(item: Item) -> str:
    return "" if item.method == "count" else item.note


def _raw(dossier: Dossier, links: Mapping[str, RawLinks], item: Item) -> Cell:
    """The raw output of an item's launches; that of a re-run is called r1, r2, …"""
    launches = dossier.evidence.launches
    found = [launches[key] for key in item.launches if key in launches]
    parts = [_launch(dossier, links, launch) for launch in found[:MOST_LINKS]]
    if len(found) > MOST_LINKS:
        parts.append(Cell(f"{len(found) - MOST_LINKS} more"))
    return Cell(", ".join(part.text for part in parts) or "–", parts=tuple(parts))


def _launch(dossier: Dossier, links: Mapping[str, RawLinks], launch: LaunchRef) -> Cell:
    digest = checksum_of(launch.artifacts, "stdout")
    words = [f"{launch.case_id}, block {launch.block}, {launch.status}", *launch.flags]
    again = "r" if launch.run_id != dossier.run.run_id else ""
    return Cell(
        f"{again}{launch.block}",
        title=", ".join(words + ([f"SHA-256 {digest}"] if digest else [])),
        href=links[launch.run_id].to(launch.artifacts.get("stdout", "")),
    )


def _signing(dossier: Dossier) -> result.Signing:
    run, criteria, judgement = dossier.run, dossier.criteria, dossier.judgement
    under = f" under {criteria.contract}" if criteria.contract else ""
    named = ""
    if judgement.named:
        titles = ", ".join(finding.title for finding in judgement.named[:MOST_FAULTS])
        more = ", …" if len(judgement.named) > MOST_FAULTS else ""
        noun = "fault" if len(judgement.named) == 1 else "faults"
        named = f" and {len(judgement.named)} named {noun} ({titles}{more})"
    return result.Signing(
        f"The undersigned have read this document of site {run.plan.site}{under}, judged on"
        f" {dossier.day.isoformat()} with the verdict {judgement.verdict}{named}.",
        [(one.role, one.organisation, one.name) for one in criteria.parties],
    )


def _seals(dossier: Dossier) -> Iterator[result.Block | None]:
    run, form = dossier.run, dossier.form
    signed = [
        ("seal (acceptance.json)", dossier.seal),
        ("criteria file", form.criteria_file.sha256),
        (f"list of all {len(form.files)} files of the run (manifest.sha256)", form.manifest_sha256),
    ]
    for part in form.records:
        head = f"head of the chain of {part.records} records: run {part.run_id}"
        signed.append((head, part.head))
    signed += [(name, value) for name, value in form.files.items() if "/" not in name]
    yield result.Facts(signed, "What is signed", frozenset(name for name, _ in signed))
    yield result.Sentence(
        "All are SHA-256. This recomputes every checksum and every verdict from the records:",
        code=f"assay verify {run.run_id}",
    )
    yield result.Sentence(
        "This, called in the run directory, checks the files without Assay:",
        code="sha256sum --check acceptance/manifest.sha256",
    )


def _test(criterion: JudgedCriterion) -> result.Test:
    """A criterion as a test: what is open or awaits a re-run is skipped, what is waived passes."""
    item = criterion.most_telling()
    message = criterion.note if item is None else answers.item_text(item)
    outcome, kind = OUTCOMES[criterion.effective], criterion.effective.lower()
    name = f"{criterion.id}: {criterion.title}"
    return result.Test(f"acceptance.{criterion.kind}", name, outcome, message, kind)
