# SPDX-License-Identifier: Apache-2.0
"""Comparison of a run's raw output with its records, as far as a report makes it."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from contextlib import nullcontext
from operator import attrgetter
from pathlib import Path

import numpy as np

from records.errors import AssayError
from records.input_files import kind_at
from records.run.archive import RawFiles
from records.run.plan import Plan
from records.run.record import checksum_of, raw_paths
from reports.load.launches import Launches

#: Raw files that are compared; of a run that has more only the archives must be there, for a report
#: of 100,000 launches would take half as long again. `assay verify` compares all.
MOST_COMPARED = 30_000
#: Launches that a warning names.
_NAMED = 3


def file_fault(files: RawFiles, artifacts: Mapping[str, str], kind: str) -> str | None:
    """Difference of a raw file of a launch from its record. Raises AssayError for a damaged one."""
    name, wanted = raw_paths(artifacts)[kind], checksum_of(artifacts, kind)
    if not wanted:
        return f"{name} has no checksum in its record"
    with files.open(name) or nullcontext() as file:
        if file is None:
            return f"{name} is missing"
        same = hashlib.file_digest(file, "sha256").hexdigest() == wanted
    return None if same else f"{name} is not what its record says"


def raw_fault(files: RawFiles, artifacts: Mapping[str, str]) -> str | None:
    """The first fault of a launch's raw files: missing, damaged, or not what the record says."""
    try:
        faults = (file_fault(files, artifacts, kind) for kind in raw_paths(artifacts))
        return next(filter(None, faults), None)
    except AssayError as error:
        return str(error)


def raw_warnings(directory: Path, plan: Plan, launches: Launches) -> list[str]:
    """That raw output of launches is missing or was changed, with the first of them."""
    mask = np.zeros(len(launches), dtype=bool)
    mask[[index for index, launch in launches.details.items() if launch.artifacts]] = True
    kept = [*launches.where(mask)]
    if 3 * len(kept) > MOST_COMPARED:
        paths = {path for launch in kept for path in raw_paths(launch.artifacts or {}).values()}
        archives = {path.rpartition("/")[0] for path in paths}
        gone = sorted(name for name in archives if kind_at(directory / name) is None)
        return [f"Raw output is missing: {', '.join(gone[:_NAMED])}."] if gone else []
    with RawFiles(directory) as files:
        faults = [
            f"{plan.cases[launch.case].id}, block {launch.block}, attempt {launch.attempt}: {fault}"
            for launch in sorted(kept, key=attrgetter("block"))
            if (fault := raw_fault(files, launch.artifacts or {}))
        ]
    if not faults:
        return []
    return [
        f"The raw output of {len(faults)} launches is missing or was changed, so that nothing"
        f" proves their values: {'; '.join(faults[:_NAMED])}. assay verify names all."
    ]
