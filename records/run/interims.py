# SPDX-License-Identifier: Apache-2.0
"""Interim judgements of a sequential design, one a line in `interims.jsonl`.

It is next to the records, so that a resumed run goes on as decided, and a report knows which
launches were never asked for. The report makes each judgement again from the records.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Literal

import msgspec

from records.errors import AssayError
from records.files import write_whole
from records.input_files import decoded, kind_at, whole_lines
from records.run.plan import Plan
from records.values import Count

INTERIMS = "interims.jsonl"

#: Why no block is added: all is answered, the last block is done, by forecast it would
#: not tell of what is open, limits.node_hours is used up.
Ended = Literal["answered", "blocks", "forecast", "node_hours"]


class Interim(msgspec.Struct, frozen=True, kw_only=True):
    """The judgement after `block`: questions still open, and the checks that go on for them, by
    environment. What does not go on is not run again."""

    block: Count
    open: list[str]
    going: dict[str, list[str]]
    ended: Ended | None

    def told(self, plan: Plan) -> list[str]:
        """Sentences of what it came to."""
        head = f"judged after block {self.block} of at most {plan.blocks}"
        if len(plan.environments) == 1:
            return [f"{head}: one environment, so that nothing is compared"]
        if self.ended == "answered":
            return [f"{head}: all that is asked is known; the run ends"]
        count = len(self.open)
        head += f": {count} {'question is' if count == 1 else 'questions are'} open"
        if self.ended is None:
            return [f"{head}; it goes on with {self.going_told(plan)}"]
        if self.ended == "blocks":
            return [head, "no launch is left; the run ends"]
        if self.ended == "forecast":
            return [head, f"block {plan.blocks} would not tell either; the run ends"]
        return [head, "limits.node_hours does not suffice for the next blocks; the run ends"]

    def going_told(self, plan: Plan) -> str:
        """Checks that go on: "startup of mpich, lam; hpl of all"."""
        asked: dict[str, dict[str, None]] = {}
        for case in plan.cases:
            asked.setdefault(case.check, {})[case.environment] = None
        parts = []
        for check, every in asked.items():
            names = [name for name in every if check in self.going.get(name, ())]
            if names:
                parts.append(f"{check} of {'all' if names == [*every] else ', '.join(names)}")
        return "; ".join(parts) or "nothing"


def asked_blocks(plan: Plan, interims: Sequence[Interim]) -> dict[tuple[str, str], int]:
    """For each environment and check the block up to which its launches are asked, as far as
    decided."""
    looks = plan.sequential.interims if plan.sequential else [plan.blocks]
    asked = dict.fromkeys(((case.environment, case.check) for case in plan.cases), looks[0])
    for interim, following in zip(interims, looks[1:], strict=False):
        going = _going(plan, interim)
        for name, check in asked:
            if check in going.get(name, ()):
                asked[name, check] = following
    return asked


def _going(plan: Plan, interim: Interim) -> dict[str, list[str]]:
    """The checks that go on after a judgement, which may be those of an extension."""
    added = plan.sequential and plan.sequential.extension_after(interim.block)
    if added:
        return added.going
    return interim.going if interim.ended is None else {}


def has_ended(plan: Plan, interims: Sequence[Interim]) -> bool:
    """Tell whether the last judgement was the last of all; a fixed design has none to come."""
    if plan.sequential is None:
        return True
    last = interims[-1] if interims else None
    return bool(last and last.ended and not plan.sequential.extension_after(last.block))


def read_interims(path: Path, plan: Plan) -> list[Interim]:
    """The judgements in the file, none where it is missing. Raises AssayError for what is no
    judgement of this plan."""
    if kind_at(path) is None:
        return []
    decode = msgspec.json.Decoder(Interim).decode
    found = [
        decoded(decode, line, where, "an interim judgement") for where, line in whole_lines(path)
    ]
    for fault in _faults(found, plan):
        raise AssayError(f"{path}: {fault}; put back the file that `assay run` wrote")
    return found


def _faults(found: Sequence[Interim], plan: Plan) -> Iterator[str]:
    if plan.sequential is None:
        yield "the plan has a fixed number of blocks, and no interim judgement"
        return
    blocks = [item.block for item in found]
    if blocks != plan.sequential.interims[: len(blocks)]:
        yield f"judgements after the blocks {blocks}; planned are {plan.sequential.interims}"
    if any(has_ended(plan, [item]) for item, _ in pairwise(found)):
        yield "judgements after the one that ended the run"
    going = {(case.environment, case.check) for case in plan.cases}
    for item in found:
        pairs = {(name, check) for name, checks in item.going.items() for check in checks}
        if not pairs <= going:
            yield "`going` may hold only environments and checks of the plan that went on before"
        following = _going(plan, item)
        going = {(name, check) for name, checks in following.items() for check in checks}
    if found and found[-1].block == plan.blocks and not found[-1].ended:
        yield "no block is left, and the last judgement does not end the run"


def write_interims(path: Path, interims: Sequence[Interim]) -> None:
    """Write all judgements, whole or not at all. Raises OSError."""
    write_whole(path, b"".join(msgspec.json.encode(item) + b"\n" for item in interims))
