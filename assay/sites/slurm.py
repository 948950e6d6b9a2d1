# SPDX-License-Identifier: Apache-2.0
"""A site with a Slurm of its own, used from one of its login nodes."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path

from assay.sites.description import SiteDescription
from assay.sites.login import login_environment
from assay.sites.site import Site
from assay.sites.site_file import site_file
from records.errors import AssayError

_OPTION_VALUE = re.compile(r"[\w.,@%+=:/-]+")
_VARIABLE = re.compile(r"\$\{?([A-Za-z_]\w*)")
#: Variables that a site's file does not take from the caller's shell.
_OF_A_SHELL = re.compile(r"HOME|USER|LOGNAME|SHELL|PWD|.*PATH|LD_.*|(SLURM|SBATCH|SRUN)_.*")

#: Variables by which a caller names account, QOS and reservation, with the option of each.
CALLERS_OPTIONS = {
    "SBATCH_ACCOUNT": "--account",
    "SBATCH_QOS": "--qos",
    "SBATCH_RESERVATION": "--reservation",
}


def callers_access() -> list[str]:
    """Options of every sbatch that the caller's environment names; those of a site override them.

    Raises AssayError for a value that no option can have.
    """
    set_here = {name: os.environ[name] for name in CALLERS_OPTIONS if os.environ.get(name)}
    for name, value in set_here.items():
        if not _OPTION_VALUE.fullmatch(value):
            raise AssayError(
                f"environment variable {name}: found {value!r:.100}, allowed are letters, digits"
                " and ._,@%+=:/-; export another value or unset it"
            )
    return [f"{CALLERS_OPTIONS[name]}={value}" for name, value in set_here.items()]


def named_variables(description: SiteDescription) -> dict[str, str]:
    """Variables of the caller that a site's file names, such as $SCRATCH, but no list of folders
    and nothing that Slurm or a shell sets."""
    found = _VARIABLE.findall(description.model_dump_json())
    names = {name for name in found if not _OF_A_SHELL.fullmatch(name)}
    return {name: os.environ[name] for name in sorted(names & os.environ.keys())}


class SlurmSite(Site):
    """Commands run as the caller; capacity is as described."""

    def __init__(self, description: SiteDescription) -> None:
        access = [*callers_access(), *description.access]
        super().__init__(description.model_copy(update={"access": access}))

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
        self, argv: list[str], variables: dict[str, str], folder: Path | None = None
    ) -> tuple[list[str], dict[str, str]]:
        """`argv`, killed when its starter ends, with the site's variables and these."""
        del folder  # where it is started
        return ["setpriv", "--pdeathsig", "KILL", *argv], {**self.variables(), **variables}

    def variables(self) -> dict[str, str]:
        """Variables of a login shell of the system, and those of the caller that the file names."""
        return {**login_environment(), **named_variables(self.description)}

    def show_to_jobs(self, folders: Sequence[Path]) -> None:
        """Nothing: nodes see what the site has made so."""
