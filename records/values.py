# SPDX-License-Identifier: Apache-2.0
"""What bounds what is read: numbers that fit a machine, parameters of few levels, real times."""

from __future__ import annotations

import re
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any

import msgspec

Integer = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]
Count = Annotated[int, msgspec.Meta(ge=0, le=2**62)]
Scalar = bool | Integer | float | str | None

if TYPE_CHECKING:
    #: Parameters of a case: scalars, and lists and mappings of them in at most two levels.
    Params = dict[str, Any]
else:
    _Level = Scalar | list[Scalar] | dict[str, Scalar]
    Params = dict[str, Scalar | list[_Level] | dict[str, _Level]]

_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,6})?Z", re.ASCII)


def utc_seconds(text: str) -> float | None:
    """Seconds since 1970 of a time as records have it, 2026-11-20T23:50:11.120Z; None for a text
    that is no time."""
    try:
        return datetime.fromisoformat(text).timestamp() if _TIME.fullmatch(text) else None
    except ValueError:
        return None
