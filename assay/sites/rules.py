# SPDX-License-Identifier: Apache-2.0
"""Rules between the parts of a site.yaml that are right by themselves."""

from __future__ import annotations

import json
import re
import shlex
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from assay.schema.document import Location, Problem
from assay.schema.problems import listed, one_of
from assay.sites.description import PartitionDescription, PartitionKeys, SiteFile, SpackDescription
from assay.sites.values import unset_fault
from records.errors import AssayError

#: Extras of a partition that checks read; ReFrame adds the last two.
OUR_EXTRAS = frozenset(
    {
        *("build_on", "down_nodes_return", "longest_job_s", "nominal", "shared_cores"),
        *("slurm_partition", "storage", "memory_bytes_per_node", "topology", "wire_is_counted"),
        *("launcher", "scheduler"),
    }
)


def faults_between(file: SiteFile, site: str) -> Iterator[Problem]:
    """Every fault between the parts of the file of `site`."""
    if file.name != site:
        yield Problem(("name",), f"found {file.name}; allowed is its folder's name, {site}")
    for name, environment in file.environments.items():
        if environment.modules and file.modules_system == "nomod":
            yield Problem(
                ("environments", name, "modules"),
                f"found {listed(environment.modules)}; modules need modules_system at the top of"
                " the file, e.g. modules_system: lmod",
            )
    for name, partition in file.partitions.items():
        yield from _partition_faults(partition, file, ("partitions", name))
    if file.spack is not None:
        yield from _spack_faults(file.spack, file)


def _partition_faults(
    partition: PartitionDescription, file: SiteFile, place: Location
) -> Iterator[Problem]:
    for index, environment in enumerate(partition.environments or ()):
        yield from one_of(environment, file.environments, (*place, "environments", index))
    for index, option in enumerate(partition.access):
        if any(re.match(r"-p|--partition(=|$)", word) for word in shlex.split(option)):
            text = (
                f"found {option}; jobs go to the partition that `partitions` names: call the"
                " entry so, or give it slurm_partition"
            )
            yield Problem((*place, "access", index), text)
    if stated := partition.reframe.model_dump(exclude_defaults=True):
        yield from _reframe_faults(stated, (*place, "reframe"))
    for key in ("nodes", "cores_per_node", "memory_bytes_per_node"):
        if file.virtual_cluster is None and getattr(partition, key) == 0:
            meaning = PartitionKeys.model_fields[key].description
            text = f"is missing; allowed is an integer of at least 1. {meaning}"
            yield Problem((*place, key), text)
    if partition.topology is not None:
        try:
            partition.topology.topology()
        except AssayError as error:
            yield Problem((*place, "topology"), str(error).removeprefix("topology: "))


def _spack_faults(built: SpackDescription, file: SiteFile) -> Iterator[Problem]:
    served = Counter(name for names in built.views.values() for name in names)
    for view, names in built.views.items():
        for index, name in enumerate(names):
            place = ("spack", "views", view, index)
            yield from one_of(name, file.environments, place)
            if served[name] > 1:
                yield Problem(place, f"{name} is served more than once; keep one")
            if not built.alone and built.name_of(name) in file.environments:
                taken = f"the name of its build, {built.name_of(name)}, is taken"
                yield Problem(place, f"{taken} by an environment of the site; rename that")
    for key in ("devices", "settings"):
        for view in getattr(built, key):
            yield from one_of(view, built.views, ("spack", key, view))


def _reframe_faults(stated: Mapping[str, Any], place: Location) -> Iterator[Problem]:
    """Keys that ReFrame's own schema does not take, and extras that are Assay's own."""
    for name in sorted(OUR_EXTRAS & stated.get("extras", {}).keys()):
        yield Problem((*place, "extras", name), "is an extra of Assay's own; choose another name")
    whole = {"name": "x", "scheduler": "x", "launcher": "x", **stated}
    for error in _reframe_validator().iter_errors(whole):
        text = f"ReFrame does not take it: {error.message[:200]}"
        if error.validator == "additionalProperties":
            text += f"; allowed are {listed(error.schema['properties'])}"
        yield Problem((*place, *error.absolute_path), text)


@cache
def _reframe_validator() -> Any:
    """Of a partition in ReFrame's configuration."""
    import jsonschema  # slow: needed only where the section is used

    spec = find_spec("reframe")
    assert spec is not None and spec.origin is not None
    whole = json.loads(Path(spec.origin).with_name("schemas").joinpath("config.json").read_text())
    partition = whole["properties"]["systems"]["items"]["properties"]["partitions"]["items"]
    return jsonschema.Draft7Validator({**partition, "defs": whole["defs"]})


def unset_variables(whole: Mapping[str, Any]) -> Iterator[Problem]:
    """Variables that are not set in paths that a run cannot do without; the value may be faulty."""
    paths: dict[Location, Any] = {
        (key,): whole.get(key) for key in ("work_dir", "module_init", "hpl_source")
    }
    checks, partitions = whole.get("checks"), whole.get("partitions")
    if isinstance(checks, list):
        paths |= {("checks", index): path for index, path in enumerate(checks)}
    for name, partition in partitions.items() if isinstance(partitions, dict) else ():
        topology = partition.get("topology") if isinstance(partition, dict) else None
        if isinstance(topology, dict):
            paths["partitions", name, "topology", "slurm"] = topology.get("slurm")
    for place, text in paths.items():
        if isinstance(text, str) and (fault := unset_fault(text)):
            remedy = "set it where Assay is called, or write the path"
            yield Problem(place, f"found {text}: {fault}; {remedy}")
