# SPDX-License-Identifier: Apache-2.0
"""Partitions of a site.yaml: keys at the top of the file are the defaults of all of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from assay.schema.document import Location, Problem
from assay.schema.problems import one_of
from assay.sites.description import PartitionKeys, SiteFile
from assay.sites.like import has_path, merged
from assay.sites.passthrough import passthrough_problems
from assay.sites.values import option_values
from records.errors import AssayError


def with_defaults(value: Mapping[str, Any]) -> dict[str, Any]:
    """The file's value with every partition complete.

    Maps merge by key; `access` of the top comes before that of a partition.
    """
    partitions = value.get("partitions")
    if not isinstance(partitions, dict):
        return dict(value)
    top = {key: value[key] for key in PartitionKeys.model_fields if key in value}
    return {**value, "partitions": {name: _whole(top, one) for name, one in partitions.items()}}


def _whole(top: dict[str, Any], own: Any) -> Any:
    if own is None:  # `batch:` with nothing below it
        own = {}
    if not isinstance(own, dict):
        return own
    whole = merged(top, own)
    first, then = top.get("access"), own.get("access")
    if isinstance(first, list) and isinstance(then, list):
        whole["access"] = [*first, *then]
    return whole


def where_in_partition(location: Location, written: Mapping[str, Any]) -> Location:
    """Where the file writes what a complete partition has at `location`."""
    if location[:1] != ("partitions",) or len(location) < 3:
        return location
    name, key, *rest = location[1:]
    own = (written.get("partitions") or {}).get(name)
    own = own if isinstance(own, dict) else {}
    if key == "access" and isinstance(written.get("access"), list) and rest:
        first = len(written["access"])
        if isinstance(rest[0], int) and rest[0] >= first:
            return ("partitions", name, "access", rest[0] - first, *rest[1:])
        return ("access", *rest)
    at_top = has_path(written, [key, *rest]) and not has_path(own, [key, *rest])
    return (key, *rest) if at_top or "partitions" not in written else location


def partition_problems(file: SiteFile) -> Iterator[Problem]:
    """What is wrong between the parts of a file that are right by themselves."""
    for name, partition in file.partitions.items():
        place: Location = ("partitions", name)
        for index, environment in enumerate(partition.environments or ()):
            yield from one_of(environment, file.environments, (*place, "environments", index))
        for index, option in enumerate(partition.access):
            if option_values([option], "-p", "--partition"):
                yield Problem(
                    (*place, "access", index),
                    f"found {option}; jobs go to the partition that `partitions` names: call the"
                    " entry so, or give it slurm_partition",
                )
        yield from passthrough_problems(partition.reframe, (*place, "reframe"))
        if file.virtual_cluster is None:
            for key in ("nodes", "cores_per_node", "memory_bytes_per_node"):
                if getattr(partition, key) == 0:
                    meaning = PartitionKeys.model_fields[key].description
                    yield Problem(
                        (*place, key), f"is missing; allowed is an integer of at least 1. {meaning}"
                    )
        if partition.topology is not None:
            try:
                partition.topology.topology()
            except AssayError as error:
                yield Problem((*place, "topology"), str(error).removeprefix("topology: "))
