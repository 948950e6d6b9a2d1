# SPDX-License-Identifier: Apache-2.0
"""Starts a command of a campaign, proves where it ran, and reads what it printed."""

from __future__ import annotations

import shlex
import shutil
import types
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

from reframe.core.builtins import fixture, run_before, variable

from checks.common.answer import Reading, died, other_program
from checks.common.base import MpiCheck
from checks.common.command import CommandDefinition
from checks.common.command.reading import read
from checks.common.evidence.ranks import Claim
from checks.common.json_lines import Output
from checks.common.session import builds
from records.flags import UNPROVEN
from records.site.node_lists import names_in


class CommandBuild(builds.MakeBuild):
    """`build` of a campaign, in a folder with its files."""

    line: CommandDefinition
    target = "none"
    valid_prog_environs = ["*"]

    @run_before("compile")
    def prepare(self) -> None:
        """Have the build done before make, which has nothing to do."""
        if self.kept and self.kept.is_dir():
            return
        folder = Path(self.stagedir, "command")
        folder.mkdir()
        self.line.write_files(folder)
        self.prebuild_cmds = [
            f"export CC={shlex.quote(self.current_environ.cc)}",
            f"(cd command && sh -ec {shlex.quote(self.line.line.build)})",
            "mkdir -p out && find command -maxdepth 1 -type f -exec cp -p -t out {} +",
        ]


class Run(MpiCheck):
    """One launch of a command."""

    #: Parameters of the launch.
    values = variable(dict, value={})

    definition: CommandDefinition

    @classmethod
    def parts_of(cls, _definition: Any) -> dict[str, Any]:
        """Its build, where it has one."""
        if not _definition.line.build:
            return {}

        def fill(space: dict[str, Any]) -> None:
            space["line"], space["__module__"] = _definition, builds.__name__

        kind = types.new_class(_definition.build_name, (CommandBuild,), exec_body=fill)
        return {"building": fixture(kind, scope="environment")}

    @classmethod
    def settings(cls, params: Any) -> dict[str, Any]:
        """The parameters together: a placeholder may have any name."""
        return {"values": dict(params)}

    @cached_property
    def params(self) -> Any:
        """The parameters, validated."""
        return self.definition.parameters.model_validate(self.values)

    @property
    def foreign(self) -> str | None:
        """Evidence is preloaded into a program with MPI."""
        return None if self.definition.without_mpi else self.definition.name

    def command(self) -> list[str]:
        """The words of the command; without MPI behind a wrapper that tells where it runs."""
        program = self.current_environ.extras["programs"].get(self.definition.line.program, "")
        words = self.definition.words(self.params, self.cpus_per_task, self.ranks_per_node, program)
        if self.definition.line.build:
            made = Path(self.building.folder, words[0])
            words[0] = str(made) if words[0].startswith("./") and made.is_file() else words[0]
        return ["./witness.sh", *words] if self.definition.without_mpi else words

    def write_inputs(self, stage: Path) -> None:
        """The files of the campaign, and what was built."""
        if self.definition.line.build and not self.is_dry_run():
            for file in Path(self.building.folder).iterdir():
                if file.is_file() and not file.name.startswith("."):
                    shutil.copy(file, stage / file.name)
        self.definition.write_files(stage)

    def came_to_its_end(self, output: Output, text: str) -> bool:
        """By its exit status."""
        return True

    def _failure(self, output: Output, text: str) -> str | None:
        right = self.definition.line.exit_status
        if right and output.exit_status == 0:
            return f"exit status 0; right is {right}"
        if right and output.exit_status == right:
            output.exit_status = 0
        return super()._failure(output, text)

    def claim(self, extras: dict[str, Any]) -> Claim:
        """Without MPI there is no library, and nothing that was set for it."""
        claim = super().claim(extras)
        if not self.definition.without_mpi:
            return claim
        return replace(claim, library_pattern="^none: no MPI", seen={}, device="")

    def may_be_unproven(self) -> bool:
        """A static program, or one without MPI that was declared to have it, gives no evidence."""
        return not self.definition.without_mpi

    def read(self, output: Output, text: str) -> Reading:
        """The metrics by the campaign's expressions, if the step was on the job's nodes."""
        if other := died(text) or other_program(None, [], output):
            return Reading(wrong=other)
        nodes = -(-self.ranks // self.ranks_per_node)
        memory = self.current_partition.extras["memory_bytes_per_node"]
        reading = read(
            self.definition.line, text, nodes * memory if memory else None, self.stderr_text
        )
        if not self.definition.without_mpi or output.evidence is None:
            return reading
        step = output.evidence.variables.get("step_nodes", "")
        if not step:
            return replace(reading, flags=[UNPROVEN])
        if not {*names_in(step)} <= {*(self.job.nodelist or ())}:
            return Reading(wrong=f"Slurm's step ran on {step:.80}, outside the job's nodes")
        return reading
