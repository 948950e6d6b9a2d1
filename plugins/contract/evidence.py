# SPDX-License-Identifier: Apache-2.0
"""Evidence for the vendor: what is not met, the nodes and links concerned, and raw output."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import chain

from plugins.contract.forms import ContractFile, ContractForm, KeptJudgement
from reports.answers import Answer, State, listed, place_text
from reports.judgement import Finding, JudgedCriterion
from reports.notation.units import count_text, sentence_case
from reports.result import Badge, Block, Facts, FileText, Result, SealMark, Section, Sentence
from reports.show.tables import pivot
from reports.verdicts.acceptance.result import NUMBERS, number_cells

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
