# SPDX-License-Identifier: Apache-2.0
"""Forms of what concerns machines and checks: `doctor`, `site`, `cluster status`, `checks`."""

from __future__ import annotations

from typing import Any, Literal

from assay.machine.form import Form, Part


class Requirement(Part):
    """One thing that is needed."""

    what: str
    """What it is."""
    found: bool
    """Whether it is there."""
    seen: str
    """What was seen of it."""
    remedy: str
    """What mends it where it is missing."""
    needed: bool
    """False: only some use needs it, and its absence fails nothing."""


class Doctor(Form):
    """`assay doctor`: requirements, found or missing."""

    findings: list[Requirement]
    """Every requirement."""


class SiteChange(Part):
    """One thing that differs from the last proof of a site."""

    what: str
    """What it is."""
    before: str | None
    """What it was; null: it was not there."""
    now: str | None
    """What it is now; null: it is gone."""


class SiteChecked(Form):
    """`assay site check`: a site proven again."""

    site: str
    """The site."""
    faults: list[str]
    """What is not proven now."""
    changes: list[SiteChange]
    """What changed since the last proof."""
    proof: dict[str, Any] | None
    """The proof, as it lies beside site.yaml; null: no job could run."""


class SiteWritten(Form):
    """`assay site init`: a site's description, written and proven."""

    site: str
    """Its name."""
    file: str
    """The file written."""
    description: dict[str, Any]
    """What stands in it."""
    left_out: Any
    """What was found and left out, with the reason."""
    proof: dict[str, Any]
    """What jobs proved."""


class ClusterNode(Part):
    """A node of a virtual cluster."""

    name: str
    """Its name."""
    state: str
    """Slurm's state of it."""
    power: bool
    """Whether it has power."""
    cores: list[int]
    """The machine's cores that it has."""
    address: str
    """Its address."""


class ClusterJob(Part):
    """A job of a virtual cluster that has not ended."""

    job_id: str
    """Slurm's id."""
    name: str
    """Its name."""
    user: str
    """Whose it is."""
    state: str
    """Slurm's state of it."""
    nodes: str
    """The nodes that it has."""


class Cluster(Form, extra="allow"):
    """`assay cluster status`: a virtual cluster; beside nodes and jobs the facts of its site."""

    name: str
    """Its name."""
    network: str
    """The kind of its links."""
    user: str
    """The ordinary user of its jobs."""
    work_dir: str
    """Where jobs are staged."""
    nodes: list[ClusterNode]
    """Its nodes."""
    jobs: list[ClusterJob]
    """Jobs that have not ended."""


class CheckOverview(Part):
    """A check."""

    name: str
    """Its name."""
    title: str
    """Its title."""
    program: str
    """Whose program it runs."""
    needs: list[str]
    """Features that an environment must have."""
    folder: str
    """Where it lies."""


class Checks(Form):
    """`assay checks`: what can be measured."""

    checks: list[CheckOverview]
    """Every check."""


class ParameterTold(Part):
    """A parameter of a check."""

    name: str
    """Its name."""
    meaning: str
    """What it means."""
    unit: str
    """Its unit."""
    required: bool
    """Whether it must be given."""
    default: Any
    """What holds where it is not given."""
    allowed: str
    """What it may be."""


class MetricTold(Part):
    """A metric of a check."""

    name: str
    """Its name."""
    unit: str
    """Its SI unit."""
    better: Literal["higher", "lower"]
    """Which direction is better."""
    definition: str
    """What it is."""


class CheckTold(Form):
    """`assay checks NAME`: all of one check."""

    name: str
    """Its name."""
    title: str
    """Its title."""
    program: str
    """Whose program it runs."""
    needs: list[str]
    """Features that an environment must have."""
    folder: str
    """Where it lies."""
    purpose: str
    """What it is for."""
    compared_by: Any
    """The metric by which environments are compared."""
    parameters: list[ParameterTold]
    """Its parameters."""
    follows_the_site: dict[str, str | None]
    """Keys of a campaign file for sizes that follow the site."""
    metrics: list[MetricTold]
    """Its metrics."""
    points: list[str]
    """What tells the values of one launch from each other."""
    layout: dict[str, str | None]
    """How ranks, memory and time follow from the parameters."""
    example: str
    """An entry of a campaign file."""
