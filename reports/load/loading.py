# SPDX-License-Identifier: Apache-2.0
"""A run in memory, read from its directory: plan.json, records.jsonl, provenance.json; scans of
pairs whose values are in column files of their own, read when asked for.

Such a file is opened with no link followed, its checksum compared with the record's, its columns
with what a scan has. Of 10,000 nodes one column of all pairs takes 200 MB.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from records.errors import AssayError
from records.input_files import kind_at, opened_below
from records.run.chain import Chain
from records.run.interims import INTERIMS, Interim, asked_blocks, read_interims, read_plan
from records.run.plan import Plan, PlannedCase
from records.run.provenance import Provenance, read_provenance
from records.run.record import Belonging, Status, has_torn_tail
from records.site.node_facts import differences
from records.site.pair_scans import NODE, NODES_META, PEER, SWITCHES_META, Indices
from records.text.plain_text import natural_order
from records.values import odd_word
from reports.load.launches import AtKey, Launch, Launches, Reader, Series, stacked

Floats = NDArray[np.float32]


@dataclass(frozen=True)
class PairColumns:
    """Values of pairs, a pair a row and a block a column, NaN where a block has none.

    `low` and `high` are numbers of `names`, which are in natural order, ascending by row;
    `switches` has the switch of each node, "" where none is declared.
    """

    names: tuple[str, ...]
    switches: tuple[str, ...]
    low: Indices
    high: Indices
    blocks: tuple[int, ...]
    values: Floats


@dataclass(frozen=True)
class Scan:
    """The counted launches of one case whose values are in files: by ascending block the path of
    each below the run directory, and its SHA-256."""

    directory: Path
    case: int
    files: Mapping[int, tuple[str, str]]

    @cached_property
    def metrics(self) -> tuple[str, ...]:
        """The metrics that the first file has."""
        import polars as pl  # slow: 0.1 s

        path = self._checked(*next(iter(self.files.values())))
        with _table(path, "values"):
            return tuple(name for name in pl.read_parquet_schema(path) if name not in (NODE, PEER))

    def columns(self, metric: str) -> PairColumns:
        """All values of a metric."""
        return joined(
            [_read(self._checked(*file), metric, block) for block, file in self.files.items()]
        )

    def _checked(self, name: str, sha256: str) -> Path:
        """The path of a file that is what its record says."""
        if name not in self._known:
            with opened_below(self.directory, name) as file:
                if hashlib.file_digest(file, "sha256").hexdigest() != sha256:
                    raise AssayError(
                        f"{self.directory / name}: is not the file of its record (its checksum"
                        " is another); restore it, or report the run without it"
                    )
            self._known.add(name)
        return self.directory / name

    @cached_property
    def _known(self) -> set[str]:
        return set()


def _read(path: Path, metric: str, block: int) -> PairColumns:
    """Values of a metric in a file. Raises AssayError where it is no table of pairs with it."""
    import polars as pl  # slow: 0.1 s

    with _table(path, metric):
        meta = pl.read_parquet_metadata(path)
        names = msgspec.json.decode(meta[NODES_META], type=list[str])
        switches = msgspec.json.decode(meta.get(SWITCHES_META, "[]"), type=list[str])
        if len(switches or names) != len(names) or odd_word(names):
            raise ValueError("it names other nodes, or switches of others, than can be")
        rows = int(pl.scan_parquet(path).select(pl.len()).collect().item())
        if rows > len(names) * (len(names) - 1) // 2:
            raise ValueError("it has more rows than there are pairs of its nodes")
        frame = pl.read_parquet(path, columns=[NODE, PEER, metric])
        if any(frame.null_count().row(0)):
            raise ValueError("a row lacks a value")
        numbers = frame[[NODE, PEER]].cast(pl.Enum(names)).select(pl.all().to_physical())
        ends = numbers.to_numpy().astype(np.int64).T
        values = frame[metric].cast(pl.Float32).to_numpy()
    if not (np.isfinite(values) & (values > 0)).all():
        raise AssayError(f"{path}: holds a {metric} that cannot be measured")
    return pair_columns(names, ends, block, values, switches=switches, where=str(path))


@contextmanager
def _table(path: Path, metric: str) -> Iterator[None]:
    """Errors of reading a file as what they mean; Polars panics at some damage."""
    import polars as pl  # slow: 0.1 s

    faults = pl.exceptions.PolarsError, pl.exceptions.PanicException
    try:
        yield
    except (*faults, OSError, LookupError, TypeError, ValueError, RecursionError) as error:
        raise AssayError(f"{path}: is no table of pairs with {metric}: {error}") from error


def pair_columns(
    names: Sequence[str],
    ends: Iterable[Indices],
    block: int,
    values: NDArray[np.floating],
    *,
    switches: Sequence[str] = (),
    where: str = "",
) -> PairColumns:
    """The values of one block in the order of pairs; `ends` are numbers of `names`. Raises
    AssayError for a pair that occurs twice, or of a node with itself."""
    ordered = natural_order(names)
    index = {name: number for number, name in enumerate(ordered)}
    number = np.array([index[name] for name in names], dtype=np.int64)
    first, second = (number[end] for end in ends)
    low, high = np.minimum(first, second), np.maximum(first, second)
    codes = low * len(ordered) + high
    order = np.argsort(codes)
    if (low == high).any() or (np.diff(codes[order]) == 0).any():
        raise AssayError(f"{where}: a pair of nodes appears twice, or is of one node")
    at = dict(zip(names, switches, strict=True)) if switches else {}
    return PairColumns(
        ordered,
        tuple(at.get(name, "") for name in ordered),
        low[order],
        high[order],
        (block,),
        np.asarray(values[order], dtype=np.float32)[:, None],
    )


def columns_of(series: Sequence[Series]) -> PairColumns:
    """The values of pairs in records, as columns."""
    names = sorted({str(item.at_value(end)) for item in series for end in (NODE, PEER)})
    index = {name: number for number, name in enumerate(names)}
    blocks = sorted({int(block) for item in series for block in item.blocks})
    parts = []
    for block in blocks:
        here = [(item, item.by_block()[block]) for item in series if block in item.blocks]
        ends = [
            np.array([index[str(item.at_value(end))] for item, _ in here], dtype=np.int64)
            for end in (NODE, PEER)
        ]
        parts.append(pair_columns(names, ends, block, np.array([value for _, value in here])))
    return joined(parts)


def joined(parts: Sequence[PairColumns]) -> PairColumns:
    """Values of several blocks, whose pairs need not be the same; a later part replaces a block."""
    first = parts[0]
    if len(parts) == 1:
        return first
    names = first.names
    if any(part.names != names for part in parts):
        names = natural_order({name for part in parts for name in part.names})
    codes = [_codes(part, names) for part in parts]
    every = codes[0]
    if any(not np.array_equal(code, every) for code in codes):
        every = np.unique(np.concatenate(codes))
    blocks = sorted({block for part in parts for block in part.blocks})
    values = np.full((len(every), len(blocks)), np.nan, dtype=np.float32)
    for part, code in zip(parts, codes, strict=True):
        rows = np.searchsorted(every, code)
        for column, block in enumerate(part.blocks):
            values[rows, blocks.index(block)] = part.values[:, column]
    at = {name: s for part in parts for name, s in zip(part.names, part.switches, strict=True) if s}
    switches = tuple(at.get(name, "") for name in names)
    low, high = every // len(names), every % len(names)
    return PairColumns(names, switches, low, high, tuple(blocks), values)


def _codes(part: PairColumns, names: tuple[str, ...]) -> Indices:
    """low·n + high of each pair by the numbers of `names`, ascending."""
    if part.names == names:
        return part.low * len(names) + part.high
    index = {name: number for number, name in enumerate(names)}
    number = np.array([index[name] for name in part.names], dtype=np.int64)
    return number[part.low] * len(names) + number[part.high]


#: Facts of nodes that are not alike, in a warning.
MOST_UNLIKE = 5

__all__ = ["AtKey", "Launch", "Launches", "Run", "Series", "load_run", "stacked"]


@dataclass(frozen=True)
class Run:
    """A run directory in memory. `series` holds counted ok launches, `invalid` the values of
    launches that were wrong on purpose; `profiled`: some record holds an MPI profile; `chain`:
    that of all records; `interims`: what a sequential design decided so far; `scans`: values of
    pairs in files of their own, of which `series` has a summary."""

    directory: Path
    plan: Plan
    provenance: Provenance
    run_id: str
    launches: Launches
    series: list[Series]
    invalid: list[Series]
    nodes: tuple[str, ...]
    warnings: tuple[str, ...]
    profiled: bool
    chain: Chain
    interims: tuple[Interim, ...] = ()
    scans: tuple[Scan, ...] = ()

    def until(self, block: int) -> Run:
        """The run as it stood after a block, without its scans."""
        series = [
            Series(item.case, item.metric, item.at, item.blocks[:end], item.values[:end])
            for item in self.series
            if (end := int(np.searchsorted(item.blocks, block, side="right")))
        ]
        launches = self.launches.part(self.launches.block <= block)
        return replace(self, series=series, launches=launches, scans=())

    @cached_property
    def asked(self) -> dict[tuple[str, str], int]:
        """For each environment and check the block up to which its launches were asked for."""
        return asked_blocks(self.plan, self.interims)

    @property
    def blocks(self) -> int:
        """Number of blocks asked for, of what went on to the end."""
        return max(self.asked.values(), default=self.plan.blocks)

    def case(self, launch: Launch) -> PlannedCase:
        """The planned case of a launch."""
        return self.plan.cases[launch.case]

    @cached_property
    def first_alike(self) -> list[int]:
        """For each case the first one of its check and parameters: those of environments that are
        paired, and named alike."""
        encode = msgspec.json.Encoder(order="deterministic").encode
        known: dict[tuple[str, bytes], int] = {}
        return [
            known.setdefault((case.check, encode(case.params)), index)
            for index, case in enumerate(self.plan.cases)
        ]

    @property
    def done(self) -> int:
        """Number of launches of blocks with a record, the latest attempt alone."""
        return int((self.launches.counted & (self.launches.block > 0)).sum())

    @cached_property
    def tally(self) -> Counter[tuple[int, Status, tuple[str, ...]]]:
        """Number of counted launches of each (position of the case, status, flags)."""
        launches = self.launches
        of_each = max(1, len(launches.kinds))
        keys, counts = np.unique_counts((launches.case * of_each + launches.kind)[launches.counted])
        tally: Counter[tuple[int, Status, tuple[str, ...]]] = Counter()
        for key, count in zip(keys.tolist(), counts.tolist(), strict=True):
            case, kind = divmod(key, of_each)
            tally[case, *launches.kinds[kind]] = count
        return tally


def load_run(directory: Path) -> Run:
    """Read the run in `directory`, finished or not.

    Raises AssayError when the directory, plan.json, provenance.json or a line of records.jsonl is
    not as it must be, or the chain of the records is broken.
    """
    if not directory.is_dir():
        raise AssayError(
            f"{directory}: no such run directory. Give the directory that `assay run` printed,"
            " e.g. results/quick/<run-id>."
        )
    plan = read_plan(directory / "plan.json")
    provenance = read_provenance(directory / "provenance.json")
    warnings: list[str] = []
    belonging = Belonging(plan, provenance.run_id or "")
    reader = Reader(belonging)
    if unlike := differences(provenance.nodes):
        warnings.append(f"The nodes are not alike: {'. '.join(unlike[:MOST_UNLIKE])}.")
    records_path, chain = directory / "records.jsonl", Chain.of(directory)
    if kind_at(records_path) is not None:
        if has_torn_tail(records_path):
            warnings.append(
                "The last line of records.jsonl is torn (no newline): that launch does not count."
            )
        reader.read(records_path, chain)
    elif fault := chain.missing():
        raise AssayError(f"{records_path}: {fault}")
    reader.settle()
    launches = reader.launches()
    return Run(
        directory=directory,
        plan=plan,
        provenance=provenance,
        run_id=belonging.run_id or directory.resolve().name,
        launches=launches,
        series=reader.series(),
        invalid=reader.series(on_purpose=True),
        scans=tuple(Scan(directory, case, files) for case, files in sorted(reader.scans().items())),
        nodes=tuple(sorted(reader.nodes)),
        warnings=tuple(warnings),
        profiled=reader.profiled,
        chain=chain,
        interims=tuple(read_interims(directory / INTERIMS, plan)),
    )
