# SPDX-License-Identifier: Apache-2.0
"""Kinds of values in a site.yaml, each refused with what is allowed; variables in paths."""

from __future__ import annotations

import os
import pwd
import re
import shlex
import string
from collections.abc import Callable, Iterable
from typing import Annotated

from pydantic import AfterValidator, Field

from assay.schema.problems import did_you_mean
from checks.common.session.launch_commands import LAUNCHERS, template_fault

_VARIABLE = re.compile(r"\$(\w+|\{\w+\})")
_SHELL = re.compile(r"[`$\"'\\;|&<>()\s]")
_WORD = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")


def _pattern(text: str) -> str:
    try:
        re.compile(text)
    except (re.error, OverflowError, RecursionError) as error:
        raise ValueError(
            f"found {text:.100}; allowed is a regular expression of Python, e.g. '^MPICH 4\\.':"
            f" {error}"
        ) from error
    return text


def _line(text: str) -> str:
    if not text.strip() or "\n" in text:
        raise ValueError(f"found {text!r:.100}; allowed is one line that is not empty")
    return text


def _value(text: str) -> str:
    if "\n" in text:
        raise ValueError(f"found {text!r:.100}; allowed is one line")
    return text


def _option(text: str) -> str:
    try:
        words = shlex.split(_line(text))
    except ValueError as error:
        raise ValueError(f"found {text!r:.100}; allowed is an option of sbatch: {error}") from error
    if not words or not words[0].startswith("-"):
        raise ValueError(f"found {text!r:.100}; allowed is an option of sbatch, e.g. --account=me")
    return text


def _command(text: str) -> str:
    odd = [word for word in text.split(" ") if _SHELL.search(word)]
    if not text.strip() or odd:
        raise ValueError(
            f"found {text!r:.100}; allowed are a program and its options, without variables and"
            " quotes; what needs a shell goes into `prepare`"
        )
    return text


def _launcher(text: str) -> str:
    if text not in LAUNCHERS:
        known = "; ".join(f"{name} ({one.meaning})" for name, one in LAUNCHERS.items())
        hint = did_you_mean(f"assay-{text.removeprefix('assay-')}", LAUNCHERS)
        raise ValueError(f"found {text!r:.100}{hint}; allowed are {known}")
    return text


def _template(text: str) -> str:
    if fault := template_fault(_line(text)):
        raise ValueError(f"found {text!r:.100}, which {fault}")
    return text


def _resource(text: str) -> str:
    try:
        parts = [*string.Formatter().parse(_option(text))]
    except ValueError as error:
        raise ValueError(
            f"found {text!r:.100}; allowed is an option of sbatch with names of values in braces,"
            f" e.g. --gres=gpu:{{count}}: {error}"
        ) from error
    for _, name, spec, conversion in parts:
        if name is not None and (spec or conversion or not name.isidentifier()):
            raise ValueError(
                f"found {text!r:.100}; allowed are names of values in braces, e.g. {{count}}"
            )
    return text


def _one_of_form(form: str, pattern: str) -> Callable[[str], str]:
    whole = re.compile(pattern)

    def validate(text: str) -> str:
        if not whole.fullmatch(text):
            raise ValueError(f"found {text!r:.100}; allowed is {form}")
        return text

    return validate


Text = Annotated[str, Field(min_length=1)]
#: One line: what goes into a job script.
Line = Annotated[str, AfterValidator(_line)]
#: Value of a variable.
Value = Annotated[str, AfterValidator(_value)]
Pattern = Annotated[str, AfterValidator(_pattern)]
SlurmOption = Annotated[str, AfterValidator(_option)]
ResourceOption = Annotated[str, AfterValidator(_resource)]
Command = Annotated[str, AfterValidator(_command)]
LauncherName = Annotated[str, AfterValidator(_launcher)]
LauncherCommand = Annotated[str, AfterValidator(_template)]
Module = Annotated[
    str, AfterValidator(_one_of_form("the name of a module", r"[A-Za-z0-9_@%+=.:/~^-]+"))
]
DeviceName = Annotated[
    str,
    AfterValidator(
        _one_of_form(
            "a device such as ch4:ofi, ch3:nemesis:tcp or ob1:tcp", r"[\w+-]+([:,][\w+-]+)*|"
        )
    ),
]
VariableName = Annotated[
    str, AfterValidator(_one_of_form("the name of a variable", r"[A-Za-z_]\w*"))
]
PartitionName = Annotated[
    str,
    AfterValidator(
        _one_of_form("a name of letters, digits, dots, hyphens and underscores", _WORD.pattern)
    ),
]
SlurmPartition = Annotated[
    str, AfterValidator(_one_of_form("a partition of Slurm, or several with commas", r"[\w.,+-]+"))
]


def _variables() -> dict[str, str]:
    """The caller's; cron starts without USER."""
    try:
        user = {"USER": pwd.getpwuid(os.getuid()).pw_name}
    except KeyError:
        user = {}
    return {**user, **os.environ}


def unset_in(text: str) -> list[str]:
    """The variables in a path that are not set or empty."""
    known = _variables()
    names = [name.strip("{}") for name in _VARIABLE.findall(text)]
    return [name for name in dict.fromkeys(names) if not known.get(name)]


def expanded(text: str) -> str:
    """A path with variables such as $HOME replaced by their values; those not set stay."""
    known = _variables()
    return _VARIABLE.sub(lambda found: known.get(found[1].strip("{}")) or found[0], text)


def unset_fault(text: str) -> str | None:
    """Why a path that needs variables cannot be used; None where it can."""
    missing = unset_in(text)
    if not missing:
        return None
    return f"the variable {', '.join(missing)} is not set"


def option_values(options: Iterable[str], short: str, long: str) -> list[str]:
    """The values that options of sbatch give for one of them, e.g. -p and --partition."""
    words = [word for option in options for word in shlex.split(option)]
    values = []
    for index, word in enumerate(words):
        if word in (short, long):
            values += words[index + 1 : index + 2]
        elif word.startswith(f"{long}="):
            values.append(word.removeprefix(f"{long}="))
        elif word.startswith(short) and not word.startswith("--"):
            values.append(word.removeprefix(short))
    return values
