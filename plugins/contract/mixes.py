# SPDX-License-Identifier: Apache-2.0
"""Results of a run's mixes of jobs in a contract's document and in the report of a run."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median

from records.errors import AssayError
from records.run.run_directory import open_run
from reports.analysis.mix import Mix, mix_of
from reports.analysis.run import Analysis
from reports.notation.units import significant
from reports.result import Block, Facts, Section, Sentence
from reports.show.tables import RawLinks


def mix_facts(mix: Mix) -> list[tuple[str, str]]:
    """Makespan and throughput by their names; of several mixes the medians."""
    rates = [3600 * rate for rate in sorted(mix.throughputs.values())]
    facts = [
        ("jobs", f"{len(mix.jobs)}, {sum(job.work > 0 for job in mix.jobs)} valid"),
        ("nodes", str(mix.nodes)),
        ("makespan", f"{median(mix.makespans_s.values()):.1f} s"),
        ("throughput", f"{significant(median(rates))} work a node and hour"),
    ]
    if len(rates) > 1:
        least, greatest = significant(rates[0]), significant(rates[-1])
        facts.append(("mixes", f"{len(rates)}, medians of them; {least} to {greatest}"))
    return facts + [("left out", text) for text in mix.left_out]


def report_section(analysis: Analysis, _: RawLinks) -> Section | None:
    """The section of a run whose jobs were handed in at once; None for another one."""
    run = analysis.run

    def blocks() -> Iterator[Block]:
        try:
            yield Facts(mix_facts(mix_of(open_run(str(run.directory)))))
        except AssayError as error:  # no mix is whole
            yield Sentence(str(error))

    return Section("mix", "The mix of jobs", blocks) if run.plan.mix_blocks else None
