# SPDX-License-Identifier: Apache-2.0
"""A stability phase as a result: verdict, figures, each outage, what was not seen."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from math import inf
from typing import Annotated

from plugins.contract.reliability import LEVEL, Demonstration, mean_time_bounds
from plugins.contract.stability.booking import Booked, booked, utc
from plugins.contract.stability.judge import BETTER, Figures, JudgedPromise
from plugins.contract.stability.ledger import Class, Classed, Entry, WatchTerms
from records.forms import Form, Part, key
from reports.answers import Answer, AnswerPart, listed
from reports.notation.units import count_text, percent
from reports.result import EVERYWHERE, Block, Facts, Result, Section, Sentence
from reports.show.tables import TONES, Cell, numeric, pivot


class OutagePart(Part):
    """An outage."""

    id: Annotated[str, key("Its name, for --class.")]
    kind: Annotated[str, key("Kind of what was without service.")]
    thing: Annotated[str, key("Nodes, partition, folder or job.")]
    word: Annotated[Class, key("Who answers for it.")]
    wall: Annotated[float, key("When it began by the clock of its time, seconds since 1970.")]
    length_s: Annotated[float, key("Time until the last of it served, contract time.")]
    node_hours: Annotated[float, key("Node hours without service, contract time.")]
    lasts: Annotated[bool, key("True if it had not ended at the last look.")]
    reason: Annotated[str, key("Reason that Slurm or the system said.")]
    said: Annotated[list[Classed], key("All classes that it was given, the last one counts.")]


class StabilityForm(Form, kw_only=True):
    """`assay contract watch`: a stability phase."""

    schema: Annotated[int, key("The version of this form.")] = 2
    site: Annotated[str, key("The site.")]
    answer: Annotated[AnswerPart, key("The answer.")]
    period_s: Annotated[float, key("Time of the phase that is booked, contract time.")]
    length_s: Annotated[float, key("Length of the phase, contract time.")]
    scale: Annotated[float, key("Contract time that passes in a second.")]
    looks: Annotated[int, key("Looks.")]
    nodes: Annotated[int, key("Nodes.")]
    availability: Annotated[
        tuple[float, float], key("Least and most by node hours, by what is not known.")
    ]
    all_classes: Annotated[float, key("Availability with all outages but scheduled ones.")]
    interrupts: Annotated[int, key("Interrupts of class vendor or unknown.")]
    mtbi_s: Annotated[float | None, key("Mean time between them; null: none.")]
    mtbi_low_s: Annotated[float, key("Its lower bound at 90 %.")]
    killed: Annotated[int, key("Jobs that a failure of class vendor or unknown ended.")]
    mtti_s: Annotated[float | None, key("Mean time between them; null: none.")]
    mtti_low_s: Annotated[float, key("Its lower bound at 90 %.")]
    unseen_s: Annotated[float, key("Unwatched time, contract time.")]
    criteria: Annotated[list[JudgedPromise], key("The promises judged.")]
    outages: Annotated[list[OutagePart], key("The outages, by their begin.")]
    notes: Annotated[list[str], key("Clocks that were set, and what was not seen.")]


def before_the_test(watch: WatchTerms) -> list[str]:
    """Sentences on what the phase can and cannot show, said before it begins."""
    means = [(name, at) for name, at in (("", watch.mtbi_s), ("job MTTI: ", watch.mtti_s)) if at]
    return [name + Demonstration.of(watch.length_s, at).sentence for name, at in means]


def stability_result(entries: Sequence[Entry]) -> Result[StabilityForm]:
    """The result of a ledger with at least one look."""
    found = booked(entries)
    figures = Figures(found)
    answer = _answer(figures)
    form = _form(figures, answer)
    watch = found.watch
    parts: list[tuple[str, str, Callable[[StabilityForm], Iterator[Block | None]]]] = [
        ("criteria", "Promises", _criteria),
        ("outages", "Outages", _outages),
        ("classes", "Classes that people gave", _said),
        ("unseen", "What was not seen", lambda form: map(Sentence, form.notes)),
    ]
    return Result(
        kicker=f"Assay stability · {watch.site} · {count_text(len(found.looks), 'look')}",
        title=f"Stability of {watch.site}",
        data=form,
        answer=answer,
        facts=Facts(list(_facts(found, form))),
        sentences=[Sentence(text, tone="open") for text in before_the_test(watch)],
        sections=[
            *(
                Section(name, title, partial(make, form), shown_on=EVERYWHERE)
                for name, title, make in parts
            ),
            Section("method", "Method", lambda: [Sentence(_METHOD)]),
        ],
        closing="Made by Assay from the ledger of looks.",
    )


_METHOD = (
    "Availability is 1 − lost node hours / (node hours − scheduled ones); a controller or file"
    " system without service takes all nodes, a partition those that no other partition has up."
    " Outages of class vendor count; those of class unknown, and unwatched time, count in the lower"
    " end of a range. Of overlapping outages of a node one counts: scheduled, external,"
    " site, vendor, unknown, in this order. Nodes of one kind of fault that begins within one"
    " interval are one outage. What is drained is no interrupt: its jobs end. Mean times are"
    " watched time less scheduled time over failures; their lower bound is 2T/χ²(0.9; 2r + 2)."
)


def _form(figures: Figures, answer: Answer) -> StabilityForm:
    found, watch = figures.found, figures.found.watch
    lost = sum(figures.lost[word] for word in ("vendor", "unknown", "site", "external"))
    killed = len([word for word in figures.killed if word in ("vendor", "unknown")])
    counts = [len(figures.interrupts), killed]
    bounds = [mean_time_bounds(figures.exposed_s, count)[0] for count in counts]
    mean = [figures.exposed_s / count if count else None for count in counts]
    return StabilityForm(
        site=watch.site,
        answer=answer.part,
        period_s=figures.period_s,
        length_s=watch.length_s,
        scale=watch.scale,
        looks=len(found.looks),
        nodes=len(found.since),
        availability=figures.availability,
        all_classes=1 - lost / figures.node_s if figures.node_s else 0.0,
        interrupts=counts[0],
        mtbi_s=mean[0],
        mtbi_low_s=bounds[0],
        killed=counts[1],
        mtti_s=mean[1],
        mtti_low_s=bounds[1],
        unseen_s=figures.unseen_s,
        criteria=figures.criteria,
        outages=[
            OutagePart.filled(
                one,
                length_s=(one.end - one.begin) * watch.scale,
                node_hours=one.node_s * watch.scale / 3600,
            )
            for one in found.outages
        ],
        notes=[*found.notes, *_unwatched(found)],
    )


def _unwatched(found: Booked) -> Iterator[str]:
    """Times without a look, and what the looks could not see."""
    for place, look in enumerate(found.looks):
        if found.is_long(place):
            known = "outages of nodes in it are from accounting"
            left = known if look.accounting else "of it only what left traces is booked"
            yield f"Unwatched: {utc(found.looks[place - 1].at)} to {utc(look.at)}; {left}."
    for text in dict.fromkeys(text for look in found.looks for text in look.unseen):
        yield f"Not seen: {text}."


def _range(least: float, most: float | None) -> str:
    """An availability, or its range."""
    low, high = percent(least, 3), percent(most, 3)
    return low if low == high else f"{low} to {high}"


def _hours(seconds: float | None) -> str:
    return "no failure" if seconds is None or seconds == inf else f"{seconds / 3600:.4g} h"


def _answer(figures: Figures) -> Answer:
    found, criteria = figures.found, figures.criteria
    state = figures.verdict
    seen = f"availability {_range(*figures.availability)}"
    interrupts = count_text(len(figures.interrupts), "interrupt")
    days = f"{figures.period_s / 86400:.3g} days"
    decisive = [one.name for one in criteria if one.verdict == state.word]
    head = f"{listed(decisive)}: " if decisive else ""
    open_ = [one.why for one in criteria if one.why]
    return Answer(
        state,
        f"{head}{seen} and {interrupts} in {days} of {found.watch.site}",
        unknown=open_[0] if open_ else "",
    )


def _facts(found: Booked, form: StabilityForm) -> Iterator[tuple[str, str]]:
    first, last = found.looks[0].at, found.looks[-1].at
    yield "phase", f"{form.period_s / 86400:.3g} of {form.length_s / 86400:.3g} days"
    yield "looks", f"{form.looks}, {utc(first)} to {utc(last)}"
    if form.scale != 1:
        yield "scale", f"a second counts {form.scale:g} s"
    yield "nodes", f"{form.nodes}"
    yield (
        "availability",
        f"{_range(*form.availability)} (all classes {percent(form.all_classes, 3)})",
    )
    for name, mean, low in (
        ("MTBI", form.mtbi_s, form.mtbi_low_s),
        ("job MTTI", form.mtti_s, form.mtti_low_s),
    ):
        yield name, f"{_hours(mean)}, with {percent(LEVEL, 0)} at least {_hours(low)}"


def _criteria(form: StabilityForm) -> Iterator[Block | None]:
    def cells(one: JudgedPromise) -> list[Cell | str]:
        share = one.name == "availability"
        promised = percent(one.promised, 2) if share else _hours(one.promised)
        seen = (
            _range(one.least or 0.0, one.most)
            if share
            else f"{_hours(one.least)} to {_hours(one.most)}"
        )
        bounds = " to ".join(map(_hours, one.bounds)) if one.bounds else "–"
        risks = [
            percent(risk, 0) if risk is not None else "–"
            for risk in (one.buyers_risk, one.vendors_risk)
        ]
        verdict = Cell(one.verdict, tone=TONES[one.verdict])
        return [f"{one.name} ≥ {promised}", verdict, seen, bounds, *risks]

    numbers = numeric("seen", "bounds, 90 % each", "buyer's risk", "vendor's risk")
    yield pivot(
        form.criteria,
        [(["promise", "verdict", *numbers], cells)],
        anchor="table-criteria",
        title="Promises",
        note=f"Buyer's risk: a machine at the promise passes. Vendor's: one {BETTER:g} times better"
        " does not.",
    ) or Sentence("Nothing was promised: figures only.")
    yield from (Sentence(f"{one.name} is open: {one.why}") for one in form.criteria if one.why)


def _outages(form: StabilityForm) -> Iterator[Block | None]:
    def cells(one: OutagePart) -> list[Cell | str]:
        length = f"{one.length_s / 3600:.3g} h" + (" so far" if one.lasts else "")
        hours = f"{one.node_hours:.3g}"
        tone = "open" if one.word == "unknown" else ""
        word = Cell(one.word, tone=tone)  # type: ignore[arg-type]
        named = listed(one.thing.split(","))
        return [utc(one.wall), one.kind, named, word, length, hours, one.reason, one.id]

    lead = ["begin", "kind", "of", "class", *numeric("length", "node hours"), "reason", "name"]
    yield pivot(form.outages, [(lead, cells)], anchor="table-outages", title="Outages") or Sentence(
        "No outage was booked."
    )


def _said(form: StabilityForm) -> Iterator[Block]:
    for one in form.outages:
        for said in one.said:
            who = f"{said.by}, {utc(said.at)}"
            yield Sentence(f"{one.id} is {said.word}, says {who}: {said.reason}")
