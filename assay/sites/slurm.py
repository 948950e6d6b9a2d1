# SPDX-License-Identifier: Apache-2.0
"""A site with a Slurm of its own, used from one of its login nodes."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from assay.sites.description import SiteDescription
from assay.sites.site import Site
from assay.sites.site_file import site_file
from records.errors import AssayError


class SlurmSite(Site):
    """Commands run as the caller; capacity is as described."""

    @classmethod
    def load(cls, description: SiteDescription) -> SlurmSite:
        """The site with the topology.conf read that its description names."""
        name, topology = description.name, description.topology
        if topology is not None:
            file = site_file(name)
            try:
                topology = topology.read(file.parent)
                topology.topology()
            except AssayError as error:
                raise AssayError(f"{file}: {error}") from error
        return cls(description.model_copy(update={"topology": topology}))

    def command(
        self, argv: list[str], variables: dict[str, str], reads: Sequence[Path] = ()
    ) -> tuple[list[str], dict[str, str]]:
        """`argv`, killed when its starter ends, in the caller's environment."""
        del reads  # the caller reads what is the caller's
        return ["setpriv", "--pdeathsig", "KILL", *argv], {**os.environ, **variables}

    def show_to_jobs(self, folders: Sequence[Path]) -> None:
        """Nothing: nodes see what the site has made so."""
