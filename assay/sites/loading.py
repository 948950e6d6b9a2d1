# SPDX-License-Identifier: Apache-2.0
"""From the --site of a command line to a site in use."""

from __future__ import annotations

import os

from assay.sites.description import SiteDescription
from assay.sites.site import Site
from assay.sites.site_file import read_description
from assay.sites.slurm import SlurmSite
from assay.sites.virtual import VirtualSite
from checks.common.registry import add_folder
from records.provenance import SiteAsRun


def load_site(name: str) -> Site:
    """The site called `name` in site-config/; `virtual:NAME` is a virtual cluster of that name.
    Raises AssayError for an unknown or faulty description, and for a virtual cluster that is not
    up; InfrastructureError for a caller who may not use it.
    """
    folder, _, cluster = name.partition(":")
    description = read_description(folder)
    return _kind(description).load(description, cluster)


def add_checks_of(name: str) -> None:
    """Add the site's own checks to those there are; no cluster is asked."""
    folder = name.partition(":")[0]
    for path in read_description(folder).checks:
        add_folder(os.path.expandvars(path), f"site {folder}: checks")


def revival(name: str, began_on: SiteAsRun) -> str | None:
    """The command that brings up the like of the site `name` of a provenance; None if none does."""
    return _kind(read_description(name.partition(":")[0])).revival(began_on)


def _kind(description: SiteDescription) -> type[Site]:
    return VirtualSite if description.virtual_cluster else SlurmSite
