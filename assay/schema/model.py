# SPDX-License-Identifier: Apache-2.0
"""The campaign: its question, its environments, its cases, their repetitions and limits."""

import re
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Self

from pydantic import Discriminator, Field, PrivateAttr, Tag, model_validator

from checks.common.parameters import CpusPerTask, Ranks, Resources
from checks.common.registry import CHECKS, Checks
from records.run.brought import Choice
from records.sections import Name, Section, key
from records.units import KNOWN

SCHEMA = 1
MAX_SEED = 2**63 - 1
MOST_BLOCKS = 1000


#: Name of a check or a metric that a campaign brings.
OwnName = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,39}$")]
Names = Annotated[list[Name], Field(min_length=1)]
#: The values of each parameter that is swept.
Axes = dict[str, Annotated[list[Any], Field(min_length=1)]]
Scale = Literal["paper", "small"]
Question = Literal["score", "checks", "curves", "points"]


class SmallForm(Section):
    """Keys that an entry of `cases` has instead when the campaign's scale is small."""

    matrix: Axes = key("Axes in place of those of these names; the others stay.", default={})
    fixed: dict[str, Any] = key("Parameters in place of those of these names.", default={})
    left_out: bool = key("True if there are no such cases.", default=False)


class CaseGroup(Section):
    """Cases of one check: every combination of the matrix, with the fixed parameters."""

    matrix: Axes = key(
        "Swept parameters: a list of values for each; every combination is one case. An axis whose"
        " values are mappings sets several parameters at once, e.g. grid: [{p: 1, q: 2}].",
        default={},
    )
    fixed: dict[str, Any] = key("Parameters that all these cases share.", default={})
    environments: Names | None = key("Only these of the campaign's; unset: all.", default=None)
    cpus_per_task: CpusPerTask | None = key(
        "CPUs of each rank, and threads of its BLAS and OpenMP; without it one.", "CPUs", None
    )
    resources: Resources = key(
        "Resources of their jobs besides nodes, as the site's `resources` name them, e.g."
        " {gpu: {count: 1}}. Where the site does not know one, the cases are skipped.",
        default={},
    )
    alone: bool | None = key(
        "True if no other launch runs meanwhile where several share an allocation; without it those"
        " of several nodes run alone, those of one node side by side.",
        default=None,
    )
    once: bool | None = key(
        "Measured in one environment only, the first of them that the site has and that can. Unset:"
        " true of a command with `launch: none` and neither `build` nor `program`.",
        default=None,
    )
    one_node: dict[str, Any] = key(
        "Parameters in place of those of these names on a site of one node, where what is between"
        " nodes cannot be, e.g. {ranks_per_node: 2}.",
        default={},
    )
    small: SmallForm | None = key("Changes when the campaign's scale is small.", default=None)

    @property
    def in_one(self) -> bool:
        """True where one environment measures it for all."""
        return bool(self.once)

    def on_one_node(self) -> Self:
        """The entry as it is on a site of one node."""
        own = self.one_node
        parts = {
            "matrix": {k: v for k, v in self.matrix.items() if k not in own},
            "fixed": {**self.fixed, **own},
        }
        return self.model_copy(update=parts) if own else self

    def at(self, scale: Scale) -> Self:
        """The entry at a scale, without its other form."""
        if self.small is None:
            return self
        if scale == "paper":
            return self.model_copy(update={"small": None})
        if self.small.left_out:
            return self.model_copy(update={"environments": [], "small": None})
        matrix = {**self.matrix, **self.small.matrix}
        fixed = {**self.fixed, **self.small.fixed}
        return self.model_copy(
            update={
                "matrix": {k: v for k, v in matrix.items() if k not in self.small.fixed},
                "fixed": {k: v for k, v in fixed.items() if k not in self.small.matrix},
                "small": None,
            }
        )


class CaseEntry(CaseGroup):
    """Cases of a check by its name."""

    check: str = key("Name of the check that measures these cases.")


class CommandMetric(Section):
    """Rules by which the value of a metric is found in what a command prints."""

    find: str = key("Regular expression of Python with one group, the number; for one line.")
    from_: Literal["stdout", "stderr"] = key("Its stream.", default="stdout", alias="from")
    unit: str = key(f"Unit of the number as printed: {KNOWN}.", default="1")
    better: Literal["higher", "lower"] | None = key(
        "Direction that is good; by default that of the unit: times lower, rates higher.",
        default=None,
    )
    of: Choice = key("Choice among several matches; only: there must be one.", default="only")
    at_least: float | None = key("Least value of a valid launch, in `unit`.", default=None)
    at_most: float | None = key("Greatest value of a valid launch, in `unit`.", default=None)
    memory_share: float | None = key(
        "Least value of a valid launch, of a metric in bytes, as a share of its nodes' memory.",
        default=None,
        gt=0,
        le=1,
    )
    equals: str = key(
        "Formula that the value must agree with: metrics by name (in their `unit`), numbers,"
        " + - * / ** and sqrt(…).",
        default="",
    )


class CommandEntry(CaseGroup):
    """Cases of a command line: docs/your-benchmark.md."""

    command: str = key("Program and arguments, with {placeholders}; not read by a shell.")
    name: OwnName = key("Its name.")
    title: str = key("Its title.", default="", max_length=100)
    program: str = key(
        "A program that the site names in `programs` of its environments: {program} in the command"
        " is its path. Where it is missing, cases are skipped.",
        default="",
        pattern="^([a-z0-9][a-z0-9_-]*)?$",
    )
    build: str = key("Shell command that builds it, with $CC, once an environment.", default="")
    sources: list[str] = key("Files for the build, from the campaign's folder.", default=[])
    input: list[str] = key("Files that each launch finds in its folder.", default=[])
    launch: Literal["mpi", "none"] = key("none: one process without MPI.", default="mpi")
    ranks: Ranks = key("Ranks; `matrix` and `fixed` can say others.", "ranks", 1)
    ranks_per_node: Ranks | Literal["fill", "half"] = key("Ranks on each node.", "ranks", "fill")
    metrics: Annotated[dict[OwnName, CommandMetric], Field(min_length=1)] = key(
        "Metrics that are measured, by name; environments are compared by the first."
    )
    right: list[str | int] = key("Expressions that must match, or the exit status.", default=[])
    wrong: list[str] = key("Expressions that must not match.", default=[])

    @property
    def check(self) -> str:
        """The name of the check that is made of it."""
        return self.name

    @property
    def in_one(self) -> bool:
        """True where one environment measures it for all: where nothing of it depends on the
        environment."""
        same = self.launch == "none" and not self.build and not self.program
        return same if self.once is None else self.once


class ReframeMetric(Section):
    """Direction and unit of a figure that a test of a ReFrame suite does not state."""

    better: Literal["higher", "lower"] = key("Direction that is good.")
    unit: str = key("Its unit, where a hook adds it.", default="")


class ReframeClass(Section):
    """A test class of a ReFrame suite, as it is."""

    file: str = key("Its file.", min_length=1)
    class_: str = key("The class.", alias="class", min_length=1, max_length=200)
    params: dict[str, Any] = key(
        "Values of its parameters, one or a list, of its fixtures' as FIXTURE.NAME; without it"
        " all.",
        default={},
    )
    path: list[str] = key(
        "Folders of Python modules that the file needs, from the campaign's folder.", default=[]
    )
    vars: dict[str, Any] = key("Variables of it to be set, as by `reframe -S`.", default={})
    metrics: dict[str, ReframeMetric | Literal["higher", "lower"]] = key(
        "Direction of figures that no reference or unit tells.", default={}
    )
    environments: dict[str, Name | list[Name]] = key(
        "By the name or the features that the suite asks for: the environments in its place.",
        default={},
    )
    extras: dict[str, Any] = key(
        "Values that hooks of the test find in the `extras` of its environment.", default={}
    )
    ranks: Ranks | None = key("Ranks, where a late hook sets them.", "ranks", None)
    ranks_per_node: Ranks | None = key("Ranks on each node; so too.", "ranks", None)


class ReframeEntry(CaseGroup):
    """Cases of a test of a ReFrame suite: plugins/reframe/docs/from-reframe.md."""

    reframe: ReframeClass = key("The test.")
    name: OwnName | None = key("Its name; unset: the class in small letters.", default=None)

    @property
    def check(self) -> str:
        """The name of the check that is made of it."""
        spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|[^A-Za-z0-9]+", "_", self.reframe.class_)
        return self.name or re.sub(r"^[^a-z]+", "", spaced.lower())[:40] or "test"


def _kind(entry: object) -> str:
    named = entry if isinstance(entry, dict) else getattr(entry, "model_fields_set", ())
    return next((f"of a {kind}" for kind in ("command", "reframe") if kind in named), "of a check")


AnyEntry = Annotated[
    Annotated[CaseEntry, Tag("of a check")]
    | Annotated[CommandEntry, Tag("of a command")]
    | Annotated[ReframeEntry, Tag("of a reframe")],
    Discriminator(_kind),
]


class Variant(Section):
    """An environment of the site with some of its settings changed."""

    of: Name = key("Environment of the site that it is a variant of.")
    settings: Annotated[dict[str, int], Field(min_length=1)] = key(
        "Value of each changed setting, in the unit that the site states for it."
    )


class Limits(Section):
    """Limits on the cost of a campaign; `assay plan` refuses one whose estimate is above."""

    node_hours: float | None = key("Node-hours of all launches.", "node h", None, gt=0)
    wall_time_s: float | None = key(
        "Time of all launches, one after another, without what they wait in a queue.",
        "s",
        None,
        gt=0,
    )
    queue_s: float | None = key(
        "Most time that a launch waits for Slurm; then the run ends, resumable.",
        "s",
        None,
        gt=0,
    )
    launch_s: float | None = key(
        "Time after which one launch is ended; without it ten times its estimate, at least 60 s,"
        " of a command or a suite's test 300 s or the test's own limit.",
        "s",
        None,
        gt=0,
        le=86400,
    )
    jobs_at_once: int | None = key(
        "Jobs that are handed in to Slurm at once, which runs as many as fit: a mix."
        " Without it one after the other.",
        "jobs",
        None,
        ge=2,
        le=1000,
    )
    retries: int = key("Further attempts after a transient failure.", "attempts", 0, ge=0, le=3)


class Blocks(Section):
    """A sequential design: blocks are added until the questions are decided or the budget is spent.

    The chance of any wrong verdict stays 5 % however often it is judged. Below six blocks nothing
    can be.
    """

    least: int = key("Blocks before the first judgement.", "blocks", 6, ge=6, le=MOST_BLOCKS)
    greatest: int = key(
        "Most blocks; fewer where limits.node_hours is used up.", "blocks", ge=6, le=MOST_BLOCKS
    )
    until: Annotated[list[Question], Field(min_length=1)] = key(
        "Results that have to be known of every pair of environments that may still be the best in"
        " them: the overall score, each check, each curve, each point.",
        default=["score", "checks"],
    )

    @model_validator(mode="after")
    def _ascending(self) -> Self:
        if self.greatest < self.least:
            raise ValueError(
                f"greatest is {self.greatest}, which is less than least ({self.least}); allowed is"
                f" an integer from {self.least} to {MOST_BLOCKS}"
            )
        return self


def _form(blocks: object) -> str:
    return "sequential" if isinstance(blocks, dict | Blocks) else "fixed"


@dataclass(frozen=True)
class Origin:
    """Where a campaign was read from: file, text, the line of each entry of `cases`."""

    file: str
    text: str
    case_lines: tuple[int, ...]


class Campaign(Section):
    """A campaign as its file states it; `origin` is None for one that was not read from a file."""

    schema_: int = key("Version of this format.", alias="schema", ge=SCHEMA, le=SCHEMA)
    name: Name = key("Short name; results are in a folder of this name.")
    question: str = key(
        "Question that the campaign is to answer, in plain words.", min_length=1, max_length=2000
    )
    environments: Names = key(
        "MPI implementations to be judged, by the names the site gives them, or of `variants`."
    )
    otherwise: list[Name] = key("Those of a site that has none of `environments`.", default=[])
    variants: dict[Name, Variant] = key(
        "Environments with changed settings, as `environments` or `otherwise` name them.",
        default={},
    )
    blocks: Annotated[
        Annotated[int, Field(ge=1, le=MOST_BLOCKS), Tag("fixed")]
        | Annotated[Blocks, Tag("sequential")],
        Discriminator(_form),
    ] = key(
        "Passes over all cases, each in random order; or the least and the greatest number of them,"
        " between which the run ends as soon as its questions are answered.",
        "blocks",
        5,
    )
    seed: int = key("Seed of the order inside each block.", "none", 1, ge=0, le=MAX_SEED)
    cases: Annotated[list[AnyEntry], Field(min_length=1)] = key("Cases that are measured.")
    scale: Scale = key(
        "paper: cases as written; small: with what their `small` changes, for a small cluster."
        " --scale of assay plan and assay run chooses the other.",
        default="paper",
    )
    limits: Limits = key("Limits on the cost of the campaign.", default=Limits())
    weights: dict[str, Annotated[float, Field(gt=0)]] = key(
        "Weight of each check in the ranking of environments; of a mix, the work of a job.",
        "1",
        {},
    )
    judged_by: dict[Literal["real", "virtual"], Name] = key(
        "The criteria, by a name in campaigns/criteria/, that `assay accept` judges a run by where"
        " no others are given: a run on a real cluster, and one on a virtual cluster.",
        default={},
    )

    _origin: Origin | None = PrivateAttr(default=None)
    _left_out: list[str] = PrivateAttr(default=[])
    _checks: Checks = PrivateAttr(default_factory=lambda: CHECKS)

    @property
    def left_out(self) -> list[str]:
        """ReFrame tests of it that cannot be run on the site, and why."""
        return self._left_out

    @property
    def checks(self) -> Checks:
        """The checks that its cases may name: those that are folders, and those that it brings."""
        return self._checks

    @property
    def origin(self) -> Origin | None:
        """Where it was read."""
        return self._origin

    def place(self, entry: int) -> str:
        """Where an entry of `cases` is, for messages: "quick.yaml:12: cases[0]"."""
        if self._origin is None:
            return f"{self.name}: cases[{entry}]"
        return f"{self._origin.file}:{self._origin.case_lines[entry]}: cases[{entry}]"

    def environments_of(self, entry: CaseGroup) -> list[str]:
        """The environments of an entry, in the campaign's order."""
        return [
            e for e in self.environments if entry.environments is None or e in entry.environments
        ]
