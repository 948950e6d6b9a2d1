# SPDX-License-Identifier: Apache-2.0
"""A site in use: the part that all kinds of sites have in common."""

from __future__ import annotations

import json
import os
import re
import time
from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar, Self

import msgspec

from assay import BASE, setup_command
from assay.commands import Pause, run_command
from assay.schedulers.local import LocalScheduler
from assay.schedulers.seam import Scheduler
from assay.schedulers.slurm import SlurmScheduler
from assay.schema.document import did_you_mean, listed
from assay.schema.model import Variant
from assay.sites.description import VALUE, EnvironmentDescription, SiteDescription
from assay.sites.site_file import facts_file, site_file
from assay.sites.values import expanded, unset_fault
from checks.common.definition import SiteCapacity
from checks.common.parameters import values_of
from checks.common.session.launch_commands import preparation
from checks.common.slurm.commands import Answer, Slurm, option_values
from records.errors import AssayError, InfrastructureError
from records.plugins import hooks
from records.run.provenance import SiteAsRun
from virtual_cluster.session_python import python_words

_NO_HPL = (
    "not named, and there is no source of HPL to build it: %s is no file; run %s, or name an"
    " archive as hpl_source"
)
_NODE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


class Site(ABC):
    """A described site; its topology and capacity are those that it has now."""

    #: True where nodes that are down come back by themselves, so that a launch waits for them.
    down_nodes_return: ClassVar[bool] = True

    def __init__(self, description: SiteDescription) -> None:
        self.description = description
        self.name = description.name
        self._absent: dict[str, str] = {}

    @abstractmethod
    def command(
        self, argv: list[str], variables: dict[str, str], folder: Path | None = None
    ) -> tuple[list[str], dict[str, str]]:
        """`argv` and its environment as they must be started to talk to the site's Slurm.

        `folder`: the working folder, in which the caller starts it, too; None: any.
        """

    @abstractmethod
    def variables(self) -> dict[str, str]:
        """Variables of this machine with which commands and jobs of the site begin."""

    def python_words(self, module: str) -> list[str]:
        """The words that run a module of Assay where launches are submitted, for `command`."""
        return python_words(None, module)

    def here(self, path: str) -> Path:
        """The path on this machine of a file that launches see at `path`."""
        return Path(path)

    def ask(
        self,
        argv: Sequence[str],
        given: bytes = b"",
        *,
        limit_s: float | None = None,
        pause: Pause = time.sleep,
    ) -> Answer:
        """The answer to a command that runs where launches are submitted.

        Its status is 127 where there is no such program. Raises InfrastructureError when it does
        not end.
        """
        command, environment = self.command(list(argv), {})
        return run_command(command, environment, given, limit_s, called=argv[0], pause=pause)

    def slurm(self) -> Slurm:
        """The site's Slurm; a command that does not end has status 124."""

        def run(argv: Sequence[str]) -> Answer:
            try:
                return self.ask(argv)
            except InfrastructureError as silence:
                return Answer(124, "", str(silence))

        return Slurm(run)

    def slurm_output(self, *argv: str) -> str:
        """Standard output of a command of the site, stripped; "" where it is not there."""
        return self.ask(argv).stdout.strip()

    def show_to_jobs(self, folders: Sequence[Path]) -> None:  # noqa: B027  most nodes see all
        """Let sessions and jobs read folders of this machine, where they do not anyway."""

    def scheduler(self) -> Scheduler:
        """Its scheduler. Raises AssayError for one that neither Assay nor a plugin has."""
        known: dict[str, type[Scheduler]] = {"slurm": SlurmScheduler, "local": LocalScheduler}
        for brought in hooks("schedulers"):
            known |= brought
        name = self.description.scheduler
        if name not in known:
            raise AssayError(
                f"{site_file(self.name)}: scheduler: found {name!r}{did_you_mean(name, known)};"
                f" allowed is {listed(sorted(known))}"
            )
        return known[name](self)

    def identity(self) -> str:
        """The cluster: what was built for others is not run."""
        return self.scheduler().identity()

    def work_dir(self, run_dir: Path, name: str) -> Path:
        """Folder of a run's launches, seen by all nodes; `name` is of this run alone."""
        if self.description.work_dir is not None:
            return Path(expanded(self.description.work_dir)) / name
        return run_dir / "work"

    def provenance(self) -> SiteAsRun:
        """The site in a run's provenance."""
        return msgspec.convert({**self.description.model_dump(), "virtual": False}, SiteAsRun)

    def facts(self) -> SiteFacts:
        """Facts for a plan; looks for the foreign programs."""
        described = self.description
        bits, peak = described.network.bits_per_second, described.core_peak_flop_per_s
        source, missing = self.hpl_source(), dict[str, dict[str, str]]()
        features: dict[str, set[str]] = {}
        for name, environment in described.environments.items():
            reasons = {name: self._absence(path) for name, path in environment.programs.items()}
            missing[name] = {program: why for program, why in reasons.items() if why}
            features[name] = {
                *environment.features,
                *(f"program:{one}" for one in environment.programs if one not in missing[name]),
                *(f"storage:{target}" for target in described.storage),
            }
            is_built = "hpl" not in environment.programs and not environment.ready_programs
            if is_built and not Path(source).is_file():
                missing[name]["hpl"] = _NO_HPL % (source, setup_command("hpl-source"))
        return SiteFacts(
            name=self.name,
            nodes=described.nodes,
            cores_per_node=described.cores_per_node,
            memory_bytes_per_node=described.memory_bytes_per_node,
            environments=features,
            # Half of the peak: what large matrices reach on most machines. Without a peak: an old
            # core's for sizes, so that they keep to their time; a usual one's for times.
            core_flop_per_s=(peak or 1e10) / 2,
            likely_core_flop_per_s=(peak or 3e10) / 2,
            network_bytes_per_s=bits / 8 if bits else 1.25e9,
            ranks_per_link=described.network.ranks_per_link,
            topology=described.topology.topology() if described.topology else None,
            shared_cores=described.shared_cores,
            missing=missing,
            partition=described.partition,
            sockets_per_node=described.sockets_per_node,
            longest_job_s=described.longest_job_s,
            resources={name: values_of(one) for name, one in described.resources.items()},
            absent={**self.scheduler().absent, **self._absent},
        )

    def session_data(self) -> dict[str, Any]:
        """The description for a ReFrame session, with the foreign programs that are there."""
        data = self.description.model_dump(mode="json", by_alias=True)
        if data["module_init"]:
            data["module_init"] = expanded(data["module_init"])
        for target in data["storage"].values():
            target["folder"] = expanded(target["folder"])
        data["down_nodes_return"] = self.down_nodes_return
        scheduler = self.scheduler()
        data["schedulers"] = {key: getattr(scheduler, key) for key in ("jobs", "steps", "alone")}
        for environment in data["environments"].values():
            environment["programs"] = {
                program: expanded(path)
                for program, path in environment["programs"].items()
                if not self._absence(path)
            }
        return data

    def _absence(self, path: str) -> str | None:
        """Why a foreign program is not offered; None where it is there or the launch looks."""
        if fault := unset_fault(path):
            return f"{path}: {fault}"
        there = expanded(path)
        if "/" in there and not self.here(there).exists():
            return f"{there} does not exist"
        return None

    def preparation(self, environment: str) -> list[str]:
        """Shell lines by which jobs and probes make their shell ready for an environment."""
        data = self.session_data()
        return preparation(data, data["environments"][environment])

    def output_in(self, environment: str, shell_text: str) -> str:
        """Standard output of bash for a text where launches are submitted, made ready for an
        environment; "" where that fails."""
        lines = [*self.preparation(environment), shell_text]
        return self.slurm_output("bash", "-c", "\n".join(lines))

    def hpl_source(self) -> str:
        """The archive with HPL's source: the site's, or the one that a demo brings; it may lack."""
        if self.description.hpl_source:
            return expanded(self.description.hpl_source)
        folder = BASE / "build" / "sources"
        brought = folder / "hpcc_1.5.0.orig.tar.gz"  # by setup/hpl-source.sh
        return str(min(folder.glob("hpcc_*.orig.tar.gz"), default=brought))

    def changed(self, **update: Any) -> Self:
        """The site with some of its description replaced."""
        site = copy(self)
        site.description = self.description.model_copy(update=update)
        return site

    def with_variants(self, variants: Mapping[str, Variant]) -> Self:
        """The site with a campaign's variants among its environments.

        Raises AssayError for a variant that it cannot give.
        """
        site = self.with_possible_variants(variants)
        for reason in site._absent.values():
            raise AssayError(reason)
        return site

    def with_possible_variants(self, variants: Mapping[str, Variant]) -> Self:
        """As `with_variants`, without those that it cannot give: `facts` says why.

        Raises AssayError for one that has the name of an environment of the site.
        """
        own = self.description.environments
        made, absent = dict(own), {}
        for name, variant in variants.items():
            if name in own:
                raise AssayError(
                    f"variants.{name}: site {self.name} has an environment of this name; choose"
                    " another"
                )
            try:
                made[name] = _varied(name, variant, own, self.name)
            except AssayError as error:
                absent[name] = str(error)
        site = self.changed(environments=made)
        site._absent = absent
        return site

    def with_builds(self, builder: str | None) -> Self:
        """The site with `builder`'s builds under the names of what they replace.

        None: as described. Raises AssayError when the site has no Spack builds.
        """
        if builder in (None, "distribution"):
            return self
        described, built = self.description.environments, self.description.spack
        if built is None:
            raise AssayError(f"site {self.name}: its site.yaml has no section `spack`")
        served = {name for names in built.views.values() for name in names}
        stand_ins = {name: described[built.name_of(name)] for name in described if name in served}
        return self.changed(environments=stand_ins)

    def without_nodes(self, names: Collection[str]) -> Self:
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
        # Of several options of one name sbatch takes the last.
        excluded = [*option_values(described.access, "exclude", "x")[-1:], *sorted(names)]
        return self.changed(
            topology=topology,
            access=[*described.access, f"--exclude={','.join(excluded)}"],
            nodes=max(0, described.nodes - len(names)),
        )

    def spack_facts(self, name: str) -> dict[str, Any] | None:
        """Origins of the environment `name`, as assay.build.builder notes them; None for one that
        Spack does not build. Raises InfrastructureError when its build is not complete."""
        view = self.description.environments[name].spack_view
        if view is None:
            return None
        path = facts_file(self.name, view)
        if not os.access(path, os.R_OK):
            raise InfrastructureError(
                f"site {self.name}: Spack has not built {view} (no {path}). Run: assay build --site"
                f" {self.name}"
            )
        facts: dict[str, Any] = json.loads(path.read_bytes())
        return facts


def _varied(
    name: str, variant: Variant, environments: Mapping[str, EnvironmentDescription], site: str
) -> EnvironmentDescription:
    """The variant called `name` of an environment of `site`; AssayError where there is none.

    No word of a campaign reaches a command line, only a number inside the site's range.
    """
    place = f"variants.{name}"
    if variant.of not in environments:
        raise AssayError(
            f"{place}.of: site {site} has no environment {variant.of!r}"
            f"{did_you_mean(variant.of, environments)}; it has {listed(sorted(environments))}"
        )
    environment = environments[variant.of]
    words, variables = list[str](), dict(environment.variables)
    for key, value in variant.settings.items():
        described = environment.settings.get(key)
        if described is None:
            known = listed(sorted(environment.settings)) or "none"
            raise AssayError(
                f"{place}.settings.{key}: no such setting of that environment; it has {known}"
            )
        if not described.least <= value <= described.greatest:
            by = f", by {described.seen_as} of {variant.of}" if described.seen_as else ""
            raise AssayError(
                f"{place}.settings.{key}: found {value}; allowed is {described.least} to"
                f" {described.greatest} {described.unit}{by}"
            )
        words += [word.replace(VALUE, str(value)) for word in described.options]
        variables |= {k: v.replace(VALUE, str(value)) for k, v in described.variables.items()}
    changed = ", ".join(f"{key} = {value}" for key, value in variant.settings.items())
    update = {
        "description": f"{environment.description}; {changed}",
        "launcher_options": [*words, *environment.launcher_options],
        "variables": variables,
        "variant_of": variant.of,
        "chosen": dict(variant.settings),
    }
    return environment.model_copy(update=update)


@dataclass(frozen=True)
class SiteFacts(SiteCapacity):
    """Capacity of a site and what its environments offer when the site is used.

    `environments` maps each environment's name to its features, e.g. {"lam": {"mpi"}}; `missing`
    says for each environment why a foreign program of its description is not offered, `absent` of
    a campaign's variant why the site cannot give it.
    `longest_job_s` is what the partition allows a job; None: nothing is known of it. `resources`
    are those that cases may ask for, each with the values that it takes.
    """

    environments: Mapping[str, frozenset[str] | set[str]]
    missing: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    partition: str = ""
    sockets_per_node: int | None = None
    longest_job_s: int | None = None
    resources: Mapping[str, frozenset[str]] = field(default_factory=dict)
    absent: Mapping[str, str] = field(default_factory=dict)

    def with_cpus_per_task(self, cpus: int | None) -> SiteFacts:
        """The site as it is for ranks of so many CPUs; a node has room for one of them at least."""
        if cpus is None:
            return self
        return replace(self, cores_per_node=max(1, self.cores_per_node // cpus))

    def __post_init__(self) -> None:
        for key in ("nodes", "cores_per_node", "memory_bytes_per_node"):
            if getattr(self, key) < 1:
                raise AssayError(
                    f"site {self.name}: {key} is {getattr(self, key)}; allowed is 1 or more"
                )
