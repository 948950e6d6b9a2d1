# SPDX-License-Identifier: Apache-2.0
"""Pairs of nodes judged against the good pairs; links of nodes and cuts that explain slow pairs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import log

import numpy as np
from numpy.typing import NDArray

from records.criteria import LinksCriterion
from reports.acceptance.criteria_judges import Context
from reports.acceptance.fabric import Fabric, Part, fabric_of
from reports.acceptance.levels import Peers, peers_of, reach_of
from reports.acceptance.model import Item, JudgedCriterion, limit_text, listed_nodes
from reports.acceptance.peer_groups import PeerGroup, Place, positions
from reports.acceptance.peers import (
    LEAST_GAP,
    Standing,
    first_blocks,
    judged_peers,
    typical_error,
)
from reports.statistics.descriptive import Matrix


def judge_links(criterion: LinksCriterion, context: Context) -> JudgedCriterion:
    """Every pair's share of the good pairs' level or of the best; what explains slow pairs."""
    limits = criterion.at_least, criterion.at_most
    other = "best pair's" if criterion.of == "best" else "good pairs' median"
    statement = (
        f"{context.metric_title(criterion.metric)} of every pair of nodes"
        f" {limit_text(*limits, '1')} × the {other}"
    )

    def items_of(group: PeerGroup) -> tuple[list[Item], int]:
        return _pair_items(group, criterion, context)

    return judged_peers(criterion, context, statement, 2, items_of)


def _pair_items(
    group: PeerGroup, criterion: LinksCriterion, context: Context
) -> tuple[list[Item], int]:
    """The items of slow links of nodes and of cuts, then one for each pair; how many good pairs
    have none."""
    gap = max(LEAST_GAP, log(criterion.at_most or 1.0), -log(criterion.at_least or 1.0))
    peers = peers_of(group.logs)
    where = positions(group)
    fabric = _fabric(peers, group, where, gap, criterion)
    first = first_blocks(group, context)
    before = None
    if first is not None:
        level = _fabric(first, group, where, gap, criterion).level
        before = reach_of(first, level, context.criteria.confidence)
    limits = criterion.at_least, criterion.at_most
    standing = Standing(group, context, limits, group.sign > 0, peers, fabric.level, before)
    rows = np.full(len(fabric.explained), -1)
    rows[where] = np.arange(len(where))
    parts = list(_part_items(standing, fabric, rows))
    items, places = [], group.places
    for row in standing.telling:
        item = standing.item(row, places[row], "pair")
        number = int(fabric.explained[where[row]])
        if number >= 0 and item.verdict != "PASS" and parts[number].verdict != "PASS":
            note = f"explained by the {_what(parts[number])}"
            item = replace(item, verdict=parts[number].verdict, state=None, note=note)
        elif item.verdict == "FAIL":
            item = standing.suspect(item, row)
        items.append(item)
    told = [item for item in parts if item.verdict != "PASS" or item.state]
    return [*told, *items], len(places) - len(items)


def _what(part: Item) -> str:
    return f"slow link of {part.subject}" if part.about == "link" else f"slow cut {part.subject}"


def _fabric(
    peers: Peers, group: PeerGroup, where: Sequence[int], gap: float, criterion: LinksCriterion
) -> Fabric:
    """The slow parts between the group's nodes; pairs without a value are NaN."""
    nodes = len(group.names)
    centres: Matrix = np.full(nodes * (nodes - 1) // 2, np.nan)
    centres[where] = peers.centres
    best = float(np.nanmax(centres)) if criterion.of == "best" else None
    return fabric_of(centres, nodes, gap, typical_error(peers), best)


def _part_items(standing: Standing, fabric: Fabric, rows: NDArray[np.int64]) -> Iterator[Item]:
    """An item for each part. Cuts fail before re-runs confirm them, and links if half are slow."""
    names = standing.group.names
    links = sum(part.kind == "link" for part in fabric.parts)
    many = 2 * links >= len(names)
    for part in fabric.parts:
        mine = [row for row in rows[part.pairs].tolist() if row >= 0]
        place = tuple(names[node] for node in part.nodes)
        at_once = part.kind == "cut" or many
        yield standing.together(mine, _subject(part, names), place, part.kind, at_once=at_once)


def _subject(part: Part, names: Place) -> str:
    groups = [listed_nodes([names[node] for node in group], 2) for group in part.groups]
    return " and ".join(groups)
