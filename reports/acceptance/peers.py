# SPDX-License-Identifier: Apache-2.0
"""Nodes and pairs of nodes judged against their peers; re-runs confirm a suspect."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from statistics import median

from records.criteria import LinksCriterion, NodesCriterion
from reports.acceptance.bounds import Verdict, decide
from reports.acceptance.criteria_judges import Context, keys_of, nothing_found
from reports.acceptance.model import Item, JudgedCriterion, State, empty, limit_text
from reports.acceptance.uniformity import shares_of_best, shares_of_median
from reports.acceptance.values import Values, environments_of
from reports.statistics.estimators import modified_z

#: Re-runs that must show a suspect before it fails.
CONFIRMATIONS = 2

Members = dict[str, list[Values]]


def judge_nodes(criterion: NodesCriterion, context: Context) -> JudgedCriterion:
    """Every node's share of the nodes' median, paired by block, against 1 − within."""
    least = 1 - criterion.within
    statement = (
        f"{context.metric_title(criterion.metric)} of every node at least {100 * least:g} % of the"
        f" nodes' median; a node stands out beyond a modified z of {criterion.modified_z:g}"
    )
    items: list[Item] = []
    for group, members in _groups(criterion, context, _node_name):
        inverse = context.lower_is_better(criterion.metric)
        by_block = {name: _merged(parts, context) for name, parts in members.items()}
        shares = shares_of_median(by_block, inverse=inverse)
        centres = {name: median(blocks.values()) for name, blocks in shares.items() if blocks}
        found = modified_z(list(centres.values())).tolist() if centres else []
        scores = dict(zip(centres, found, strict=True))
        for name, parts in members.items():
            item = _item(
                context, parts, shares[name], by_block[name], limits=(least, None), group=group
            )
            out = scores.get(name, 0.0) < -criterion.modified_z
            items.append(_with_state(item, shares[name], out, scores.get(name), context))
    return _judged(criterion, statement, items, context)


def judge_links(criterion: LinksCriterion, context: Context) -> JudgedCriterion:
    """Every pair's share of the best pair, or of the pairs' median."""
    limit = limit_text(criterion.at_least, criterion.at_most, "1")
    other = "best pair's" if criterion.of == "best" else "pairs' median"
    statement = (
        f"{context.metric_title(criterion.metric)} of every pair of nodes {limit} × the {other}"
    )
    items: list[Item] = []
    for group, members in _groups(criterion, context, _pair_name):
        by_block = {name: _merged(parts, context) for name, parts in members.items()}
        if criterion.of == "best":
            shares = shares_of_best(by_block, least=context.lower_is_better(criterion.metric))
        else:
            shares = shares_of_median(by_block, inverse=False)
        limits = (criterion.at_least, criterion.at_most)
        for name, parts in members.items():
            item = _item(context, parts, shares[name], by_block[name], limits=limits, group=group)
            items.append(_with_state(item, shares[name], True, None, context))
    return _judged(criterion, statement, items, context)


def _node_name(values: Values) -> tuple[str, ...]:
    return (str(values.at["node"]),) if "node" in values.at and "peer" not in values.at else ()


def _pair_name(values: Values) -> tuple[str, ...]:
    if "node" not in values.at or "peer" not in values.at:
        return ()
    return tuple(sorted((str(values.at["node"]), str(values.at["peer"])), key=natural))


def natural(name: str) -> tuple[tuple[int, str], ...]:
    """A key that puts n2 before n10."""
    parts: list[tuple[int, str]] = []
    digits = ""
    for character in [*name, ""]:
        if character.isdecimal():
            digits += character
            continue
        if digits:
            parts.append((int(digits), ""))
            digits = ""
        if character:
            parts.append((-1, character))
    return tuple(parts)


def _groups(
    criterion: NodesCriterion | LinksCriterion, context: Context, name_of: object
) -> list[tuple[str, Members]]:
    """Members that are compared with each other: one case, one point beside the nodes."""
    assert callable(name_of)
    groups: dict[tuple[str, str], Members] = {}
    for environment in environments_of(criterion, context.evidence):
        for values in context.evidence.select(criterion, environment):
            name = name_of(values)
            if not name:
                continue
            label = context.point(values, ("node", "peer"))
            members = groups.setdefault((values.case.id, label), {})
            members.setdefault("–".join(name), []).append(values)
    return [
        (label, dict(sorted(members.items(), key=lambda pair: natural(pair[0]))))
        for (_, label), members in groups.items()
        if len(members) > 1
    ]


def _merged(parts: Sequence[Values], context: Context) -> dict[int, float]:
    """Value by block; where both directions of a pair were measured, the worse of them."""
    worse = max if context.lower_is_better(parts[0].metric) else min
    merged: dict[int, float] = {}
    for part in parts:
        for block, value in part.by_block().items():
            merged[block] = worse(merged[block], value) if block in merged else value
    return merged


def _item(
    context: Context,
    parts: Sequence[Values],
    shares: Mapping[int, float],
    measured: Mapping[int, float],
    *,
    limits: tuple[float | None, float | None],
    group: str,
) -> Item:
    values = parts[0]
    numbers = [shares[block] for block in sorted(shares)]
    bounds = context.bounds(numbers)
    verdict, note = decide(bounds, *limits, context.criteria.least_launches)
    if not numbers:
        verdict, note = "INCONCLUSIVE", "no block in which a fellow was measured too"
    place = _pair_name(values) or _node_name(values)
    return Item(
        subject="–".join(place),
        environment=values.case.environment,
        bounds=bounds,
        unit="1",
        at_least=limits[0],
        at_most=limits[1],
        verdict=verdict,
        note=note,
        launches=keys_of(*parts),
        place=place,
        group=group,
        metric=values.metric,
        measured=median(measured.values()),
        measured_unit=context.evidence.register.metrics[values.metric].unit,
        shares=tuple(numbers),
    )


def _with_state(
    item: Item, shares: Mapping[int, float], out: bool, score: float | None, context: Context
) -> Item:
    """The item with what the re-runs say of it; without them a failure is only a suspicion.

    A suspicion needs a bound that holds for any distribution (5 launches at 95 %): Student's would
    name somebody too often on a machine whose launches scatter much.
    """
    if item.verdict != "FAIL":
        return _cleared(item, shares, context)
    if not out:
        note = f"beyond the limit, but does not stand out from the others (modified z {score:.1f})"
        return replace(item, note=note)
    if item.bounds.method != "order":
        note = f"beyond the limit, but n = {item.bounds.n} is too few to suspect anybody"
        return replace(item, verdict="INCONCLUSIVE", note=note)
    again = [share for block, share in shares.items() if block >= context.evidence.fresh]
    beyond = sum(_beyond(share, item) for share in again)
    verdict: Verdict = "INCONCLUSIVE"
    state: State = "not confirmed"
    if not again:
        state, note = "suspected", "suspected: it fails when re-runs confirm it"
    elif beyond >= CONFIRMATIONS and 2 * beyond > len(again):
        verdict, state, note = "FAIL", "confirmed", f"confirmed by {beyond} of {len(again)} re-runs"
    else:
        note = f"not confirmed: {beyond} of {len(again)} re-runs are beyond the limit"
    return replace(item, verdict=verdict, state=state, note=note, stands_out=True)


def _cleared(item: Item, shares: Mapping[int, float], context: Context) -> Item:
    """Whether the run alone would have raised a suspicion that its re-runs took away."""
    first = [share for block, share in shares.items() if block < context.evidence.fresh]
    if len(first) == len(shares) or not first:
        return item
    alone = context.bounds(first)
    before, _ = decide(alone, item.at_least, item.at_most, context.criteria.least_launches)
    if before != "FAIL":
        return item
    return replace(item, state="not confirmed", note="suspected in the run, cleared by re-runs")


def _beyond(share: float, item: Item) -> bool:
    return (item.at_least is not None and share < item.at_least) or (
        item.at_most is not None and share > item.at_most
    )


def _judged(
    criterion: NodesCriterion | LinksCriterion, statement: str, items: list[Item], context: Context
) -> JudgedCriterion:
    if not items:
        what = "two nodes" if isinstance(criterion, NodesCriterion) else "two pairs of nodes"
        note = f"{nothing_found(criterion, context)}; at least {what} are needed"
        return empty(criterion, statement, note)
    return JudgedCriterion(criterion.id, criterion.kind, criterion.title, statement, tuple(items))
