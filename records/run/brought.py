# SPDX-License-Identifier: Apache-2.0
"""Checks that a campaign brings itself, as `plan.json` carries them: no folder defines them.

A plan keeps all that it takes to run such a check again and to read its output again.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from records.metric import MetricDefinition

#: Which of several matches of an expression gives the value; "only": there must be one.
Choice = Literal["only", "first", "last", "min", "max", "sum", "mean", "each"]


class Caught(msgspec.Struct, frozen=True, kw_only=True):
    """A metric and the expression whose group holds its value, to be multiplied by `factor`."""

    metric: MetricDefinition
    find: str
    factor: float
    of: Choice


class BroughtFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file that each launch gets: its name, its bytes, whether it can be executed."""

    name: str
    content: bytes
    executable: bool


class CommandLine(msgspec.Struct, frozen=True, kw_only=True, tag_field="kind", tag="command"):
    """A command line as a check. `command` and `build` are as the campaign writes them; `names` are
    the placeholders of the command that cases give values for. `right` are expressions that must
    match a line of what is printed, `wrong` those that must not."""

    title: str
    command: str
    build: str
    files: list[BroughtFile]
    launch: Literal["mpi", "none"]
    ranks: int
    ranks_per_node: int | Literal["fill", "half"]
    names: list[str]
    metrics: list[Caught]
    right: list[str]
    wrong: list[str]
    exit_status: int = 0


#: What a campaign may bring, told apart by `kind`.
Brought = CommandLine
