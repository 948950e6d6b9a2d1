# SPDX-License-Identifier: Apache-2.0
"""The sentences on top of an acceptance document; each has rows below that back it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from records.flags import OVERSUBSCRIBED
from reports.acceptance.dossier import Dossier
from reports.acceptance.model import Finding
from reports.notation.units import count_text


@dataclass(frozen=True)
class Sentence:
    """A sentence, the place that backs it, and whether it is bad news ("bad", "open", "good")."""

    text: str
    href: str
    kind: str


def sentences(dossier: Dossier) -> list[Sentence]:
    """At most ten sentences, the verdict first."""
    return [
        _verdict(dossier),
        *_named(dossier.judgement.named),
        *_unfinished(dossier),
        *_reruns(dossier),
        *_waivers(dossier),
        *_caveats(dossier),
    ]


def _verdict(dossier: Dossier) -> Sentence:
    results = dossier.judgement.criteria
    counts = {
        verdict: [result for result in results if result.effective == verdict]
        for verdict in ("PASS", "FAIL", "INCONCLUSIVE")
    }
    if len(counts["PASS"]) == len(results):
        text = f"All {count_text(len(results), 'criterion', 'criteria')} are met."
        return Sentence(text, "criteria", "good")
    parts = [f"{len(counts['PASS'])} of {len(results)} criteria are met"]
    for verdict, word in (("FAIL", "not met"), ("INCONCLUSIVE", "undecided")):
        if counts[verdict]:
            titles = "; ".join(result.title for result in counts[verdict][:4])
            more = " and others" if len(counts[verdict]) > 4 else ""
            parts.append(f"{len(counts[verdict])} {word} ({titles}{more})")
    kind = "bad" if counts["FAIL"] else "open"
    return Sentence(f"{', '.join(parts)}.", "criteria", kind)


def _named(named: Sequence[Finding]) -> Iterator[Sentence]:
    if not named:
        yield Sentence("No slow node and no slow link is named.", "named", "good")
        return
    for state, word in (("confirmed", "Confirmed by re-runs"), ("suspected", "Suspected")):
        mine = [finding.title for finding in named if finding.state == state]
        if mine:
            shown = ", ".join(mine[:8]) + (" and others" if len(mine) > 8 else "")
            yield Sentence(f"{word}: {shown}.", "named", "bad")


def _unfinished(dossier: Dossier) -> Iterator[Sentence]:
    evidence = dossier.evidence
    planned = sum(case.skipped is None for case in evidence.planned) * dossier.run.plan.blocks
    done = len({(launch.case, launch.block) for launch in dossier.run.counted() if launch.block})
    if done < planned:
        yield Sentence(
            f"The run is not finished, {count_text(planned - done, 'launch', 'launches')} are"
            " still to come: assay run --resume goes on with it.",
            "details",
            "open",
        )


def _reruns(dossier: Dossier) -> Iterator[Sentence]:
    judgement = dossier.judgement
    if judgement.rerun:
        cases = count_text(len(judgement.rerun), "case")
        yield Sentence(
            f"Re-runs of {cases} are wanted before this can be signed; the campaign file lies"
            " beside this document.",
            "reruns",
            "open",
        )
    elif judgement.rerun_count:
        runs = count_text(judgement.rerun_count, "re-run")
        text = f"Launches of {runs} enter these verdicts with those of the run."
        yield Sentence(text, "reruns", "plain")


def _waivers(dossier: Dossier) -> Iterator[Sentence]:
    waivers = dossier.judgement.waivers
    applied = [w.waiver for w in waivers if w.state == "applied"]
    expired = [w.waiver for w in waivers if w.state == "expired"]
    if applied:
        told = "; ".join(f"{w.criterion} by {w.author} until {w.expires}" for w in applied[:3])
        yield Sentence(f"Waived: {told}.", "waivers", "open")
    if expired:
        told = ", ".join(w.criterion for w in expired[:5])
        yield Sentence(f"Expired waivers do not count: {told}.", "waivers", "open")


def _caveats(dossier: Dossier) -> Iterator[Sentence]:
    launches = dossier.evidence.launches.values()
    shared = sum(OVERSUBSCRIBED in launch.flags for launch in launches)
    if shared:
        yield Sentence(
            f"{shared} of {count_text(len(launches), 'launch', 'launches')} had more busy ranks"
            " than cores: their numbers judge this arrangement, not a real machine.",
            "method",
            "open",
        )
    if dossier.run.provenance.site.virtual:
        yield Sentence(
            "The site is a virtual cluster on one machine: this is a rehearsal of an acceptance.",
            "provenance",
            "open",
        )
    for warning in dossier.run.warnings[:2]:
        yield Sentence(warning, "provenance", "open")
