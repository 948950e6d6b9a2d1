# SPDX-License-Identifier: Apache-2.0
"""Course of a contract so far: attempts at its stages, waivers, signatures, what comes next.

All of it follows from the contract and its log; a later line replaces nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, get_args

from plugins.contract.log import LogEntry
from plugins.contract.model import Contract, Stage

#: A stage without a verdict is NOT RUN.
ContractVerdict = Literal["PASS", "NOT RUN", "INCONCLUSIVE", "SUSPECT", "FAIL"]
#: From best to worst.
_ORDER: tuple[ContractVerdict, ...] = get_args(ContractVerdict)


@dataclass(frozen=True)
class StageAttempt:
    """An attempt at a stage.

    `runs`: its run directory and those of re-runs, `ledger`: the folder of its looks, of a period;
    both from the contract's folder. `verdict` is "" while it is under way. A later judgement, with
    waivers, gives another verdict and seal.
    """

    number: int
    began: str
    runs: tuple[str, ...] = ()
    ledger: str = ""
    ended: str = ""
    verdict: str = ""
    seal: str = ""


@dataclass(frozen=True)
class ContractCourse:
    """A contract and its log."""

    contract: Contract
    entries: Sequence[LogEntry]

    @property
    def site(self) -> str:
        """The site that the contract was started on."""
        return self.entries[0].site if self.entries else ""

    @property
    def file(self) -> str:
        """The file that the contract was read from."""
        return self.entries[0].file if self.entries else ""

    def attempts(self, stage: str) -> list[StageAttempt]:
        """The attempts at a stage, the latest last."""
        found: dict[int, StageAttempt] = {}
        for one in self.entries:
            if one.stage != stage:
                continue
            if one.what == "begun":
                began = found.get(one.attempt, StageAttempt(one.attempt, one.at))
                more = (one.run,) if one.run else ()
                ledger = one.file or began.ledger
                found[one.attempt] = replace(began, runs=(*began.runs, *more), ledger=ledger)
            elif one.what == "ended":
                began = found[one.attempt]
                ended = began.ended or one.at
                found[one.attempt] = replace(began, ended=ended, verdict=one.verdict, seal=one.seal)
        return [*found.values()]

    def verdict_of(self, stage: str) -> ContractVerdict:
        """The verdict of a stage's latest attempt, its waivers included."""
        attempts = self.attempts(stage)
        found = attempts[-1].verdict if attempts else ""
        return next((word for word in _ORDER if word == found), "NOT RUN")

    def waivers(self, stage: str) -> list[LogEntry]:
        """The waivers of a stage."""
        return [one for one in self.entries if (one.what, one.stage) == ("waived", stage)]

    @property
    def signatures(self) -> list[LogEntry]:
        """Who signed what, the latest last."""
        return [one for one in self.entries if one.what == "signed"]

    @property
    def verdict(self) -> ContractVerdict:
        """The worst of the stages' verdicts."""
        found = [self.verdict_of(stage.name) for stage in self.contract.stages]
        return max(found, key=_ORDER.index)

    @property
    def next_stage(self) -> Stage | None:
        """The stage that is under way, or the first that has not run."""
        return next((s for s in self.contract.stages if self.verdict_of(s.name) == "NOT RUN"), None)
