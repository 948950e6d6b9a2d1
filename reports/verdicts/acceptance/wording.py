# SPDX-License-Identifier: Apache-2.0
"""A judgement in words: the sentences on top of the document, and the numbers of judged items."""

from __future__ import annotations

from collections.abc import Iterator

from records.criteria import Criterion, EfficiencyCriterion, LimitCriterion
from records.flags import OVERSUBSCRIBED
from records.site.node_facts import oddities
from reports.answer.phrases import listed
from reports.notation.units import count_text, fixed, percent, readable_unit
from reports.notation.values import quantity
from reports.result import Sentence
from reports.verdicts.acceptance.dossier import Dossier
from reports.verdicts.acceptance.model import Item
from reports.verdicts.acceptance.values import NOMINAL_KEYS

#: Slow nodes that are listed with what is odd about them, and facts of each.
_MOST_ODD = 8
#: Metrics that are listed with what no criterion sees of them.
_MOST_METRICS = 12


def sentences(dossier: Dossier) -> list[Sentence]:
    """What is named, what is open and what limits the verdict."""
    return [*_outcome(dossier), *_still_open(dossier), *_caveats(dossier)]


def _outcome(dossier: Dossier) -> Iterator[Sentence]:
    """Who is named, by state, and what is odd about the nodes."""
    named = dossier.judgement.named
    words = {
        "confirmed": "Confirmed by re-runs",
        "suspected": "Suspected",
        "missing": "Planned and not measured",
    }
    for state, word in words.items():
        mine = [finding.title for finding in named if finding.state == state]
        if mine:
            shown = ", ".join(mine[:8]) + (" and others" if len(mine) > 8 else "")
            yield Sentence(f"{word}: {shown}.", "#named", "bad")
    for finding in [one for one in named if one.nodes][:_MOST_ODD]:
        for node in finding.nodes:
            if odd := oddities(dossier.run.provenance.nodes, node):
                text = f"{node} is not like the others: {'; '.join(odd[:_MOST_ODD])}."
                yield Sentence(text, "#provenance", "bad")
    if not named:
        yield Sentence("No slow node and no slow link is named.", "#named", "good")
    if not dossier.judgement.absolute:
        yield Sentence(_without_absolute(dossier), "#criteria", "open")
        return
    for text in unseen(dossier):
        yield Sentence(f"{text}.", "#criteria", "open")


def unseen(dossier: Dossier) -> list[str]:
    """What no criterion can see of a machine that keeps to all of them, no full stops: metrics that
    have no absolute limit, and those that only a share of a nominal rate holds."""
    results = {result.id: result for result in dossier.judgement.criteria}
    judged = [one for one in dossier.criteria.criteria if one.id in results]
    measured = [one for one in judged if results[one.id].items]
    held = {(one.check, one.metric) for one in measured if results[one.id].absolute}
    offered = {(one.check, one.metric) for one in measured if isinstance(one, LimitCriterion)}
    told = []
    free = [one for one in measured if (one.check, one.metric) not in held]
    if alike := dict.fromkeys(_metric(dossier, one) for one in free):
        metrics = listed([*alike], _MOST_METRICS)
        told.append(
            f"No criterion compares {metrics} with an offer or a nominal rate: a machine of which"
            " every node or link is slow alike in that passes"
        )
    shares = {
        _metric(dossier, one): percent(one.at_least, 0)
        for one in measured
        if isinstance(one, EfficiencyCriterion)
        and one.peak == "nominal"
        and (one.check, one.metric) not in offered
    }
    if shares:
        rates = listed([f"{name} ({share})" for name, share in shares.items()], _MOST_METRICS)
        told.append(
            f"Of {rates} a share of the nominal rate is asked, no offer: what every node or link"
            " loses alike passes down to that share"
        )
    return told


def _metric(dossier: Dossier, one: Criterion) -> str:
    """A metric in words, with its check where it has no title of its own."""
    register = dossier.evidence.register
    known = register.metrics.get(one.metric)
    title = register.metric_title(one.metric)
    return title if known and known.title else f"{title} of {register.check_title(one.check)}"


def _without_absolute(dossier: Dossier) -> str:
    """That limits from the machine itself are not enough, and what the site's facts offer."""
    proposals = dossier.judgement.proposals
    text = (
        "No absolute limit is met, and without one nothing passes: limits from the"
        " machine itself cannot detect a fault common to all nodes. Add the contract's (kind:"
        " limit)"
    )
    if proposals:
        return f"{text}, or shares of the site's nominal rates: {'; '.join(proposals)}."
    facts = ", ".join(NOMINAL_KEYS.values())
    return f"{text}, or state nominal rates in site.yaml ({facts}) and use kind: efficiency."


def _still_open(dossier: Dossier) -> Iterator[Sentence]:
    """What the site could not run, launches that are missing, re-runs, waivers."""
    judgement, run = dossier.judgement, dossier.run
    for text in run.plan.told():
        yield Sentence(f"Not in this acceptance: {text}.", "#provenance", "open")
    feasible = (case for case in run.plan.cases if case.skipped is None)
    planned = sum(run.asked[case.environment, case.check] for case in feasible)
    done = run.done
    if done < planned:
        yield Sentence(
            f"The run is not finished, {count_text(planned - done, 'launch', 'launches')} are"
            " still to come: assay run --resume goes on with it.",
            "#details",
            "open",
        )
    if judgement.rerun:
        yield Sentence(
            f"Re-runs of {count_text(len(judgement.rerun), 'case')} are wanted before this can be"
            " signed; the campaign file is stored with this document.",
            "#reruns",
            "open",
        )
    elif judgement.rerun_count:
        runs = count_text(judgement.rerun_count, "re-run")
        text = f"Launches of {runs} enter these verdicts with those of the run."
        yield Sentence(text, "#reruns", "plain")
    if judgement.left_out:
        told = "; ".join(f"{name} ({note})" for name, note in judgement.left_out)
        yield Sentence(f"Not judged: {told}.", "#criteria", "open")
    applied = [w.waiver for w in judgement.waivers if w.state == "applied"]
    expired = [w.waiver.criterion for w in judgement.waivers if w.state == "expired"]
    if applied:
        told = "; ".join(f"{w.criterion} by {w.author} until {w.expires}" for w in applied[:3])
        yield Sentence(f"Waived: {told}.", "#waivers", "open")
    if expired:
        text = f"Expired waivers do not count: {', '.join(expired[:5])}."
        yield Sentence(text, "#waivers", "open")


def _caveats(dossier: Dossier) -> Iterator[Sentence]:
    """What limits the verdict: shared cores, a virtual site, warnings of the run."""
    launches = dossier.evidence.launches.values()
    shared = sum(OVERSUBSCRIBED in launch.flags for launch in launches)
    if shared:
        yield Sentence(
            f"{shared} of {count_text(len(launches), 'launch', 'launches')} had more busy ranks"
            " than cores: their numbers judge this arrangement, not a real machine.",
            "#method",
            "open",
        )
    if dossier.run.provenance.site.virtual:
        yield Sentence(
            "The site is a virtual cluster on one machine: this is a rehearsal of an acceptance.",
            "#provenance",
            "open",
        )
    for warning in dossier.run.warnings[:2]:
        yield Sentence(warning, "#provenance", "open")


def number(item: Item, value: float) -> str:
    """A value of the item's own unit; without a unit a share (93 %) or a multiple (2.1 ×)."""
    limits = [limit for limit in (item.at_least, item.at_most) if limit is not None]
    if item.unit == "1":
        return f"{fixed(value, 2)} ×" if max(limits, default=0.0) > 1 else percent(value)
    typical = [limit for limit in limits if limit] or [item.bounds.centre]
    return quantity(value, readable_unit(item.unit, typical))


def centre_text(item: Item) -> str:
    """What was observed: the median, or how many launches were ok."""
    return item.note if item.bounds.method == "count" else number(item, item.bounds.centre)


def bound_text(item: Item) -> str:
    """The bound that decides, as the verdict reads it; both where neither does."""
    bounds = [number(item, bound) for bound in item.deciding_bounds]
    if len(bounds) == 1:
        return f"{'≥' if item.lower_matters else '≤'} {bounds[0]}"
    return " … ".join(bounds) or "–"


def limit_words(item: Item) -> str:
    """The item's limit: "≥ 95 %"."""
    least, most = item.at_least, item.at_most
    if least is not None and most is not None:
        return f"{number(item, least)} … {number(item, most)}"
    if least is not None:
        return f"≥ {number(item, least)}"
    return f"≤ {number(item, most)}" if most is not None else "–"


def margin_text(item: Item) -> str:
    """The signed distance from the nearest limit: in points between shares, else in per cent of
    the limit."""
    if item.margin is None or item.bounds.low is None:
        return "–"
    limits = [limit for limit in (item.at_least, item.at_most) if limit]
    if item.unit == "1" and max(limits) <= 1:
        points = min(abs(item.bounds.centre - limit) for limit in limits)
        return f"{'+' if item.margin >= 0 else '−'}{fixed(100 * points, 1)} points"
    return f"{'+' if item.margin >= 0 else '−'}{percent(abs(item.margin))}"


def measured_text(item: Item) -> str:
    """The plain value behind a share."""
    if item.measured is None:
        return ""
    return quantity(item.measured, readable_unit(item.measured_unit, [item.measured]))
