# SPDX-License-Identifier: Apache-2.0
"""Kinds of values in a site.yaml, each refused with what is allowed; variables in paths."""

import os
import re
import shlex
import string
from collections.abc import Callable
from typing import Annotated

from pydantic import AfterValidator, Field

from assay.commands import login_environment
from assay.schema.document import did_you_mean
from checks.common.session.launch_commands import LAUNCHERS, template_fault

_VARIABLE = re.compile(r"\$(\w+|\{\w+\})")
_SHELL = re.compile(r"[`$\"'\\;|&<>()\s]")


def _kind(allowed: str, is_right: Callable[[str], object]) -> AfterValidator:
    """Refuses what is not right; an error of `is_right` is the reason."""

    def validate(text: str) -> str:
        try:
            right, why = is_right(text), ""
        except (re.error, ValueError, OverflowError, RecursionError) as error:
            right, why = False, f": {error}"
        if not right:
            raise ValueError(f"found {text!r:.100}; allowed {allowed}{why}")
        return text

    return AfterValidator(validate)


def _form(allowed: str, pattern: str) -> AfterValidator:
    return _kind(allowed, re.compile(pattern).fullmatch)


def _launcher(text: str) -> str:
    if text not in LAUNCHERS:
        known = "; ".join(f"{name} ({one.meaning})" for name, one in LAUNCHERS.items())
        hint = did_you_mean(f"assay-{text.removeprefix('assay-')}", LAUNCHERS)
        raise ValueError(f"found {text!r:.100}{hint}; allowed are {known}")
    return text


def _template(text: str) -> str:
    if fault := template_fault(text):
        raise ValueError(f"found {text!r:.100}, which {fault}")
    return text


Text = Annotated[str, Field(min_length=1)]
#: One line: what goes into a job script.
Line = Annotated[
    str, _kind("is one line that is not empty", lambda text: text.strip() and "\n" not in text)
]
#: Value of a variable.
Value = Annotated[str, _kind("is one line", lambda text: "\n" not in text)]
Pattern = Annotated[str, _kind(r"is a regular expression of Python, e.g. '^MPICH 4\.'", re.compile)]
SlurmOption = Annotated[
    Line,
    _kind(
        "is an option of sbatch, e.g. --account=me",
        lambda text: shlex.split(text)[0].startswith("-"),
    ),
]
ResourceOption = Annotated[
    SlurmOption,
    _kind(
        "is an option of sbatch with names of values in braces, e.g. --gres=gpu:{count}",
        lambda text: all(
            name is None or (name.isidentifier() and not spec and not conversion)
            for _, name, spec, conversion in string.Formatter().parse(text)
        ),
    ),
]
Command = Annotated[
    str,
    _kind(
        "are a program and its options, without variables and quotes; what needs a shell goes into"
        " `prepare`",
        lambda text: text.strip() and not any(map(_SHELL.search, text.split(" "))),
    ),
]
LauncherName = Annotated[str, AfterValidator(_launcher)]
LauncherCommand = Annotated[Line, AfterValidator(_template)]
Module = Annotated[str, _form("is the name of a module", r"[A-Za-z0-9_@%+=.:/~^-]+")]
DeviceName = Annotated[
    str,
    _form("is a device such as ch4:ofi, ch3:nemesis:tcp or ob1:tcp", r"[\w+-]+([:,][\w+-]+)*|"),
]
VariableName = Annotated[str, _form("is the name of a variable", r"[A-Za-z_]\w*")]
PartitionName = Annotated[
    str,
    _form(
        "is a name of letters, digits, dots, hyphens and underscores",
        r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}",
    ),
]
SlurmPartition = Annotated[
    str, _form("is a partition of Slurm, or several with commas", r"[\w.,+-]+")
]


def _variables(text: str) -> dict[str, str]:
    """The variables that a path names, with the caller's values, and where it lacks one, as under
    cron, those of a login shell; "" where neither has it."""
    names = dict.fromkeys(name.strip("{}") for name in _VARIABLE.findall(text))
    known = os.environ if names.keys() <= os.environ.keys() else login_environment() | os.environ
    return {name: known.get(name, "") for name in names}


def expanded(text: str) -> str:
    """A path with variables such as $HOME replaced by their values; those not set stay."""
    known = _variables(text)
    return _VARIABLE.sub(lambda match: known[match[1].strip("{}")] or match[0], text)


def unset_fault(text: str) -> str | None:
    """Why a path that needs variables cannot be used; None where it can."""
    missing = [name for name, value in _variables(text).items() if not value]
    return f"the variable {', '.join(missing)} is not set" if missing else None
