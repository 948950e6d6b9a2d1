# SPDX-License-Identifier: Apache-2.0
"""The commented text of a proven site.yaml, at most a screen."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import yaml

#: Comments on keys; where they hold a fact, {…} is replaced.
_COMMENTS = {
    "access": "each sbatch gets these",
    "work_dir": "seen by nodes and this machine; variables that are not set are refused",
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
    *("schema", "name", "description", "access", "modules_system", "work_dir", "build_on"),
    *("partitions", "environments"),
)


def site_text(data: Mapping[str, Any], cluster: str, notes: Sequence[str]) -> str:
    """The file: `data` in the order of its keys, with comments, `notes` at its head."""
    today = datetime.now(UTC).date().isoformat()
    lines = [
        "# SPDX-License-Identifier: Apache-2.0",
        f"# {cluster}: written by `assay site init`, proven by jobs on {today}; `assay site check"
        f" {data['name']}` repeats that.",
        "# Every key is explained in docs/sites.md. For roofs in reports add to a partition:"
        " core_peak_flop_per_s,",
        "# memory_bytes_per_second (nominal rates of a core and of a node's memory).",
        *(f"# {note}"[:_WIDTH] for note in notes),
    ]
    for key in sorted(data, key=_ORDER.index):
        value = data[key]
        if key in ("partitions", "environments"):
            lines.append(f"{key}:")
            for name, entry in value.items():
                lines.append(f"  {name}:")
                for inner, one in entry.items():
                    whole = [_line(inner, one)]
                    if inner == "topology":
                        text = yaml.safe_dump({inner: one}, sort_keys=False, width=_WIDTH)
                        whole = text.splitlines()
                    lines += [f"    {line}" for line in whole]
        else:
            lines.append(_line(key, value))
    return "\n".join(lines) + "\n"


def _line(key: str, value: Any) -> str:
    """A key with its value on one line, and the comment that goes with it."""
    text, inner = f"{key}: {_flow(value)}", value if isinstance(value, dict) else ()
    told = [_COMMENTS[name] for name in (key, *inner) if name in _COMMENTS]
    if key == "memory_bytes_per_node":
        told = [f"{value / 2**30:.1f} GiB"]
    if key == "network":
        told = [one for one in told if one != _COMMENTS["payload_share"] or len(told) == 1]
    comment = "; ".join(told)
    return f"{text}  # {comment}" if comment and len(text) + len(comment) < _WIDTH + 30 else text


def _flow(value: Any) -> str:
    """A value in YAML's flow style, on one line."""
    if isinstance(value, float) and value == int(value) and abs(value) < 1e15:
        value = int(value)
    if isinstance(value, dict):
        value = {k: int(v) if isinstance(v, float) and v == int(v) else v for k, v in value.items()}
    text = yaml.safe_dump(
        value, default_flow_style=True, sort_keys=False, width=10**6, allow_unicode=True
    )
    return re.sub(r"\n\.\.\.\n$|\n$", "", text)
