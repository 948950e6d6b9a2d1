# SPDX-License-Identifier: Apache-2.0
"""What a run does not tell, whatever its answer is, and why; what weighs most first."""

from __future__ import annotations

from collections import Counter

from reports.analysis import Analysis
from reports.neighbours import neighbours_of
from reports.notation.units import count_text
from reports.original_digits import beside_originals, differences


def not_known(analysis: Analysis) -> list[str]:
    """Digits that are not the original's, environments that are not ranked, blocks that hang
    together, launches that disturbed each other, shared cores, a virtual site."""
    told = (_other_digits, _not_ranked, _dependent, _disturbed, _not_real)
    return [text for tell in told for text in tell(analysis)]


def _other_digits(analysis: Analysis) -> list[str]:
    pairs = [
        (ours.texts, original.texts)
        for ours, original in beside_originals(analysis)
        if original and ours.case.params.get("precision", "double") == "double"
    ]
    other = sum(bool(differences(*texts)) for texts in pairs)
    if not other:
        return []
    return [
        "whether our lattice program is right: its digits and the original's differ in"
        f" {other} of {count_text(len(pairs), 'case')}"
    ]


def _not_ranked(analysis: Analysis) -> list[str]:
    run, score = analysis.run, analysis.comparisons.score
    told = [f"how {name} compares: {why}" for name, why in (score.excluded if score else ())]
    if told or len(run.plan.environments) < 2 or score:
        return told
    good: Counter[str] = Counter()
    ran: Counter[str] = Counter()
    for (case, status, _), count in run.tally.items():
        name = run.plan.cases[case].environment
        good[name] += count if status == "ok" else 0
        ran[name] += count if status != "skipped" else 0
    return [
        f"how {name} compares: all its {count_text(ran[name], 'launch', 'launches')} failed"
        for name in run.plan.environments
        if ran[name] and not good[name]
    ]


def _dependent(analysis: Analysis) -> list[str]:
    dependence = analysis.comparisons.dependence
    if dependence is None or not dependence.found:
        return []
    return ["how sure it is: neighbouring blocks are alike, so that they count for fewer"]


def _disturbed(analysis: Analysis) -> list[str]:
    found = neighbours_of(analysis)
    if found is None or not found.mattered:
        return []
    return [f"the speed alone: launches beside others were {found.percent()}"]


def _not_real(analysis: Analysis) -> list[str]:
    shared, good = analysis.oversubscribed, analysis.counts["ok"]
    if shared:
        return [f"the speed of a real cluster: {shared} of {good} launches shared cores"]
    if analysis.run.provenance.site.virtual:
        return ["the speed of a real cluster: this one is virtual"]
    return []
