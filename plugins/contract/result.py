# SPDX-License-Identifier: Apache-2.0
"""A contract as a result: what is signed comes first, then each criterion, then appendices; and
the evidence for the vendor: what is not met, the nodes and links concerned, and raw output."""

from collections.abc import Callable, Iterator
from functools import partial
from itertools import chain

from msgspec.structs import replace

from plugins.contract.forms import ContractFile, ContractForm, KeptJudgement
from plugins.contract.log import LogEntry
from reports.answers import Answer, State, item_text, listed, place_text
from reports.commands import command
from reports.judgement import Finding, JudgedCriterion
from reports.notation.units import count_text, fixed, moment_text, percent, sentence_case
from reports.result import (
    EVERYWHERE,
    ON_TERMINAL,
    Badge,
    Block,
    Facts,
    FileText,
    Result,
    SealMark,
    Section,
    Sentence,
    Signing,
)
from reports.show.panel import Picture
from reports.show.tables import TONES, Cell, Lead, pivot, table_of
from reports.verdicts.acceptance.result import (
    NUMBERS,
    REHEARSAL,
    judged_cell,
    margins,
    number_cells,
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
    yield table_of(contract.form.stages, anchor="table-stages", title="Stages")


def _open(contract: ContractFile) -> Iterator[Block | None]:
    """Criteria that are not met or not decided, and what the design cannot decide."""
    for stage, judgement in contract.latest():
        for part in judgement.results:
            if part.effective != "PASS":
                left = tuple(item for item in part.items if not item.waived)
                item = replace(part, items=left).most_telling()
                why = (item.note if item else "") or part.note
                said = item_text(item) if item and item.low is not None else ""
                text = f"{stage}, {part.title}: {'; '.join(filter(None, (said, why)))}"
                badge = Badge(part.effective, TONES[part.effective])
                yield Sentence(text.rstrip(": ") + ".", f"#{stage}-{part.id}", badge=badge)
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
        every += judgement.results
        columns: list[Lead[JudgedCriterion]] = [
            ("what must hold", partial(_linked, stage)),
            ("verdict", judged_cell),
            (["nearest to the limit", *NUMBERS[:-1]], lambda one: telling_cells(one)[:-1]),
        ]
        yield pivot(judgement.results, columns, anchor=f"table-{stage}", title=f"Stage {stage}")
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


#: Items of a criterion, and launches of one whose output is shown.
MOST_ITEMS, MOST_LAUNCHES = 20, 2
#: Lines of an output that are shown: its end.
MOST_LINES = 40

#: The text of a raw output by the name that a judgement gives it; None where it is not there.
RawText = Callable[[str], str | None]
#: What is odd about a node of a stage's run.
Oddities = Callable[[str, str], list[str]]


def evidence_result(
    contract: ContractFile, raw: RawText, oddities: Oddities
) -> Result[ContractForm] | None:
    """Separate result of what is not met; None where everything is."""
    bad = [(name, one) for name, one in contract.latest() if one.verdict != "PASS"]
    if not bad:
        return None
    named = [f"{title} ({name})" for name, one in bad for title in one.named]
    failed = [part.title for _, one in bad for part in one.results if part.effective != "PASS"]
    what = f"{count_text(len(failed), 'criterion is', 'criteria are')} not met or not decided"
    names = f"; named: {listed(named, 3)}" if named else ""
    return Result(
        kicker=f"Acceptance of site {contract.course.site} · to the vendor",
        title=f"{contract.course.contract.title}: evidence",
        data=contract.form,
        answer=Answer(State[bad[0][1].verdict], f"{what}{names}."),
        facts=Facts([("contract", contract.name), ("end of the log", contract.head)]),
        sections=[
            section
            for name, judgement in bad
            for section in _sections(name, judgement, raw, oddities)
        ],
        closing=f"Made with {contract.made_with}.",
        seal=SealMark(contract.name, contract.head, "Contract"),
    )


def _sections(
    stage: str, judgement: KeptJudgement, raw: RawText, oddities: Oddities
) -> Iterator[Section]:
    """The findings of a stage, then each criterion that is not met."""
    for number, finding in enumerate(judgement.findings):
        if finding.state != "not confirmed":
            title = f"Stage {stage}: {finding.title}"
            make = partial(_finding, stage, finding, oddities)
            yield Section(f"{stage}-finding-{number}", title, make, Badge(finding.state, "bad"))
    for part in judgement.results:
        if part.effective != "PASS":
            title = f"Stage {stage}: {part.title}"
            badge = Badge(part.effective, "bad" if part.effective == "FAIL" else "open")
            yield Section(f"{stage}-{part.id}", title, partial(_criterion, part, raw), badge)


def _finding(stage: str, finding: Finding, oddities: Oddities) -> Iterator[Block | None]:
    yield Sentence(f"Beyond the limits of: {', '.join(finding.criteria)}.")
    facts = [(node, "; ".join(odd)) for node in finding.nodes if (odd := oddities(stage, node))]
    yield Facts(facts, "Unlike the other nodes") if facts else None


def _criterion(part: JudgedCriterion, raw: RawText) -> Iterator[Block | None]:
    """The values that are beyond the limit, and what the launches behind them printed."""
    yield Sentence(f"{sentence_case(part.statement)}.")
    if part.note:
        yield Sentence(f"{sentence_case(part.note)}.")
    items = part.items
    bad = [number for number, item in enumerate(items) if item.verdict != "PASS"][:MOST_ITEMS]
    yield pivot(
        [items[number] for number in bad],
        [
            ("where", place_text),
            ("verdict", lambda one: one.verdict),
            (NUMBERS, number_cells),
            ("note", lambda one: one.note),
        ],
        anchor="",
        title=part.title,
    )
    launches = ([*part.launches[items[number].launches]][-MOST_LAUNCHES:] for number in bad)
    for name in dict.fromkeys(chain.from_iterable(launches)):
        text = raw(name)
        if text is None:
            yield Sentence("Raw output that is not there any more:", code=name)
        else:
            lines = text.splitlines()
            cut = f"its last {MOST_LINES} lines of {len(lines)}" if len(lines) > MOST_LINES else ""
            yield FileText(name, cut, "\n".join(lines[-MOST_LINES:]))
