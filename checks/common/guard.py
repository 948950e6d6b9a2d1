# SPDX-License-Identifier: Apache-2.0
"""Mistakes in the code of a check outside the tree, by check, method, form, file and line.

Such a check is guarded once, when it is found: its methods are called through wrappers that turn an
exception or a value of another type into a CheckError. Checks of ours are not guarded: what they do
wrong is a defect of Assay and keeps its traceback.
"""

from __future__ import annotations

import inspect
import math
import traceback
import types
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, is_dataclass
from functools import cache, wraps
from pathlib import Path
from typing import (
    Any,
    ClassVar,
    Literal,
    TypeVar,
    Union,
    cast,
    get_args,
    get_origin,
    get_type_hints,
)

from checks.common.definition import CheckDefinition
from checks.common.json_lines import OutputError
from checks.common.parameters import Parameters
from records.errors import AssayError

#: Methods that may refuse by a ValueError what a campaign asks.
_MAY_REFUSE = frozenset({"spread", "filled"})
#: What is as good as a type.
_AS_GOOD: Mapping[Any, Any] = {
    list: (list, tuple),
    tuple: (list, tuple),
    frozenset: (frozenset, set),
}
_SEE = "see docs/writing-a-check.md"
_hints = cache(get_type_hints)


class CheckError(AssayError):
    """A mistake in the code of a check outside the tree."""


def guard(check: CheckDefinition[Any]) -> None:
    """Have the methods of a definition called through wrappers. Raises CheckError for an attribute
    of a wrong type, a name in one that is none, and a method of a wrong form."""
    kind, where = type(check), f"{check.folder}/__init__.py: check {check.name}"
    for name, hint in _hints(CheckDefinition).items():
        asked = get_args(hint)[0] if get_origin(hint) is ClassVar else hint
        if not _fits(found := getattr(check, name), asked):
            form = inspect.formatannotation(asked)
            raise CheckError(f"{where}: {name} is {found!r:.80}; allowed is {form}; {_SEE}")
    fields, metrics = check.parameters.model_fields.keys(), {one.name for one in check.metrics}
    for name, words, known in (
        ("swept", check.swept.values(), fields),
        ("samples", check.samples.values(), fields),
        ("repetitions", check.repetitions, fields),
        ("samples", check.samples, metrics),
        ("relations", check.relations, metrics),
        ("timed", {check.timed[0]} - {""}, metrics),
    ):
        if wrong := [word for word in words if word not in known]:
            allowed = ", ".join(sorted(known))
            raise CheckError(f"{where}: {name} names {wrong[0]!r}; allowed are {allowed}; {_SEE}")
    public = [n for n, v in vars(CheckDefinition).items() if inspect.isfunction(v) and n[0] != "_"]
    body = {**wrappers(check, kind, CheckDefinition, public), "__module__": kind.__module__}
    check.__class__ = types.new_class(
        kind.__name__, (kind,), exec_body=lambda space: space.update(body, __doc__=kind.__doc__)
    )


def wrappers(
    check: CheckDefinition[Any], kind: type, base: type, names: Collection[str]
) -> dict[str, Callable[..., Any]]:
    """Wrappers for the methods `names` of `base`, as the class `kind` of a check has them. Raises
    CheckError for one that cannot be called as that of `base` is."""
    methods = [
        _Method(check, name, inspect.getattr_static(kind, name), inspect.getattr_static(base, name))
        for name in names
    ]
    return {method.name: method.wrapper() for method in methods}


@dataclass(frozen=True)
class _Method:
    """A method of a check: its own, and the one of the base that is asked for."""

    check: CheckDefinition[Any]
    name: str
    own: Any
    asked: Callable[..., Any]

    def wrapper(self) -> Callable[..., Any]:
        """Function that is called in its place."""
        asked, name = inspect.signature(self.asked), self.name
        if not callable(self.own):
            raise self.fault(f"is a {type(self.own).__name__}")
        try:
            inspect.signature(self.own).bind(*asked.parameters)
        except TypeError as error:
            raise self.fault(f"is {name}{inspect.signature(self.own)}") from error
        returned = _hints(self.asked)["return"]

        @wraps(self.asked)
        def guarded(this: Any, *words: Any) -> Any:
            try:
                value = self.own(this, *words)
                if isinstance(value, Iterator):  # a generator fails when it is read
                    value = list(value)
            except (AssayError, OutputError):
                raise
            except Exception as error:
                if name in _MAY_REFUSE and isinstance(error, ValueError):
                    raise
                raise self.fault(f"raised {_named(error)}", error) from error
            if not _fits(value, returned):
                raise self.fault(f"returned {value!r:.80}")
            return value

        return guarded

    def fault(self, does: str, error: BaseException | None = None) -> CheckError:
        """Error on it, with the place: the line that raised, else its first."""
        folder = self.check.folder
        where = line_below([folder], error) if error is not None else None
        if where is None:
            code = getattr(inspect.unwrap(self.own), "__code__", None)
            where = f"{folder}/__init__.py"
            if code is not None and Path(code.co_filename).is_relative_to(folder):
                where = f"{code.co_filename}:{code.co_firstlineno}"
        said = f"{where}: check {self.check.name}: {self.name} {does}"
        return CheckError(f"{said}; its form is {form_of(self.asked)}; {_SEE}")


def form_of(method: Callable[..., Any]) -> str:
    """Declaration of a method: "ranks(self, params: Any) -> int"."""
    return f"{method.__name__}{inspect.signature(method)}".replace("'", "").replace(": P", "")


def line_below(folders: Collection[Path], error: BaseException) -> str | None:
    """The innermost line of the code below `folders` that an error came through, "FILE:LINE"; None:
    it came through none."""
    steps = traceback.walk_tb(error.__traceback__)
    places = [(frame.f_code.co_filename, line) for frame, line in steps]
    if isinstance(error, SyntaxError) and error.filename:
        places.append((error.filename, error.lineno or 1))
    below = (one for one in reversed(places) if any(map(Path(one[0]).is_relative_to, folders)))
    return next((f"{file}:{line}" for file, line in below), None)


def message_of(folders: Collection[Path], error: BaseException) -> str:
    """Message of an error, with the line of the code below `folders` that it came from."""
    if isinstance(error, CheckError):
        return str(error)
    where = line_below(folders, error)
    return f"{where}: {_named(error)}; correct this check, {_SEE}" if where else _named(error)


def _named(error: BaseException) -> str:
    said = error.msg if isinstance(error, SyntaxError) else " ".join(str(error).split())
    return f"{type(error).__name__}: {said:.300}"


def _fits(value: Any, asked: Any) -> bool:
    """True if a value is of a type, with all that is in it. An int is a float, nothing infinite."""
    origin, words = get_origin(asked), get_args(asked)
    if asked is Any or isinstance(asked, TypeVar):
        fits = True
    elif origin in (Union, types.UnionType):
        fits = any(_fits(value, word) for word in words)
    elif origin is Literal:
        fits = value in words
    elif origin is type:
        fits = isinstance(value, type) and issubclass(value, Parameters)
    elif asked in (int, float):
        number = isinstance(value, int | asked) and not isinstance(value, bool)
        fits = number and math.isfinite(value)
    elif isinstance(value, str) and origin is not None:
        fits = False  # a word is no list of words
    else:
        fits = isinstance(value, _AS_GOOD.get(origin, origin or asked)) and _has(value, asked)
    return fits


def _has(value: Any, asked: Any) -> bool:
    """True if what is in a value of the type is of the types that it should be."""
    words = get_args(asked)
    if is_dataclass(asked):
        hints = _hints(cast(Any, asked))
        return all(_fits(getattr(value, name), hint) for name, hint in hints.items())
    if not words or not isinstance(value, Collection):
        return True
    if isinstance(value, Mapping):
        return all(_fits(k, words[0]) and _fits(v, words[1]) for k, v in value.items())
    if get_origin(asked) is tuple and words[-1] is not ...:
        return len(value) == len(words) and all(map(_fits, value, words))
    return all(_fits(one, words[0]) for one in value)


class UnfitTestError(Exception):
    """A launch that must not be started, as it was not planned or its test cannot be made; the
    message says why, and what is allowed."""
