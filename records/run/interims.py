# SPDX-License-Identifier: Apache-2.0
"""Progress of a sequential design: interim judgements, one a line in `interims.jsonl`, and blocks
added to a run that had ended, one addition a line in `extensions.jsonl`.

A resumed run goes on as decided, and a report knows which launches were never asked for; it makes
each judgement again from the records. plan.json stays as the run began with it; `read_plan` gives
the plan with the blocks added since. An extension is a part of the chain of records: the first
record after it carries its hash, too.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal, TypeVar

import msgspec
from msgspec.structs import replace

from records.errors import AssayError
from records.files import write_whole
from records.input_files import decoded, kind_at, read_whole, whole_lines
from records.run.chain import EXTENSIONS
from records.run.plan import Extension, Plan, Sequential
from records.values import Count

INTERIMS = "interims.jsonl"

_Line = TypeVar("_Line")

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
        why = {
            "blocks": "no launch is left",
            "forecast": f"block {plan.blocks} would not tell either",
            "node_hours": "limits.node_hours does not suffice for the next blocks",
        }
        return [head, f"{why[self.ended]}; the run ends"]

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
    found = _read(path, Interim, "an interim judgement")
    for fault in _faults(found, plan) if found else ():
        raise AssayError(f"{path}: {fault}; put back the file that `assay run` wrote")
    return found


def _faults(found: Sequence[Interim], plan: Plan) -> Iterator[str]:
    if plan.sequential is None:
        yield "the plan has a fixed number of blocks, and no interim judgement"
        return
    blocks = [item.block for item in found]
    if blocks != plan.sequential.interims[: len(blocks)]:
        yield f"judgements after the blocks {blocks}; planned are {plan.sequential.interims}"
    going = {(case.environment, case.check) for case in plan.cases}
    for item in found:
        if not _pairs(item.going) <= going:
            yield "`going` may hold only environments and checks of the plan that went on before"
        going = _pairs(_going(plan, item))


def _pairs(going: Mapping[str, Iterable[str]]) -> set[tuple[str, str]]:
    return {(name, check) for name, checks in going.items() for check in checks}


def write_interims(path: Path, interims: Sequence[Interim]) -> None:
    """Write all judgements, whole or not at all. Raises OSError."""
    write_whole(path, b"".join(msgspec.json.encode(item) + b"\n" for item in interims))


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
    extensions = _read(path.with_name(EXTENSIONS), Extension, "an extension")
    return extended(Plan.from_json(content, str(path)), extensions)


def _read(path: Path, kind: type[_Line], name: str) -> list[_Line]:
    """The lines of a file, none where it is missing."""
    decode = msgspec.json.Decoder(kind).decode
    lines = whole_lines(path) if kind_at(path) else ()
    return [decoded(decode, line, where, name) for where, line in lines]


def add_extension(directory: Path, extension: Extension) -> None:
    """Add an extension to those of a run directory, whole or not at all. Raises OSError."""
    path = directory / EXTENSIONS
    before = read_whole(path) if kind_at(path) else b""
    write_whole(path, before + msgspec.json.encode(extension) + b"\n")
