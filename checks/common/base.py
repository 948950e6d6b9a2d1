# SPDX-License-Identifier: Apache-2.0
"""Launch of a check, without ReFrame: what is started, and how its answer is read.

A leaf (class `Run` of a check's run.py) says that; session/launching.py starts it under ReFrame,
judging.py judges what it printed.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from checks.common import json_lines
from checks.common.answer import Reading
from checks.common.definition import CheckDefinition
from checks.common.evidence import Claim
from checks.common.json_lines import Printed
from checks.common.slurm.job import told_allocation
from records.site.limits import Nominal
from records.site.topology import Topology


@dataclass(frozen=True, kw_only=True)
class Setting:
    """Layout of a launch, and what its environment, its site and its work folder are."""

    ranks: int
    ranks_per_node: int
    cpus_per_task: int = 0
    #: Whether the job has resources besides nodes, which may be devices.
    has_resources: bool = False
    #: Names the launch where its nodes are drawn.
    drawn_by: str = ""
    #: Of the environment: expression for the library's name, demanded device, variables that ranks
    #: must find, the site's own programs by name, features.
    library: str = ""
    device: str = ""
    seen: Mapping[str, str] = field(default_factory=dict)
    programs: Mapping[str, str] = field(default_factory=dict)
    features: Sequence[str] = ()
    #: Of the site; `partition` has what else it says of the partition.
    wire_is_counted: bool = True
    nominal: Nominal = field(default_factory=Nominal)
    topology: Topology | None = None
    partition: Mapping[str, Any] = field(default_factory=dict)
    #: Folders of what was built, by the names in `builds` of the definition.
    builds: Mapping[str, Path] = field(default_factory=dict)
    #: The launch's own folder, and its stderr, read up to a number of bytes.
    folder: Path = Path()
    stderr: Callable[..., Printed] = lambda *_: Printed()
    #: Table of a scan that a run kept, where the program's file is gone.
    kept_table: bytes | None = None


class MpiCheck:
    """Launch of a program under MPI or PVM: base of all checks.

    A leaf implements `command()` and `read(output, text)`.
    """

    #: Exit status of the program that is right.
    right_status: int = 0
    #: Whether the program may give no evidence; its launch is flagged then.
    may_be_unproven: bool = False

    def __init__(self, definition: CheckDefinition[Any], params: Any, setting: Setting) -> None:
        self.definition, self.params, self.setting = definition, params, setting
        #: Environment variables of the launch besides those of the definition.
        self.variables: dict[str, str] = {}

    @property
    def foreign(self) -> str | None:
        """Name of the site's own program to run (`programs` of the environment); None: ours."""
        return None

    @property
    def input_file(self) -> str | None:
        """Name of the file in the launch's folder that every rank reads from its standard input."""
        return None

    @property
    def built(self) -> Path:
        """The folder of our own programs."""
        return self.setting.builds["Programs"]

    @property
    def foreign_path(self) -> Path:
        """Where the site's own program is."""
        assert self.foreign is not None
        return Path(self.setting.programs[self.foreign])

    @property
    def profiled(self) -> bool:
        """True if the MPI profile is preloaded (LD_PRELOAD)."""
        return bool(getattr(self.params, "mpi_profile", False))

    def command(self) -> list[str]:
        """The program and its arguments, word by word."""
        raise NotImplementedError

    def write_inputs(self, stage: Path) -> None:
        """Write the program's input files into `stage`."""

    def begin(self) -> None:
        """Start what runs outside of the job, before the job is handed in."""

    def end(self) -> None:
        """End what `begin` started: the job has ended."""

    def nodes_asked(self) -> Sequence[str] | None:
        """The nodes that the launch must have, so many hops apart; None: as Slurm places it."""
        hops, setting = self.definition.hops_asked(self.params), self.setting
        topology = setting.topology
        if hops and topology is not None:
            cores, allocation = setting.partition["shared_cores"], told_allocation()
            held = frozenset(allocation.nodes) if allocation else None
            # Where the allocation has no such pair, one that it lacks: the launch is refused.
            return topology.pair_at(hops, cores, held) or topology.pair_at(hops, cores)
        return None

    def came_to_its_end(self, output: json_lines.Output, text: str) -> bool:
        """True if the program reached its end; our programs print a line."""
        return output.ended

    def read(self, output: json_lines.Output, text: str) -> Reading:
        """The measurement in the launch's output; `text` is all of stdout."""
        raise NotImplementedError

    def wrong_answer(self, text: str) -> str | None:
        """A foreign program's own message that data were wrong, or None."""
        return None

    def said_elsewhere(self) -> list[str]:
        """Errors that what `begin` started told, to be added to why a launch failed."""
        return []

    def claim(self, nodes: Sequence[str]) -> Claim:
        """Claim that the evidence must bear out, of a launch on these nodes."""
        setting = self.setting
        return Claim(
            nodes=nodes,
            ranks=setting.ranks,
            ranks_per_node=setting.ranks_per_node,
            library_pattern=setting.library,
            wire_is_counted=setting.wire_is_counted,
            hosts_take_turns=self.definition.hosts_take_turns(self.params),
            seen=setting.seen,
            device=setting.device,
        )

    def stderr_text(self) -> str:
        """All of the launch's stderr. Raises OutputError if that is too much to read."""
        printed = self.setting.stderr()
        if printed.problem:
            raise json_lines.OutputError(printed.problem)
        return printed.text


class OwnProgram(MpiCheck):
    """A program that prints JSON lines; checks without a `run.py` use it as it is."""

    def command(self) -> list[str]:
        """The program with its parameters as options."""
        folder = self.setting.builds[self.definition.builds[-1]]
        return self.definition.command(self.params, folder)

    def read(self, output: json_lines.Output, text: str) -> Reading:
        """The values asked for, each once, or the launch is wrong."""
        return self.definition.read(self.params, output)
