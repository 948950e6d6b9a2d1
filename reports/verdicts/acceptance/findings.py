# SPDX-License-Identifier: Apache-2.0
"""What is named: slow nodes and groups, links, cuts, pairs; unsteady launches; missing values.

Only evidence from the network explains a link: that a node is slow says nothing of its links.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from reports.notation.natural import natural
from reports.verdicts.acceptance.model import Accusation, Finding, Item, JudgedCriterion, Subject

_ORDER: tuple[Subject, ...] = ("group", "node", "cut", "link", "pair", "unsteady", "missing")


def findings(results: Sequence[JudgedCriterion]) -> list[Finding]:
    """All findings: what is named first, then what re-runs cleared; nodes before links."""
    against: dict[tuple[Subject, str], list[Accusation]] = {}
    for result in results:
        for item in result.items:
            if item.state is not None:
                key = (item.about, _name(item, result))
                against.setdefault(key, []).append(Accusation(result.id, item))
    found = [Finding(kind, name, tuple(said)) for (kind, name), said in against.items()]
    slow = {node for f in found if f.kind in ("node", "group") and f.named for node in f.nodes}
    noted = [_with_note(finding, slow) for finding in found]
    return sorted(noted, key=_order)


def _name(item: Item, result: JudgedCriterion) -> str:
    """What tells a finding from others; what has no place is named with its criterion."""
    if item.about in ("unsteady", "missing") or not item.place:
        what = item.metric.replace("_", " ")
        return f"{item.subject} ({what}, {item.environment})" if item.metric else result.id
    return item.subject


def _with_note(finding: Finding, slow: set[str]) -> Finding:
    if finding.kind not in ("link", "pair", "cut"):
        return finding
    notes = []
    if finding.kind == "link":
        notes.append(f"every pair of {finding.name} with a good node is slow, as far as measured")
    elif finding.kind == "cut":
        notes.append("the pairs across are slow, those on either side are not for that")
    mine = [name for name in finding.nodes if name in slow] if finding.kind != "cut" else []
    if mine:
        verb = "is a slow node" if len(mine) == 1 else "are slow nodes"
        notes.append(f"{' and '.join(mine)} {verb} too, which explains no link")
    return replace(finding, note="; ".join(notes))


def _order(finding: Finding) -> tuple[bool, int, list[tuple[int, str]]]:
    return not finding.named, _ORDER.index(finding.kind), natural(finding.name)
