# SPDX-License-Identifier: Apache-2.0
"""Bounds of what is read: numbers, levels of parameters, times, and names.

Names become paths, options or parts of job scripts: they are validated where a plan, a record, a
provenance or a history is read, before any use.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
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

_WORD = r"[A-Za-z0-9][A-Za-z0-9_.-]{0,127}"
#: Ids of runs and cases, names of campaigns, sites, environments, checks, metrics and nodes: in
#: text, and where a struct is decoded.
WORD = re.compile(_WORD)
Word = Annotated[str, msgspec.Meta(pattern=rf"^{_WORD}$(?!\n)")]
ALLOWED = (
    "allowed are up to 128 letters, digits, dots, hyphens and underscores, the first a letter or"
    " digit"
)
#: A site as it is asked for: a folder of site-config/, SITE:PARTITION, or virtual:CLUSTER.
SiteWord = Annotated[str, msgspec.Meta(pattern=rf"^{_WORD}(:{_WORD})?$(?!\n)")]
#: A path of a command line, which is no option.
PathWord = Annotated[str, msgspec.Meta(pattern=r"^(?!-)")]
_PART = r"[A-Za-z0-9][A-Za-z0-9_.+-]{0,254}"
_ARTIFACT = re.compile(f"{_PART}(/{_PART})+")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,6})?Z", re.ASCII)


def utc_seconds(text: str) -> float | None:
    """Seconds since 1970 of a time as records have it, 2026-11-20T23:50:11.120Z; None for a text
    that is no time."""
    try:
        return datetime.fromisoformat(text).timestamp() if _TIME.fullmatch(text) else None
    except ValueError:
        return None


def odd_word(words: Iterable[str]) -> str | None:
    """The first that is no name."""
    return next((word for word in words if WORD.fullmatch(word) is None), None)


def is_artifact(path: str) -> bool:
    """Tell whether a path is that of a file in a folder of the run directory, or in an archive
    there, as "raw/b1.zip/x.b1.a1.out"."""
    return _ARTIFACT.fullmatch(path) is not None
