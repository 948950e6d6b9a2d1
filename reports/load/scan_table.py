# SPDX-License-Identifier: Apache-2.0
"""The table of one file of a scan of pairs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
import numpy as np
import polars as pl
from numpy.typing import NDArray

from records.errors import AssayError
from records.site.pair_scans import NODE, NODES_META, PEER, SWITCHES_META
from records.values import odd_word


def metrics_of(path: Path) -> tuple[str, ...]:
    """The metrics that a file has. Raises AssayError where it is no table of pairs."""
    with _table(path, "values"):
        return tuple(name for name in pl.read_parquet_schema(path) if name not in (NODE, PEER))


def read_table(
    path: Path, metric: str
) -> tuple[list[str], list[str], NDArray[np.int64], NDArray[np.float32]]:
    """Names of nodes, their switches, two rows of ends as numbers of names, values of a metric.

    Raises AssayError where the file is no table of pairs with it.
    """
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
    return names, switches or [""] * len(names), ends, values


@contextmanager
def _table(path: Path, metric: str) -> Iterator[None]:
    """Errors of reading a file as what they mean; Polars panics at some damage."""
    faults = pl.exceptions.PolarsError, pl.exceptions.PanicException
    try:
        yield
    except (*faults, OSError, LookupError, TypeError, ValueError, RecursionError) as error:
        raise AssayError(f"{path}: is no table of pairs with {metric}: {error}") from error
