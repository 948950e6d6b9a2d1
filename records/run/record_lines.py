# SPDX-License-Identifier: Apache-2.0
"""The records of a file in batches: a fast test of a whole batch, line by line only where it fails.

Parameters, samples and what else is seldom read stay undecoded.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from io import BufferedReader
from itertools import repeat
from operator import attrgetter
from pathlib import Path

import msgspec

from records.errors import AssayError
from records.input_files import opened, refuse_returns, rest_of_line
from records.metric import Metric
from records.run.belonging import Belonging, params_fault
from records.run.chain import Chain
from records.run.record import SCHEMA, Record, decode_line

#: Bytes read and decoded together: few, so that their objects stay in the cache.
_BATCH = 1 << 16
_NEWLINE = b"\n"


class Value(Metric, frozen=True, kw_only=True, gc=False):
    """A metric whose `at` and `samples` stay text, for equal points are written alike."""

    at: msgspec.Raw = msgspec.Raw()  # type: ignore[assignment]
    samples: msgspec.Raw = msgspec.Raw()  # type: ignore[assignment]


class Line(Record, frozen=True, kw_only=True, gc=False):
    """A record as a report reads it: what stays text is decoded only where it is needed."""

    params: msgspec.Raw  # type: ignore[assignment]
    nodes: msgspec.Raw  # type: ignore[assignment]
    metrics: list[Value]  # type: ignore[assignment]
    flags: tuple[str, ...]  # type: ignore[assignment]
    artifacts: msgspec.Raw  # type: ignore[assignment]
    profile: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET  # type: ignore[assignment]


_BLOCK, _RUN_ID, _PARAMS, _SCHEMA, _CHAIN = map(
    attrgetter, ("block", "run_id", "params", "schema", "chain")
)
_NAMED = attrgetter("case_id", "check", "environment")


@dataclass(frozen=True, slots=True)
class Batch:
    """Successive records that agree with the plan: number of the first line, all lines as they are
    written, position of each one's case in the plan."""

    first: int
    text: bytes
    cases: list[int]
    lines: list[Line]


def batches(
    path: Path, run: Belonging, chain: Chain | None = None, start: int = 0
) -> Iterator[Batch]:
    """The records of a file in order; a torn last line is left out.

    From byte `start` on, where the chain has followed those before. Raises AssayError naming file
    and line for what is no record, none of this run, or breaks the chain.
    """
    decoder, planned = msgspec.json.Decoder(Line), _Planned(run)
    with opened(path) as file:
        file.seek(start)
        for first, chunk, texts in _chunks(file, path, 1 + (chain.records if chain else 0)):
            lines, carried = _decoded(decoder, chunk, texts, path, first)
            cases = planned.places(lines)
            for number, fault in planned.faults(cases, lines):
                raise AssayError(f"{path}:{first + number}: {fault}")
            if chain and (broken := chain.follow(texts, carried)):
                raise AssayError(f"{path}:{chain.records + 1}: {broken}")
            yield Batch(first, chunk, cases, lines)
    if chain and (missing := chain.missing()):
        raise AssayError(f"{path}:{chain.records}: {missing}")


class _Planned:
    """What lines of a run are held against, and the text of the parameters that each case had in
    its last line: most have the same in their next."""

    def __init__(self, run: Belonging) -> None:
        self._run, self._cases = run, run.plan.cases
        self._places = {
            (case.id, case.check, case.environment): place for place, case in enumerate(self._cases)
        }
        self._params = [b""] * len(self._cases)

    def places(self, lines: list[Line]) -> list[int]:
        """Position in the plan of each line's case, -1 where the plan has none of its names."""
        return [*map(self._places.get, map(_NAMED, lines), repeat(-1))]

    def faults(self, cases: list[int], lines: list[Line]) -> Iterator[tuple[int, str]]:
        """Lines that do not belong to the run, with the reason; `cases` are their positions."""
        blocks = [*map(_BLOCK, lines)]
        agree = (
            min(cases) >= 0
            and {*map(_RUN_ID, lines)} == {self._run.run_id}
            and min(blocks) > 0
            and max(blocks) <= self._run.plan.blocks
        )
        if not agree:  # a skipped case has block 0, and is right
            known = {case.id: case for case in self._cases}
            for number, line in enumerate(lines):
                if fault := self._run.place_fault(line, known.get(line.case_id)):
                    yield number, fault
                    return
        texts = [*map(bytes, map(_PARAMS, lines))]
        if texts == [*map(self._params.__getitem__, cases)]:
            return
        for number, (case, text) in enumerate(zip(cases, texts, strict=True)):
            if self._params[case] != text:
                self._params[case] = text
                if fault := params_fault(lines[number].params, self._cases[case]):
                    yield number, fault


def _chunks(
    file: BufferedReader, path: Path, first: int
) -> Iterator[tuple[int, bytes, list[bytes]]]:
    """The file in pieces of whole lines, each with the number of its first line, here `first`, and
    its lines without their newlines.

    What follows the last newline is left out.
    """
    while chunk := file.read(_BATCH):
        if not chunk.endswith(_NEWLINE):
            chunk += rest_of_line(file, partial(_last_line, path, first, chunk))
        *texts, rest = chunk.split(_NEWLINE)
        if texts:
            yield first, chunk[: len(chunk) - len(rest)], texts
        first += len(texts)
        refuse_returns(rest, f"{path}:{first}")


def _last_line(path: Path, first: int, chunk: bytes) -> str:
    """File and number of the last line of a piece."""
    return f"{path}:{first + chunk.count(_NEWLINE)}"


def _decoded(
    decoder: msgspec.json.Decoder[Line], chunk: bytes, texts: list[bytes], path: Path, first: int
) -> tuple[list[Line], list[str | msgspec.UnsetType]]:
    """The records of a chunk, one in each of its lines `texts` and nothing else, and the chain that
    each carries."""
    try:
        if not chunk.isascii():
            chunk.decode()  # what stays raw is decoded nowhere else
        lines = decoder.decode_lines(chunk)
        carried, schemas = [*map(_CHAIN, lines)], {*map(_SCHEMA, lines)}
        unchained = {1: len(lines), SCHEMA: 0}
        if len(lines) == len(texts) and [carried.count(msgspec.UNSET)] == [
            *map(unchained.get, schemas)
        ]:
            return lines, carried
    except (msgspec.MsgspecError, ValueError, RecursionError):
        pass
    lines = [
        decode_line(decoder, text, f"{path}:{number}")
        for number, text in enumerate(texts, start=first)
    ]
    return lines, [*map(_CHAIN, lines)]
