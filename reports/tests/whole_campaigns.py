# SPDX-License-Identifier: Apache-2.0
"""Runs of a shipped campaign with seeded values: every case, metric and point, no measurement."""

import zlib
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from assay.plan.planner import make_plan
from assay.schema.loading import load_campaign
from assay.sites.site import SiteFacts
from checks.common.registry import CHECKS
from checks.common.tests.good_outputs import samples
from records.metric import Metric, MetricDefinition
from reports.tests.synthetic import write_run

#: Features of an MPI environment that can run all checks.
_ALL = {"mpi", "mpi-3", "program:netpipe", "program:netpipe-tcp", "program:osu"}
#: Nodes of the simulated site.
NODES = 4
_START_S = 40e-6
_RATE_BYTES_PER_S = 110e6


def write_campaign(directory: Path, name: str, *, blocks: int, seed: int = 1) -> Path:
    """A run directory of the campaign `name` of campaigns/, as if each launch had gone well."""
    campaign = load_campaign(name)
    environments = {
        name: frozenset({"pvm"} if name == "pvm" else _ALL) for name in campaign.environments
    }
    facts = SiteFacts("virtual", NODES, 4, 2**34, environments)
    plan = make_plan(campaign.model_copy(update={"blocks": blocks}), facts)
    rng = np.random.default_rng(seed)
    offsets = {name: 1 + 0.06 * place for place, name in enumerate(campaign.environments)}

    def measured(record: dict[str, Any]) -> dict[str, Any]:
        if record["status"] != "skipped":
            factor = offsets[record["environment"]] * (1 + 0.02 * rng.standard_normal())
            record["metrics"] = [
                msgspec.to_builtins(_valued(metric, at, factor, record["check"]))
                for metric, at in _asked(record["check"], record["params"], record["ranks"])
            ]
        return record

    how: dict[str, Any] = {"blocks": blocks, "seed": seed, "plan": plan.to_json()}
    return write_run(directory, msgspec.to_builtins(plan.cases), edit=measured, **how)


def _asked(
    check: str, params: dict[str, Any], ranks: int
) -> Iterator[tuple[MetricDefinition, dict[str, Any]]]:
    """Metrics and points that a launch reports: those asked for, and others of a good launch."""
    definition = CHECKS[check]
    hosts = [f"n{rank % NODES + 1}" for rank in range(ranks)]
    found: dict[tuple[str, bytes], dict[str, Any]] = {}
    with suppress(NotImplementedError):
        for asked in definition.expected(definition.parameters.model_validate(params), hosts):
            found[asked.metric, _key(asked.at)] = dict(asked.at)
    known = {name for name, _ in found}
    for metric in _sample(check, str(params.get("test", ""))):
        if metric.name not in known:
            found[metric.name, _key(metric.at or {})] = dict(metric.at or {})
    for (name, _), at in found.items():
        yield definition.metrics_by_name[name], at


def _key(at: Any) -> bytes:
    return msgspec.json.encode(dict(at))


@cache
def _sample(check: str, test: str) -> Sequence[Metric]:
    """The metrics of a good launch; of OSU's of this test where there is one."""
    found = [sample for sample in samples() if sample.definition.name == check]
    found = [one for one in found if getattr(one.params, "test", test) == test] or found
    return found[0].outcome(found[0].text).metrics if found else ()


def _valued(
    metric: MetricDefinition, at: dict[str, Any], factor: float, check: str
) -> dict[str, Any] | Metric:
    """A plausible value: messages take a start and their length over a rate."""
    size = float(at.get("message_bytes") or 0)
    time_s = factor * (_START_S + size / _RATE_BYTES_PER_S)
    time_s *= 1 + zlib.crc32(f"{check}{metric.name}".encode()) % 100 / 100
    value = {
        "s": time_s,
        "bytes/s": (size or 65536.0) / time_s,
        "flop/s": 4e9 / factor,
        "bytes": size or 1024.0,
        "1/s": 1 / time_s,
    }.get(metric.unit, 0.5 / factor)
    return Metric(metric.name, metric.unit, metric.better, value, at or None)
