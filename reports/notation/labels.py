# SPDX-License-Identifier: Apache-2.0
"""Short names for cases: only the parameters that vary inside the campaign are written out; looks
of environments, the same in every picture of every report.

Colours: Okabe & Ito (2008), told apart by colour-blind readers; marker and line style differ too,
so that colour is never the only sign.
"""

import hashlib
import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Any, Protocol

import msgspec

from records.run.plan import PlannedCase
from records.units import axis_of
from reports.notation.units import between, bytes_text, count_text, fixed

#: What the label says in its own words first.
_GRID = ("p", "q")
_LATTICE = ("nx", "ny", "nz", "nt")
_LONGEST = 40
#: Ends of a range of message lengths.
_ENDS = ("least_bytes", "greatest_bytes")
#: What names a case of which nothing varies, the first of these that it has.
_NAMING = ("p", "q", "n", *_LATTICE, "test", "ranks", "placement", "transport", "route")
#: Those of them that are the problem: a case's name has them also where nothing else varies.
_PROBLEM = _NAMING[: _NAMING.index("ranks")]
_ONLY = "the one case"
#: Counts, with the nouns of one and of several.
_COUNTED = {"ranks": ("rank",), "ranks_per_node": ("rank per node", "ranks per node")}


def pairs_text(pairs: Iterable[tuple[str, Any]]) -> str:
    """Names and values in one text, a point as `at` in summary.csv: "construct=Send/Recv;
    message_bytes=64"."""
    return "; ".join(f"{name}={value}" for name, value in pairs)


class Parametrised(Protocol):
    """Case of a plan, or of a history, that is labelled by its parameters."""

    @property
    def check(self) -> str:
        """The check's name."""

    @property
    def params(self) -> Mapping[str, Any]:
        """Its parameters by name."""


def value_text(value: Any) -> str:
    """A parameter's value in few characters."""
    if isinstance(value, bool) or value is None:
        return str(value).lower()
    if isinstance(value, int):
        return fixed(value, 0)
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return shortened(", ".join(value), _LONGEST)
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return shortened(text, _LONGEST)


def shortened(text: str, longest: int) -> str:
    """`text` of at most `longest` characters, the last "…" where it is cut."""
    return text if len(text) <= longest else text[: longest - 1] + "…"


def lattice_text(params: Mapping[str, Any]) -> str:
    """Extents of a four-dimensional lattice: "8³ × 16", or "8 × 8 × 16 × 16"."""
    x, y, z, t = (params[name] for name in _LATTICE)
    return f"{x}³ × {t}" if x == y == z else f"{x} × {y} × {z} × {t}"


@dataclass(frozen=True)
class CheckLabels:
    """Parameters that vary over the cases of a check, and those that are the same for all.

    `untold` varies too, but says only how often or how far something is measured, and no two cases
    need it to be told apart.
    """

    varying: tuple[str, ...]
    constant: dict[str, Any]
    untold: frozenset[str] = frozenset()

    def parts(self, case: Parametrised, without: Sequence[str] = ()) -> list[str]:
        """The case's varying parameters as "name value", grid first."""
        return self._texts(case, self.varying, tuple(self.constant), (*without, *self.untold))

    def told(self, case: Parametrised, without: Sequence[str] = ()) -> list[str]:
        """Parts with the range of message lengths, where cases differ in it."""
        lengths = _lengths(case.params)
        if lengths is None or {"sizes", *_ENDS}.isdisjoint(self.varying):
            return self.parts(case, without)
        least, greatest = lengths
        text = bytes_text(least) if least == greatest else between(least, greatest, bytes_text)
        return [*self.parts(case, without), text]

    def in_full(self, case: Parametrised) -> str:
        """Check and label; of a check that solves one problem alone the problem too."""
        problem = {name: case.params[name] for name in _PROBLEM if name in case.params}
        whole = CheckLabels(tuple(problem | dict.fromkeys(self.varying)), {}, self.untold)
        text = ", ".join(whole._known_by(whole.told(case), case, ()))
        return f"{case.check} {text}".removesuffix(f" {_ONLY}")

    def label(self, case: Parametrised) -> str:
        """Line that names the case among its check's cases."""
        return ", ".join(self._known_by(self.told(case), case, ()))

    def name(self, case: Parametrised, without: Sequence[str] = ()) -> str:
        """Label without lengths, for a curve or a point that has its own."""
        return ", ".join(self._known_by(self.parts(case, without), case, without))

    def _known_by(self, parts: list[str], case: Parametrised, without: Sequence[str]) -> list[str]:
        """`parts`; of a case of which nothing varies grid and N, lattice, ranks, …"""
        if parts and not {*self.varying}.issubset({*without, *self.untold}):
            return parts
        naming = tuple(name for name in _NAMING if name in case.params)
        if (naming and "n" in naming) or "nx" in naming or "test" in naming:
            naming = tuple(name for name in naming if name not in ("ranks", "placement"))
        texts = self._texts(case, naming, (), tuple(without))
        return texts[:3] or [_ONLY]

    @staticmethod
    def _texts(
        case: Parametrised,
        names: tuple[str, ...],
        beside: tuple[str, ...],
        without: tuple[str, ...],
    ) -> list[str]:
        params = case.params
        grid, lattice, others = _told_apart(names, beside, without)
        result = [f"{value_text(params['p'])} × {value_text(params['q'])}"] if grid else []
        result += [lattice_text(params)] if lattice else []
        for name in others:
            value = params.get(name)
            if name == "placement" and name in params:
                result.append(value_text(value).replace("-", " "))
            elif name == "reply_before_wait":
                result += ["reply before wait"] if value else []
            elif name in _COUNTED and isinstance(value, int):
                result.append(count_text(value, *_COUNTED[name]))
            elif name in params:
                result.append(f"{axis_of(name).title} {value_text(value)}")
        return result


@lru_cache(maxsize=256)
def _told_apart(
    varying: tuple[str, ...], constant: tuple[str, ...], without: tuple[str, ...]
) -> tuple[bool, bool, tuple[str, ...]]:
    """True where the grid is written, true where the lattice is, and the other parameters.

    Either is told as a whole or, where a part of it is left out, parameter by parameter.
    """
    shown = {*varying, *constant} - set(without)
    grid = shown.issuperset(_GRID)
    lattice = shown.issuperset(_LATTICE) and not set(varying).isdisjoint(_LATTICE)
    skip = {*without, *(_GRID if grid else ()), *(_LATTICE if lattice else ())}
    others = (name for name in varying if name not in skip and not axis_of(name).lists)
    return grid, lattice, tuple(others)


def point_text(name: str, value: Any) -> str:
    """A point's value on an axis, with the unit of the axis: "1 024 B"."""
    unit = axis_of(name).unit
    if not unit or isinstance(value, bool) or not isinstance(value, int | float):
        return value_text(value)
    return bytes_text(value) if unit == "bytes" else f"{value_text(value)} {unit}"


def check_labels(cases: Sequence[Parametrised]) -> dict[str, CheckLabels]:
    """Labels for each check, from its cases over all environments."""
    by_check: dict[str, list[Parametrised]] = {}
    for case in cases:
        by_check.setdefault(case.check, []).append(case)
    result = {}
    for check, alike in by_check.items():
        known: dict[str, Any] = {}
        changed: set[str] = set()
        for case in alike:
            changed |= known.keys() ^ case.params.keys() if known else set()
            for name, value in case.params.items():
                first = known.setdefault(name, value)
                if first is not value and name not in changed and not _alike(first, value):
                    changed.add(name)
        varying = tuple(name for name in known if name in changed)
        constant = {name: value for name, value in known.items() if name not in changed}
        result[check] = CheckLabels(varying, constant, _untold(alike, varying))
    return result


def case_names(cases: Sequence[PlannedCase]) -> dict[str, str]:
    """By id what a plan's cases are called but for their environment: "su3_rmd 8³ × 16, 2 ranks".
    What the label leaves alike is told apart by the id's digits."""
    labels = check_labels(cases)
    shared = {(case.check, id(case.params)): case for case in cases}
    texts = {key: labels[case.check].in_full(case) for key, case in shared.items()}
    names = {case.id: texts[case.check, id(case.params)] for case in cases}
    alike = Counter((case.environment, names[case.id]) for case in cases)
    return {
        case.id: f"{names[case.id]} ({case.id.rpartition('-')[2]})"
        if alike[case.environment, names[case.id]] > 1
        else names[case.id]
        for case in cases
    }


def _untold(cases: Sequence[Parametrised], varying: Iterable[str]) -> frozenset[str]:
    """Names of `varying` that are procedure alone; none where two cases would then be one in name.

    Cases that differ in nothing else must measure lengths that lie apart, as when short messages
    are sent more often than long ones.
    """
    names = frozenset(name for name in varying if axis_of(name).procedure)
    alike: dict[bytes, set[tuple[tuple[float, float], bytes]]] = {}
    for case in cases if names else ():
        params = case.params
        rest = {k: v for k, v in params.items() if k not in names and not axis_of(k).lists}
        how = {k: v for k, v in params.items() if k in names}
        key, differs = (msgspec.json.encode(part, order="deterministic") for part in (rest, how))
        alike.setdefault(key, set()).add((_lengths(params) or (-math.inf, math.inf), differs))
    for group in alike.values():
        for ((_, end), one), ((begin, _), other) in pairwise(sorted(group)):
            if begin <= end and one != other:
                return frozenset()
    return names


def _lengths(params: Mapping[str, Any]) -> tuple[float, float] | None:
    """The least and the greatest message length of a case that lists them."""
    lengths: list[float] = []
    for size in params.get("sizes") or ():
        ends = (size.get("from"), size.get("to")) if isinstance(size, dict) else (size,)
        lengths += [end for end in ends if isinstance(end, int)]
    lengths += [params[name] for name in _ENDS if isinstance(params.get(name), int)]
    return (min(lengths), max(lengths)) if lengths else None


def _alike(first: Any, second: Any) -> bool:
    """Equal and of one type: 1 is not true, also inside lists and objects."""
    encode = msgspec.json.encode
    return encode(first, order="deterministic") == encode(second, order="deterministic")


INK = "#1f2933"
QUIET = "#5b6770"
RULE = "#d5dbe0"
PAPER = "#ffffff"
#: Verdicts in pictures.
BAD, OPEN, GOOD = "#b3261e", "#8a6100", "#0072b2"
#: Text on a cell of a heat map, whatever the page's theme.
ON_BRIGHT, ON_DARK = "#20242a", "#fdfdfd"


@dataclass(frozen=True, slots=True)
class Look:
    """`colour` as #rrggbb; `marker` and `dashes` as matplotlib and SVG understand them."""

    colour: str
    marker: str
    dashes: tuple[float, ...]


_FIXED = {
    "mpich": Look("#0072B2", "o", ()),
    "openmpi": Look("#D55E00", "s", (6, 2)),
    "lam": Look("#009E73", "^", (2, 1.5)),
    "lam-lamd": Look("#CC79A7", "D", (6, 2, 1.5, 2)),
}
_FURTHER = (
    Look("#8C6D00", "v", (4, 1, 1, 1)),
    Look("#2B8CBE", "P", (8, 3)),
    Look(INK, "X", (1, 1)),
    Look("#7A5195", "<", (3, 3)),
    Look("#6B7280", ">", (5, 1, 1, 1, 1, 1)),
    Look("#A6341B", "h", (10, 2)),
)


def looks(environments: Iterable[str]) -> dict[str, Look]:
    """A look for each environment; names outside the table get one by the hash of the name.

    Two such names that meet in one report step to the next free look, in order of name, then to
    those of the table that no name here has.
    """
    names = list(dict.fromkeys(environments))
    free = [*_FURTHER, *(look for name, look in _FIXED.items() if name not in names)]
    taken: dict[str, int] = {}
    for name in sorted({*names} - _FIXED.keys()):
        index = hashlib.sha256(name.encode("utf-8", "replace")).digest()[0] % len(_FURTHER)
        while index in taken.values() and len(taken) < len(free):
            index = (index + 1) % len(free)
        taken[name] = index
    return {name: _FIXED.get(name) or free[taken[name]] for name in names}
