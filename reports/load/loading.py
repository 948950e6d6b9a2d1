# SPDX-License-Identifier: Apache-2.0
"""A run in memory, read from its directory: plan.json, records.jsonl, provenance.json."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import msgspec
import numpy as np

from records.errors import AssayError
from records.input_files import kind_at
from records.run.chain import Chain
from records.run.interims import INTERIMS, Interim, asked_blocks, read_interims, read_plan
from records.run.plan import Plan, PlannedCase
from records.run.provenance import Provenance, read_provenance
from records.run.record import Belonging, Status, has_torn_tail
from records.site.node_facts import differences
from reports.load.launches import AtKey, Launch, Launches, Reader, Series, stacked
from reports.load.scans import Scan

#: Facts of nodes that are not alike, in a warning.
MOST_UNLIKE = 5

__all__ = ["AtKey", "Launch", "Launches", "Run", "Series", "load_run", "stacked"]


@dataclass(frozen=True)
class Run:
    """A run directory in memory. `series` holds counted ok launches, `invalid` the values of
    launches that were wrong on purpose; `profiled`: some record holds an MPI profile; `chain`:
    that of all records; `interims`: what a sequential design decided so far; `scans`: values of
    pairs in files of their own, of which `series` has a summary."""

    directory: Path
    plan: Plan
    provenance: Provenance
    run_id: str
    launches: Launches
    series: list[Series]
    invalid: list[Series]
    nodes: tuple[str, ...]
    warnings: tuple[str, ...]
    profiled: bool
    chain: Chain
    interims: tuple[Interim, ...] = ()
    scans: tuple[Scan, ...] = ()

    def until(self, block: int) -> Run:
        """The run as it stood after a block, without its scans."""
        series = [
            Series(item.case, item.metric, item.at, item.blocks[:end], item.values[:end])
            for item in self.series
            if (end := int(np.searchsorted(item.blocks, block, side="right")))
        ]
        launches = self.launches.part(self.launches.block <= block)
        return replace(self, series=series, launches=launches, scans=())

    @cached_property
    def asked(self) -> dict[tuple[str, str], int]:
        """For each environment and check the block up to which its launches were asked for."""
        return asked_blocks(self.plan, self.interims)

    @property
    def blocks(self) -> int:
        """Number of blocks asked for, of what went on to the end."""
        return max(self.asked.values(), default=self.plan.blocks)

    def case(self, launch: Launch) -> PlannedCase:
        """The planned case of a launch."""
        return self.plan.cases[launch.case]

    def counted(self) -> Iterator[Launch]:
        """The latest attempt of each case and block."""
        return self.launches.where(self.launches.counted)

    @cached_property
    def first_alike(self) -> list[int]:
        """For each case the first one of its check and parameters: those of environments that are
        paired, and named alike."""
        encode = msgspec.json.Encoder(order="deterministic").encode
        known: dict[tuple[str, bytes], int] = {}
        return [
            known.setdefault((case.check, encode(case.params)), index)
            for index, case in enumerate(self.plan.cases)
        ]

    @property
    def done(self) -> int:
        """Number of launches of blocks with a record, the latest attempt alone."""
        return int((self.launches.counted & (self.launches.block > 0)).sum())

    @cached_property
    def tally(self) -> Counter[tuple[int, Status, tuple[str, ...]]]:
        """Number of counted launches of each (position of the case, status, flags)."""
        launches = self.launches
        of_each = max(1, len(launches.kinds))
        keys, counts = np.unique_counts((launches.case * of_each + launches.kind)[launches.counted])
        tally: Counter[tuple[int, Status, tuple[str, ...]]] = Counter()
        for key, count in zip(keys.tolist(), counts.tolist(), strict=True):
            case, kind = divmod(key, of_each)
            tally[case, *launches.kinds[kind]] = count
        return tally


def load_run(directory: Path) -> Run:
    """Read the run in `directory`, finished or not.

    Raises AssayError when the directory, plan.json, provenance.json or a line of records.jsonl is
    not as it must be, or the chain of the records is broken.
    """
    if not directory.is_dir():
        raise AssayError(
            f"{directory}: no such run directory. Give the directory that `assay run` printed,"
            " e.g. results/quick/<run-id>."
        )
    plan = read_plan(directory / "plan.json")
    provenance = read_provenance(directory / "provenance.json")
    warnings: list[str] = []
    belonging = Belonging(plan, provenance.run_id or "")
    reader = Reader(belonging)
    if unlike := differences(provenance.nodes):
        warnings.append(f"The nodes are not alike: {'. '.join(unlike[:MOST_UNLIKE])}.")
    records_path, chain = directory / "records.jsonl", Chain.of(directory)
    if kind_at(records_path) is not None:
        if has_torn_tail(records_path):
            warnings.append(
                "The last line of records.jsonl is torn (no newline): that launch does not count."
            )
        reader.read(records_path, chain)
    elif fault := chain.missing():
        raise AssayError(f"{records_path}: {fault}")
    reader.settle()
    launches = reader.launches()
    return Run(
        directory=directory,
        plan=plan,
        provenance=provenance,
        run_id=belonging.run_id or directory.resolve().name,
        launches=launches,
        series=reader.series(),
        invalid=reader.series(on_purpose=True),
        scans=tuple(Scan(directory, case, files) for case, files in sorted(reader.scans().items())),
        nodes=tuple(sorted(reader.nodes)),
        warnings=tuple(warnings),
        profiled=reader.profiled,
        chain=chain,
        interims=tuple(read_interims(directory / INTERIMS, plan)),
    )
