# SPDX-License-Identifier: Apache-2.0
"""contract.json, and the judgements kept in a contract's folder as they are read again."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from math import exp, log
from typing import Annotated, Literal

import msgspec

from plugins.contract.log import ContractCourse, ContractVerdict, LogEntry, StageAttempt
from records.forms import Form, Part, key
from reports.judgement import Finding, JudgedCriterion
from reports.notation.units import percent
from reports.statistics.bounds import Verdict

_YES = {True: "yes", False: "no"}


class ContractRisk(Part, kw_only=True):
    """Risks of judging a criterion, as declared before its stage ran."""

    stage: Annotated[str, key("The stage.", "stage")]
    criterion: Annotated[str, key("The criterion's id.", "criterion")]
    title: Annotated[str, key("Condition that must hold.")]
    limit: Annotated[str, key("The limit, in words.", "limit")]
    promise: Annotated[str, key("Values of a machine at the promise, in words.", "at the promise")]
    repeats: Annotated[str, key("Launches, days or jobs, in words.", "by")]
    spread: Annotated[
        float | None, key("The coefficient of variation of a launch.", "spread", percent)
    ]
    spread_from: Annotated[
        str, key("Where that is from: assumed, or the run that showed it.", "spread is")
    ]
    buyer: Annotated[
        float, key("The chance that a machine at the limit passes.", "buyer’s risk", percent)
    ]
    vendor: Annotated[
        float,
        key("The chance that a machine at the promise does not pass.", "vendor’s risk", percent),
    ]
    refused: Annotated[float, key("The chance that a machine at the promise fails.")]
    decided: Annotated[
        bool, key("True if both risks are as the contract allows.", "decides", _YES.get)
    ]
    remedy: Annotated[str, key("Measure that would decide it: repeats, days, jobs.")]


class ContractRisksForm(Form, kw_only=True):
    """Risks of a contract, as declared when it was started: risks.json."""

    risks: Annotated[list[ContractRisk], key("A criterion each.")]


class AttemptPart(Part, kw_only=True):
    """An attempt at a stage."""

    number: Annotated[int, key("From 1.")]
    began: Annotated[str, key("When (UTC).")]
    ended: Annotated[str, key("When (UTC); empty: it is under way.")]
    runs: Annotated[
        list[str], key("Its run directory and those of re-runs, from the contract's folder.")
    ]
    verdict: Annotated[str, key("The verdict; empty: it is under way.")]
    seal: Annotated[str, key("The SHA-256 of its judgement.")]
    results: Annotated[list[JudgedCriterion], key("The criteria.")]
    named: Annotated[list[str], key("Named findings, in words.")]


class StagePart(Part, kw_only=True):
    """A stage."""

    name: Annotated[str, key("Its name.", "stage")]
    title: Annotated[str, key("Title: what it shows.", "shows")]
    verdict: Annotated[str, key("The verdict of its latest attempt, waivers included.", "verdict")]
    attempts: Annotated[
        list[AttemptPart], key("All attempts.", "attempts", lambda all_: str(len(all_)))
    ]


class ContractForm(Form, kw_only=True):
    """`assay contract`, and contract.json: a contract with all that was done under it."""

    kind: Annotated[Literal["assay-contract"], key("Kind of the form.")] = "assay-contract"
    name: Annotated[str, key("The contract.")]
    title: Annotated[str, key("Its title.")]
    site: Annotated[str, key("The site.")]
    folder: Annotated[str, key("The folder's name.")]
    verdict: Annotated[ContractVerdict, key("The worst of the stages' verdicts.")]
    score: Annotated[
        float | None, key("Weighted geometric mean of value over limit; it decides nothing.")
    ]
    stages: Annotated[list[StagePart], key("The stages.")]
    risks: Annotated[list[ContractRisk], key("Risks of each criterion, as declared.")]
    log: Annotated[list[LogEntry], key("All that was done, in order.")]
    head: Annotated[str, key("The hash that the log ends with.")]
    files: Annotated[dict[str, str], key("Checksums of the contract and the judgements.")]


#: The kind of a judgement of a period.
PERIOD = "assay-stability"


class KeptJudgement(Part, kw_only=True):
    """Contents of a kept judgement, of a run (acceptance.json) or of a period of stability."""

    kind: Annotated[str, key("assay-acceptance, of a run, or assay-stability, of a period.")]
    verdict: Annotated[Verdict, key("The verdict.")]
    judged_on: Annotated[str, key("The day.")]
    results: Annotated[list[JudgedCriterion], key("The criteria.")]
    named: Annotated[list[str], key("Named findings, in words.")] = msgspec.field(
        default_factory=list
    )
    files: Annotated[dict[str, str], key("Checksums of what it rests on.")] = msgspec.field(
        default_factory=dict
    )
    findings: Annotated[list[Finding], key("Findings that are or were suspected.")] = msgspec.field(
        default_factory=list
    )


@dataclass(frozen=True)
class ContractFile:
    """All that a document of a contract shows. `kept`: the judgements by their seals; `files`:
    checksums by name; `provenance`: facts of the latest run, in parts."""

    course: ContractCourse
    name: str
    head: str
    kept: Mapping[str, KeptJudgement]
    risks: list[ContractRisk]
    files: Mapping[str, str]
    made_with: str
    provenance: list[tuple[str, list[tuple[str, str]]]] = field(default_factory=list)
    virtual: bool = False

    def judgement(self, attempt: StageAttempt) -> KeptJudgement | None:
        """Judgement of an attempt."""
        return self.kept.get(attempt.seal)

    def latest(self) -> Iterator[tuple[str, KeptJudgement]]:
        """Each stage that has a judgement, with that of its latest attempt."""
        for stage in self.course.contract.stages:
            attempts = self.course.attempts(stage.name)
            if attempts and (found := self.judgement(attempts[-1])):
                yield stage.name, found

    @property
    def score(self) -> float | None:
        """(∏ Sᵢ^wᵢ)^(1/Σw), Sᵢ how far a criterion's most telling value is beyond its limit in the
        good direction, as a multiple [LANL ATS-5, SSNI]; None where nothing has a limit."""
        total = logs = 0.0
        for name, judgement in self.latest():
            stage = self.course.contract.stage(name)
            weights = {one.id: one.weight for one in (stage.criteria if stage else ())}
            for result in judgement.results:
                item, weight = result.most_telling(), weights.get(result.id, 1.0)
                if item is None or item.centre <= 0 or item.method == "count":
                    continue
                shares = [item.centre / item.at_least] if item.at_least else []
                shares += [item.at_most / item.centre] if item.at_most else []
                if shares:
                    total, logs = total + weight, logs + weight * log(min(shares))
        return exp(logs / total) if total else None

    @property
    def form(self) -> ContractForm:
        """The machine form."""
        course = self.course
        return ContractForm(
            name=course.contract.name,
            title=course.contract.title,
            site=course.site,
            folder=self.name,
            verdict=course.verdict,
            score=self.score,
            stages=[
                StagePart(
                    name=stage.name,
                    title=stage.title,
                    verdict=course.verdict_of(stage.name),
                    attempts=[self._attempt(one) for one in course.attempts(stage.name)],
                )
                for stage in course.contract.stages
            ],
            risks=self.risks,
            log=list(course.entries),
            head=self.head,
            files=dict(self.files),
        )

    def _attempt(self, attempt: StageAttempt) -> AttemptPart:
        found = self.judgement(attempt)
        return AttemptPart.filled(
            attempt,
            runs=list(attempt.runs),
            results=found.results if found else [],
            named=found.named if found else [],
        )


#: A kept judgement of its bytes; raises msgspec.MsgspecError.
read_judgement = msgspec.json.Decoder(KeptJudgement).decode
