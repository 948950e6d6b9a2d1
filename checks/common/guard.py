# SPDX-License-Identifier: Apache-2.0
"""Mistakes in the code of a check outside the tree, by check, file and line.

Its definition is looked at once, when it is found; what its methods raise is told by the line that
raised. Checks of ours are not guarded: what they do wrong is a defect of Assay and keeps its
traceback.
"""

from __future__ import annotations

import inspect
import traceback
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any, ClassVar, get_args, get_origin, get_type_hints

from checks.common.definition import CheckDefinition
from checks.common.parameters import Parameters
from records.errors import AssayError

#: Types that attributes of a definition are looked at for, each with those that serve.
_KINDS: dict[Any, tuple[type, ...]] = {
    **{kind: (kind,) for kind in (str, bool, int, tuple, Mapping)},
    float: (int, float),
    frozenset: (frozenset, set),
}
_SEE = "see docs/writing-a-check.md"


class CheckError(AssayError):
    """A mistake in the code of a check outside the tree."""


class UnfitTestError(Exception):
    """A launch that must not be started, as it was not planned or its test cannot be made; the
    message says why, and what is allowed."""


def guard(check: CheckDefinition[Any]) -> None:
    """Raise CheckError for an attribute of a wrong type, and for a name in one that is none."""
    where = f"{check.folder}/__init__.py: check {check.name}"
    for name, hint in get_type_hints(CheckDefinition).items():
        asked = get_args(hint)[0] if get_origin(hint) is ClassVar else hint
        value, kind = getattr(check, name), get_origin(asked) or asked
        if name == "parameters":
            fits = isinstance(value, type) and issubclass(value, Parameters)
        else:
            fits = kind not in _KINDS or isinstance(value, _KINDS[kind])
        if not fits:
            form = inspect.formatannotation(asked)
            raise CheckError(f"{where}: {name} is {value!r:.80}; allowed is {form}; {_SEE}")
    fields, metrics = check.parameters.model_fields.keys(), check.metrics_by_name.keys()
    for name, words, known in (
        ("swept", check.swept.values(), fields),
        ("samples", check.samples.values(), fields),
        ("samples", check.samples, metrics),
        ("relations", check.relations, metrics),
        ("timed", {check.timed[0]} - {""}, metrics),
    ):
        if wrong := [word for word in words if word not in known]:
            allowed = ", ".join(sorted(known))
            raise CheckError(f"{where}: {name} names {wrong[0]!r}; allowed are {allowed}; {_SEE}")


def line_below(folders: Collection[Path], error: BaseException) -> str | None:
    """The innermost line of the code below `folders` that an error came through, "FILE:LINE"; None:
    it came through none."""
    steps = traceback.walk_tb(error.__traceback__)
    lines = [(frame.f_code.co_filename, line) for frame, line in steps]
    if isinstance(error, SyntaxError) and error.filename:
        lines.append((error.filename, error.lineno or 1))
    below = (one for one in reversed(lines) if any(map(Path(one[0]).is_relative_to, folders)))
    return next((f"{file}:{line}" for file, line in below), None)


def message_of(folders: Collection[Path], error: BaseException) -> str:
    """Message of an error, with the line of the code below `folders` that it came from."""
    if isinstance(error, CheckError):
        return str(error)
    words = error.msg if isinstance(error, SyntaxError) else " ".join(str(error).split())
    named, where = f"{type(error).__name__}: {words:.300}", line_below(folders, error)
    return f"{where}: {named}; correct this check, {_SEE}" if where else named
