# SPDX-License-Identifier: Apache-2.0
"""Reads a run directory: plan.json, records.jsonl, provenance.json -> one typed `Run`."""

from __future__ import annotations

from pathlib import Path

from records.belonging import Belonging
from records.chain import Chain
from records.errors import AssayError
from records.input_files import kind_at
from records.interims import INTERIMS, read_interims
from records.node_facts import differences
from records.plan import read_plan
from records.provenance import read_provenance
from records.record import has_torn_tail
from reports.load.launches import Launch, Launches
from reports.load.raw_state import raw_warnings
from reports.load.reader import Reader
from reports.load.run import AtKey, Run, Series, stacked
from reports.load.scans import scans_of

#: Facts of nodes that are not alike, in a warning.
MOST_UNLIKE = 5

__all__ = ["AtKey", "Launch", "Launches", "Run", "Series", "load_run", "stacked"]


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
    if chain.unchained < chain.records:  # else an Assay wrote them that kept less
        warnings += raw_warnings(directory, plan, launches)
    return Run(
        directory=directory,
        plan=plan,
        provenance=provenance,
        run_id=belonging.run_id or directory.resolve().name,
        launches=launches,
        series=reader.series(),
        invalid=reader.series(on_purpose=True),
        scans=scans_of(directory, reader.scans()),
        nodes=tuple(sorted(reader.nodes)),
        warnings=tuple(warnings),
        profiled=reader.profiled,
        chain=chain,
        interims=tuple(read_interims(directory / INTERIMS, plan)),
    )
