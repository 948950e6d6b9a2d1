# SPDX-License-Identifier: Apache-2.0
"""Listings of files of ReFrame suites, each loaded by a process of its own, and their plain data.

Without ReFrame, and without a line of the suite.
"""

import os
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import msgspec
from msgspec import Struct, field

from records.forms import Part, as_bytes, key
from records.text.plain_text import one_line, plain_data

_COLOUR, _SHOWN = re.compile("\x1b\\[[0-9;]*m"), 100
#: Files at once, on nodes of many cores that others use too.
_MOST_AT_ONCE = 8
#: File in the folder of a process in which it leaves its listing.
ANSWER = "answer"

#: Variants of a class that are made; characters of a text and entries of a list that are kept.
MOST_VARIANTS, KEPT_CHARACTERS, KEPT_ENTRIES = 256, 2000, 1000


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
    """Parameters of a variant, and of its fixtures as FIXTURE.NAME but where these are several."""

    def flat(info: Mapping[str, Any], above: str) -> Iterator[tuple[str, Any]]:
        yield from ((f"{above}{name}", plain(value)) for name, value in info["params"].items())
        for name, one in info["fixtures"].items():
            yield from flat(one, f"{above}{name}.") if isinstance(one, Mapping) else ()

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
    kind: Annotated[str, key("Actions: compile and run, run or compile.")]
    scope: Annotated[str, key("Scope that shares it: session, partition, environment or test.")]


class ListedParameter(Part):
    """A parameter of a class."""

    name: Annotated[str, key("Its name; of a fixture FIXTURE.NAME.")]
    values: Annotated[list[Any], key("Its values, in the class's order.")]


class ListedVariable(Part):
    """A variable that a class of the suite declares; those of ReFrame itself are not listed."""

    name: Annotated[str, key("Its name.")]
    value: Annotated[Any, key("Its default.")]
    required: Annotated[bool, key("True if it has none, so that it must be set.")]


class ListedVariant(Part):
    """Point of a class's parameters, as it is after its `init` hooks."""

    number: Annotated[int, key("Its `variant_num`.")]
    unique_name: Annotated[str, key("ReFrame's name of it.")]
    parameters: Annotated[dict[str, Any], key("Its values, and its fixtures' as FIXTURE.NAME.")]
    valid_systems: Annotated[list[str] | None, key("As the class says; null: it does not.")] = None
    valid_prog_environs: Annotated[list[str] | None, key("As the class says; null: no.")] = None
    elsewhere: Annotated[bool, key("True if it asks for another system.")] = False
    environments: Annotated[list[str], key("The site's environments that it accepts.")] = []
    num_tasks: Annotated[int | None, key("Ranks; 0: as many as the site allows.")] = None
    num_tasks_per_node: Annotated[int | None, key("Ranks on each node; null: not said.")] = None
    time_limit_s: Annotated[float | None, key("Its `time_limit` in s; null: none.")] = None
    modules: Annotated[list[str], key("Modules that it loads.")] = []
    figures: Annotated[list[ListedFigure], key("Its performance variables.")] = []
    references: Annotated[list[ListedReference], key("Its reference values.")] = []
    refused: Annotated[str, key("Why ReFrame does not make it; empty: it does.")] = ""


class ListedClass(Part):
    """A test class that the file registers with `simple_test`."""

    name: Annotated[str, key("Its name.")]
    kind: Annotated[str, key("Actions: compile and run, run or compile.")]
    doc: Annotated[str, key("Its `descr` or documentation, the first paragraph.")]
    parameters: Annotated[list[ListedParameter], key("Its parameters, and its fixtures'.")]
    variables: Annotated[list[ListedVariable], key("The suite's variables.")]
    fixtures: Annotated[list[ListedFixture], key("Its fixtures, and theirs.")]
    num_variants: Annotated[int, key("Number of its variants; 0: a parameter has no value.")]
    variants: Annotated[list[ListedVariant], key(f"Its first {MOST_VARIANTS} variants.")]


class Listing(Part):
    """Contents of a file of a suite, or the reason why it is refused."""

    file: Annotated[str, key("Its path.")]
    refused: Annotated[str, key("Why it cannot be listed, in one line; empty: it is.")] = ""
    is_test: Annotated[bool, key("True if ReFrame would take it for a file of tests.")] = True
    classes: Annotated[list[ListedClass], key("Its test classes.")] = []
    path: Annotated[list[str], key("Folders of the suite whose modules it did not find.")] = []


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


class Surroundings(Struct):
    """Surroundings of a file while it is loaded.

    `environment`: all variables, but for PATH and LANG where it lacks them; PYTHONPATH is searched.
    `configuration`: a `site_configuration` of ReFrame with one system. `variables` are set in the
    classes as by `reframe -S`: NAME or CLASS.NAME → value.
    """

    environment: dict[str, str] = {}
    configuration: dict[str, Any] = field(
        default_factory=lambda: configuration_for("site", {"name": "all"}, {"builtin": []})
    )
    variables: dict[str, Any] = {}
    limit_s: float = 60.0


def list_files(files: Sequence[Path], around: Surroundings) -> list[Listing]:
    """List each file, in their order; one that cannot be listed is refused, with a reason."""
    root = os.path.commonpath([str(file.absolute().parent) for file in files] or ["/"])
    with ThreadPoolExecutor(min(_MOST_AT_ONCE, len(os.sched_getaffinity(0)))) as pool:
        return [*pool.map(partial(_listed, root=root, around=around), files)]


def _listed(path: Path, root: str, around: Surroundings) -> Listing:
    """List a file by a process of its own, which is ended with all that it leaves in its session.
    No file that does not name ReFrame has tests."""
    file = str(path.absolute())
    with suppress(OSError):
        if b"reframe" not in path.read_bytes():
            return Listing(file=file, is_test=False)
    own = os.environ.keys() & {"LD_LIBRARY_PATH", "PATH", "PYTHONPATH"}
    with (
        tempfile.TemporaryDirectory(None, "assay-listing-", ignore_cleanup_errors=True) as folder,
        Path(folder, "output").open("wb") as output,
        Path(folder, "order").open("w+b") as order,
    ):
        order.write(as_bytes((file, root, around)))
        order.seek(0)
        status = None
        process = subprocess.Popen(
            (sys.executable, "-P", "-m", "plugins.reframe.lister"),
            stdin=order,
            stdout=output,
            stderr=output,
            cwd=folder,
            env={name: os.environ[name] for name in own},
            start_new_session=True,
        )
        with suppress(subprocess.TimeoutExpired):
            status = process.wait(around.limit_s)
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        return _answer(file, Path(folder), status, around.limit_s)


def end_of_output(lines: Sequence[str]) -> str:
    """The last of some lines that is not blank, without colours; of a long one its end."""
    lines = [_COLOUR.sub("", line) for line in lines]
    line = one_line(next((line for line in reversed(lines) if line.strip()), "no output yet"))
    return line if len(line) <= _SHOWN else f"…{line[1 - _SHOWN :]}"


def _answer(file: str, folder: Path, status: int | None, limit_s: float) -> Listing:
    """The listing that a process left; `status`: how it ended, None: not in time."""
    try:
        answer = plain_data(msgspec.json.decode((folder / ANSWER).read_bytes()))
        found = msgspec.convert(answer, Listing)
    except (OSError, msgspec.MsgspecError):
        refused = f"ends the process that loads it, with status {status}"
        if status is None:
            refused = f"does not end within {limit_s:g} s"
        elif status < 0:
            refused = f"the process that loads it ended by {signal.Signals(-status).name}"
        printed = (folder / "output").read_text(errors="replace").splitlines()
        said = f"; it prints: {end_of_output(printed)}" if any(map(str.strip, printed)) else ""
        found = Listing(file=file, refused=refused + said)
    found.refused = one_line(found.refused)
    return found
