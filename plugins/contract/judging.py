# SPDX-License-Identifier: Apache-2.0
"""Criteria that contracts alone have, judged: whole mixes of jobs, the share of right answers."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from scipy import special  # type: ignore[import-untyped]

from records.criteria import Criteria, MixCriterion, SuccessCriterion
from records.run.plan import PlannedCase
from records.site.pair_scans import NODE, PEER
from reports.answers import limit_text
from reports.judgement import Item, JudgedCriterion, LaunchKey
from reports.statistics import bounds
from reports.verdicts.acceptance.limits import Context, ShownItems, is_absolute, judged
from reports.verdicts.acceptance.values import CriterionEvidence, Values


def by_mix(criteria: Criteria, blocks: int) -> Criteria:
    """The criteria where each mix of so many blocks has one value."""
    again = criteria.with_mixes_of(blocks).rerun_blocks
    return criteria.model_copy(update={"rerun_blocks": again // blocks})


def judge_mix(criterion: MixCriterion, context: Context) -> JudgedCriterion:
    """Value of each whole mix against a limit: the throughput of all jobs, or
    the mean rate of those of a check."""
    evidence, limits = context.evidence, (criterion.at_least, criterion.at_most)
    what = "throughput of a mix, work a node and second,"
    if criterion.check:
        what = f"{context.metric_title(criterion.metric)}, mean over the jobs of a mix,"
    statement, size = f"{what} {limit_text(*limits, criterion.unit)}", evidence.mix_blocks
    if not (size and evidence.throughputs):
        note = "no mix of the run is whole" if size else "the jobs were not handed in at once"
        return judged(criterion, statement, (), note)
    of_mixes, items = by_mix(context.criteria, size), list[Item]()
    for subject, case, mixes, launches in _jobs_of(criterion, context):
        level = bounds.level_of_look(of_mixes, (evidence.fresh - 1) // size, len(mixes))
        numbers = [*mixes.values()]
        item = context.item(
            case,
            criterion.metric,
            subject,
            bounds.median_bounds(numbers or [0.0], level, of_mixes.least_launches),
            limits,
            counted="mixes",
            all_count=True,
            unit=criterion.unit,
            launches=launches,
            shares=tuple(numbers),
        )
        items.append(item)
    absolute = is_absolute(criterion, context)
    return context.judged(criterion, statement, [ShownItems(items)], absolute=absolute)


def _jobs_of(
    criterion: MixCriterion, context: Context
) -> Iterator[tuple[str, PlannedCase, Mapping[int, float], tuple[LaunchKey, ...]]]:
    """Values of mixes by their first block: of all jobs, or of each kind of a check, on
    whichever nodes its jobs were; its name, case and launches."""
    evidence = context.evidence
    if not criterion.check:
        yield "all jobs", evidence.planned[0], evidence.throughputs, tuple(evidence.launches)
        return
    kinds: dict[tuple[str, str], list[Values]] = {}
    for values in evidence.selected(criterion):
        point = context.point(values, (NODE, PEER)) or criterion.check
        kinds.setdefault((values.case.id, point), []).append(values)
    for (case_id, name), jobs in kinds.items():
        launches = tuple(key for key in evidence.launches if key[0] == case_id)
        yield name, jobs[0].case, _means(evidence, jobs), launches


def share_bounds(right: int, n: int, confidence: float) -> bounds.Bounds:
    """Bounds of the chance of a right answer, one-sided, of which n >= 1 launches gave `right`
    [Clopper & Pearson, Biometrika 26 (1934) 404]."""
    low = float(special.betaincinv(right, n - right + 1, 1 - confidence)) if right else 0.0
    high = float(special.betaincinv(right + 1, n - right, confidence)) if right < n else 1.0
    return bounds.Bounds(n, right / n, low, high, confidence, "binomial")


def judge_success(criterion: SuccessCriterion, context: Context) -> JudgedCriterion:
    """The share of launches with the right answer, of each environment that ran the check."""
    evidence, launches = context.evidence, dict[str, list[LaunchKey]]()
    cases = {case.id: case for case in evidence.planned if case.check == criterion.check}
    for key, launch in evidence.launches.items():
        case = cases.get(key[0])
        wanted = case and criterion.environment in (None, case.environment)
        if case and wanted and launch.status != "skipped":
            launches.setdefault(case.environment, []).append(key)
    items = []
    for keys in launches.values():
        bad = [key for key in keys if evidence.launches[key].status != "ok"]
        items.append(
            context.item(
                cases[keys[0][0]],
                criterion.metric,
                criterion.check,
                share_bounds(len(keys) - len(bad), len(keys), context.criteria.confidence),
                (criterion.at_least, None),
                all_count=True,
                decidable=False,  # by as many launches as were planned
                launches=tuple(bad or keys),
            )
        )
    limit = limit_text(criterion.at_least, None, "1")
    statement = f"share of launches of {criterion.check} with the right answer {limit}"
    note = "" if items else context.lacking(criterion)
    return judged(criterion, statement, items, note, absolute=True)


def _means(evidence: CriterionEvidence, jobs: Sequence[Values]) -> dict[int, float]:
    """By the first block of each whole mix the mean of a rate over its jobs, the harmonic one,
    or of what is better lower, the arithmetic one."""
    blocks = np.concatenate([one.blocks for one in jobs])
    values = np.concatenate([one.values for one in jobs])
    rate, found = evidence.register.metrics[jobs[0].metric].better == "higher", {}
    for first in evidence.throughputs:
        mine = values[(blocks >= first) & (blocks < first + evidence.mix_blocks)]
        if len(mine) and mine.min() > 0:
            found[first] = float(1 / np.mean(1 / mine) if rate else np.mean(mine))
    return found


#: Judges by the kind of criterion.
JUDGES = {"mix": judge_mix, "success": judge_success}
