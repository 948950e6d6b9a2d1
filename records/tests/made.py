# SPDX-License-Identifier: Apache-2.0
"""Plans, records and a full disk that tests of this room share."""

import resource
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from records.metric import Metric
from records.run.plan import SHORT_DIGITS, Plan, PlannedCase, Totals, canonical_json, case_digest
from records.run.record import Record, RecordWriter


@contextmanager
def room_for(count: int) -> Iterator[None]:
    """Files of this process can hold `count` bytes; more is an error, as on a full disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (count, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def case_id(check: str, environment: str, params: dict[str, Any]) -> str:
    """The id of a single case with complete parameters."""
    digest = case_digest(check, environment, canonical_json(params))
    return f"{check}-{digest[:SHORT_DIGITS]}"


def planned(case_id: str, check: str, environment: str, **changes: Any) -> PlannedCase:
    """A case of one rank."""
    same = {"ranks": 1, "ranks_per_node": 1, "nodes": 1, "memory_bytes_per_node": 0}
    fields = {**same, "params": {}, "estimate_s": 1.0, "skipped": None, **changes}
    return PlannedCase(id=case_id, check=check, environment=environment, **fields)


def plan_of(cases: Sequence[PlannedCase], blocks: int, **changes: Any) -> Plan:
    """A plan of these cases."""
    return Plan(
        campaign="c",
        question="?",
        site="virtual",
        seed=1,
        blocks=blocks,
        environments=[*dict.fromkeys(case.environment for case in cases)],
        totals=Totals(cases=len(cases), skipped=0, launches=0, node_hours=0, wall_s=0),
        cases=[*cases],
        **changes,
    )


def written(path: Path, *records: Record) -> Path:
    """A file of records, to which these are added."""
    with RecordWriter(path) as writer:
        for one in records:
            writer.append(one)
    return path


def record(block: int = 1, **changes: Any) -> Record:
    """A record of a good launch of HPL."""
    fields = {
        **{"run_id": "r", "case_id": "hpl-00000000", "check": "hpl", "environment": "lam"},
        **{"site": "virtual", "params": {"n": 1000}, "block": block, "attempt": 1},
        **{"status": "ok", "reason": None, "started_at": None, "ended_at": None, "job_id": "1"},
        **{"nodes": ["n1"], "ranks": 1, "flags": [], "artifacts": {}},
        "metrics": [Metric("rate", "flop/s", "higher", 1e9, samples=[1e9])],
    }
    return Record(**{**fields, **changes})
