# SPDX-License-Identifier: Apache-2.0
"""The ReFrame class of a program of our own, made from its definition."""

from __future__ import annotations

from checks.common.answer import Reading
from checks.common.base import MpiCheck
from checks.common.json_lines import Output


class OwnProgram(MpiCheck):
    """A program that prints JSON lines; checks without a `run.py` use it as it is."""

    def command(self) -> list[str]:
        """The program with its parameters as options."""
        return self.definition.command(self.params, self.built)

    def read(self, output: Output, text: str) -> Reading:  # noqa: ARG002
        """The values asked for, each once, or the launch is wrong."""
        return self.definition.read(self.params, output)
