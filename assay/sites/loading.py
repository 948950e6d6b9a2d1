# SPDX-License-Identifier: Apache-2.0
"""From the --site of a command line to a site in use."""

from __future__ import annotations

from assay.sites.site import Site
from assay.sites.site_file import chosen, read_site_file
from assay.sites.slurm import SlurmSite
from assay.sites.values import expanded
from assay.sites.virtual import VirtualSite
from checks.common.registry import add_folder
from records.errors import UnreachableError
from records.run.provenance import SiteAsRun
from reports.notation.units import count_text


def load_site(name: str) -> Site:
    """The site called `name` in site-config/, with its first partition.

    `NAME:PARTITION` is another partition, `virtual:CLUSTER` a virtual cluster of that name. Raises
    AssayError for an unknown or faulty description, UnreachableError for a virtual cluster that is
    not up.
    """
    folder, _, part = name.partition(":")
    file = read_site_file(folder)
    if file.virtual_cluster:
        return VirtualSite.load(chosen(file), part)
    return SlurmSite.load(chosen(file, part))


def site_to_plan_for(name: str) -> tuple[Site, str]:
    """The site as `load_site` gives it, and ""; of a virtual cluster that cannot be asked the one
    that would be brought up here now, and a sentence that says so."""
    try:
        return load_site(name), ""
    except UnreachableError as error:
        folder, _, cluster = name.partition(":")
        site = VirtualSite.planned(chosen(read_site_file(folder)), cluster)
        size = count_text(site.description.nodes, "node")
        cores = count_text(site.description.cores_per_node, "core")
        return site, f"{error}; the plan assumes {size} of {cores}"


def add_checks_of(name: str) -> None:
    """Add the site's own checks to those there are; no cluster is asked."""
    folder = name.partition(":")[0]
    for path in read_site_file(folder).checks:
        add_folder(expanded(path), f"site {folder}: checks")


def revival(name: str, began_on: SiteAsRun) -> str | None:
    """The command that brings up the like of the site `name` of a provenance; None if none does."""
    file = read_site_file(name.partition(":")[0])
    return VirtualSite.revival(began_on) if file.virtual_cluster else None
