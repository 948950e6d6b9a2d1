# SPDX-License-Identifier: Apache-2.0
"""Reads a run directory: plan.json, records.jsonl, provenance.json -> one typed `Run`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from records.errors import AssayError
from records.plan import read_plan
from reports.load.reader import Reader
from reports.load.run import INVALID_ON_PURPOSE, AtKey, Launch, Run, Series, stacked

__all__ = [
    "INVALID_ON_PURPOSE",
    "AtKey",
    "Launch",
    "Run",
    "Series",
    "load_run",
    "stacked",
]


def load_run(directory: Path) -> Run:
    """Read the run in `directory`, finished or not.

    Raises AssayError when the directory, plan.json or a line of records.jsonl is not as it must be.
    """
    if not directory.is_dir():
        raise AssayError(
            f"{directory}: no such run directory. Give the directory that `assay run` printed,"
            " e.g. results/quick/<run-id>."
        )
    plan = read_plan(directory / "plan.json")
    warnings: list[str] = []
    provenance = _load_provenance(directory / "provenance.json", warnings)
    reader = Reader(plan)
    records_path = directory / "records.jsonl"
    if records_path.exists():
        warnings += _torn_tail(records_path)
        reader.read(records_path)
    run_id = str(provenance.get("run_id") or reader.run_id or directory.resolve().name)
    warnings += reader.settle()
    return Run(
        directory=directory,
        plan=plan,
        provenance=provenance,
        run_id=run_id,
        launches=reader.launches,
        series=reader.series(),
        invalid=reader.series(on_purpose=True),
        nodes=tuple(sorted(reader.nodes)),
        warnings=tuple(warnings),
        profiled=reader.profiled,
    )


def _load_provenance(path: Path, warnings: list[str]) -> Mapping[str, Any]:
    if not path.exists():
        warnings.append("provenance.json is missing: what software and machine ran is not known.")
        return {}
    try:
        return msgspec.json.decode(path.read_bytes(), type=dict[str, Any])
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise AssayError(
            f"{path}: cannot be read: {error}. It is written by `assay run`; restore it or remove"
            " it."
        ) from error


def _torn_tail(path: Path) -> list[str]:
    with path.open("rb") as file:
        if file.seek(0, 2) == 0:
            return []
        file.seek(-1, 2)
        if file.read(1) == b"\n":
            return []
    return ["The last line of records.jsonl is torn (no newline): that launch does not count."]
