# SPDX-License-Identifier: Apache-2.0
"""What a file of a ReFrame suite has: plain data, as the child process that loads it says.

All of it is a statement of foreign code. Values of parameters and variables that JSON does not know
are the text that Python's `repr` gives.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from typing import Annotated, Any, Literal

from msgspec import Struct, field

from records.forms import Form, Part, key

#: Greatest number of variants of a class that are made and listed one by one.
MOST_VARIANTS = 256
#: Characters that are kept of a text, entries of a list.
KEPT_CHARACTERS, KEPT_ENTRIES = 2000, 1000
#: How a child is kept apart from the system.
Isolation = Literal["namespaces", "limits", "none"]


def plain(value: Any) -> Any:
    """A value as JSON has it; what it has not as the text of `repr`, without addresses."""
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, str):
        return value[:KEPT_CHARACTERS]
    if isinstance(value, list | tuple | set | frozenset):
        kept = [*map(plain, [*value][:KEPT_ENTRIES])]
        return sorted(kept, key=repr) if isinstance(value, set | frozenset) else kept
    if isinstance(value, Mapping):
        pairs = [*value.items()][:KEPT_ENTRIES]
        return {str(name)[:KEPT_CHARACTERS]: plain(one) for name, one in pairs}
    return re.sub(r" at 0x[0-9a-f]+", "", repr(value))[:KEPT_CHARACTERS]


def parameters_of(cls: Any, number: int) -> dict[str, Any]:
    """The parameters of a variant of a test class, and those of its fixtures as FIXTURE.NAME; a
    fixture that is there in several variants at once has none."""

    def flat(info: Mapping[str, Any], above: str) -> Iterator[tuple[str, Any]]:
        for name, value in info["params"].items():
            yield f"{above}{name}", plain(value)
        for name, one in info["fixtures"].items():
            if isinstance(one, Mapping):
                yield from flat(one, f"{above}{name}.")

    return dict(flat(cls.get_variant_info(number, recurse=True), ""))


class ListedFigure(Part):
    """A performance variable that a class declares."""

    name: Annotated[str, key("Its name; a performance hook may add further ones at run time.")]
    unit: Annotated[str, key("Its unit as the class writes it; empty where it is not known yet.")]


class ListedReference(Part):
    """A reference value of a class."""

    system: Annotated[str, key("System, or SYSTEM:PARTITION, that it holds for.")]
    figure: Annotated[str, key("The performance variable.")]
    value: Annotated[Any, key("The value, in the class's unit.")]
    lower: Annotated[Any, key("Fraction below it that is allowed; null: any.")]
    upper: Annotated[Any, key("Fraction above it that is allowed; null: any.")]
    unit: Annotated[str, key("Its unit; empty where the reference has none.")]


class ListedFixture(Part):
    """A fixture of a class: a test that runs before it."""

    name: Annotated[str, key("Attribute by which the class sees it; of its own ones OUTER.INNER.")]
    test_class: Annotated[str, key("Its class.")]
    kind: Annotated[str, key("What it does: compile and run, run or compile.")]
    scope: Annotated[str, key("What shares it: session, partition, environment or test.")]


class ListedParameter(Part):
    """A parameter of a class."""

    name: Annotated[str, key("Its name; of a fixture FIXTURE.NAME.")]
    values: Annotated[list[Any], key("Its values, in the class's order.")]


class ListedVariable(Part):
    """A variable that a class of the suite declares; those of ReFrame itself are not listed."""

    name: Annotated[str, key("Its name.")]
    value: Annotated[Any, key("Its default.")]
    required: Annotated[bool, key("Whether it has none, so that it must be set.")]


class ListedVariant(Part):
    """One point of a class's parameters, as it is after its `init` hooks."""

    number: Annotated[int, key("Its `variant_num`.")]
    unique_name: Annotated[str, key("ReFrame's name of it.")]
    parameters: Annotated[
        dict[str, Any], key("Values of its parameters, and of its fixtures' as FIXTURE.NAME.")
    ]
    valid_systems: Annotated[list[str] | None, key("As the class says; null: it does not.")] = None
    valid_prog_environs: Annotated[
        list[str] | None, key("As the class says; null: it does not.")
    ] = None
    elsewhere: Annotated[bool, key("Whether it asks for another system.")] = False
    environments: Annotated[list[str], key("The site's environments that it accepts.")] = []
    num_tasks: Annotated[int | None, key("Ranks; 0: as many as the site allows.")] = None
    num_tasks_per_node: Annotated[int | None, key("Ranks on each node; null: not said.")] = None
    time_limit_s: Annotated[float | None, key("Its `time_limit` in s; null: none.")] = None
    modules: Annotated[list[str], key("Modules that it loads.")] = []
    resources: Annotated[dict[str, Any], key("Its `extra_resources`.")] = {}
    figures: Annotated[list[ListedFigure], key("Its performance variables.")] = []
    references: Annotated[list[ListedReference], key("Its reference values.")] = []
    refused: Annotated[str, key("Why ReFrame does not make it; empty: it does.")] = ""


class ListedClass(Part):
    """A test class that the file registers with `simple_test`."""

    name: Annotated[str, key("Its name.")]
    kind: Annotated[str, key("What it does: compile and run, run or compile.")]
    doc: Annotated[str, key("Its `descr` or documentation, the first paragraph.")]
    tags: Annotated[list[str], key("Its tags.")]
    parameters: Annotated[list[ListedParameter], key("Its parameters, and its fixtures'.")]
    variables: Annotated[list[ListedVariable], key("The suite's variables.")]
    fixtures: Annotated[list[ListedFixture], key("Its fixtures, and theirs.")]
    num_variants: Annotated[int, key("Number of its variants; 0: a parameter has no value.")]
    variants: Annotated[list[ListedVariant], key(f"Its first {MOST_VARIANTS} variants.")]


class Touched(Part):
    """What a file used of its surroundings while it was loaded, as far as Python saw it."""

    variables: Annotated[list[str], key("Environment variables that it read.")] = []
    programs: Annotated[list[str], key("Programs that it started.")] = []
    hosts: Annotated[list[str], key("Hosts that it looked up or connected to.")] = []
    written: Annotated[
        list[str], key("Paths that it opened to write, made, moved or removed.")
    ] = []


class Listing(Form, kw_only=True):
    """What a file of a suite has, or why it is refused."""

    file: Annotated[str, key("Its path.")]
    refused: Annotated[str, key("Why it cannot be listed, in one line; empty: it is.")] = ""
    is_test: Annotated[bool, key("Whether ReFrame would take it for a file of tests.")] = True
    classes: Annotated[list[ListedClass], key("Its test classes.")] = []
    path: Annotated[
        list[str], key("Folders of the suite with modules that it did not find by itself.")
    ] = []
    touched: Annotated[Touched, key("What it used while it was loaded.")] = field(
        default_factory=Touched
    )
    isolation: Annotated[Isolation, key("How its process was kept apart.")] = "none"
    seconds: Annotated[float, key("Time that listing took.")] = 0.0


def configuration_for(
    system: str,
    partition: Mapping[str, Any],
    environments: Mapping[str, Collection[str]],
    *,
    modules_system: str = "nomod",
) -> dict[str, Any]:
    """ReFrame's `site_configuration` of a site for listing. `partition`: what ReFrame has of it,
    its name at least; `environments`: name → features."""
    described = {
        **partition,
        "scheduler": "slurm",
        "launcher": "srun",
        "features": sorted({"remote", "scontrol", *partition.get("features", ())}),
        "environs": [*environments],
    }
    whole = {
        "name": system,
        "hostnames": [".*"],
        "modules_system": modules_system,
        "partitions": [described],
    }
    return {
        "systems": [whole],
        # The program of the module system runs where a file asks it, not before.
        "general": [{"resolve_module_conflicts": False}],
        "environments": [
            {"name": name, "features": sorted(has)} for name, has in environments.items()
        ],
    }


#: A site of one partition with a plain environment, for suites without a site.
NEUTRAL = configuration_for("site", {"name": "all"}, {"builtin": ()})


class Surroundings(Struct):
    """What a file finds around it while it is listed.

    `environment`: all of its variables, but for PATH and LANG where it lacks them; folders of its
    PYTHONPATH are searched for modules. `user` (uid, gid) owns the process: None is the caller,
    never root but a user who owns no file. `configuration`: a `site_configuration` of ReFrame with
    one system. `variables` are set in the classes as by `reframe -S`: NAME or CLASS.NAME → value.
    """

    environment: dict[str, str] = {}
    user: tuple[int, int] | None = None
    configuration: dict[str, Any] = field(default_factory=lambda: NEUTRAL)
    variables: dict[str, Any] = {}
    network: bool = False
    limit_s: float = 60.0


class Order(Struct):
    """What holds for all files of a server: a folder of its own, the suite's, and the rest.

    `namespaces`: whether it uses them where the kernel allows it.
    """

    folder: str
    root: str
    around: Surroundings
    namespaces: bool


class Reply(Struct):
    """The answer of a child, unread, or how it ended without one."""

    answer: str = ""
    ended: str = ""
    printed: str = ""
