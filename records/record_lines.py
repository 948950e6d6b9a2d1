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
from operator import attrgetter, is_
from pathlib import Path

import msgspec

from records.belonging import Belonging, params_fault
from records.chain import Chain
from records.errors import AssayError
from records.input_files import opened, refuse_returns, rest_of_line
from records.metric import Metric
from records.record import Record, decode_line

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


_CASE, _BLOCK, _RUN_ID, _PARAMS, _SCHEMA, _CHAIN = map(
    attrgetter, ("case_id", "block", "run_id", "params", "schema", "chain")
)
_NAMED = attrgetter("check", "environment")
#: Schema, and whether the record lacks a chain.
_SOUND = {(1, True), (2, False)}


@dataclass(frozen=True, slots=True)
class Batch:
    """Successive records that agree with the plan: number of the first line, bytes of all lines,
    position of each one's case in the plan."""

    first: int
    size: int
    cases: list[int]
    lines: list[Line]


def batches(
    path: Path, run: Belonging, chain: Chain | None = None, start: int = 0
) -> Iterator[Batch]:
    """The records of a file in order; a torn last line is left out.

    From byte `start` on, where the chain has followed those before. Raises AssayError naming file
    and line for what is no record, none of this run, or breaks the chain.
    """
    places = {case.id: place for place, case in enumerate(run.plan.cases)}
    decoder, planned = msgspec.json.Decoder(Line), _Planned(run)
    with opened(path) as file:
        file.seek(start)
        for first, chunk, texts in _chunks(file, path, 1 + (chain.records if chain else 0)):
            lines = _decoded(decoder, chunk, texts, path, first)
            cases = [*map(places.get, map(_CASE, lines), repeat(-1))]
            for number, fault in planned.faults(cases, lines):
                raise AssayError(f"{path}:{first + number}: {fault}")
            if chain and (broken := chain.follow(texts, [*map(_CHAIN, lines)])):
                raise AssayError(f"{path}:{chain.records + 1}: {broken}")
            yield Batch(first, len(chunk), cases, lines)
    if chain and (missing := chain.missing()):
        raise AssayError(f"{path}:{chain.records}: {missing}")


class _Planned:
    """What lines of a run are held against, and the text of the parameters that each case had in
    its last line: most have the same in their next."""

    def __init__(self, run: Belonging) -> None:
        self._run, self._cases = run, run.plan.cases
        self._named = [*map(_NAMED, self._cases)]
        self._params = [b""] * len(self._cases)

    def faults(self, cases: list[int], lines: list[Line]) -> Iterator[tuple[int, str]]:
        """Lines that do not belong to the run, with the reason; `cases` are places in the plan."""
        blocks = [*map(_BLOCK, lines)]
        agree = (
            min(cases) >= 0
            and {*map(_RUN_ID, lines)} == {self._run.run_id}
            and [*map(_NAMED, lines)] == [*map(self._named.__getitem__, cases)]
            and min(blocks) > 0
            and max(blocks) <= self._run.plan.blocks
        )
        if not agree:  # a skipped case has block 0, and is right
            for number, (case, line) in enumerate(zip(cases, lines, strict=True)):
                planned = self._cases[case] if case >= 0 else None
                if fault := self._run.place_fault(line, planned):
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
) -> list[Line]:
    """The records of a chunk: one in each of its lines `texts`, and nothing else."""
    try:
        if not chunk.isascii():
            chunk.decode()  # what stays raw is decoded nowhere else
        lines = decoder.decode_lines(chunk)
        unchained = map(is_, map(_CHAIN, lines), repeat(msgspec.UNSET))
        if len(lines) == len(texts) and _SOUND.issuperset(
            zip(map(_SCHEMA, lines), unchained, strict=True)
        ):
            return lines
    except (msgspec.MsgspecError, ValueError, RecursionError):
        pass
    return [
        decode_line(decoder, text, f"{path}:{number}")
        for number, text in enumerate(texts, start=first)
    ]
