# SPDX-License-Identifier: Apache-2.0
"""The table of one file of a scan of pairs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import msgspec
import numpy as np
import polars as pl
from numpy.typing import NDArray

from records.errors import AssayError
from records.site.pair_places import Indices
from records.site.pair_scans import NODE, NODES_META, PEER, SWITCHES_META
from records.values import odd_word


@dataclass(frozen=True)
class ScanTable:
    """Values of one metric, a pair a row; `ends` are numbers of `names`."""

    names: list[str]
    switches: list[str]
    ends: tuple[Indices, Indices]
    values: NDArray[np.float32]


def metrics_of(path: Path) -> tuple[str, ...]:
    """The metrics that a file has. Raises AssayError where it is no table of pairs."""
    with _table(path, "values"):
        return tuple(name for name in pl.read_parquet_schema(path) if name not in (NODE, PEER))


def read_table(path: Path, metric: str) -> ScanTable:
    """The values of a metric. Raises AssayError where the file is no table of pairs with it."""
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
        ends = (_numbers(frame[NODE], names), _numbers(frame[PEER], names))
        values = frame[metric].cast(pl.Float32).to_numpy()
        return ScanTable(names, switches or [""] * len(names), ends, values)


@contextmanager
def _table(path: Path, metric: str) -> Iterator[None]:
    """Errors of reading a file as what they mean; Polars panics at some damage."""
    faults = pl.exceptions.PolarsError, pl.exceptions.PanicException
    try:
        yield
    except (*faults, OSError, LookupError, TypeError, ValueError, RecursionError) as error:
        raise AssayError(f"{path}: is no table of pairs with {metric}: {error}") from error


def _numbers(column: pl.Series, names: Sequence[str]) -> Indices:
    """The number of each name of a column."""
    return column.cast(pl.Enum(list(names))).to_physical().to_numpy().astype(np.int64)
