# SPDX-License-Identifier: Apache-2.0
"""Launches still to come: by the plan, its records, failed builds and judgements."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count, groupby, islice
from typing import Any

from assay.plan import block_order, launch_limit_s
from checks.common.session.outcome import BuildFailure
from records.run.interims import Interim, asked_blocks
from records.run.plan import MOST_BLOCKS, Plan, PlannedCase
from records.run.record import CASE_ID, Record, latest_attempts
from records.run.record_lines import Entry
from records.run.run_directory import RunDirectory

#: Launches of one ReFrame session, which keeps each test in memory until its end.
LAUNCHES_PER_SESSION = 2000


@dataclass(frozen=True)
class Launch:
    """Launch to come: a case's content, its layout, block and attempt. `undisturbed`: no other
    runs meanwhile."""

    index: int
    case_id: str
    check: str
    environment: str
    params: dict[str, Any]
    ranks: int
    ranks_per_node: int
    nodes: int
    block: int
    attempt: int
    limit_s: float
    undisturbed: bool = True
    cpus_per_task: int | None = None
    resources: dict[str, dict[str, Any]] = field(default_factory=dict)

    @classmethod
    def of(cls, case: PlannedCase, **further: Any) -> Launch:
        """A launch of a planned case."""
        return cls(case_id=case.id, **{name: getattr(case, name) for name in _OF_CASE}, **further)

    @property
    def key(self) -> tuple[str, int]:
        """Case and block: what gets one record that counts."""
        return self.case_id, self.block


_OF_CASE = (
    *("check", "environment", "params", "ranks", "ranks_per_node", "nodes"),
    *("cpus_per_task", "resources"),
)


def launches_to_come(
    plan: Plan,
    records: Iterable[Record | Entry],
    interims: Sequence[Interim] = (),
) -> Iterator[Launch]:
    """The launches still to be run, in the order of the seed; lost ones get a further attempt. In a
    sequential design they reach up to the next judgement, without what does not go on."""
    cases = {case.id: case for case in plan.cases if case.skipped is None}
    done, asked = latest_attempts(records, CASE_ID), asked_blocks(plan, interims)
    index, asks = count(), {case.id: case.asked for case in cases.values()}
    for block in range(1, max(asked.values(), default=0) + 1):
        for case_id in block_order(asks, plan.seed, block):
            case, before = cases[case_id], done.get((case_id, block))
            if block > asked[case.environment, case.check]:
                continue
            if before is not None and before.status != "lost":
                continue
            yield Launch.of(
                case,
                index=next(index),
                block=block,
                attempt=before.attempt + 1 if before else 1,
                limit_s=launch_limit_s(plan, case),
                undisturbed=case.nodes > 1 if case.alone is None else case.alone,
            )


def in_sessions(coming: Sequence[Launch], mix_blocks: int) -> Iterator[list[Launch]]:
    """The launches of one session after the other: a mix each where `mix_blocks` are one, and no
    more than a session can have."""
    size = mix_blocks or MOST_BLOCKS
    for _, launches in groupby(coming, key=lambda one: (one.block - 1) // size):
        while batch := [*islice(launches, LAUNCHES_PER_SESSION)]:
            yield batch


class FailedBuilds:
    """Output of failed builds, kept in the run directory, and launches that are not run for
    them."""

    def __init__(self, run: RunDirectory, environments: Iterable[str]) -> None:
        self._run = run
        self._failures: dict[str, list[BuildFailure]] = {name: [] for name in environments}
        #: Launches that are kept back, with their environments.
        self.launches: dict[tuple[str, int], str] = {}

    def keep(self, failure: BuildFailure) -> str | None:
        """Keep what the build printed; gives a sentence of it, None if no launch needs it."""
        if (failures := self._failures.get(failure.environment)) is None:
            return None
        failures.append(failure)
        log = "\n".join(f"# {each.program}\n{each.output}" for each in failures)
        file = self._run.keep_build_log(failure.environment, log)
        return f"the build of {failure.program} for {failure.environment} failed; see {file}"

    def keep_back(self, launch: Launch) -> bool:
        """True if a build of the launch's environment failed; then it is not run again either."""
        if self._failures[launch.environment]:
            self.launches[launch.key] = launch.environment
        return launch.key in self.launches

    def told(self) -> list[str]:
        """A sentence for each environment whose launches were not run."""
        return [
            f"{number} launches of {name} were not run, for its build of"
            f" {', '.join(each.program for each in self._failures[name])} failed; what it"
            f" printed is in {self._run.build_log(name)}"
            for name, number in sorted(Counter(self.launches.values()).items())
        ]
