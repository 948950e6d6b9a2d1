# SPDX-License-Identifier: Apache-2.0
"""The section `reframe` of a partition: passed on to ReFrame, held against ReFrame's own schema."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from assay.schema.document import Location, Problem
from assay.schema.problems import listed
from assay.sites.description import ReframeDescription

#: Extras of a partition that checks read; ReFrame adds the last two.
OUR_EXTRAS = frozenset(
    {
        "build_on",
        "down_nodes_return",
        "longest_job_s",
        "nominal",
        "shared_cores",
        "slurm_partition",
        "topology",
        "wire_is_counted",
        "launcher",
        "scheduler",
    }
)


def passthrough_problems(reframe: ReframeDescription, place: Location) -> Iterator[Problem]:
    """What ReFrame would not take, and extras that are Assay's own."""
    stated = reframe.model_dump(exclude_defaults=True)
    if not stated:
        return
    for name in sorted(OUR_EXTRAS & reframe.extras.keys()):
        yield Problem((*place, "extras", name), "is an extra of Assay's own; choose another name")
    for error in _validator().iter_errors(
        {"name": "x", "scheduler": "x", "launcher": "x", **stated}
    ):
        where = tuple(error.absolute_path)
        said = f"ReFrame does not take it: {error.message[:200]}"
        if error.validator == "additionalProperties":
            said += f"; allowed are {listed(error.schema['properties'])}"
        yield Problem((*place, *where), said)


@cache
def _validator() -> Any:
    """Of a partition in ReFrame's configuration."""
    import jsonschema  # slow: needed only where the section is used

    spec = find_spec("reframe")
    assert spec is not None and spec.origin is not None
    whole = json.loads(Path(spec.origin).with_name("schemas").joinpath("config.json").read_text())
    partition = whole["properties"]["systems"]["items"]["properties"]["partitions"]["items"]
    return jsonschema.Draft7Validator({**partition, "defs": whole["defs"]})
