# SPDX-License-Identifier: Apache-2.0
"""The records of a file in batches: a fast test of a whole batch, line by line only where it fails.

Parameters, samples and what else is seldom read stay undecoded.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from io import BufferedReader
from operator import attrgetter
from pathlib import Path

import msgspec

from records.belonging import Belonging, params_fault
from records.chain import Chain
from records.errors import AssayError
from records.input_files import opened, refuse_returns, rest_of_line
from records.metric import Metric
from records.record import Record, decode_line

#: Bytes read and decoded together.
_BATCH = 1 << 18
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
    artifacts: msgspec.Raw  # type: ignore[assignment]
    profile: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET  # type: ignore[assignment]


_CASE, _BLOCK, _RUN_ID = attrgetter("case_id"), attrgetter("block"), attrgetter("run_id")
_NAMED, _CHAIN = attrgetter("check", "environment"), attrgetter("chain")
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
    decoder = msgspec.json.Decoder(Line)
    params: dict[int, bytes] = {}
    with opened(path) as file:
        file.seek(start)
        for first, chunk in _chunks(file, path, 1 + (chain.records if chain else 0)):
            texts = chunk[:-1].split(b"\n")
            lines = _decoded(decoder, chunk, texts, path, first)
            cases = [places.get(name, -1) for name in map(_CASE, lines)]
            for number, fault in _faults(run, cases, lines, params):
                raise AssayError(f"{path}:{first + number}: {fault}")
            if chain and (broken := chain.follow(texts, [*map(_CHAIN, lines)])):
                raise AssayError(f"{path}:{chain.records + 1}: {broken}")
            yield Batch(first, len(chunk), cases, lines)
    if chain and (missing := chain.missing()):
        raise AssayError(f"{path}:{chain.records}: {missing}")


def _faults(
    run: Belonging, cases: list[int], lines: list[Line], params: dict[int, bytes]
) -> Iterator[tuple[int, str]]:
    """Lines that do not belong to the run, with the reason; `params` holds those seen by case."""
    planned, blocks = run.plan.cases, [*map(_BLOCK, lines)]
    agree = (
        -1 not in cases
        and {*map(_RUN_ID, lines)} == {run.run_id}
        and list(map(_NAMED, lines)) == list(map(_NAMED, [planned[case] for case in cases]))
        and min(blocks) > 0
        and max(blocks) <= run.plan.blocks
    )
    if not agree:  # a skipped case has block 0, and is right
        for number, (case, line) in enumerate(zip(cases, lines, strict=True)):
            if fault := run.place_fault(line, planned[case] if case >= 0 else None):
                yield number, fault
                return
    for number, (case, line) in enumerate(zip(cases, lines, strict=True)):
        text = bytes(line.params)
        if params.get(case) != text:  # most lines have the text of the case's line before
            params[case] = text
            if fault := params_fault(line.params, planned[case]):
                yield number, fault


def _chunks(file: BufferedReader, path: Path, first: int) -> Iterator[tuple[int, bytes]]:
    """The file in pieces of whole lines, each with the number of its first line, here `first`.

    What follows the last newline is left out.
    """
    while chunk := file.read(_BATCH):
        if not chunk.endswith(b"\n"):
            chunk += rest_of_line(file, f"{path}:{first + chunk.count(_NEWLINE)}")
        whole = chunk[: chunk.rfind(_NEWLINE) + 1]
        if whole:
            yield first, whole
        first += whole.count(_NEWLINE)
        refuse_returns(chunk[len(whole) :], f"{path}:{first}")


def _decoded(
    decoder: msgspec.json.Decoder[Line], chunk: bytes, texts: list[bytes], path: Path, first: int
) -> list[Line]:
    """The records of a chunk: one in each of its lines `texts`, and nothing else."""
    try:
        if not chunk.isascii():
            chunk.decode()  # what stays raw is decoded nowhere else
        lines = decoder.decode_lines(chunk)
        if len(lines) == len(texts) and _SOUND.issuperset(
            (line.schema, line.chain is msgspec.UNSET) for line in lines
        ):
            return lines
    except (msgspec.MsgspecError, ValueError, RecursionError):
        pass
    return [
        decode_line(decoder, text, f"{path}:{number}")
        for number, text in enumerate(texts, start=first)
    ]
