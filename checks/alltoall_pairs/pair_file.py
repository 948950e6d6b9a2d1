# SPDX-License-Identifier: Apache-2.0
"""The file in which the program writes the values of very many pairs: read, checked, made a table.

pair_file.h has the format. Whatever is damaged in it makes the launch wrong: every fault is an
OutputError that says what was found and what is right.
"""

import json
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from io import BufferedReader, BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from checks.common.json_lines import OutputError
from records.errors import AssayError
from records.input_files import opened
from records.site.limits import LINK_MOST_BYTES_PER_S
from records.site.pair_scans import NODE, NODES_META, PEER, SWITCHES_META, Indices, positions_of

_MAGIC, _ORDER, _VERSION, _END = b"ASSAYPRS", 0x01020304, 1, 0x04030201
_HEADER = np.dtype(
    [
        ("magic", "S8"),
        ("order", "u4"),
        ("version", "u4"),
        ("rows", "u8"),
        ("nodes", "u4"),
        ("names_bytes", "u4"),
    ]
)
_ROW = np.dtype([(NODE, "u4"), (PEER, "u4"), ("pair_latency", "f4"), ("pair_bandwidth", "f4")])
_END_BYTES = 8
#: What values can be, by metric.
_BOUNDS = {"pair_latency": 1e9, "pair_bandwidth": LINK_MOST_BYTES_PER_S}
#: Rows that are summed together, and rows of a group of the table.
_PIECE, _GROUP = 1 << 22, 1 << 20


@dataclass(frozen=True)
class Pairs:
    """Values by pair, ascending; `low` and `high` are numbers of `names`."""

    names: Sequence[str]
    low: NDArray[np.uint32]
    high: NDArray[np.uint32]
    values: Mapping[str, NDArray[np.float32]]

    def write(self, path: Path, switches: Sequence[str] | None) -> None:
        """The table as Parquet; `switches` has that of each node."""
        nodes = pl.Series(self.names, dtype=pl.Enum(self.names))
        frame = pl.DataFrame(
            {
                NODE: nodes.gather(self.low),
                PEER: nodes.gather(self.high),
                **{name: pl.Series(column) for name, column in self.values.items()},
            }
        )
        metadata = {NODES_META: json.dumps(list(self.names))}
        if switches is not None:
            metadata[SWITCHES_META] = json.dumps(list(switches))
        frame.write_parquet(path, metadata=metadata, row_group_size=_GROUP, statistics=True)


def read_pairs(path: Path, said: Any, names: Sequence[str], wanted: Indices) -> Pairs:
    """The values of a file that holds just the `wanted` pairs (places among all, ascending) of
    these nodes; `said` is what the program's line says of the file."""
    try:
        with opened(path) as file:
            rows = _rows(file, path.name, said, names)
    except AssayError as error:
        raise OutputError(f"the values of the pairs cannot be read: {error}") from error
    count = len(names)
    low, high = rows[NODE].astype(np.int64), rows[PEER].astype(np.int64)
    odd = np.flatnonzero(~((low < high) & (high < count)))
    if odd.size:
        found = f"{low[odd[0]]} and {high[odd[0]]}"
        raise OutputError(f"{path.name}, row {odd[0]}: nodes {found} of {count} are no pair")
    places = positions_of(low, high, count)
    order = np.argsort(places)
    values = {name: rows[name][order] for name in _BOUNDS}
    _check(places[order], wanted, values, names, path.name)
    return Pairs(names, rows[NODE][order], rows[PEER][order], values)


def read_table(
    table: bytes, names: Sequence[str], wanted: Indices
) -> dict[str, NDArray[np.float32]]:
    """The values, by metric, of what `Pairs.write` wrote, checked as those of a file are."""
    try:
        frame = pl.read_parquet(BytesIO(table), columns=[NODE, PEER, *_BOUNDS])
        low, high = (
            frame[name].cast(pl.Enum(names)).to_physical().to_numpy().astype(np.int64)
            for name in (NODE, PEER)
        )
        values = {name: frame[name].cast(pl.Float32).to_numpy() for name in _BOUNDS}
    except (pl.exceptions.PolarsError, ValueError) as error:
        raise OutputError(f"the table of the pairs cannot be read: {error}") from error
    _check(positions_of(low, high, len(names)), wanted, values, names, "the table of the pairs")
    return values


def _rows(file: BufferedReader, name: str, said: Any, names: Sequence[str]) -> NDArray[np.void]:
    """The rows of the file in their order, its sums and sizes compared with each other."""
    size = file.seek(0, 2)
    file.seek(0)
    head = file.read(_HEADER.itemsize)
    if len(head) < _HEADER.itemsize:
        raise OutputError(f"{name} has {size} bytes; its header alone has {_HEADER.itemsize}")
    header = np.frombuffer(head, _HEADER)[0]
    if (header["magic"], header["order"], header["version"]) != (_MAGIC, _ORDER, _VERSION):
        raise OutputError(f"{name} is no file of pairs of version {_VERSION} of this machine")
    rows = int(header["rows"])
    if rows == 2**64 - 1:
        raise OutputError(f"{name} was not ended: the program died while it wrote, or disk is full")
    whole = len(head) + int(header["names_bytes"]) + rows * _ROW.itemsize + _END_BYTES
    if size != whole:
        raise OutputError(f"{name} has {size} bytes; {rows} rows need {whole}")
    text = file.read(int(header["names_bytes"]))
    found = text.decode("utf-8", "replace").split("\0")[:-1]
    if found != list(names):
        raise OutputError(
            f"{name} names {len(found)} nodes, {', '.join(found)!r:.100}; the ranks ran on"
            f" {len(names)}, {', '.join(names)!r:.100}"
        )
    table = np.memmap(file, _ROW, "r", file.tell(), (rows,)) if rows else np.empty(0, _ROW)
    crc = zlib.crc32(text)
    for start in range(0, rows, _PIECE):
        crc = zlib.crc32(np.ascontiguousarray(table[start : start + _PIECE]).tobytes(), crc)
    file.seek(whole - _END_BYTES)
    ends = np.frombuffer(file.read(_END_BYTES), "u4").tolist()
    if ends != [crc, _END]:
        raise OutputError(f"{name}: its checksum is {ends[0]:08x}; that of its rows is {crc:08x}")
    if said != {"rows": rows, "crc32": crc}:
        raise OutputError(
            f"{name} has {rows} rows of checksum {crc}; the program said {said!r:.100}: another"
            " launch's file?"
        )
    return table


def _check(
    found: Indices,
    wanted: Indices,
    values: Mapping[str, NDArray[np.float32]],
    names: Sequence[str],
    file: str,
) -> None:
    """Raise OutputError unless each wanted pair is there once, no other, with possible values."""
    if not np.array_equal(found, wanted):
        missing = np.setdiff1d(wanted, found, assume_unique=True)
        twice = found[:-1][np.diff(found) == 0]
        if twice.size:
            raise OutputError(f"{file}: {_pair(int(twice[0]), names)} is in it twice")
        if missing.size:
            said = f"{missing.size} of {wanted.size} pairs are missing"
            raise OutputError(f"{file}: {said}: {_pair(int(missing[0]), names)} …")
        strange = np.setdiff1d(found, wanted, assume_unique=True)
        raise OutputError(f"{file}: {_pair(int(strange[0]), names)} was not asked for")
    for name, column in values.items():
        bad = np.flatnonzero(~((column > 0) & (column <= _BOUNDS[name])))
        if bad.size:
            pair, value = _pair(int(found[bad[0]]), names), column[bad[0]]
            raise OutputError(f"{name} of {pair} is {value:g}, which cannot be measured")


def _pair(place: int, names: Sequence[str]) -> str:
    """The pair at a place among all."""
    low = 0
    while place >= len(names) - 1 - low:
        place -= len(names) - 1 - low
        low += 1
    return f"{names[low]}–{names[low + 1 + place]}"
