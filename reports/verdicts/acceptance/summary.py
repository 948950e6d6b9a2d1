# SPDX-License-Identifier: Apache-2.0
"""An acceptance in short: its answer, the facts on top of its document, its margins drawn."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from records.criteria import Criterion
from records.flags import MEANINGS, OVERSUBSCRIBED, UNPROVEN
from records.site.node_facts import oddities
from reports import commands
from reports.answers import (
    Answer,
    State,
    bound_text,
    centre_text,
    headline,
    limit_words,
    listed,
    margin_text,
)
from reports.judgement import Item, JudgedCriterion
from reports.load.loading import Run
from reports.notation.labels import BAD, GOOD, INK, OPEN, QUIET, Look
from reports.notation.units import count_text, sentence_case
from reports.result import Sentence, Tone
from reports.show import panel
from reports.verdicts.acceptance.dossier import Dossier
from reports.verdicts.acceptance.values import NOMINAL_KEYS

#: Findings of a state, slow nodes and what is odd about each, metrics that no criterion compares.
_MOST_NAMED, _MOST_ODD, _MOST_METRICS = 8, 8, 12
REHEARSAL = "the site is a virtual cluster on one machine: this is a rehearsal of an acceptance"
_NONE_ABSOLUTE = (
    "no absolute limit is met, and without one nothing passes: limits from the machine itself"
    " cannot detect a fault common to all nodes; add the contract's (kind: limit), or state nominal"
    f" rates in site.yaml ({', '.join(NOMINAL_KEYS.values())}) and use kind: efficiency"
)
#: A fact without a full stop, the section that has its rows, and its tone.
_Fact = tuple[str, str, Tone]


def answer_of_acceptance(dossier: Dossier, name: str = "") -> Answer:
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
    unknown = "; ".join([text for text, _, _ in _open(dossier)][:2])
    return Answer(State[judgement.verdict], f"{headline(judgement)}.", unknown, command)


def sentences(dossier: Dossier) -> list[Sentence]:
    """Facts named, open facts, and limits of the verdict."""
    facts = (*_named(dossier), *_open(dossier), *_caveats(dossier))
    return [Sentence(f"{sentence_case(text)}.", f"#{at}", tone) for text, at, tone in facts]


def _to_come(run: Run) -> int:
    """Number of launches that were asked for and have no record."""
    feasible = (case for case in run.plan.cases if case.skipped is None)
    return sum(run.asked[case.environment, case.check] for case in feasible) - run.done


def _named(dossier: Dossier) -> Iterator[_Fact]:
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
    undecided = [result for result in judgement.criteria if result.effective == "INCONCLUSIVE"]
    suspected = sum(finding.state == "suspected" for finding in judgement.named)
    if judgement.verdict == "SUSPECT" or (suspected and judgement.verdict == "FAIL"):
        again = "no re-run was made yet" if not dossier.reruns else "re-runs do not settle it yet"
        yield f"whether it stays: {again}", "reruns", "open"
    if judgement.verdict == "INCONCLUSIVE" and judgement.absolute:
        notes = [item.note if (item := r.most_telling()) else r.note for r in undecided]
        yield from ((f"why: {note}", "criteria", "open") for note in dict.fromkeys(notes) if note)
    elif undecided:
        text = f"{count_text(len(undecided), 'criterion is', 'criteria are')} undecided"
        yield text, "criteria", "open"
    if not judgement.absolute:
        yield _NONE_ABSOLUTE, "criteria", "open"
    elif free := _without_absolute_limit(dossier):
        text = (
            f"no criterion compares {listed(free, _MOST_METRICS)} with an offer or a nominal rate"
        )
        alike = "a machine of which every node or link is slow alike in that passes"
        yield f"{text}: {alike}", "criteria", "open"
    for why in dict.fromkeys(one.note for one in judgement.left_out):
        ids = [one.id for one in judgement.left_out if one.note == why]
        yield f"{listed(ids)}: not judged, {why}", "criteria", "open"
    for text in run.plan.told():
        yield f"not in this acceptance: {text}", "provenance", "open"
    if (missing := _to_come(run)) > 0:
        text = f"the run is not finished, {count_text(missing, 'launch')} are still to come"
        yield f"{text}: assay run --resume goes on with it", "details", "open"
    if run.provenance.site.virtual:
        yield REHEARSAL, "provenance", "open"


def _without_absolute_limit(dossier: Dossier) -> list[str]:
    """Metrics that no absolute limit covers: a fault that all nodes share is not seen in them."""
    results = {result.id: result for result in dossier.judgement.criteria}
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
            yield f"{waivers}: {listed(ids)}", "waivers", "open"
    launches = dossier.evidence.launches.values()
    if shared := sum(OVERSUBSCRIBED in launch.flags for launch in launches):
        count = count_text(len(launches), "launch")
        text = f"{shared} of {count} had more busy ranks than cores"
        yield f"{text}: their numbers judge this arrangement, not a real machine", "method", "open"
    if unproven := sum(UNPROVEN in launch.flags for launch in launches):
        text = f"{unproven} of {count_text(len(launches), 'launch')} are unproven"
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
    telling = ((result, result.most_telling()) for result in criteria)
    shown = [(result, item) for result, item in telling if item and item.margin is not None]
    if not shown:
        return
    marks: list[panel.Mark] = []
    down = 0.0
    for result, item in shown:
        for text, colour in ((result.title, INK), (_margin_words(item), QUIET)):
            lines = panel.wrapped(text, 9, panel.WIDTH_IN - 0.1)
            words = "\n".join(lines)
            marks.append(panel.written(words, (-_MOST_MARGIN, down), colour, va="top"))
            down += _LINE_IN * len(lines)
        marks += _margin_bar(down + 0.38 * _BAR_IN, item, _COLOUR[result.verdict])
        down += _BAR_IN
    text = "; ".join(f"{result.title}: {_margin_words(item)}" for result, item in shown)
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
    limit = f"(limit {limit_words(item)})"
    if not item.deciding_bounds:
        return f"{centre_text(item)}, {item.subject} {limit}"
    bound = bound_text(item)
    words = f"{margin_text(item)}, {item.subject}, bound {bound} {limit}"
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
