# SPDX-License-Identifier: Apache-2.0
"""Pairs of nodes judged against the good pairs; links of nodes and cuts that explain slow pairs."""

from __future__ import annotations

from collections.abc import Iterator
from math import log

import numpy as np
from msgspec.structs import replace

from records.criteria import LinksCriterion
from records.run.rerun import CHECKS_OF_PAIRS, ONLY
from records.site.pair_scans import sample_told
from reports.headline import limit_text
from reports.judgement import Item, JudgedCriterion, listed_nodes
from reports.statistics.bounds import rows_kept
from reports.verdicts.acceptance.criteria_judges import Context
from reports.verdicts.acceptance.fabric import Fabric, fabric_of
from reports.verdicts.acceptance.peer_groups import PeerGroup
from reports.verdicts.acceptance.peers import (
    LEAST_GAP,
    GroupItems,
    PeerComparison,
    judged_peers,
    peers_by_blocks,
)


def judge_links(criterion: LinksCriterion, context: Context) -> JudgedCriterion:
    """Every pair's share of the good pairs' level or of the best; what explains slow pairs."""
    other = "best pair's" if criterion.of == "best" else "good pairs' median"
    title = context.metric_title(criterion.metric).removesuffix(" of the pair")
    limit = limit_text(criterion.at_least, criterion.at_most, "1")
    cases = {case.id: case for case in context.evidence.cases_of(criterion)}.values()
    scans = [case for case in cases if case.check in CHECKS_OF_PAIRS]
    missed = dict.fromkeys(sample_told(case.nodes, case.params) for case in scans)
    samples = [f"each launch measured {text}" for text in missed if text]
    nodes = len(context.evidence.nodes)
    some = samples or any(case.params.get(ONLY) or case.nodes < nodes for case in scans)
    every = f"every {'measured ' if some else ''}pair of nodes"
    statement = "; ".join([f"{title} of {every} {limit} × the {other}", *samples])

    def items_of(group: PeerGroup) -> GroupItems:
        return _pair_items(group, criterion, context)

    return judged_peers(criterion, context, statement, 2, items_of)


def _pair_items(group: PeerGroup, criterion: LinksCriterion, context: Context) -> GroupItems:
    """The items of slow links of nodes and of cuts, then one for each pair that gets one."""
    gap = max(LEAST_GAP, log(criterion.at_most or 1.0), -log(criterion.at_least or 1.0))
    every = peers_by_blocks(group, context)
    best = [float(np.nanmax(p.centres)) if criterion.of == "best" else None for p in every]
    pairs = group.ends, len(group.names), gap
    fabrics = [
        fabric_of(peers.centres, *pairs, peers.error, level=level)
        for peers, level in zip(every, best, strict=True)
    ]
    limits = criterion.at_least, criterion.at_most
    found = PeerComparison(group, context, limits, every, [fabric.level for fabric in fabrics])
    # Where re-runs measured some pairs, the run alone says what is slow; they confirm or clear it.
    fresh = np.asarray(group.blocks) >= context.evidence.fresh
    fabric = fabrics[0 if np.isfinite(group.logs[:, fresh]).any(axis=1).all() else -1]
    parts = list(_part_items(found, fabric))
    slow = [place for place, part in enumerate(parts) if part.verdict != "PASS"]
    cleared = {place for place, part in enumerate(parts) if part.state and place not in slow}
    telling = found.rows()
    number = fabric.explained[telling]  # where very many are explained, the lowest of each part
    mine = [number == place for place in slow]
    rows = telling[rows_kept(~np.isin(number, slow), found.peers.centres[telling], *mine)]
    items = [item for item in parts if item.verdict != "PASS" or item.state]
    for row in rows.tolist():
        item = found.item(row, "pair")
        place = int(fabric.explained[row])
        if place in slow and item.verdict != "PASS":
            cause = f"the {_what(parts[place])}"
            more = {"verdict": parts[place].verdict, "state": None, "charged_to": cause}
            item = replace(item, note=f"explained by {cause}", **more)
        elif place in cleared and item.verdict != "PASS" and not found.again(row):
            cause = f"the {_what(parts[place])}"
            note = f"explained by {cause}, which re-runs cleared"
            item = replace(item, verdict="PASS", note=note, charged_to=cause)
        elif item.verdict == "FAIL":
            item = found.suspect(item, row)
        items.append(item)
    return GroupItems(items, len(group.ends) - len(telling), len(telling) - len(rows))


def _what(part: Item) -> str:
    where = "link of" if part.about == "link" else "cut between"
    return f"slow {where} {part.subject}"


def _part_items(found: PeerComparison, fabric: Fabric) -> Iterator[Item]:
    """An item for each part. Cuts fail before re-runs confirm them, and links if half are slow."""
    names = found.group.names
    many = 2 * sum(part.kind == "link" for part in fabric.parts) >= len(names)
    for part in fabric.parts:
        groups = [listed_nodes([names[node] for node in group], 2) for group in part.groups]
        place = tuple(names[node] for node in part.nodes)
        at_once = part.kind == "cut" or many
        rows = part.pairs.tolist()
        yield found.together(rows, " and ".join(groups), place, part.kind, at_once=at_once)
