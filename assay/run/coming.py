# SPDX-License-Identifier: Apache-2.0
"""Which launches are still to come."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from assay.plan import block_order, launch_limit_s, runs_alone
from checks.common.session.outcome import Outcome
from checks.common.switches import Switches
from records.interims import Interim, asked_blocks
from records.ledger import Entry
from records.plan import Plan
from records.record import CASE_ID, Record, latest_attempts


@dataclass(frozen=True)
class Launch:
    """One launch to come: a case's content, its layout, block and attempt.

    `undisturbed`: no other runs meanwhile; `drawn_alone`: by the draw of the seed, which some are
    left out of (None).
    """

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
    drawn_alone: bool | None = None
    switches: Switches | None = None
    cpus_per_task: int | None = None
    resources: dict[str, dict[str, Any]] = field(default_factory=dict)

    @property
    def key(self) -> tuple[str, int]:
        """Case and block: what gets one record that counts."""
        return self.case_id, self.block


class Attempts:
    """How often one driver made each launch, of 1 + `retries` times.

    The first time, a launch does not count that was lost with its allocation, or by a clock that
    was set: neither is its own. A second time the launch may be what ends allocations.
    """

    def __init__(self, retries: int) -> None:
        self._most = 1 + retries
        self._made: Counter[tuple[str, int]] = Counter()
        self._cut_off: set[tuple[str, int]] = set()

    def made(self, launch: Launch, outcome: Outcome) -> None:
        """A launch was made, with this outcome."""
        not_its_own = outcome.status == "lost" and outcome.fault in ("allocation", "clock")
        if not_its_own and launch.key not in self._cut_off:
            self._cut_off.add(launch.key)
        else:
            self._made[launch.key] += 1

    def left(self, launch: Launch) -> bool:
        """Whether the launch may be made once more."""
        return self._made[launch.key] < self._most


def launches_to_come(
    plan: Plan,
    records: Iterable[Record | Entry],
    interims: Sequence[Interim] = (),
    at_once: int = 1,
) -> Iterator[Launch]:
    """The launches still to be run, in the order of the seed; lost ones get a further attempt.

    In a sequential design they reach up to the next judgement, without what does not go on. Where
    several run `at_once`, some of those that others may run beside are drawn to run alone.
    """
    cases = {case.id: case for case in plan.cases if case.skipped is None}
    done, asked = latest_attempts(records, CASE_ID), asked_blocks(plan, interims)
    index = 0
    for block in range(1, max(asked.values(), default=0) + 1):
        for case_id in block_order(cases, plan.seed, block):
            case, before = cases[case_id], done.get((case_id, block))
            if block > asked[case.environment, case.check]:
                continue
            if before is None or before.status == "lost":
                alone = case.nodes > 1 if case.alone is None else case.alone
                drawn = None
                if at_once > 1 and not alone:
                    drawn = runs_alone(case.id, plan.seed, block, at_once)
                yield Launch(
                    index=index,
                    case_id=case.id,
                    check=case.check,
                    environment=case.environment,
                    params=case.params,
                    ranks=case.ranks,
                    ranks_per_node=case.ranks_per_node,
                    nodes=case.nodes,
                    block=block,
                    attempt=before.attempt + 1 if before else 1,
                    limit_s=launch_limit_s(plan, case),
                    undisturbed=alone or bool(drawn),
                    drawn_alone=drawn,
                    switches=case.switches,
                    cpus_per_task=case.cpus_per_task,
                    resources=case.resources,
                )
                index += 1
