# SPDX-License-Identifier: Apache-2.0
"""A site with a Slurm of its own, used from one of its login nodes."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path

from assay.sites.description import SiteDescription
from assay.sites.site import Site
from assay.sites.site_file import site_file
from records.errors import AssayError

_OPTION_VALUE = re.compile(r"[\w.,@%+=:/-]+")


#: Variables by which a caller names account, QOS and reservation, with the option of each.
CALLERS_OPTIONS = {
    "SBATCH_ACCOUNT": "--account",
    "SBATCH_QOS": "--qos",
    "SBATCH_RESERVATION": "--reservation",
}
#: The variable that holds addresses of notifications, separated by blanks; they hold passwords.
ADDRESSES = "ASSAY_NOTIFY"


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


def environment_of_commands() -> dict[str, str]:
    """The caller's environment without options of sbatch, which ReFrame submits without, too, and
    without addresses of notifications."""
    return {
        name: value
        for name, value in os.environ.items()
        if name != ADDRESSES and not name.startswith("SBATCH_")
    }


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
        self, argv: list[str], variables: dict[str, str], reads: Sequence[Path] = ()
    ) -> tuple[list[str], dict[str, str]]:
        """`argv`, killed when its starter ends, in the caller's environment without SBATCH_*."""
        del reads  # the caller reads what is the caller's
        return ["setpriv", "--pdeathsig", "KILL", *argv], {**environment_of_commands(), **variables}

    def show_to_jobs(self, folders: Sequence[Path]) -> None:
        """Nothing: nodes see what the site has made so."""
