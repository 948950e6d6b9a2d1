# SPDX-License-Identifier: Apache-2.0
"""A period of stability: what its promises risk, and as a kept judgement, each promise a criterion,
as those of runs are."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

from plugins.contract.forms import PERIOD, ContractRisk, KeptJudgement
from plugins.contract.model import Risks, Stability
from plugins.contract.reliability import Demonstration, availability_pass_chance
from plugins.contract.stability.judge import Figures, JudgedPromise
from reports.judgement import Item, JudgedCriterion
from reports.notation.units import percent
from reports.statistics.bounds import Verdict, worst

#: Node hours that an outage is assumed to cost.
OUTAGE_NODE_H = 8.0
_VERDICTS: dict[str, Verdict] = {"PASS": "PASS", "FAIL": "FAIL"}


def period_judgement(
    figures: Figures, waived: Collection[str], day: str, files: dict[str, str]
) -> KeptJudgement:
    """The judgement of a period on a day; `waived` are criteria that waivers cover."""
    where = f"{figures.period_s / 86400:.3g} days"
    found = [
        _criterion(one, figures.found.watch.site, where, period_id(one.name) in waived, [*files])
        for one in figures.criteria
    ]
    return KeptJudgement(
        kind=PERIOD,
        verdict=worst([one.effective for one in found]),
        judged_on=day,
        results=found,
        named=[f"outage {one.id} ({one.word})" for one in figures.found.outages],
        files=files,
    )


def period_id(name: str) -> str:
    """The criterion's id of a promise: "mtbi", "job-mtti", "availability"."""
    return name.lower().replace(" ", "-")


def _criterion(
    one: JudgedPromise, site: str, where: str, waived: bool, files: list[str]
) -> JudgedCriterion:
    verdict = _VERDICTS.get(one.verdict, "INCONCLUSIVE")
    waived = waived and verdict != "PASS"
    return JudgedCriterion(
        id=period_id(one.name),
        kind="limit",
        title=f"{one.name} of the period",
        statement=f"{one.name} at least what is promised, by outages of the vendor's and of none",
        verdict=verdict,
        effective="PASS" if waived else verdict,
        note="",
        absolute=True,
        items=(_item(one, verdict, {"subject": site, "environment": where, "waived": waived}),),
        launches=(tuple(files),),
    )


def _item(one: JudgedPromise, verdict: Verdict, more: dict[str, Any]) -> Item:
    """Item of what was seen, with the bounds of a mean time, or of an availability its range."""
    is_share, seen = one.name == "availability", one.least or 0.0
    low, high = (one.least, one.most) if is_share else (*one.bounds, None)[:2]
    return Item(
        n=max(one.failures, default=1),
        centre=seen,
        low=low,
        high=high,
        level=1.0 if is_share else 0.9,
        method="observed" if is_share else "chi-squared",
        about="value",
        point="",
        metric=one.name,
        unit="1" if is_share else "s",
        at_least=one.promised,
        at_most=None,
        margin=seen / one.promised - 1,
        measured=None,
        measured_unit="",
        verdict=verdict,
        state=None,
        note=one.why,
        launches=0,
        **more,
    )


def period_risks(
    allowed: Risks, stage: str, period: Stability, nodes: int
) -> Iterator[ContractRisk]:
    """The risks of a period's promises."""
    for name, hours in (("MTBI", period.mtbi_h), ("job MTTI", period.mtti_h)):
        if hours is not None:
            test = Demonstration.of(period.days * 86400, hours * 3600)
            ends = (test.buyers_risk, test.vendors_risk(period.better)) if test.decides else (0, 1)
            words = f"at least {hours:g} h", f"{period.better * hours:g} h"
            decided = test.decides and ends[1] <= allowed.vendor
            why = "" if decided else test.sentence.rstrip(".")
            yield _of_period(stage, period, name, words=words, ends=ends, why=why)
    if period.availability is not None:
        total, limit = nodes * period.days * 24, period.availability
        passes = [
            availability_pass_chance(limit, total, OUTAGE_NODE_H, k) for k in (1.0, period.better)
        ]
        ends = passes[0], 1 - passes[1]
        words = f"at least {percent(limit, 2)}", percent(1 - (1 - limit) / period.better, 2)
        why = (
            f"outages are assumed to cost {OUTAGE_NODE_H:g} node hours each; a longer period"
            " decides more"
        )
        decided = allowed.allow(*ends)
        yield _of_period(
            stage, period, "availability", words=words, ends=ends, why="" if decided else why
        )


def _of_period(
    stage: str,
    period: Stability,
    name: str,
    *,
    words: tuple[str, str],
    ends: tuple[float, float],
    why: str,
) -> ContractRisk:
    """The risk of a promise of a period: `words` are its limit and the promise, `ends` both
    parties' risks, `why` says what leaves it open."""
    return ContractRisk(
        stage=stage,
        criterion=period_id(name),
        title=f"{name} of the period",
        limit=words[0],
        promise=words[1],
        repeats=f"{period.days:g} days",
        spread=None,
        spread_from="",
        buyer=ends[0],
        vendor=ends[1],
        refused=0.0,
        decided=not why,
        remedy=why,
    )
