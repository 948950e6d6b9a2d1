# SPDX-License-Identifier: Apache-2.0
"""Starts a command of a campaign, proves where it ran, and reads what it printed."""

import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from checks.common.answer import Reading, died, other_program
from checks.common.base import MpiCheck, Setting
from checks.common.command import CommandDefinition, read
from checks.common.evidence import STEP_NODES, Claim
from checks.common.json_lines import Output
from records.flags import UNPROVEN


class Run(MpiCheck):
    """Launch of a command."""

    definition: CommandDefinition

    def __init__(self, definition: CommandDefinition, params: Any, setting: Setting) -> None:
        super().__init__(definition, params, setting)
        self.right_status = definition.line.exit_status
        # A static program, or one without MPI that was declared to have it, gives no evidence.
        self.may_be_unproven = not definition.without_mpi

    @property
    def foreign(self) -> str | None:
        """Evidence is preloaded into a program with MPI."""
        return None if self.definition.without_mpi else self.definition.name

    def command(self) -> list[str]:
        """The words of the command; without MPI behind a wrapper that tells where it runs."""
        definition, setting = self.definition, self.setting
        program = setting.programs.get(definition.line.program or "", "")
        words = definition.words(
            self.params, setting.cpus_per_task, setting.ranks_per_node, program
        )
        if definition.line.build:
            made = setting.builds[definition.build_name] / words[0]
            words[0] = str(made) if words[0].startswith("./") and made.is_file() else words[0]
        return ["./witness.sh", *words] if definition.without_mpi else words

    def write_inputs(self, stage: Path) -> None:
        """The files of the campaign, and what was built."""
        made = self.setting.builds.get(self.definition.build_name)
        if made is not None and made.is_dir():  # nothing is built in a dry run
            for file in made.iterdir():
                if file.is_file() and not file.name.startswith("."):
                    shutil.copy(file, stage / file.name)
        self.definition.write_files(stage)

    def came_to_its_end(self, output: Output, text: str) -> bool:
        """By its exit status."""
        return True

    def claim(self, nodes: Sequence[str]) -> Claim:
        """Without MPI there is no library, and nothing that was set for it."""
        claim = super().claim(nodes)
        if not self.definition.without_mpi:
            return claim
        return replace(claim, library_pattern="^none: no MPI", seen={}, device="")

    def read(self, output: Output, text: str) -> Reading:
        """The metrics by the campaign's expressions, if the step was on the job's nodes."""
        if other := died(text) or other_program(None, [], output):
            return Reading(wrong=other)
        setting, memory = self.setting, self.setting.partition["memory_bytes_per_node"]
        nodes = -(-setting.ranks // setting.ranks_per_node)
        memory_bytes = nodes * memory if memory else None
        reading = read(self.definition.line, text, memory_bytes, self.stderr_text)
        told = output.evidence is None or output.evidence.variables.get(STEP_NODES)
        alone = self.definition.without_mpi
        return replace(reading, flags=[UNPROVEN]) if alone and not told else reading
