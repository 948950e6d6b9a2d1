# SPDX-License-Identifier: Apache-2.0
"""The table of one file of a scan of pairs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from records.errors import AssayError
from records.pair_places import Indices
from records.pair_scans import NODE, NODES_META, PEER, SWITCHES_META


@dataclass(frozen=True)
class ScanTable:
    """Values of one metric, a pair a row; `ends` are numbers of `names`."""

    names: list[str]
    switches: list[str]
    ends: tuple[Indices, Indices]
    values: NDArray[np.float32]


def metrics_of(path: Path) -> tuple[str, ...]:
    """The metrics that a file has."""
    return tuple(name for name in pl.read_parquet_schema(path) if name not in (NODE, PEER))


def read_table(path: Path, metric: str) -> ScanTable:
    """The values of a metric. Raises AssayError where the file is no table of pairs with it."""
    try:
        frame = pl.read_parquet(path, columns=[NODE, PEER, metric])
        meta = pl.read_parquet_metadata(path)
        names = json.loads(meta[NODES_META])
        switches = json.loads(meta[SWITCHES_META]) if SWITCHES_META in meta else [""] * len(names)
        ends = (_numbers(frame[NODE], names), _numbers(frame[PEER], names))
        values = frame[metric].cast(pl.Float32).to_numpy()
    except (pl.exceptions.PolarsError, KeyError, TypeError, ValueError) as error:
        raise AssayError(f"{path}: is no table of pairs with {metric}: {error}") from error
    return ScanTable(names, switches, ends, values)


def _numbers(column: pl.Series, names: Sequence[str]) -> Indices:
    """The number of each name of a column."""
    return column.cast(pl.Enum(list(names))).to_physical().to_numpy().astype(np.int64)
