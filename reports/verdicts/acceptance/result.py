# SPDX-License-Identifier: Apache-2.0
"""A judged acceptance as a result: its answer, the document to be signed, its tables, margins
drawn, and tests."""

import os
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Literal
from urllib.parse import quote

import numpy as np
from matplotlib.axes import Axes
from msgspec.structs import replace

from records.criteria import Criterion
from records.flags import MEANINGS, OVERSUBSCRIBED, UNPROVEN
from records.run.record import checksum_of
from records.site.node_facts import oddities
from reports import answers, commands, result
from reports.judgement import Item, JudgedCriterion
from reports.load.loading import Run
from reports.notation import units
from reports.notation.labels import BAD, GOOD, INK, OPEN, QUIET, Look
from reports.show import panel
from reports.show.rows import provenance_rows
from reports.show.tables import PAGES, TONES, Cell, Lead, RawLinks, numeric, pivot, table_of
from reports.statistics.bounds import ORDER, Verdict
from reports.verdicts.acceptance.judge import FOLDER, AcceptanceForm, Dossier
from reports.verdicts.acceptance.values import NOMINAL_KEYS, LaunchRef

#: Findings of a state, slow nodes and what is odd about each, metrics that no criterion compares.
_MOST_NAMED, _MOST_ODD, _MOST_METRICS = 8, 8, 12
REHEARSAL = "the site is a virtual cluster on one machine: this is a rehearsal of an acceptance"
_LOCAL = "the site is one machine without a scheduler: no criteria accept that as a cluster"
_NONE_ABSOLUTE = (
    "no absolute limit is met, and without one nothing passes: limits from the machine itself"
    " cannot detect a fault common to all nodes; add the contract's (kind: limit), or state nominal"
    f" rates in site.yaml ({', '.join(NOMINAL_KEYS.values())}) and use kind: efficiency"
)
#: A fact without a full stop, the section that has its rows, and its tone.
_Fact = tuple[str, str, result.Tone]


def answer_of_acceptance(dossier: Dossier, name: str = "") -> answers.Answer:
    """The judgement's headline; its word is the verdict. `name` is what commands call the run, its
    id by default: a document stays the same wherever its run is."""
    judgement, run = dossier.judgement, dossier.run
    name = name or run.run_id
    command = commands.run_again(run) if judgement.absolute else commands.NOTHING
    if _to_come(run) > 0:
        command = commands.resume(name, run.provenance.asked.checks)
    elif judgement.rerun:
        command = commands.accept(run, name, rerun=True)
    elif judgement.verdict == "PASS":
        command = commands.verify(run, name)
    state = answers.State[judgement.verdict]
    return answers.Answer(state, f"{answers.headline(judgement)}.", command=command)


def sentences(dossier: Dossier) -> list[result.Sentence]:
    """Facts named, open facts, and limits of the verdict."""
    facts = (*_found(dossier), *_open(dossier), *_caveats(dossier))
    text = units.sentence_case
    return [result.Sentence(f"{text(fact)}.", f"#{at}", tone) for fact, at, tone in facts]


def _to_come(run: Run) -> int:
    """Number of launches that were asked for and have no record."""
    feasible = (case for case in run.plan.cases if case.skipped is None)
    return sum(run.asked[case.environment, case.check] for case in feasible) - run.done


def _found(dossier: Dossier) -> Iterator[_Fact]:
    """Names by state, and oddities of the nodes."""
    named = dossier.judgement.named
    for state, word in (
        ("confirmed", "confirmed by re-runs"),
        ("suspected", "suspected"),
        ("missing", "planned and not measured"),
    ):
        if titles := [finding.title for finding in named if finding.state == state]:
            others = " and others" if len(titles) > _MOST_NAMED else ""
            yield f"{word}: {', '.join(titles[:_MOST_NAMED])}{others}", "named", "bad"
    nodes = dict.fromkeys(node for finding in named for node in finding.nodes)
    for node in [*nodes][:_MOST_ODD]:
        if odd := oddities(dossier.run.provenance.nodes, node):
            text = f"{node} is not like the others: {'; '.join(odd[:_MOST_ODD])}"
            yield text, "provenance", "bad"


def _open(dossier: Dossier) -> Iterator[_Fact]:
    """Facts that the judgement leaves open, the weightiest first."""
    judgement, run = dossier.judgement, dossier.run
    undecided = [one for one in judgement.criteria if one.effective == "INCONCLUSIVE"]
    suspected = sum(finding.state == "suspected" for finding in judgement.named)
    if judgement.verdict == "SUSPECT" or (suspected and judgement.verdict == "FAIL"):
        again = "no re-run was made yet" if not dossier.reruns else "re-runs do not settle it yet"
        yield f"whether it stays: {again}", "reruns", "open"
    if judgement.verdict == "INCONCLUSIVE" and judgement.absolute:
        notes = [item.note if (item := r.most_telling()) else r.note for r in undecided]
        yield from ((f"why: {note}", "criteria", "open") for note in dict.fromkeys(notes) if note)
    elif undecided:
        text = f"{units.count_text(len(undecided), 'criterion is', 'criteria are')} undecided"
        yield text, "criteria", "open"
    if run.provenance.site.is_local:
        yield _LOCAL, "provenance", "open"
    if not judgement.absolute:
        yield _NONE_ABSOLUTE, "criteria", "open"
    elif free := _without_absolute_limit(dossier):
        metrics = answers.listed(free, _MOST_METRICS)
        text = f"no criterion compares {metrics} with an offer or a nominal rate"
        alike = "a machine of which every node or link is slow alike in that passes"
        yield f"{text}: {alike}", "criteria", "open"
    for why in dict.fromkeys(one.note for one in judgement.left_out):
        ids = [one.id for one in judgement.left_out if one.note == why]
        yield f"{answers.listed(ids)}: not judged, {why}", "criteria", "open"
    for text in run.plan.told():
        yield f"not in this acceptance: {text}", "provenance", "open"
    if (missing := _to_come(run)) > 0:
        text = f"the run is not finished, {units.count_text(missing, 'launch')} are still to come"
        yield f"{text}: assay run --resume goes on with it", "details", "open"
    if run.provenance.site.virtual:
        yield REHEARSAL, "provenance", "open"


def _without_absolute_limit(dossier: Dossier) -> list[str]:
    """Metrics that no absolute limit covers: a fault that all nodes share is not seen in them."""
    results = {one.id: one for one in dossier.judgement.criteria}
    measured = [c for c in dossier.criteria.criteria if c.id in results and results[c.id].items]
    held = {(one.check, one.metric) for one in measured if results[one.id].absolute}
    free = [one for one in measured if (one.check, one.metric) not in held]
    return list(dict.fromkeys(_metric(dossier, one) for one in free))


def _metric(dossier: Dossier, one: Criterion) -> str:
    """A metric in words, with its check where it has no title of its own."""
    register = dossier.evidence.register
    known = register.metrics.get(one.metric)
    title = register.metric_title(one.metric)
    return title if known and known.title else f"{title} of {register.check_title(one.check)}"


def _caveats(dossier: Dossier) -> Iterator[_Fact]:
    """Limits of the verdict: waivers, shared cores, launches that are unproven, warnings."""
    for state, waivers in (("applied", "waived"), ("expired", "waivers that do not count")):
        if ids := [w.criterion for w in dossier.judgement.waivers if w.state == state]:
            yield f"{waivers}: {answers.listed(ids)}", "waivers", "open"
    launches = dossier.evidence.launches.values()
    if shared := sum(OVERSUBSCRIBED in launch.flags for launch in launches):
        count = units.count_text(len(launches), "launch")
        text = f"{shared} of {count} had more busy ranks than cores"
        yield f"{text}: their numbers judge this arrangement, not a real machine", "method", "open"
    if unproven := sum(UNPROVEN in launch.flags for launch in launches):
        text = f"{unproven} of {units.count_text(len(launches), 'launch')} are unproven"
        yield f"{text}: {MEANINGS[UNPROVEN]}", "method", "open"
        if dossier.criteria.unproven == "accept":
            yield "the criteria accept unproven launches: verdicts rest on them", "method", "open"
    for warning in dossier.run.warnings[:2]:
        yield warning.rstrip("."), "provenance", "open"


_COLOUR = {"PASS": GOOD, "INCONCLUSIVE": OPEN, "SUSPECT": OPEN, "FAIL": BAD}
#: A margin beyond this share of the limit is drawn to the edge.
_MOST_MARGIN = 0.6
_LINE_IN, _BAR_IN = 0.17, 0.36


def margins(criteria: Sequence[JudgedCriterion], footer: str) -> Iterator[panel.Panel]:
    """A bar a criterion: the distance of its most telling item from the limit, with the bound that
    decides; the accused are outlined."""
    telling = ((judged, judged.most_telling()) for judged in criteria)
    shown = [(judged, item) for judged, item in telling if item and item.margin is not None]
    if not shown:
        return
    marks: list[panel.Mark] = []
    down = 0.0
    for judged, item in shown:
        for text, colour in ((judged.title, INK), (_margin_words(item), QUIET)):
            lines = panel.wrapped(text, 9, panel.WIDTH_IN - 0.1)
            words = "\n".join(lines)
            marks.append(panel.written(words, (-_MOST_MARGIN, down), colour, va="top"))
            down += _LINE_IN * len(lines)
        marks += _margin_bar(down + 0.38 * _BAR_IN, item, _COLOUR[judged.verdict])
        down += _BAR_IN
    text = "; ".join(f"{judged.title}: {_margin_words(item)}" for judged, item in shown)
    ticks = {-0.5: "−50 %", -0.25: "−25 %", 0.0: "limit", 0.25: "+25 %", 0.5: "+50 %"}
    yield panel.Panel(
        "Margin to each limit",
        marks,
        f"Margin to each limit. {text}",
        panel.Axis(low=-_MOST_MARGIN, high=_MOST_MARGIN, ticks=ticks, grid=False),
        panel.Axis(
            "bar: the median; line: to the bound that decides; outlined: accused",
            low=down,
            high=-0.12,
            ticks={},
            grid=False,
        ),
        footer,
        1.1 + down,
        frame=False,
    )


def _margin_words(item: Item) -> str:
    """ "−33.0 points, n2, bound ≤ 47 % (limit ≥ 75 %)", and what a pair is charged to."""
    limit = f"(limit {answers.limit_words(item)})"
    if not item.deciding_bounds:
        return f"{answers.centre_text(item)}, {item.subject} {limit}"
    bound = answers.bound_text(item)
    words = f"{answers.margin_text(item)}, {item.subject}, bound {bound} {limit}"
    return f"{words}, charged to {item.charged_to}" if item.charged_to else words


def _margin_bar(middle: float, item: Item, colour: str) -> Iterator[panel.Mark]:
    """The margin of an item's centre as a bar, those of its deciding bounds as the ends of a
    line."""
    centre, *ends = (
        float(np.clip(item.margin_of(value) or 0.0, -_MOST_MARGIN, _MOST_MARGIN))
        for value in (item.centre, *item.deciding_bounds)
    )
    look: Any = {"color": colour, "linewidth": 0}
    if item.state in ("suspected", "confirmed"):
        look |= {"edgecolor": BAD, "linewidth": 1.8}
    yield partial(Axes.barh, y=middle, width=centre, height=0.16, **look)
    ink = Look(INK, "", ())
    if ends:
        yield panel.Series([min(centre, *ends), max(centre, *ends)], [middle] * 2, ink, width=1.4)
    yield panel.Series([0, 0], [middle - 0.13, middle + 0.13], ink, width=1.2)


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
            text = "; ".join(filter(None, (answers.item_text(item), item.note)))
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
        yield panel.Picture("acceptance", "All criteria", caption, drawn, [])


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
    return units.quantity(item.measured, units.readable_unit(item.measured_unit, [item.measured]))


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
