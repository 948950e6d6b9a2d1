# SPDX-License-Identifier: Apache-2.0
"""Resources that a case asks of its job besides nodes and ranks by name, as a site's templates for
options of sbatch take them."""

from __future__ import annotations

import re
import string
from collections.abc import Iterable, Mapping
from typing import Annotated

from pydantic import AfterValidator, Field

#: Greatest number of CPUs of a rank.
MAX_CPUS_PER_TASK = 4096

_NAME = re.compile(r"[a-z][a-z0-9_]{0,63}")
_WORD = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]{0,63}")


def _name(text: str) -> str:
    if not _NAME.fullmatch(text):
        raise ValueError(f"found {text!r:.100}; allowed is a name of small letters, digits and _")
    return text


def _value(value: int | str) -> int | str:
    if isinstance(value, str) and not _WORD.fullmatch(value):
        raise ValueError(
            f"found {value!r:.100}; allowed is a word of letters, digits, dots, colons and hyphens"
        )
    if isinstance(value, int) and not 0 <= value <= 2**53:
        raise ValueError(f"found {value}; allowed is an integer from 0 to {2**53}")
    return value


ResourceName = Annotated[str, AfterValidator(_name)]
_Value = Annotated[int | str, AfterValidator(_value)]
#: Resources by name, each with the values of its template: {"gpu": {"count": 1}}.
Resources = dict[ResourceName, dict[ResourceName, _Value]]
CpusPerTask = Annotated[int, Field(ge=1, le=MAX_CPUS_PER_TASK)]


def values_of(templates: Iterable[str]) -> frozenset[str]:
    """The names of values in the templates of one resource: {"count"} of --gres=gpu:{count}."""
    parts = (part for one in templates for part in string.Formatter().parse(one))
    return frozenset(name for _, name, _, _ in parts if name is not None)


def unknown_resource(
    asked: Mapping[str, Mapping[str, object]], known: Mapping[str, frozenset[str]], site: str
) -> str | None:
    """Why `site`, which knows these resources and their values, cannot provide them."""
    for name, values in asked.items():
        if name not in known:
            there = ", ".join(sorted(known)) or "none"
            return (
                f"site {site} knows no resource {name} (`resources` in its site.yaml); it knows"
                f" {there}"
            )
        if values.keys() != known[name]:
            needs = ", ".join(sorted(known[name])) or "no value"
            given = ", ".join(sorted(values)) or "none"
            return f"resource {name} of site {site} takes {needs}; the case gives {given}"
    return None
