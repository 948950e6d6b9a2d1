# SPDX-License-Identifier: Apache-2.0
"""A site.yaml of version 1 as one of version 2: one partition, and launchers by Debian's names."""

from __future__ import annotations

from typing import Any

from assay.sites.values import option_values

#: Programs that version 1 started where an environment named none.
_MPIRUN = {"assay-openmpi": "mpirun.openmpi", "assay-lam": "mpirun.lam"}


def converted(value: dict[str, Any]) -> dict[str, Any]:
    """The value of a file in the keys of version 2; what is not of version 1 stays as it is."""
    if value.get("schema") != 1 or isinstance(value.get("schema"), bool):
        return value
    result = {**value, "schema": 2}
    name = result.pop("partition", None)
    if isinstance(name, str):
        partition, access = _where(result.get("access"))
        result |= {"access": access} if access is not None else {}
        result["partitions"] = {name: partition}
    environments = value.get("environments")
    if isinstance(environments, dict):
        result["environments"] = {key: _environment(one) for key, one in environments.items()}
    return result


def _where(access: Any) -> tuple[dict[str, Any], Any]:
    """The partition's entry, and the options without the one that names Slurm's partition.

    In version 1 jobs went where `access` said, whatever `partition` was.
    """
    if not isinstance(access, list) or not all(isinstance(one, str) for one in access):
        return {}, access
    try:
        named = {one: option_values([one], "-p", "--partition") for one in access}
    except ValueError:  # told by the model
        return {}, access
    slurm = [value for values in named.values() for value in values]
    rest = [one for one in access if not named[one]]
    return ({"slurm_partition": slurm[-1]} if slurm else {}), rest


def _environment(entry: Any) -> Any:
    launcher = entry.get("launcher") if isinstance(entry, dict) else None
    if isinstance(launcher, str) and launcher in _MPIRUN and not entry.get("mpirun"):
        return {**entry, "mpirun": _MPIRUN[launcher]}
    return entry
