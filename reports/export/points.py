# SPDX-License-Identifier: Apache-2.0
"""Values with their times as InfluxDB's line protocol.

https://docs.influxdata.com/influxdb/v2/reference/syntax/line-protocol/: measurement, tags, fields,
time in ns; commas, equals signs and blanks of tags are escaped, a tag ends with no backslash and is
not empty.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from records.text.plain_text import one_line

_TAG = str.maketrans({",": r"\,", "=": r"\=", " ": r"\ "})
_TEXT = str.maketrans({"\\": r"\\", '"': r"\""})


@dataclass(frozen=True, slots=True)
class Point:
    """Fields of one thing at one time."""

    measurement: str
    tags: Mapping[str, str]
    fields: Mapping[str, float | int | str]
    at: datetime


def line_protocol(points: Iterable[Point]) -> str:
    """A line for each point."""
    return "".join(f"{_line(point)}\n" for point in points)


def _line(point: Point) -> str:
    tags = "".join(
        f",{name}={told}" for name, text in sorted(point.tags.items()) if (told := _tag(text))
    )
    fields = ",".join(f"{name}={_field(value)}" for name, value in point.fields.items())
    whole = int(point.at.timestamp()) * 10**9 + point.at.microsecond * 1000
    return f"{point.measurement}{tags} {fields} {whole}"


def _tag(text: str) -> str:
    return one_line(text).strip(" \\").translate(_TAG)


def _field(value: float | int | str) -> str:
    if isinstance(value, int):
        return f"{value}i"
    if isinstance(value, float):
        return f"{value:.12g}"
    return f'"{one_line(value).translate(_TEXT)}"'
