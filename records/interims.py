# SPDX-License-Identifier: Apache-2.0
"""What a sequential design decided after which block: `interims.jsonl`, a line a judgement.

It lies beside the records, so that a resumed run goes on as decided, and a report knows which
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
from records.input_files import decoded, kind_at, opened, whole_lines
from records.plan import Plan
from records.values import Count

INTERIMS = "interims.jsonl"

#: Why no block is added: all is answered, the last block is done, limits.node_hours is used up.
Ended = Literal["answered", "blocks", "node_hours"]


class Interim(msgspec.Struct, frozen=True, kw_only=True):
    """The judgement after `block`: environments that left the run with it, questions still open."""

    block: Count
    out: list[str]
    open: list[str]
    ended: Ended | None


def asked_blocks(plan: Plan, interims: Sequence[Interim]) -> dict[str, int]:
    """For each environment the block up to which its launches are asked, as far as decided."""
    last = plan.blocks
    if plan.sequential is not None and not (interims and interims[-1].ended):
        done = interims[-1].block if interims else 0
        last = next(block for block in plan.sequential.interims if block > done)
    elif interims:
        last = interims[-1].block
    asked = dict.fromkeys(plan.environments, last)
    return asked | {name: interim.block for interim in interims for name in interim.out}


def read_interims(path: Path, plan: Plan) -> list[Interim]:
    """The judgements in the file, none where it is missing.

    Raises AssayError for what is no judgement of this plan.
    """
    if kind_at(path) is None:
        return []
    with opened(path) as file:
        found = [
            decoded(_decoder.decode, line, f"{path}:{number}", "an interim judgement")
            for number, line in enumerate(whole_lines(file, path), start=1)
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
    out = [name for item in found for name in item.out]
    if len({*out}) < len(out) or not {*out} <= {*plan.environments}:
        yield "`out` must hold environments of the plan, each once"
    if any(item.ended for item, _ in pairwise(found)):
        yield "judgements after the one that ended the run"
    if found and found[-1].block == plan.blocks and not found[-1].ended:
        yield "no block is left, and the last judgement does not end the run"


def write_interims(path: Path, interims: Sequence[Interim]) -> None:
    """Write all judgements, whole or not at all. Raises OSError."""
    write_whole(path, b"".join(_encoder.encode(item) + b"\n" for item in interims))


_decoder = msgspec.json.Decoder(Interim)
_encoder = msgspec.json.Encoder()
