# SPDX-License-Identifier: Apache-2.0
"""Parameters of a check: fields with meaning, unit, default and range, validated strictly."""

import math
import re
import string
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal, Self

from annotated_types import GroupedMetadata, Len
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

MAX_RANKS = 1_000_000
#: Nodes of checks that measure pairs: pairs grow with the square.
MAX_NODES = 4096
#: Repetitions of anything that a program repeats.
MAX_ITERATIONS = 1_000_000

#: How many ranks there are, how often something is done, what a random draw begins with.
Ranks = Annotated[int, Field(ge=1, le=MAX_RANKS)]
Repeats = Annotated[int, Field(ge=1, le=MAX_ITERATIONS)]
Seed = Annotated[int, Field(ge=0, le=2**31 - 1)]


class Parameters(BaseModel):
    """Base of every check's parameters: strict types, no unknown name, immutable."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True, allow_inf_nan=False)

    #: Parameters younger than the check's first ids: left out at their default, so that ids stay.
    younger: ClassVar[frozenset[str]] = frozenset()

    def complete(self) -> dict[str, Any]:
        """Parameters by name, defaults filled in, as a plan and a case's id hold them."""
        values = dict(self)
        for name in self.younger:
            if values[name] == type(self).model_fields[name].default:
                del values[name]
        return values


class ProfiledParameters(Parameters):
    """Of a check whose program can run under the MPI profile."""

    younger: ClassVar[frozenset[str]] = frozenset({"mpi_profile"})

    mpi_profile: bool = Field(
        False,
        description="Whether calls, peers, bytes and times of MPI are counted and recorded.",
        json_schema_extra={"unit": "none"},
    )


def quantity(description: str, unit: str, default: object = ..., **limits: Any) -> Any:
    """A field with its meaning, its unit ("none" for words and switches) and its allowed range."""
    extra = {"unit": unit} | limits.pop("json_schema_extra", {})
    return Field(default, description=description, json_schema_extra=extra, **limits)


#: The parameter `ranks_per_node`: a number, as many as a node has cores, or half as many.
RanksPerNode = Annotated[
    Ranks | Literal["fill", "half"],
    quantity(
        'Ranks on each node; "fill" takes as many as the site\'s node has cores, "half" half as'
        " many, at most all.",
        "ranks",
    ),
]


class Range(Parameters):
    """Integers from `from` to `to`, evenly spaced (`step`) or so many for each doubling."""

    noun: ClassVar[str]
    first: Any
    last: Any
    step: int | None
    per_octave: int | None

    @model_validator(mode="after")
    def _says_one_thing(self) -> Self:
        if (self.step is None) == (self.per_octave is None):
            raise ValueError(f"a range of {self.noun} needs exactly one of step and per_octave")
        if self.last != "all" and self.first > self.last:
            raise ValueError(f"from = {self.first} is greater than to = {self.last}")
        return self

    def count(self, last: int) -> int:
        """Number of the integers up to `last`, without making them."""
        if self.step is not None:
            return int((last - self.first) // self.step + 1)
        return math.floor(math.log2(last / self.first) * (self.per_octave or 1) + 1e-9) + 1

    def spaced(self, last: int) -> Sequence[int]:
        """The integers up to `last`, ascending; rounding may repeat small ones."""
        if self.step is not None:
            return range(self.first, last + 1, self.step)
        steps = (k / (self.per_octave or 1) for k in range(self.count(last)))
        return [min(round(self.first * 2**step), last) for step in steps]


def refuse_least_above_greatest(least_bytes: int, greatest_bytes: int) -> None:
    """Raise ValueError where a range of message lengths has no length in it."""
    if least_bytes > greatest_bytes:
        raise ValueError(
            f"least_bytes = {least_bytes} is above greatest_bytes = {greatest_bytes}; allowed is"
            " at most that"
        )


@dataclass(frozen=True)
class EachOnce(GroupedMetadata):
    """Of a list of words: one or more, each at most once; validation sorts them as in `order`."""

    order: Sequence[str]
    noun: str

    def __iter__(self) -> Iterator[object]:
        """The constraints, for pydantic."""
        yield Len(1, len(self.order))
        yield AfterValidator(self.in_order)

    def in_order(self, words: list[Any]) -> list[Any]:
        """The words sorted. Raises ValueError where one is listed twice."""
        twice = next((word for word in words if words.count(word) > 1), None)
        if twice is not None:
            raise ValueError(f"the {self.noun} {twice} is listed twice; list each once")
        return sorted(words, key=self.order.index)


#: Greatest number of CPUs of a rank.
MAX_CPUS_PER_TASK = 4096


def _matching(form: str, allowed: str) -> AfterValidator:
    """Validator of text that an option of sbatch may hold."""

    def check(value: Any) -> Any:
        if isinstance(value, str) and not re.fullmatch(form, value):
            raise ValueError(f"found {value!r:.100}; allowed is {allowed}")
        if isinstance(value, int) and not 0 <= value <= 2**53:
            raise ValueError(f"found {value}; allowed is an integer from 0 to {2**53}")
        return value

    return AfterValidator(check)


ResourceName = Annotated[
    str, _matching(r"[a-z][a-z0-9_]{0,63}", "a name of small letters, digits and _")
]
_Value = Annotated[
    int | str,
    _matching(
        r"[A-Za-z0-9][A-Za-z0-9._:-]{0,63}", "a word of letters, digits, dots, colons and hyphens"
    ),
]
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
