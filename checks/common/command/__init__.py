# SPDX-License-Identifier: Apache-2.0
"""A command line as a check: its definition is made of what a campaign file says of it."""

from __future__ import annotations

import hashlib
import shlex
import string
from pathlib import Path
from typing import Any, Literal

import msgspec
from pydantic import create_model

from checks.common.definition import CheckDefinition, Layout, SiteCapacity
from checks.common.parameters import (
    Parameters,
    ProfiledParameters,
    Ranks,
    RanksPerNode,
    quantity,
)
from records.run.brought import CommandLine
from records.sections import Scalar

#: Placeholders that each launch gives a value for.
GIVEN = ("ranks", "ranks_per_node", "nodes", "cpus_per_task", "program")
#: Seconds of a launch until one was timed: most are short.
_ROUGH_S = 1.0
_SHELLS = {"sh", "bash", "dash", "zsh", "ksh"}


class CommandDefinition(CheckDefinition[Any]):
    """A command line of a campaign. Its placeholders are its parameters, and so is a digest of all
    that is said of it: two commands have no case in common."""

    line: CommandLine
    deciding = ""
    sizing = frozenset({"nodes"})

    def __init__(self, name: str, line: CommandLine) -> None:
        self.line, self.without_mpi = line, line.launch == "none"
        metrics = tuple(one.metric for one in line.metrics)
        # Of every definition these are attributes of its class.
        self.__dict__.update(
            name=name,
            title=line.title,
            metrics=metrics,
            deciding=metrics[0].name,
            shown=metrics[0].name,
            history_metrics=tuple(one.name for one in metrics[1:]),
            features=frozenset(
                [
                    *([] if self.without_mpi else ["mpi"]),
                    *([f"program:{line.program}"] if line.program else []),
                ]
            ),
            builds=("Programs", *([self.build_name] if line.build else [])),
            parameters=_parameters(line, self.digest),
        )

    @property
    def digest(self) -> str:
        """Of all that decides what is run and how it is read, files included."""
        said = msgspec.structs.replace(self.line, title="", ranks=1, ranks_per_node=1)
        return hashlib.sha256(msgspec.json.encode(said)).hexdigest()[:16]

    @property
    def build_name(self) -> str:
        """Name of the build fixture."""
        return f"Command_{self.digest}"

    def words(
        self, params: Any, cpus_per_task: int, ranks_per_node: int, program: str = ""
    ) -> list[str]:
        """The words of the command for a launch; a value is never split, nor read by a shell.
        `program` is the path of the site's."""
        given = {k: str(v).lower() if isinstance(v, bool) else v for k, v in dict(params).items()}
        values = given | {
            "ranks_per_node": ranks_per_node,
            "nodes": -(-params.ranks // ranks_per_node),
            "cpus_per_task": cpus_per_task or 1,
            "program": program,
        }
        return [word.format_map(values) for word in shlex.split(self.line.command)]

    def memory_bytes_per_node(self, params: Any, cores_per_node: int) -> int:
        """Not known."""
        return 0

    def estimate_s(self, params: Any, layout: Layout, site: SiteCapacity) -> float:
        """A rough time until launches were timed."""
        return site.launch_overhead_s + _ROUGH_S

    def write_files(self, folder: Path) -> None:
        """Write the files of the campaign."""
        for file in self.line.files:
            (folder / file.name).write_bytes(file.content)
            (folder / file.name).chmod(0o755 if file.executable else 0o644)


def _parameters(line: CommandLine, digest: str) -> type[Parameters]:
    alone = line.launch == "none"
    fields: dict[str, Any] = {
        "ranks": (
            Literal[1] if alone else Ranks,
            quantity("Ranks of the launch.", "ranks", line.ranks),
        ),
        "ranks_per_node": (
            Literal[1] if alone else RanksPerNode,
            quantity("Ranks on each node.", "ranks", 1 if alone else line.ranks_per_node),
        ),
        "digest": (Literal[digest], quantity("Digest of command and files.", "none", digest)),
        **{name: (Scalar, quantity(f"Value of {{{name}}}.", "none")) for name in line.names},
    }
    base = Parameters if alone else ProfiledParameters
    made: type[Parameters] = create_model("CommandParameters", __base__=base, **fields)
    return made


def placeholders(command: str) -> list[str]:
    """Names of the placeholders of a command that cases give values for. Raises ValueError for a
    command that cannot be read, and for a placeholder inside of a shell's script."""
    try:
        words = shlex.split(command)
        found = [[*string.Formatter().parse(word)] for word in words]
    except ValueError as error:
        raise ValueError(
            f"cannot be read ({error}); close quotes, and write {{{{ and }}}} for braces"
        ) from None
    if not words:
        raise ValueError("is empty; allowed is a program with its arguments")
    names: list[str] = []
    for index, parts in enumerate(found):
        here = [
            (name, spec or conversion) for _, name, spec, conversion in parts if name is not None
        ]
        for name, form in here:
            if form or not name.isidentifier() or name.startswith("_") or name == "digest":
                raise ValueError(
                    f"holds {{{name}}} in another form than {{name}}; braces are {{{{ and }}}}"
                )
        shells = {Path(word).name for word in words[:index]} & _SHELLS
        if (
            here
            and shells
            and index
            and words[index - 1].startswith("-")
            and "c" in words[index - 1]
        ):
            raise ValueError(
                f"has {{{here[0][0]}}} in the script of a shell, which would execute its value;"
                f" pass it as an argument: sh -c 'echo \"$1\"' - {{{here[0][0]}}}"
            )
        names += [name for name, _ in here if name not in GIVEN]
    return list(dict.fromkeys(names))
