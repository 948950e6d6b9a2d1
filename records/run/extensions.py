# SPDX-License-Identifier: Apache-2.0
"""Blocks added to a run that had ended: `extensions.jsonl`, a line an extension.

plan.json stays as the run began with it; `read_plan` gives the plan with the blocks added since. An
extension is a part of the chain of records: the first record after it carries its hash, too.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path

import msgspec
from msgspec.structs import replace

from records.errors import AssayError
from records.files import write_whole
from records.input_files import decoded, kind_at, read_whole, whole_lines
from records.run.chain import EXTENSIONS
from records.run.plan import Extension, Plan, Sequential
from records.values import utc_seconds

#: What a run of a fixed number of blocks is judged by once it is extended.
UNTIL = ("score", "checks")


def in_turn(plan: Plan) -> Sequential:
    """Design by which a plan is judged; a fixed number of blocks is judged once, after the last."""
    return plan.sequential or Sequential(interims=[plan.blocks], until=[*UNTIL])


def extended(plan: Plan, extensions: Sequence[Extension]) -> Plan:
    """The plan of a run with the blocks that were added."""
    if not extensions:
        return plan
    design, totals = in_turn(plan), plan.totals
    looks = design.interims
    for one in extensions:
        looks = [*(block for block in looks if block <= one.after), *one.interims]
    share = looks[-1] / plan.blocks
    return replace(
        plan,
        blocks=looks[-1],
        sequential=replace(design, interims=looks, extensions=[*extensions]),
        totals=replace(
            totals,
            launches=round(totals.launches * share),
            node_hours=round(totals.node_hours * share, 3),
            wall_s=round(totals.wall_s * share, 1),
        ),
    )


def read_plan(path: Path) -> Plan:
    """The plan of a run directory's plan.json, with the blocks that were added since. Raises
    AssayError when it is missing, is no plan, or an extension is none of it."""
    try:
        content = read_whole(path)
    except AssayError as error:
        raise AssayError(
            f"{error}. A run directory holds the plan.json that `assay run` wrote when the run"
            " began."
        ) from error
    plan, file = Plan.from_json(content, str(path)), path.with_name(EXTENSIONS)
    if kind_at(file) is None:
        return plan
    decode = msgspec.json.Decoder(Extension).decode
    found = [decoded(decode, line, where, "an extension") for where, line in whole_lines(file)]
    for fault in _faults(plan, found):
        raise AssayError(f"{file}: {fault}; put back the file that `assay run` wrote")
    return extended(plan, found)


def _faults(plan: Plan, found: Sequence[Extension]) -> Iterator[str]:
    pairs, planned = {(case.environment, case.check) for case in plan.cases}, plan.blocks
    for one in found:
        if one.planned != planned or not one.after <= planned:
            yield f"an extension after block {one.after} of {one.planned}; the run has {planned}"
        if any(a >= b for a, b in pairwise([one.after, *one.interims])) or not one.interims:
            yield f"`interims` must ascend from above block {one.after}; found {one.interims}"
            return
        if not pairs >= {(name, check) for name, checks in one.going.items() for check in checks}:
            yield "`going` may hold only environments and checks of the plan"
        if utc_seconds(one.extended_at) is None:
            yield f"`extended_at` is {one.extended_at!r:.80}; allowed: a time"
        planned = one.interims[-1]
    for one, other in pairwise(found):
        if not (one.records < other.records and one.after < other.after):
            yield "extensions must be in the order in which they were made"


def add_extension(directory: Path, extension: Extension) -> None:
    """Add an extension to those of a run directory, whole or not at all. Raises OSError."""
    path = directory / EXTENSIONS
    before = read_whole(path) if kind_at(path) else b""
    write_whole(path, before + msgspec.json.encode(extension) + b"\n")
