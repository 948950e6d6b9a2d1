# SPDX-License-Identifier: Apache-2.0
"""Pairs of nodes judged against the good pairs; links of nodes and cuts that explain slow pairs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import log

import numpy as np

from records.criteria import LinksCriterion
from records.run.rerun import CHECKS_OF_PAIRS, ONLY
from records.site.pair_places import Indices
from records.site.pair_scans import sample_told
from reports.statistics.descriptive import Matrix
from reports.verdicts.acceptance.criteria_judges import Context
from reports.verdicts.acceptance.fabric import Fabric, Part, fabric_of
from reports.verdicts.acceptance.kept_rows import LOWEST_KEPT, MOST_KEPT
from reports.verdicts.acceptance.levels import Peers, peers_of, reach_of, typical_error
from reports.verdicts.acceptance.model import (
    EXPLAINED,
    Item,
    JudgedCriterion,
    limit_text,
    listed_nodes,
)
from reports.verdicts.acceptance.peer_groups import PeerGroup, Place, positions
from reports.verdicts.acceptance.peers import (
    LEAST_GAP,
    Made,
    Standing,
    first_blocks,
    judged_peers,
)
from reports.verdicts.acceptance.sparse_fabric import sparse_fabric_of

#: Of more nodes no matrix of all pairs is made, nor of a smaller share of the pairs; the greater
#: share holds where three switches or more are declared, whose medians then tell more.
MOST_DENSE, LEAST_KNOWN, LEAST_KNOWN_BY_SWITCH = 2000, 0.5, 0.9


def judge_links(criterion: LinksCriterion, context: Context) -> JudgedCriterion:
    """Every pair's share of the good pairs' level or of the best; what explains slow pairs."""
    limits = criterion.at_least, criterion.at_most
    other = "best pair's" if criterion.of == "best" else "good pairs' median"
    title = context.metric_title(criterion.metric).removesuffix(" of the pair")
    every, samples = _measured(criterion, context)
    limit = limit_text(*limits, "1")
    statement = "; ".join([f"{title} of every {every} of nodes {limit} × the {other}", *samples])

    def items_of(group: PeerGroup) -> Made:
        return _pair_items(group, criterion, context)

    return judged_peers(criterion, context, statement, 2, items_of)


def _measured(criterion: LinksCriterion, context: Context) -> tuple[str, list[str]]:
    """What is judged, every pair or every measured one, and what the samples among it can miss."""
    cases = {case.id: case for case in context.evidence.cases_of(criterion)}
    scans = [case for case in cases.values() if case.check in CHECKS_OF_PAIRS]
    told = dict.fromkeys(sample_told(case.nodes, case.params) for case in scans)
    samples = [f"each launch measured {text}" for text in told if text]
    nodes = len(context.evidence.nodes)
    some = samples or any(case.params.get(ONLY) or case.nodes < nodes for case in scans)
    return "measured pair" if some else "pair", samples


def _pair_items(group: PeerGroup, criterion: LinksCriterion, context: Context) -> Made:
    """The items of slow links of nodes and of cuts, then one for each pair that gets one."""
    gap = max(LEAST_GAP, log(criterion.at_most or 1.0), -log(criterion.at_least or 1.0))
    peers = peers_of(group.logs)
    fabric = _fabric(peers, group, gap, criterion)
    first = first_blocks(group, context)
    before = None
    if first is not None:
        accused = _fabric(first, group, gap, criterion)
        before = reach_of(first, accused.level, context.criteria.confidence)
        if not _all_again(group, context):
            fabric = replace(fabric, parts=accused.parts, explained=accused.explained)
    limits = criterion.at_least, criterion.at_most
    standing = Standing(group, context, limits, group.sign > 0, peers, fabric.level, before)
    parts = list(_part_items(standing, fabric))
    items, places, telling = [], group.places, standing.telling
    slow = {place for place, part in enumerate(parts) if part.verdict != "PASS"}
    cleared = {place for place, part in enumerate(parts) if part.state and place not in slow}
    rows = telling if len(telling) <= MOST_KEPT else _fewer(telling, fabric, slow, peers)
    for row in rows:
        item = standing.item(row, places[row], "pair")
        number = int(fabric.explained[row])
        if number in slow and item.verdict != "PASS":
            note = f"{EXPLAINED}the {_what(parts[number])}"
            item = replace(item, verdict=parts[number].verdict, state=None, note=note)
        elif number in cleared and item.verdict != "PASS" and not standing.again(row):
            note = f"{EXPLAINED}the {_what(parts[number])}, which re-runs cleared"
            item = replace(item, verdict="PASS", note=note)
        elif item.verdict == "FAIL":
            item = standing.suspect(item, row)
        items.append(item)
    told = [item for item in parts if item.verdict != "PASS" or item.state]
    return Made([*told, *items], len(places) - len(telling), len(telling) - len(rows))


def _all_again(group: PeerGroup, context: Context) -> bool:
    """Whether re-runs measured every pair; else the run alone tells what is slow, and they confirm
    or clear it by the pairs that they have."""
    fresh = np.asarray(group.blocks) >= context.evidence.fresh
    return bool(np.isfinite(group.logs[:, fresh]).any(axis=1).all())


def _fewer(telling: Sequence[int], fabric: Fabric, slow: set[int], peers: Peers) -> list[int]:
    """The rows that get an item where very many are explained: of each slow part the lowest."""
    rows = np.asarray(telling)
    number = fabric.explained[rows]
    left_out = np.zeros(len(rows), dtype=bool)
    for place in slow:
        mine = np.flatnonzero(number == place)
        order = np.argsort(peers.centres[rows[mine]], kind="stable")
        left_out[mine[order[LOWEST_KEPT:]]] = True
    return [int(row) for row in rows[~left_out]]


def _what(part: Item) -> str:
    where = "link of" if part.about == "link" else "cut between"
    return f"slow {where} {part.subject}"


def _fabric(peers: Peers, group: PeerGroup, gap: float, criterion: LinksCriterion) -> Fabric:
    """The slow parts between the group's nodes, by the group's rows."""
    nodes, count = len(group.names), len(peers.centres)
    every, error = nodes * (nodes - 1) // 2, typical_error(peers)
    best = float(np.nanmax(peers.centres)) if criterion.of == "best" else None
    least = LEAST_KNOWN_BY_SWITCH if len({*group.switches}) > 2 else LEAST_KNOWN
    if nodes > MOST_DENSE or count < least * every:
        return sparse_fabric_of(
            peers.centres, group.ends, nodes, gap, error, level=best, switches=group.switches
        )
    where = positions(group)
    centres: Matrix = np.full(every, np.nan)
    centres[where] = peers.centres
    found = fabric_of(centres, nodes, gap, error, best)
    row = np.full(every, -1)
    row[where] = np.arange(count)
    parts = tuple(replace(part, pairs=_known(row[part.pairs])) for part in found.parts)
    return replace(found, parts=parts, explained=found.explained[where])


def _known(rows: Indices) -> Indices:
    return rows[rows >= 0]


def _part_items(standing: Standing, fabric: Fabric) -> Iterator[Item]:
    """An item for each part. Cuts fail before re-runs confirm them, and links if half are slow."""
    names = standing.group.names
    links = sum(part.kind == "link" for part in fabric.parts)
    many = 2 * links >= len(names)
    for part in fabric.parts:
        mine = part.pairs.tolist()
        place = tuple(names[node] for node in part.nodes)
        at_once = part.kind == "cut" or many
        yield standing.together(mine, _subject(part, names), place, part.kind, at_once=at_once)


def _subject(part: Part, names: Place) -> str:
    groups = [listed_nodes([names[node] for node in group], 2) for group in part.groups]
    return " and ".join(groups)
