# SPDX-License-Identifier: Apache-2.0
"""Reads the description of a foreign cluster: common.yaml and NAME.yaml."""

from __future__ import annotations

import os
import re
from collections.abc import Collection
from pathlib import Path
from typing import Any

import msgspec
import yaml
from ClusterShell.NodeSet import NodeSet

from records.errors import AssayError
from setup.foreign_cluster.tests.site_setup import LoginDaemon, SiteSetup
from virtual_cluster.daemons import common_settings
from virtual_cluster.spec import address_plan

_HERE = Path(__file__).resolve().parents[1]
#: Where setup/unpacked.sh puts packages.
_UNPACKED = _HERE.parents[1] / "build" / "unpacked"
#: Device that files of generic resources are: that of /dev/null.
_NULL = os.makedev(1, 3)


def description(name: str) -> dict[str, Any]:
    """Both files of this cluster as one mapping, the values of the site filled in."""
    text = "\n".join((_HERE / f"{part}.yaml").read_text() for part in ("common", name))
    found = yaml.safe_load(text)
    values = {key: found[key] for key in ("account", "limit")}
    cores = {node: count for names, count in found["nodes"].items() for node in NodeSet(names)}
    values |= {"name": name, "address": address_plan([*cores])["login"]}
    for key, value in values.items():
        text = text.replace(f"{{{key}}}", str(value))
    return {**yaml.safe_load(text), "cores": cores}


def site(name: str) -> SiteSetup:
    """The site of this name, on a machine with the programs of this one's /usr/bin."""
    found = description(name)
    programs = sorted(entry.name for entry in Path("/usr/bin").iterdir())
    devices = dict.fromkeys(found.get("devices", ()), _NULL)
    devices |= dict.fromkeys(found.get("hidden_files", ()), 0)
    devices |= {f"hidden/{program}": 0 for program in programs if is_hidden(found, program)}
    files = found["files"] | found.get("site_files", {}) | unpacked(found) | module_files(found)
    files["etc/slurm.conf"] = slurm_conf(found)
    links = {
        f"opt/{module}/bin/{link}": f"/cluster/system/{program}"
        for module, family in found["modules"].items()
        for link, program in module_programs(found, family, programs).items()
    }
    for user in found["users"]:
        orders = [[word.replace("{user}", user) for word in order] for order in found["each_user"]]
        found["daemons"][-1]["after"] += orders
    begin = found.get("maintenance")
    return SiteSetup(
        cores=found["cores"],
        users=tuple(found["users"]),
        files=files,
        login=found["login"],
        network=found["network"],
        links=links,
        devices=devices,
        mounts=found["mounts"] + found["modules_mounts"],
        daemons=msgspec.convert(found["daemons"], tuple[LoginDaemon, ...]),
        commands=(maintenance(begin, "120", "yearly_service"),) if begin else (),
        programs=found["programs"],
    )


def unpacked(found: dict[str, Any]) -> dict[str, str]:
    """Text of the files of packages that the site has and this machine cannot have."""
    paths = [path for form in found.get("unpacked", ()) for path in sorted(_UNPACKED.glob(form))]
    if found.get("unpacked") and not paths:
        first = found["unpacked"][0]
        package = first.partition("/")[0]
        raise AssayError(f"{_UNPACKED}: {first} is not there; run setup/unpacked.sh {package}")
    files = [path for path in paths if path.is_file()]
    return {str(path.relative_to(_UNPACKED)): path.read_text() for path in files}


def module_files(found: dict[str, Any]) -> dict[str, str]:
    """Text of the site's module files: those of MPIs, and what `module_texts` says further."""
    head = "#%Module1.0\n" if found["module"].startswith("#%") else ""
    files = {name: f"{head}{text}\n" for name, text in found["module_texts"].items()}
    for module, family in found["modules"].items():
        variables = found["families"][family].get("variables", {}).items()
        lines = [found["variable"].format(key=key, value=value) for key, value in variables]
        text = "\n".join([found["module"], *lines, files.get(module, "").removeprefix(head)])
        values = {
            "module": module.split("/")[0],
            "family": family,
            "folder": f"/cluster/opt/{module}",
        }
        for key, value in values.items():
            text = text.replace(f"{{{key}}}", value)
        files[module] = text
    return {f"modules/{name}{found['module_ending']}": text for name, text in files.items()}


def slurm_conf(found: dict[str, Any]) -> str:
    """Text of slurm.conf: lines of the site replace those of the same key."""
    common = common_settings("root")
    lines = (common + found["files"]["etc/slurm.conf"]).splitlines()
    given = {line.partition("=")[0] for line in found["slurm.conf"].splitlines()}
    return "\n".join([*(s for s in lines if s.partition("=")[0] not in given), found["slurm.conf"]])


def is_hidden(found: dict[str, Any], program: str) -> bool:
    """True if a program of /usr/bin is none of this site's."""
    return any(re.fullmatch(pattern, program) for pattern in found["hidden"])


def module_programs(
    found: dict[str, Any], family: str, programs: Collection[str]
) -> dict[str, str]:
    """The links in a module's bin folder: name → program of /usr/bin."""
    own = re.compile(found["families"][family]["programs"])
    links = {one.removesuffix(f".{family}"): one for one in programs if one.endswith(f".{family}")}
    return links | {one: one for one in programs if own.fullmatch(one)}


def maintenance(begin: str, minutes: str, name: str) -> tuple[str, ...]:
    """Command of an administrator who reserves all nodes."""
    words = (f"ReservationName={name}", f"StartTime={begin}", f"Duration={minutes}", "Users=root")
    return ("scontrol", "create", "reservation", *words, "Nodes=ALL", "Flags=MAINT,IGNORE_JOBS")
