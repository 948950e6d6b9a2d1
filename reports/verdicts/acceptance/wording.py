# SPDX-License-Identifier: Apache-2.0
"""An acceptance in words: its answer, what is not known, the sentences on top of its document."""

from __future__ import annotations

from collections.abc import Iterator

from records.criteria import Criterion, EfficiencyCriterion, LimitCriterion
from records.flags import MEANINGS, OVERSUBSCRIBED, UNPROVEN
from records.site.node_facts import oddities
from reports import commands
from reports.answers import Answer, State, listed
from reports.headline import headline
from reports.load.loading import Run
from reports.notation.units import count_text, percent, sentence_case
from reports.result import Sentence, Tone
from reports.verdicts.acceptance.dossier import Dossier
from reports.verdicts.acceptance.values import NOMINAL_KEYS

#: Slow nodes that are listed with what is odd about them, and facts of each.
_MOST_ODD = 8
#: Metrics that are listed with what no criterion sees of them.
_MOST_METRICS = 12
#: Findings of a state that are listed.
_MOST_NAMED = 8
NONE_ABSOLUTE = (
    "no absolute limit is met, and without one nothing passes: limits from the machine itself"
    " cannot detect a fault common to all nodes"
)
REHEARSAL = "the site is a virtual cluster on one machine: this is a rehearsal of an acceptance"


def answer_of_acceptance(dossier: Dossier, name: str = "") -> Answer:
    """The judgement's headline; its word is the verdict. `name` is what commands call the run, its
    id by default: a document stays the same wherever its run is."""
    judgement, run = dossier.judgement, dossier.run
    name = name or run.run_id
    command = commands.run_again(run) if judgement.absolute else commands.NOTHING
    if to_come(run) > 0:
        command = commands.resume(name, run.provenance.asked.checks)
    elif judgement.rerun:
        command = commands.accept(run, name, rerun=True)
    elif judgement.verdict == "PASS":
        command = commands.verify(run, name)
    unknown = "; ".join([*_unknown(dossier)][:2])
    return Answer(State[judgement.verdict], f"{headline(judgement)}.", unknown, command)


def _unknown(dossier: Dossier) -> Iterator[str]:
    """Facts that the judgement leaves open, the weightiest first."""
    judgement, verdict = dossier.judgement, dossier.judgement.verdict
    undecided = [r for r in judgement.criteria if r.effective == "INCONCLUSIVE"]
    if verdict == "SUSPECT":
        again = "no re-run was made yet" if not dossier.reruns else "re-runs do not settle it yet"
        yield f"whether it stays: {again}"
    elif verdict == "INCONCLUSIVE" and judgement.absolute:
        notes = [item.note if (item := r.most_telling()) else r.note for r in undecided]
        yield from dict.fromkeys(f"why: {note}" for note in notes if note)
    if not judgement.absolute:
        yield f"{NONE_ABSOLUTE}; {remedy()}"
    suspected = sum(finding.state == "suspected" for finding in judgement.named)
    if suspected and verdict == "FAIL":
        stay = count_text(suspected, "suspect stays", "suspects stay")
        yield f"whether {stay}: no re-run shows it yet"
    if undecided and verdict in ("FAIL", "SUSPECT"):
        yield f"{count_text(len(undecided), 'criterion is', 'criteria are')} undecided"
    if verdict == "PASS" and (facts := unseen(dossier)):
        yield "; ".join(facts)
    yield from left_out(dossier)
    if dossier.run.provenance.site.virtual:
        yield REHEARSAL


def to_come(run: Run) -> int:
    """Number of launches that were asked for and have no record."""
    feasible = (case for case in run.plan.cases if case.skipped is None)
    return sum(run.asked[case.environment, case.check] for case in feasible) - run.done


def remedy() -> str:
    """Criteria that would give a judgement an absolute limit."""
    facts = ", ".join(NOMINAL_KEYS.values())
    return (
        "add the contract's (kind: limit), or state nominal rates in site.yaml"
        f" ({facts}) and use kind: efficiency"
    )


def left_out(dossier: Dossier) -> Iterator[str]:
    """The criteria that could not apply, together where the reason is the same."""
    every = dossier.judgement.left_out
    for why in dict.fromkeys(one.note for one in every):
        yield f"{listed([one.id for one in every if one.note == why])}: not judged, {why}"


def unseen(dossier: Dossier) -> list[str]:
    """Faults that no criterion can see of a machine that keeps to all of them: metrics that have no
    absolute limit, and those that only a share of a nominal rate holds."""
    results = {result.id: result for result in dossier.judgement.criteria}
    measured = [c for c in dossier.criteria.criteria if c.id in results and results[c.id].items]
    held = {(one.check, one.metric) for one in measured if results[one.id].absolute}
    offered = {(one.check, one.metric) for one in measured if isinstance(one, LimitCriterion)}
    found = []
    free = [one for one in measured if (one.check, one.metric) not in held]
    if alike := dict.fromkeys(_metric(dossier, one) for one in free):
        found.append(
            f"no criterion compares {listed([*alike], _MOST_METRICS)} with an offer or a nominal"
            " rate: a machine of which every node or link is slow alike in that passes"
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
        found.append(
            f"of {rates} a share of the nominal rate is asked, no offer: what every node or link"
            " loses alike passes down to that share"
        )
    return found


def _metric(dossier: Dossier, one: Criterion) -> str:
    """A metric in words, with its check where it has no title of its own."""
    register = dossier.evidence.register
    known = register.metrics.get(one.metric)
    title = register.metric_title(one.metric)
    return title if known and known.title else f"{title} of {register.check_title(one.check)}"


def sentences(dossier: Dossier) -> list[Sentence]:
    """Facts named, open facts, and limits of the verdict."""
    facts = (*_named(dossier), *_still_open(dossier), *_caveats(dossier))
    return [Sentence(f"{sentence_case(text)}.", f"#{at}", tone) for text, at, tone in facts]


#: A fact without a full stop, the section that has its rows, and its tone.
_Fact = tuple[str, str, Tone]


def _named(dossier: Dossier) -> Iterator[_Fact]:
    """Names by state, oddities of the nodes, and what no criterion sees."""
    judgement, named = dossier.judgement, dossier.judgement.named
    for state, word in (
        ("confirmed", "confirmed by re-runs"),
        ("suspected", "suspected"),
        ("missing", "planned and not measured"),
    ):
        if mine := [finding.title for finding in named if finding.state == state]:
            others = " and others" if len(mine) > _MOST_NAMED else ""
            yield f"{word}: {', '.join(mine[:_MOST_NAMED])}{others}", "named", "bad"
    for finding in [one for one in named if one.nodes][:_MOST_ODD]:
        for node in finding.nodes:
            if odd := oddities(dossier.run.provenance.nodes, node):
                text = f"{node} is not like the others: {'; '.join(odd[:_MOST_ODD])}"
                yield text, "provenance", "bad"
    if not named:
        among = " of those that were measured" if dossier.evidence.unmeasured else ""
        yield f"no slow node and no slow link{among} is named", "named", "good"
    if not judgement.absolute:
        yield f"{NONE_ABSOLUTE}. {sentence_case(remedy())}", "criteria", "open"
    for text in unseen(dossier) if judgement.absolute else ():
        yield text, "criteria", "open"


def _still_open(dossier: Dossier) -> Iterator[_Fact]:
    """Cases the site could not run, launches that are missing, re-runs, criteria left out."""
    judgement, run = dossier.judgement, dossier.run
    for text in run.plan.told():
        yield f"not in this acceptance: {text}", "provenance", "open"
    if (missing := to_come(run)) > 0:
        launches = count_text(missing, "launch")
        text = f"the run is not finished, {launches} are still to come"
        yield f"{text}: assay run --resume goes on with it", "details", "open"
    if judgement.rerun:
        text = (
            f"re-runs of {count_text(len(judgement.rerun), 'case')} are wanted before this can be"
        )
        yield f"{text} signed; the campaign file is stored with this document", "reruns", "open"
    elif dossier.reruns:
        runs = count_text(len(dossier.reruns), "re-run")
        yield f"launches of {runs} enter these verdicts with those of the run", "reruns", "plain"
    for text in left_out(dossier):
        yield text, "criteria", "open"


def _caveats(dossier: Dossier) -> Iterator[_Fact]:
    """Limits of the verdict: waivers, shared cores, a virtual site, warnings of the run."""
    judgement, run = dossier.judgement, dossier.run
    if applied := [w for w in judgement.waivers if w.state == "applied"]:
        text = "; ".join(f"{w.criterion} by {w.author} until {w.expires}" for w in applied[:3])
        yield f"waived: {text}", "waivers", "open"
    if expired := [w.criterion for w in judgement.waivers if w.state == "expired"]:
        yield f"expired waivers do not count: {', '.join(expired[:5])}", "waivers", "open"
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
    if run.provenance.site.virtual:
        yield REHEARSAL, "provenance", "open"
    for warning in run.warnings[:2]:
        yield warning.rstrip("."), "provenance", "open"
