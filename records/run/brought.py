# SPDX-License-Identifier: Apache-2.0
"""Checks that a campaign brings itself, as `plan.json` carries them: no folder defines them.

A plan keeps all that it takes to run such a check again and to read its output again.
"""

from typing import Any, ClassVar, Literal

import msgspec

from records.metric import MetricDefinition

#: Which of several matches of an expression gives the value; "only": there must be one.
Choice = Literal["only", "first", "last", "min", "max", "sum", "mean", "geomean", "each"]


#: Seconds that a launch of foreign code may take, of which nothing is known.
FOREIGN_LIMIT_S = 300.0


class Caught(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A metric and the expression whose group holds its value, to be multiplied by `factor`, in a
    line of `stream`.

    A value outside of `at_least` … `at_most` (in SI units), below `memory_share` of the memory of
    the launch's nodes, or other than the formula `equals` of other metrics (in units as printed)
    makes the launch wrong. What is left at its default is not encoded: digests stay.
    """

    metric: MetricDefinition
    find: str
    factor: float
    of: Choice
    at_least: float | None = None
    at_most: float | None = None
    memory_share: float | None = None
    equals: str = ""
    stream: Literal["stdout", "stderr"] = "stdout"


class BroughtFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file that each launch gets: its name, its bytes, whether it can be executed."""

    name: str
    content: bytes
    executable: bool


class CommandLine(msgspec.Struct, frozen=True, kw_only=True, tag_field="kind", tag="command"):
    """A command line as a check. `command` and `build` are as the campaign writes them; `names` are
    the placeholders of the command that cases give values for. `right` are expressions that must
    match a line of what is printed, `wrong` those that must not. `program` is the name of a
    program of the site, whose path the command has as {program}."""

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
    program: str | msgspec.UnsetType = msgspec.UNSET
    limit_s: ClassVar[float] = FOREIGN_LIMIT_S

    def told(self) -> str:
        """Words of a plan: the command as written, how it is built and started."""
        built = f", built by `{self.build}`" if self.build else ""
        started = "by the environment's launcher" if self.launch == "mpi" else "as one process"
        files = f" with {', '.join(one.name for one in self.files)}" if self.files else ""
        return f"`{self.command}`{built}, started {started}{files}"


class TestFigure(msgspec.Struct, frozen=True, kw_only=True):
    """A performance variable of a ReFrame test and the metric made of it, in SI units: `factor`
    times its value. `unit` is the test's own. `variants`: the parameters of those that measure it,
    none: all do."""

    variable: str
    unit: str
    factor: float
    metric: MetricDefinition
    variants: list[dict[str, Any]] = []


class ReframeTest(msgspec.Struct, frozen=True, kw_only=True, tag_field="kind", tag="reframe"):
    """A class of a ReFrame suite. `digest` is that of the file's text and of `cls`, `commit` that
    of the suite ("" outside of git), `suite` its folder, `path` folders of modules that it needs.

    `variables` are set before a test is made. `seen_as`: the name that the test sees instead of
    that of an environment, `extras` what it sees of its `extras`. `fixtures` are made once a
    session, `compiles` tells that each launch compiles. `time_limit_s` is the test's own. `notes`
    are what a plan says of it.
    """

    file: str
    cls: str
    suite: str
    commit: str
    digest: str
    title: str
    path: list[str] = []
    variables: dict[str, Any] = {}
    seen_as: dict[str, str] = {}
    extras: dict[str, Any] = {}
    figures: list[TestFigure] = []
    fixtures: list[str] = []
    compiles: bool = False
    time_limit_s: float | None = None
    notes: list[str] = []

    @property
    def limit_s(self) -> float:
        """Seconds that a launch may take, by the test's own limit."""
        return self.time_limit_s or FOREIGN_LIMIT_S

    def told(self) -> str:
        """Words of a plan: foreign code, what it builds, what the site decides."""
        at = f" at commit {self.commit[:12]}" if self.commit else ""
        parts = [
            f"foreign code, class {self.cls} of {self.file}{at}, executed with your rights",
            *(["each launch compiles"] if self.compiles else []),
            *(f"fixture {one}" for one in self.fixtures),
            *self.notes,
        ]
        return "; ".join(parts)


#: What a campaign may bring, told apart by `kind`.
Brought = CommandLine | ReframeTest
