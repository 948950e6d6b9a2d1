# SPDX-License-Identifier: Apache-2.0
"""Program of our own that needs a BLAS, as others do not."""

from __future__ import annotations

from checks.common.base import OwnProgram


class Run(OwnProgram):
    """The kernels on one node or on all."""

    def command(self) -> list[str]:
        """The program has a build of its own: where the BLAS is missing, others run."""
        return self.definition.command(self.params, self.setting.builds["BlasPrograms"])
