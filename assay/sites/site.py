# SPDX-License-Identifier: Apache-2.0
"""WHERE: a site, and how programs are started there.

`site-config/<site>/site.yaml` is the only place that knows hosts, partitions, accounts and paths.
Everything else asks this module.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from assay.schema.model import Variant
from assay.sites.builds import build_facts, replaced_by_spack, with_spack
from assay.sites.description import EnvironmentDescription, NetworkDescription, SiteDescription
from assay.sites.facts import SiteFacts
from assay.sites.settings import refuse_wrong_variants, told
from records.errors import AssayError, InfrastructureError
from records.topology import TopologyDescription

#: Folder with one folder a site.
SITES = Path(__file__).resolve().parents[2] / "site-config"
_NODE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


class Site:
    """A described site, with a running virtual cluster's facts filled in where it is one."""

    def __init__(self, description: SiteDescription, cluster: Any = None) -> None:
        self.description = description
        self.cluster = cluster
        self.name = description.name

    def facts(self) -> SiteFacts:
        """What a plan must know."""
        described = self.description
        bits = described.network.bits_per_second
        environments = {name: _features(e) for name, e in described.environments.items()}
        return SiteFacts(
            name=self.name,
            virtual=self.cluster is not None,
            nodes=described.nodes,
            cores_per_node=described.cores_per_node,
            memory_bytes_per_node=described.memory_bytes_per_node,
            environments=environments,
            network_bytes_per_s=bits / 8 if bits else 1.25e9,
            topology=described.topology.topology() if described.topology else None,
            shared_cores=described.shared_cores,
        )

    def with_variants(self, variants: Mapping[str, Variant]) -> Site:
        """The site with a campaign's variants among its environments.

        Raises AssayError for a variant it cannot give.
        """
        own = self.description.environments
        settings = {name: environment.settings for name, environment in own.items()}
        refuse_wrong_variants(variants, settings, self.name)
        made = {name: _vary(own[variant.of], variant) for name, variant in variants.items()}
        description = self.description.model_copy(update={"environments": {**own, **made}})
        return Site(description, self.cluster)

    def with_builds(self, builder: str | None) -> Site:
        """The site with `builder`'s builds under the names of what they stand in for.

        None: as described. Raises AssayError when the site has no Spack builds.
        """
        if builder in (None, "distribution"):
            return self
        if self.description.spack is None:
            raise AssayError(f"site {self.name}: its site.yaml has no section `spack`")
        environments = replaced_by_spack(self.description.environments, self.description.spack)
        description = self.description.model_copy(update={"environments": environments})
        return Site(description, self.cluster)

    def without_nodes(self, names: Collection[str]) -> Site:
        """The site with launches kept off some of its nodes."""
        odd = [name for name in names if not _NODE_NAME.fullmatch(name)]
        if odd:
            raise AssayError(f"{odd[0]!r} is no name of a node; nothing was run")
        if not names:
            return self
        described = self.description
        topology = described.topology
        if topology is not None:
            topology = topology.model_copy(update={"left_out": sorted(names)})
        changed = {
            "topology": topology,
            "access": [*described.access, f"--exclude={','.join(sorted(names))}"],
            "nodes": max(0, described.nodes - len(names)),
        }
        return Site(described.model_copy(update=changed), self.cluster)

    def spack_facts(self, name: str) -> dict[str, Any] | None:
        """What the environment `name` was built from by Spack; None if by somebody else.

        Raises InfrastructureError when it is not built.
        """
        view = self.description.environments[name].spack_view
        if view is None or self.description.spack is None:
            return None
        return build_facts(self.name, view)

    def work_dir(self, run_dir: Path) -> Path:
        """Where launches of a run are staged: seen by all nodes, writable by the job's user."""
        if self.description.work_dir is not None:
            return Path(os.path.expandvars(self.description.work_dir)) / run_dir.name
        return run_dir / "work"

    def command(
        self, argv: list[str], variables: dict[str, str]
    ) -> tuple[list[str], dict[str, str]]:
        """`argv` and its environment as they must be started here to talk to the site's Slurm.

        On a virtual cluster: inside its login network, as its ordinary user, who can read the
        checkout wherever it lies.
        """
        if self.cluster is None:
            return ["setpriv", "--pdeathsig", "KILL", *argv], {**os.environ, **variables}
        return self.cluster.user_command(argv, env=variables, read_anywhere=True), dict(os.environ)

    def prepare_work_dir(self, path: Path) -> None:
        """Make `path`; on a virtual cluster it belongs to the jobs' user."""
        path.mkdir(parents=True, exist_ok=True)
        if self.cluster is not None:
            facts = self.cluster.site_facts()
            os.chown(path, facts["uid"], facts["gid"])


def _features(environment: EnvironmentDescription) -> frozenset[str]:
    """What it says it offers, and a feature "program:NAME" for each foreign program."""
    programs = {f"program:{name}" for name in environment.programs}
    return frozenset(environment.features) | programs


def _vary(environment: EnvironmentDescription, variant: Variant) -> EnvironmentDescription:
    words: list[str] = []
    variables = dict(environment.variables)
    for name, value in variant.settings.items():
        more_words, more_variables = told(environment.settings[name], value)
        words += more_words
        variables |= more_variables
    changed = ", ".join(f"{name} = {value}" for name, value in variant.settings.items())
    return environment.model_copy(
        update={
            "description": f"{environment.description}; {changed}",
            "launcher_options": [*words, *environment.launcher_options],
            "variables": variables,
            "variant_of": variant.of,
            "chosen": dict(variant.settings),
        }
    )


def load_site(name: str) -> Site:
    """The site called `name` in site-config/; `virtual:NAME` is a virtual cluster of that name.

    Raises AssayError for an unknown or damaged description, InfrastructureError when a virtual
    cluster is not up.
    """
    site, _, cluster_name = name.partition(":")
    description = read_description(site)
    if description.virtual_cluster is None:
        if cluster_name:
            raise AssayError(f"site {site} is no virtual cluster; write --site {site}")
        return Site(description)
    return _with_cluster(description, cluster_name or description.virtual_cluster)


def read_description(site: str) -> SiteDescription:
    """A site as its folder describes it, with what Spack builds for it; no cluster is asked."""
    file = _site_file(site)
    description = _with_topology(_read(file), file)
    if description.name != site:
        raise AssayError(f"{file}: name: {description.name!r}; it must be its folder's, {site!r}")
    if description.spack is None:
        return description
    environments = with_spack(description.environments, description.spack, site)
    return description.model_copy(update={"environments": environments})


def _with_topology(description: SiteDescription, file: Path) -> SiteDescription:
    """The description with the topology read from where it is kept, and found to be one."""
    if description.topology is None:
        return description
    try:
        topology = description.topology.read(file.parent)
        topology.topology()
    except AssayError as error:
        raise AssayError(f"{file}: {error}") from error
    return description.model_copy(update={"topology": topology})


def _site_file(site: str) -> Path:
    known = sorted(path.parent.name for path in SITES.glob("*/site.yaml"))
    if site not in known:
        raise AssayError(
            f"--site {site!r}: no such site. Known are {', '.join(known)}; a new one is a folder"
            f" site-config/<site>/ with a site.yaml."
        )
    return SITES / site / "site.yaml"


def _read(path: Path) -> SiteDescription:
    try:
        return SiteDescription.model_validate(yaml.safe_load(path.read_text()))
    except OSError as error:
        raise AssayError(f"{path}: {error.strerror}") from error
    except yaml.YAMLError as error:
        raise AssayError(f"{path}: not YAML: {error}") from error
    except ValidationError as error:
        lines = [f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors()]
        raise AssayError("\n".join(f"{path}: {line}" for line in lines)) from error


def _with_cluster(description: SiteDescription, cluster_name: str) -> Site:
    from virtual_cluster import load  # noqa: PLC0415  needed on virtual sites only

    if os.geteuid() != 0:
        raise InfrastructureError(
            f"the virtual cluster {cluster_name} belongs to root: run assay with sudo"
        )
    cluster = load(cluster_name)
    facts = cluster.site_facts()
    network = NetworkDescription(name=facts["network"], bits_per_second=facts["network_bits_per_s"])
    filled = description.model_copy(
        update={
            "nodes": len(facts["nodes"]),
            "cores_per_node": facts["cores_per_node"],
            "memory_bytes_per_node": facts["memory_bytes_per_node"],
            "network": network,
            "topology": _topology_of(facts),
            "shared_cores": facts["cores"],
            "work_dir": facts["work_dir"],
        }
    )
    return Site(filled, cluster)


def _topology_of(facts: dict[str, Any]) -> TopologyDescription | None:
    """The tree of a virtual cluster's switches; None where it has but one."""
    switches = facts["switches"]
    return TopologyDescription(switches=switches) if len(switches) > 1 else None
