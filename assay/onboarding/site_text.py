# SPDX-License-Identifier: Apache-2.0
"""The commented text of a proven site.yaml, at most a screen."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import yaml

#: Comments on keys.
_COMMENTS = {
    "access": "each sbatch gets these",
    "work_dir": "seen by nodes and this machine; variables that are not set are refused",
    "login_modules": "of a login shell of the site; a job loads those that it lacks",
    "build_on": "programs do not compile on the login node",
    "nodes": "in service now, as many as one job may have",
    "longest_job_s": "partition, account and QOS allow no more",
    "slurm_partition": "Slurm's name",
    "resources": "what a case asks for",
    "counted": "no counter sees MPI: records say network-unproven",
    "payload_share": "headers of TCP leave so much",
    "preload": "MPICH 4.0 over UCX may hang in MPI_Finalize without it",
    "library": "of what the library calls itself",
}
_WIDTH = 110
#: The order of the keys at the top.
_ORDER = (
    *("schema", "name", "description", "access", "modules_system", "login_modules"),
    *("work_dir", "build_on", "partitions", "environments"),
)


def site_text(data: Mapping[str, Any], cluster: str, notes: Sequence[str]) -> str:
    """The file: `data` in the order of its keys, with comments, `notes` at its head."""
    today = datetime.now(UTC).date().isoformat()
    head = [
        "# SPDX-License-Identifier: Apache-2.0",
        f"# {cluster}: written by `assay site init`, proven by jobs on {today};"
        f" `assay site check {data['name']}` repeats that.",
        "# Every key is explained in docs/sites.md. For roofs in reports add to a partition:"
        " core_peak_flop_per_s,",
        "# memory_bytes_per_second (nominal rates of a core and of a node's memory).",
        *(f"# {note}"[:_WIDTH] for note in notes),
    ]
    ordered = {key: _whole_numbers(data[key]) for key in sorted(data, key=_ORDER.index)}
    text = yaml.safe_dump(
        ordered, default_flow_style=None, sort_keys=False, width=10**6, allow_unicode=True
    )
    return "\n".join([*head, *map(_commented, text.splitlines()), ""])


def _whole_numbers(value: Any) -> Any:
    """A value with rates such as 1e11 as integers."""
    if isinstance(value, dict):
        return {key: _whole_numbers(one) for key, one in value.items()}
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _commented(line: str) -> str:
    """A line with the comment on its key, or on a key inside of its value."""
    key, _, value = line.strip().partition(":")
    if key == "memory_bytes_per_node":
        return f"{line}  # {int(value) / 2**30:.1f} GiB"
    keys = [key, *re.findall(r"(\w+): ", value)]
    comments = [_COMMENTS[name] for name in keys if name in _COMMENTS]
    if not comments or len(line) + len(comments[-1]) > _WIDTH + 30:
        return line
    return f"{line}  # {comments[-1]}"
