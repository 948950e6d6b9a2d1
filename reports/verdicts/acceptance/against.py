# SPDX-License-Identifier: Apache-2.0
"""A run against a kept acceptance: each criterion's figure as a share of what was accepted.

What a criterion judges is compared by case and point, all nodes or pairs of it together: of each
block the geometric mean over them, of the blocks the ratio with Welch's interval. It passes when
the whole interval is at least the share asked for, and fails when none of it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Annotated

import numpy as np

from records.criteria import Criterion, SpreadCriterion, SuccessCriterion
from records.forms import Form, Part, key
from records.site.pair_scans import NODE, PEER
from reports.answers import Answer, State, fitting, listed
from reports.notation.labels import check_labels
from reports.notation.units import count_text, percent, readable_unit
from reports.notation.values import quantity
from reports.result import EVERYWHERE, Block, Facts, Result, Section, Sentence
from reports.show.tables import TONES, Cell, numeric, pivot
from reports.statistics.descriptive import log_ratio_interval
from reports.verdicts.acceptance.bounds import Verdict, worst
from reports.verdicts.acceptance.dossier import Dossier
from reports.verdicts.acceptance.values import CriterionEvidence

#: Case id, environment, and point without its places.
_Key = tuple[str, str, tuple[tuple[str, str], ...]]


class AgainstRow(Part, kw_only=True):
    """A criterion's figure at one point, then and now."""

    criterion: Annotated[str, key("The criterion's id.")]
    title: Annotated[str, key("What must hold.")]
    point: Annotated[str, key("Environment, case and point.")]
    unit: Annotated[str, key("The unit of both values.")]
    accepted: Annotated[float | None, key("The median of the accepted launches.")]
    now: Annotated[float | None, key("The median of the launches now.")]
    n: Annotated[tuple[int, int], key("Launches then and now.")]
    share: Annotated[float | None, key("What is left of what was accepted; more is better.")]
    low: Annotated[float | None, key("Lower bound of the share.")]
    high: Annotated[float | None, key("Upper bound of the share.")]
    verdict: Annotated[Verdict, key("The verdict.")]
    note: Annotated[str, key("What leaves it open, or which node or pair lost most.")]


class AgainstForm(Form, kw_only=True):
    """`assay accept --against`: a run against a kept acceptance."""

    verdict: Annotated[Verdict, key("The verdict.")]
    run_id: Annotated[str, key("The run.")]
    accepted_run: Annotated[str, key("The accepted run.")]
    accepted_on: Annotated[str, key("The day on which it was judged.")]
    accepted_verdict: Annotated[Verdict, key("Its verdict.")]
    accepted_seal: Annotated[str, key("The SHA-256 of its acceptance.json.")]
    at_least: Annotated[float, key("The share that must be left.")]
    rows: Annotated[list[AgainstRow], key("A figure each.")]


@dataclass
class _Figure:
    """The values of a criterion at one point: of each block those of all places."""

    blocks: dict[int, list[float]] = field(default_factory=dict)
    places: dict[str, list[float]] = field(default_factory=dict)

    def add(self, place: str, values: dict[int, float]) -> None:
        """Take in the values of a place."""
        for block, value in values.items():
            self.blocks.setdefault(block, []).append(value)
        self.places.setdefault(place, []).extend(values.values())

    @property
    def means(self) -> list[float]:
        """The geometric mean over places, of each block."""
        return [float(np.exp(np.mean(np.log(row)))) for row in self.blocks.values() if min(row) > 0]


def compared(now: Dossier, before: Dossier, at_least: float) -> AgainstForm:
    """Every criterion of the kept acceptance `before`, as it is `now`."""
    rows = [row for one in before.criteria.criteria for row in _rows(one, now, before, at_least)]
    return AgainstForm(
        verdict=worst([row.verdict for row in rows]) if rows else "INCONCLUSIVE",
        run_id=now.run.run_id,
        accepted_run=before.run.run_id,
        accepted_on=before.day.isoformat(),
        accepted_verdict=before.judgement.verdict,
        accepted_seal=before.seal,
        at_least=at_least,
        rows=rows,
    )


def _rows(
    criterion: Criterion, now: Dossier, before: Dossier, at_least: float
) -> Iterator[AgainstRow]:
    if isinstance(criterion, SpreadCriterion | SuccessCriterion):
        return  # no figure that ages; the run's own criteria judge it
    metric = before.evidence.register.metrics[criterion.metric]
    labels = check_labels(before.evidence.planned)
    cases = {case.id: case for case in before.evidence.planned}
    found, fresh = _figures(criterion, before.evidence), _figures(criterion, now.evidence)
    for at, old in found.items():
        new = fresh.get(at, _Figure())
        parts = [at[1], *labels[criterion.check].parts(cases[at[0]]), *map(" ".join, at[2])]
        sides = [old.means, new.means][:: 1 if metric.better == "higher" else -1]
        ratio = log_ratio_interval(*sides)
        low, high = (ratio[1].low, ratio[1].high) if ratio else (None, None)
        verdict: Verdict = "INCONCLUSIVE"
        note = f"n = {len(old.means)} and {len(new.means)}; an interval needs 2 launches each"
        if not new.means:
            note = "was accepted, and has no value now"
        elif low is not None and high is not None:
            verdict = "PASS" if low >= at_least else "FAIL" if high < at_least else verdict
            note = _least(old, new, higher=metric.better == "higher")
        yield AgainstRow(
            criterion=criterion.id,
            title=criterion.title,
            point=", ".join(parts),
            unit=metric.unit,
            accepted=float(np.median(old.means)) if old.means else None,
            now=float(np.median(new.means)) if new.means else None,
            n=(len(old.means), len(new.means)),
            share=ratio[0] if ratio else None,
            low=low,
            high=high,
            verdict=verdict,
            note=note,
        )


def _figures(criterion: Criterion, evidence: CriterionEvidence) -> dict[_Key, _Figure]:
    """What a criterion judges, by case and point."""
    found: dict[_Key, _Figure] = {}
    for environment in evidence.environments_of(criterion):
        for values in evidence.inside(criterion, environment):
            at = tuple((k, str(v)) for k, v in values.at.items() if k not in (NODE, PEER))
            figure = found.setdefault((values.case.id, environment, at), _Figure())
            figure.add("–".join(values.place), values.by_block())
        for scan in evidence.scans_of(criterion, environment):
            figure = found.setdefault((scan.case.id, environment, ()), _Figure())
            means = np.exp(np.nanmean(np.log(scan.columns.values.astype(np.float64)), axis=0))
            figure.add("", dict(zip(scan.columns.blocks, means.tolist(), strict=True)))
    return found


def _least(old: _Figure, new: _Figure, *, higher: bool) -> str:
    """The place that lost most, where there are several."""
    shares = {}
    for place, values in old.places.items():
        if len(old.places) > 1 and new.places.get(place):
            ratio = float(np.median(new.places[place]) / np.median(values))
            shares[place] = ratio if higher else 1 / ratio
    if not shares:
        return ""
    place = min(shares, key=shares.__getitem__)
    return f"least at {place}: {percent(shares[place], 0)}"


def against_result(form: AgainstForm, site: str) -> Result[AgainstForm]:
    """The comparison as a result."""
    asked = percent(form.at_least, 0)
    bad = [row for row in form.rows if row.verdict == form.verdict and row.verdict != "PASS"]
    every = count_text(len(form.rows), "figure")
    what = f"{every} keep at least {asked} of what was accepted on {form.accepted_on}."
    if bad:
        word = "less than" if form.verdict == "FAIL" else "undecided against"
        names = listed([*dict.fromkeys(row.title for row in bad)], 3)
        what = f"{len(bad)} of {every} {word} {asked} of what was accepted: {names}."
    return Result(
        kicker=f"Acceptance of site {site} against that of {form.accepted_on}",
        title=f"Run {form.run_id} against {form.accepted_run}",
        data=form,
        answer=Answer(State[form.verdict], fitting(what)),
        facts=Facts(
            [
                ("accepted run", f"{form.accepted_run}, {form.accepted_verdict}"),
                ("its seal", form.accepted_seal),
                ("at least", asked),
            ]
        ),
        sections=[
            Section("figures", "Figures", lambda: _table(form.rows), shown_on=EVERYWHERE),
            Section("method", "Method", lambda: [Sentence(_METHOD)]),
        ],
    )


_METHOD = (
    "Of each launch the geometric mean over nodes or pairs; of the launches then and now the ratio"
    " of geometric means with Welch's interval of 95 %, so that a figure passes wrongly in 2.5 %"
    " at most. Launches of one day share its conditions, which the interval does not know. Spreads"
    " and shares of right answers are judged by their own limits alone."
)


def _table(rows: Sequence[AgainstRow]) -> Iterator[Block | None]:
    yield pivot(
        rows,
        [
            ("what must hold", lambda one: one.title),
            ("at", lambda one: one.point),
            ("verdict", lambda one: Cell(one.verdict, tone=TONES[one.verdict])),
            (numeric("accepted", "now", "left", "interval", "n"), _numbers),
            ("note", lambda one: one.note),
        ],
        anchor="table-against",
        title="Figures against those accepted",
    )


def _numbers(row: AgainstRow) -> list[str]:
    known = [value for value in (row.accepted, row.now) if value is not None]
    unit = readable_unit(row.unit, known or [1.0])
    values = ["–" if v is None else quantity(v, unit) for v in (row.accepted, row.now)]
    share = "–" if row.share is None else percent(row.share)
    ends = [percent(end) for end in (row.low, row.high) if end is not None]
    return [*values, share, " … ".join(ends) or "–", f"{row.n[0]}, {row.n[1]}"]
