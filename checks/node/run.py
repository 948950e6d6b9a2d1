# SPDX-License-Identifier: Apache-2.0
"""What a node can do: our own program, which needs a BLAS as others do not."""

from __future__ import annotations

from reframe.core.builtins import fixture

from checks.common.base import OwnProgram
from checks.common.session.builds import BlasPrograms


class Run(OwnProgram):
    """The kernels on one node or on all."""

    blas_programs = fixture(BlasPrograms, scope="environment")

    def command(self) -> list[str]:
        """The program has a build of its own: where the BLAS is missing, others run."""
        return self.definition.command(self.params, self.blas_programs.folder)
