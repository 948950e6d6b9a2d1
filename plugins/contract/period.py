# SPDX-License-Identifier: Apache-2.0
"""A period of stability as a kept judgement: each promise a criterion, as those of runs are."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from plugins.contract.forms import PERIOD, KeptJudgement
from plugins.contract.stability.judge import Figures, JudgedPromise
from reports.judgement import Item, JudgedCriterion
from reports.statistics.bounds import Verdict, worst

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
