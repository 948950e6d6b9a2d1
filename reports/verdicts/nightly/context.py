# SPDX-License-Identifier: Apache-2.0
"""What changed in software, machine and node set from one night to another."""

from __future__ import annotations

from records.history.model import NODE_FACT, Night
from reports.load.nights import told_by_nodes
from reports.verdicts.nightly.forms import ContextPart


def context_changes(before: Night, after: Night) -> list[ContextPart]:
    """What changed in software, machine and node set from one night to another.

    A night of an Assay that asked no nodes says nothing of what these tell.
    """
    names = sorted(before.context.keys() | after.context.keys())
    if not all(any(name.startswith(NODE_FACT) for name in one.context) for one in (before, after)):
        names = [name for name in names if not told_by_nodes(name)]
    # Nor does a night of one that asked no library for its device.
    names = [
        name
        for name in names
        if not name.endswith(".device") or {name} <= before.context.keys() & after.context.keys()
    ]
    return [
        ContextPart(name, before.context.get(name), after.context.get(name))
        for name in names
        if before.context.get(name) != after.context.get(name)
    ]
