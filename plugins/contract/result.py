# SPDX-License-Identifier: Apache-2.0
"""A contract as a result: what is signed comes first, then each criterion, then appendices."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial

from msgspec.structs import replace

from plugins.contract.forms import ContractFile, ContractForm, ContractRisk
from plugins.contract.log import LogEntry
from reports.answers import Answer, State, item_text, listed
from reports.commands import command
from reports.judgement import JudgedCriterion
from reports.notation.units import count_text, fixed, moment_text, percent, sentence_case
from reports.result import (
    EVERYWHERE,
    ON_TERMINAL,
    Badge,
    Block,
    Facts,
    Result,
    SealMark,
    Section,
    Sentence,
    Signing,
    Test,
)
from reports.show.panel import Picture
from reports.show.tables import TONES, Cell, Lead, numeric, pivot, table_of
from reports.verdicts.acceptance.result import (
    NUMBERS,
    OUTCOMES,
    REHEARSAL,
    judged_cell,
    margins,
    telling_cells,
)

_METHOD = (
    "A stage is a run of a campaign, judged by its criteria. Each verdict rests on a bound, not on"
    " a mean: PASS if the whole bound is inside the limit, FAIL if it is outside, else open. What"
    " is open is run again; the confidence stated holds over the first judgement and all re-runs"
    " together.",
    "The contract passes when the latest attempt at every stage has passed. A waiver leaves out"
    " what it names, and stays in this document with name and reason; so do earlier attempts.",
    "Risks were declared before anything ran. The buyer’s: that a machine exactly at the limit"
    " passes. The vendor’s: that a machine exactly at the promise does not pass, because it fails"
    " or stays undecided.",
)


def contract_result(contract: ContractFile) -> Result[ContractForm]:
    """A contract as a result; the same file gives the same."""
    course = contract.course
    named = " · ".join(
        filter(None, (f"Acceptance of site {course.site}", course.contract.contract))
    )
    return Result(
        kicker=named,
        title=course.contract.title,
        data=contract.form,
        answer=_answer(contract),
        facts=Facts(_facts(contract), codes=frozenset({"contract", "end of the log"})),
        sections=[
            Section("stages", "Stages", lambda: _stages(contract), shown_on=EVERYWHERE),
            Section("waivers", "Waivers", lambda: _waivers(contract), shown_on=EVERYWHERE),
            Section("open", "Not met, not decided", lambda: _open(contract), shown_on=EVERYWHERE),
            Section("criteria", "Criteria", lambda: _criteria(contract)),
            Section("signatures", "Signatures", lambda: _signatures(contract)),
            Section("signed", "Signed", lambda: _signed(contract), shown_on=ON_TERMINAL),
            Section("risks", "Risks as declared", lambda: _risks(contract), shown_on=EVERYWHERE),
            Section("attempts", "Every attempt", lambda: _attempts(contract)),
            Section("method", "How the verdicts come about", lambda: map(Sentence, _METHOD)),
            Section("log", "Appendix: the log", lambda: _log(contract)),
            Section("provenance", "Appendix: machine and software", lambda: _provenance(contract)),
        ],
        closing=f"Made with {contract.made_with}.",
        tests=lambda: _tests(contract),
        seal=SealMark(contract.name, contract.head, "Contract"),
    )


def _answer(contract: ContractFile) -> Answer:
    course = contract.course
    verdicts = {stage.name: course.verdict_of(stage.name) for stage in course.contract.stages}
    bad = [name for name, verdict in verdicts.items() if verdict == course.verdict]
    every = count_text(len(verdicts), "stage")
    sentence = f"All {every} are passed." if len(verdicts) > 1 else "Its stage is passed."
    if course.verdict != "PASS":
        word = {"FAIL": "not met", "NOT RUN": "not run yet"}.get(course.verdict, "not decided")
        sentence = (
            f"{len(bad)} of {every} {'is' if len(bad) == 1 else 'are'} {word}: {listed(bad)}."
        )
    waivers = sum(entry.what == "waived" for entry in course.entries)
    unknown = REHEARSAL if contract.virtual else ""
    if undecided := [one.criterion for one in contract.risks if not one.decided]:
        count = count_text(len(undecided), "criterion has", "criteria have")
        unknown = f"{count} a risk beyond what the contract allows: {listed(undecided, 3)}"
    if waivers:
        sentence = f"{sentence.rstrip('.')}, with {count_text(waivers, 'waiver')}."
    state = State.UNFINISHED if course.verdict == "NOT RUN" else State[course.verdict]
    verb = "next" if course.next_stage is not None else "report"
    return Answer(state, sentence, unknown, command("contract", verb, contract=contract.name))


def _facts(contract: ContractFile) -> list[tuple[str, str]]:
    course, started = contract.course, contract.course.entries[0]
    return [
        ("folder", contract.name),
        ("site", course.site),
        ("started", f"{moment_text(started.at, '')} UTC by account {started.user}"),
        ("last entry", f"{moment_text(course.entries[-1].at, '')} UTC"),
        *([("score", f"{fixed(score, 2)} × the limits")] if (score := contract.score) else []),
        ("contract", contract.files.get("contract.yaml", "")),
        ("end of the log", contract.head),
    ]


def _stages(contract: ContractFile) -> Iterator[Block | None]:
    course, waived = contract.course, contract.course.waivers
    yield pivot(
        course.contract.stages,
        [
            ("stage", lambda one: one.name),
            ("shows", lambda one: one.title),
            ("verdict", lambda one: Cell(v := course.verdict_of(one.name), tone=TONES.get(v, ""))),
            (numeric("attempts"), lambda one: [str(len(course.attempts(one.name)))]),
            ("waived by", lambda one: ", ".join(dict.fromkeys(w.by for w in waived(one.name)))),
        ],
        anchor="table-stages",
        title="Stages",
    )


def _open(contract: ContractFile) -> Iterator[Block | None]:
    """Criteria that are not met or not decided, and what the design cannot decide."""
    for stage, judgement in contract.latest():
        for result in judgement.criteria:
            if result.effective != "PASS":
                left = tuple(item for item in result.items if not item.waived)
                item = replace(result, items=left).most_telling()
                why = (item.note if item else "") or result.note
                said = item_text(item) if item and item.low is not None else ""
                text = f"{stage}, {result.title}: {'; '.join(filter(None, (said, why)))}"
                badge = Badge(result.effective, TONES[result.effective])
                yield Sentence(text.rstrip(": ") + ".", f"#{stage}-{result.id}", badge=badge)
        if judgement.named:
            yield Sentence(f"{stage} names {listed(judgement.named, 6)}.", tone="bad")
    for risk in contract.risks:
        if not risk.decided:
            yield Sentence(
                f"{risk.stage}, {risk.title}: {risk.repeats} do not decide it; a machine at the"
                f" limit passes in {percent(risk.buyer, 0)}, one at the promise does not in"
                f" {percent(risk.vendor, 0)}.",
                "#risks",
            )
    for stage_of in contract.course.contract.stages:
        if contract.course.verdict_of(stage_of.name) == "NOT RUN":
            yield Sentence(f"{stage_of.name}: has not ended yet.")


def _waivers(contract: ContractFile) -> Iterator[Block | None]:
    found = [one for one in contract.course.entries if one.what == "waived"]
    yield table_of(
        found,
        *("stage", "criterion", "subject", "by", "reason", "at", "until"),
        anchor="table-waivers",
        title="Waivers",
    )
    if not found:
        yield Sentence("None: nothing was waived.")


def _signatures(contract: ContractFile) -> Iterator[Block | None]:
    course = contract.course
    yield Signing(
        f"The undersigned have read this document of contract {contract.name}, with the verdict"
        f" {course.verdict}.",
        [(one.role, one.organisation, one.name) for one in course.contract.parties],
    )
    yield from _signed(contract)


def _signed(contract: ContractFile) -> Iterator[Block | None]:
    course = contract.course
    entries = list(course.entries)

    def later(one: LogEntry) -> str:
        more = entries[entries.index(one) + 1 :]
        stages = {e.stage for e in more if e.what in ("begun", "ended", "waived")}
        changed = stages & {one.stage} if one.stage else stages
        return f"superseded: {listed(sorted(changed))}" if changed else "current"

    yield pivot(
        course.signatures,
        [
            ("signed for", lambda one: one.role),
            ("by", lambda one: one.by),
            ("what", lambda one: one.stage or "the contract"),
            ("verdict then", lambda one: one.verdict),
            ("on", lambda one: moment_text(one.at, "")),
            ("remark", lambda one: one.reason),
            ("state", later),
        ],
        anchor="table-signed",
        title="Signed in the log",
    )


def _criteria(contract: ContractFile) -> Iterator[Block | None]:
    """Each criterion of each stage with its figure, and a picture of all margins."""
    every: list[JudgedCriterion] = []
    for stage, judgement in contract.latest():
        every += judgement.criteria
        risks = {risk.criterion: risk for risk in contract.risks if risk.stage == stage}
        columns: list[Lead[JudgedCriterion]] = [
            ("what must hold", partial(_linked, stage)),
            ("verdict", judged_cell),
            (["nearest to the limit", *NUMBERS[:-1]], lambda one: telling_cells(one)[:-1]),
            (numeric("buyer’s risk", "vendor’s risk"), partial(_risk_cells, risks)),
        ]
        yield pivot(judgement.criteria, columns, anchor=f"table-{stage}", title=f"Stage {stage}")
    if not every:
        yield Sentence("No stage has been judged yet.")
    if drawn := [*margins(every, f"contract {contract.name}")]:
        yield Picture("margins", "Margins to the limits", "Of each criterion.", drawn, [])


def _risks(contract: ContractFile) -> Iterator[Block | None]:
    yield table_of(
        contract.risks, anchor="table-risks", title="Risks as declared before anything ran"
    )
    for risk in contract.risks:
        if risk.remedy:
            yield Sentence(f"{risk.stage}, {risk.criterion}: {risk.remedy}.")


def _linked(stage: str, one: JudgedCriterion) -> Cell:
    """What must hold, with a link to the criterion."""
    return Cell(one.title, href=f"#{stage}-{one.id}")


def _risk_cells(risks: Mapping[str, ContractRisk], one: JudgedCriterion) -> list[str]:
    if (risk := risks.get(one.id)) is None:
        return ["–", "–"]
    return [percent(chance, 0) for chance in (risk.buyer, risk.vendor)]


def _attempts(contract: ContractFile) -> Iterator[Block | None]:
    """Each attempt at each stage with all its criteria and where their raw output is."""
    course = contract.course
    for stage in course.contract.stages:
        for attempt in course.attempts(stage.name):
            verdict = attempt.verdict or "NOT RUN"
            badge = Badge(verdict, TONES.get(verdict, "plain"))
            title = f"{sentence_case(stage.name)}, attempt {attempt.number}"
            make = partial(_attempt, contract, stage.name, attempt.number)
            yield Section(f"{stage.name}-attempt-{attempt.number}", title, make, badge)


def _attempt(contract: ContractFile, stage: str, number: int) -> Iterator[Block | None]:
    attempts = contract.course.attempts(stage)
    attempt = attempts[number - 1]
    judgement = contract.judgement(attempt)
    facts = [("began", f"{attempt.began} UTC"), ("ended", attempt.ended or "under way")]
    facts += [("run" if not place else "re-run", run) for place, run in enumerate(attempt.runs)]
    facts += [("seal of the judgement", attempt.seal)] if attempt.seal else []
    facts += [fact for run in attempt.runs for fact in contract.mixes.get(run, ())]
    yield Facts(facts, codes=frozenset({"run", "re-run", "seal of the judgement"}))
    latest = attempt == attempts[-1]
    for part in judgement.results if judgement else ():
        anchor = f"{stage}-{part.id}" if latest else ""
        text = f"{part.title}: {part.statement}. {part.verdict}"
        text += f", {part.effective} without what is waived" * (part.effective != part.verdict)
        lists = [raw for raws in part.launches for raw in raws]
        make = partial(_one, text, part.note, lists)
        yield Section(anchor or f"{stage}-{number}-{part.id}", part.id, make)


def _one(text: str, note: str, raw: list[str]) -> Iterator[Block | None]:
    yield Sentence(f"{text}.")
    if note:
        yield Sentence(f"{sentence_case(note)}.")
    if raw:
        shown = dict.fromkeys(raw)
        more = f" and {len(shown) - 6} more" if len(shown) > 6 else ""
        yield Sentence("Raw output:", code=f"{', '.join([*shown][:6])}{more}")


def _log(contract: ContractFile) -> Iterator[Block | None]:
    yield Sentence(
        "Every line carries the SHA-256 of the line before it; the first that of the contract, its"
        " criteria and its campaigns. No command changes or removes a line."
    )
    yield table_of(
        contract.course.entries,
        *("at", "user", "what", "stage", "attempt", "by", "role", "reason", "verdict"),
        anchor="table-log",
        title="The log",
    )


def _provenance(contract: ContractFile) -> Iterator[Block | None]:
    yield Facts([*contract.files.items()], "Checksums (SHA-256)", frozenset(contract.files))
    yield from (Facts(pairs, name) for name, pairs in contract.provenance if pairs)


def _tests(contract: ContractFile) -> Iterator[Test]:
    for stage, judgement in contract.latest():
        for one in judgement.criteria:
            item = one.most_telling()
            message = item_text(item) if item else one.note
            name, outcome = f"{one.id}: {one.title}", OUTCOMES[one.effective]
            yield Test(f"contract.{stage}", name, outcome, message, one.effective.lower())
