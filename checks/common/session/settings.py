# SPDX-License-Identifier: Apache-2.0
"""ReFrame's configuration, made from the site's description.

ReFrame loads this file; the harness gives the description as JSON in the file that
SITE_FILE names.
"""

import json
import os
from pathlib import Path
from typing import Any

import checks.common.slurm.scheduler  # noqa: F401  registers the scheduler
from checks.common.registry import BROUGHT_FILE
from checks.common.session.launch_commands import preparation
from checks.common.slurm.job import ALLOCATION
from records.plugins import hooks
from records.site.limits import Nominal, payload_rate

#: Environment variable with the path of the site's description as JSON.
SITE_FILE = "ASSAY_SITE_FILE"
#: What checks ask of the partition as the site's description has it.
_OF_SITE = (
    *("build_on", "topology", "shared_cores", "slurm_partition", "longest_job_s", "storage"),
    *("nodes", "memory_bytes_per_node"),
)
#: How often ReFrame looks at jobs, per second.
POLLS = {"poll_rate_max": 25, "poll_rate_min": 10, "poll_rate_decay": 0.01}


def _environment(name: str, site: dict[str, Any]) -> dict[str, Any]:
    described = site["environments"][name]
    settings = described["settings"]
    chosen = {settings[key]["seen_as"]: str(value) for key, value in described["chosen"].items()}
    seen = {variable: value for variable, value in chosen.items() if variable}
    extras = {**described, "blas": described["blas"] or site["blas"], "seen": seen}
    return {
        "name": name,
        **{"cc": described["compiler"], "cxx": "", "ftn": ""},
        # Modules are loaded there too: ReFrame's own commands pass over one that is missing.
        "prepare_cmds": preparation(site, described),
        "features": described["features"],
        "extras": extras,
        "target_systems": [site["name"]],
    }


def _partition(site: dict[str, Any]) -> dict[str, Any]:
    """The partition that launches run on; `extras` are what checks ask of it."""
    further, network, sockets = site["reframe"], site["network"], site["sockets_per_node"]
    processor = {**further.get("processor", {}), "num_cpus": site["cores_per_node"]}
    if sockets:
        per_socket = site["cores_per_node"] // sockets
        processor |= {"num_sockets": sockets, "num_cpus_per_socket": per_socket}
    return {
        **further,
        "name": site["partition"],
        "scheduler": site["schedulers"]["steps" if ALLOCATION in os.environ else "jobs"],
        "launcher": "local",
        "features": further.get("features", []),
        "access": site["access"],
        "environs": sorted(site["environments"]),
        # In an allocation as many again are handed in, to begin as soon as nodes are free.
        "max_jobs": (2 if ALLOCATION in os.environ else 1) * site["concurrency"],
        "processor": processor,
        "resources": [{"name": k, "options": v} for k, v in site["resources"].items()],
        "extras": {
            **further.get("extras", {}),
            **{key: site[key] for key in _OF_SITE},
            "alone": site["schedulers"]["alone"],
            "wire_is_counted": network["counted"],
            "nominal": Nominal(
                link_bytes_per_s=payload_rate(network["bits_per_second"], network["payload_share"]),
                burst_bytes=network["burst_bytes"] or 0,
                core_flop_per_s=site["core_peak_flop_per_s"],
                node_memory_bytes_per_s=site["memory_bytes_per_second"],
            ),
            "down_nodes_return": site.get("down_nodes_return", True),
        },
    }


def _logging(prefix: str) -> dict[str, Any]:
    """Short lines for the harness; in a file also what ReFrame does of each test."""
    plain = {"type": "stream", "name": "stdout", "level": "info", "format": "%(message)s"}
    full = {
        "type": "file",
        "name": f"{prefix}/reframe.log",
        "level": "verbose",
        "append": True,
        "format": "[%(asctime)s] %(levelname)s: %(check_info)s: %(message)s",
    }
    handlers = {"handlers": [full], "handlers$": [plain], "handlers_perflog": []}
    return {"level": "verbose", **handlers}


def configuration(site: dict[str, Any], prefix: str) -> dict[str, Any]:
    """ReFrame's `site_configuration` for a described site; its folders are below `prefix`. Plugins
    may change it where a plan brings tests."""
    made: dict[str, Any] = {
        "systems": [
            {
                "name": site["name"],
                "hostnames": [".*"],
                "prefix": prefix,
                # One folder for both: else ReFrame would copy all output of each launch.
                "stagedir": f"{prefix}/stage",
                "outputdir": f"{prefix}/stage",
                "modules_system": "nomod",
                "partitions": [_partition(site)],
            }
        ],
        "environments": [_environment(name, site) for name in site["environments"]],
        "general": [
            {
                "check_search_recursive": False,
                "colorize": False,
                **POLLS,
                "remote_detect": False,
                "resolve_module_conflicts": False,
                "save_log_files": False,
                "generate_file_reports": False,
                "keep_stage_files": True,
                "report_file": f"{prefix}/session.json",
            }
        ],
        "storage": [{"enable": False}],
        "logging": [_logging(prefix)],
    }
    for configure in hooks("session_configure") if BROUGHT_FILE in os.environ else ():
        configure(site, made)
    return made


def by_hand(site: dict[str, Any], prefix: str, sweep: list[dict[str, Any]]) -> dict[str, Any]:
    """Configuration for ReFrame's own command line, with its logs and reports; `sweep` are
    the entries of a campaign whose checks it lists (classes.py)."""
    made = configuration(site, prefix)
    made["systems"][0] |= {"stagedir": f"{prefix}/stage", "outputdir": f"{prefix}/output"}
    made["systems"][0]["partitions"][0]["extras"]["sweep"] = sweep
    reports = f"{prefix}/reports/run-report-{{sessionid}}.json"
    made["general"] = [{"remote_detect": False, "report_file": reports, **POLLS}]
    return {name: made[name] for name in ("systems", "environments", "general")}


if _file := os.environ.get(SITE_FILE):
    _site = json.loads(Path(_file).read_text())
    site_configuration = configuration(_site, _site["reframe_prefix"])
