# SPDX-License-Identifier: Apache-2.0
"""Predictions of a run on node counts that it did not measure, and what it lacks for them.

Intervals hold together what is not known: blocks of the run's launches are drawn with replacement,
the same blocks for α, β and every time; the law is fitted anew to each draw, and its exponents and
the errors of a node count are drawn from what the measured counts leave open (models.scaling).
Where no law fits what was measured, nothing is predicted.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace

from reports.analysis import Analysis, flags_of
from reports.checks.collectives.expressions import alternatives, expression_text
from reports.checks.collectives.measured import CHECK as COLLECTIVES
from reports.checks.collectives.measured import words
from reports.models.collectives import LEAST_COUNTS as LEAST_OPERATION_COUNTS
from reports.models.collectives import CollectiveModel
from reports.notation.units import bytes_text, count_text, three_digits
from reports.show.lines import joined
from reports.show.rows import message_bytes
from reports.verdicts.prediction.laws import (
    ADD_COUNT,
    ADD_ECHO,
    ApplicationLaw,
    ExpectedTime,
    Gap,
    OperationLaw,
    SubjectLaw,
)
from reports.verdicts.prediction.library import Layout, Library, library_of
from reports.verdicts.prediction.outcome import (
    Estimate,
    Measured,
    Missing,
    Outcome,
    Predicted,
    Prediction,
    Problem,
    Seen,
    Subject,
)
from reports.verdicts.prediction.subjects import APPLICATIONS, not_learnt_from, subjects

#: What can be predicted.
CHECKS = (*APPLICATIONS, COLLECTIVES)
#: Fewer node counts give no law; one of them must have messages between nodes.
LEAST_COUNTS = 2
#: A greatest count so many times off what the smaller ones predict is said.
BEND = 1.25
#: What adds what is missing.
_ADD_COUNTS = {
    "su3_rmd": "run the campaign su3-scaling, or add `ranks` to the check su3_rmd",
    "hpl": "add grids p × q of further node counts to the check hpl, of one N or one memory a rank",
    COLLECTIVES: f"add to the check collectives `ranks` of at least {LEAST_OPERATION_COUNTS} node"
    " counts above 1, on full nodes of one layout",
}


def predict(
    analysis: Analysis,
    nodes: Collection[int],
    left_out: Collection[int] = (),
    *,
    environments: Collection[str] = (),
    checks: Sequence[str] = CHECKS,
) -> Outcome:
    """Predict every subject on these node counts; the counts `left_out` are not learnt from."""
    predicted: list[Predicted] = []
    missing: list[Missing] = []
    present = [check for check in checks if analysis.rows_of(check)]
    for environment in (environments or analysis.looks) if present else ():
        library = library_of(analysis, environment, left_out)
        mine = _Environment(analysis, environment, library, nodes, left_out)
        for check in APPLICATIONS:
            if check in present:
                mine.add_application(check)
        if COLLECTIVES in present:
            mine.add_operations()
        predicted += mine.predicted
        missing += mine.missing
    planned = {case.check for case in analysis.run.plan.cases}
    if not present and (failed := [check for check in checks if check in planned]):
        why = f"no launch of {', '.join(failed)} gave a time; assay status says why"
        missing.append(Missing(", ".join(failed), "", "anything", why, "run it again"))
    elif not present:
        why = f"the run has none of {', '.join(checks)}"
        missing.append(Missing(", ".join(checks), "", "anything", why, _ADD_COUNTS[checks[0]]))
    elif not predicted and not missing:
        why = "no launch on full nodes with a time"
        missing.append(Missing(", ".join(present), "", "any", why, _ADD_COUNTS[present[0]]))
    return Outcome(tuple(predicted), tuple(missing))


@dataclass(eq=False)
class _Environment:
    """What is asked of one environment, and what is found."""

    analysis: Analysis
    environment: str
    library: Library
    nodes: Collection[int]
    left_out: Collection[int]
    predicted: list[Predicted] = field(default_factory=list)
    missing: list[Missing] = field(default_factory=list)

    def add_application(self, check: str) -> None:
        """Predict all subjects of an application."""
        mine = subjects(self.analysis, self.environment, check)
        known = [one for one in mine if self._unknown(one) is None]
        for subject in known:
            self._add_subject(subject)
        if mine and not known:
            # The subject with the most counts is nearest to what is needed.
            best = max(mine, key=lambda one: len(one.measured))
            gap = self._unknown(best)
            assert gap is not None
            self._miss(check, best.title, gap)
        there = {nodes for subject in mine for nodes in subject.by_nodes}
        for count in sorted({*self.left_out} - there - {*self.nodes}) if known else ():
            self._miss_measured(check, f"{check} on {count} nodes")

    def add_operations(self) -> None:
        """Predict the shortest, middle and longest message of each operation."""
        layouts: dict[str, list[Layout]] = defaultdict(list)
        for layout in self.library.layouts:
            layouts[layout.operation].append(layout)
        begin = len(self.missing)
        why_not: dict[Gap, list[str]] = defaultdict(list)
        for operation, mine in layouts.items():
            known = [one for one in mine if isinstance(one.model, CollectiveModel)]
            for layout in known:
                self._add_layout(layout)
            if not known:
                # The layout with the most counts is nearest to what is needed.
                best = max(mine, key=lambda one: len(one.counts))
                few = len(best.counts) < LEAST_OPERATION_COUNTS
                add = _ADD_COUNTS[COLLECTIVES] if few else ADD_COUNT
                why_not[Gap(best.why_not, add)].append(words(operation))
        for gap, names in why_not.items():
            self._miss(COLLECTIVES, ", ".join(names), gap)
        modelled = any(isinstance(one.model, CollectiveModel) for one in self.library.layouts)
        if modelled and 1 in {*self.nodes, *self.left_out}:
            why = "no message crosses the network there, so that the law is another"
            self._miss(COLLECTIVES, "1 node", Gap(why, "ask for 2 nodes or more"))
        self.missing[begin:] = dict.fromkeys(self.missing[begin:])

    def _miss(self, check: str, what: str, gap: Gap) -> None:
        self.missing.append(Missing(check, self.environment, what, gap.why, gap.add))

    def _miss_measured(self, check: str, what: str) -> None:
        why = "left out, but not measured on so many full nodes"
        self._miss(check, what, Gap(why, ADD_COUNT))

    def _used(self, subject: Subject) -> list[Measured]:
        return [
            one
            for one in subject.measured
            if one.problem.nodes not in self.left_out and not one.shares_cores
        ]

    def _unlearnt(self, subject: Subject) -> list[str]:
        shared = {nodes: one.shares_cores for nodes, one in subject.by_nodes.items()}
        return not_learnt_from(shared, self.left_out)

    def _unknown(self, subject: Subject) -> Gap | None:
        """Why there is no law of a subject and what to add; None where there is one."""
        used = self._used(subject)
        counts = [one.problem.nodes for one in used]
        if len(counts) < LEAST_COUNTS or max(counts) < 2:
            have = f"{count_text(counts[0], 'node')} alone" if counts else "no node count"
            why = f"{have} to learn from; {LEAST_COUNTS} counts are needed, one of them above 1"
            if unlearnt := self._unlearnt(subject):
                why += f" ({'; '.join(unlearnt)})"
            return Gap(why, _ADD_COUNTS[subject.check])
        for one in used:
            if place := self.library.lacks(one.problem.transfers):
                return Gap(f"α and β {place} were not measured", ADD_ECHO.format(place=place))
        return None

    def _add_subject(self, subject: Subject) -> None:
        """Predict a subject of an application."""
        used = self._used(subject)
        law = ApplicationLaw(self.library, used)
        found = self._predictions(subject, law)
        if not found:
            return
        problems = [*(one.problem for one in used), *(one.problem for one in found)]
        notes = [*self._unlearnt(subject), *self.library.sums_note(problems)]
        notes += [*law.serial_note(found), *self._bend(used)]
        counts = tuple(one.problem.nodes for one in used)
        self._add(subject, law, counts, found, notes)

    def _bend(self, used: Sequence[Measured]) -> list[str]:
        """Where the greatest count is far from what the smaller ones lead to expect."""
        if len(used) <= LEAST_COUNTS:
            return []
        expected = ApplicationLaw(self.library, used[:-1]).expected(used[-1].problem)
        assert isinstance(expected, ExpectedTime)
        ratio = Seen.of(used[-1], ()).value / expected.value
        return [
            f"{used[-1].problem.nodes} nodes take {three_digits(ratio)} times what the smaller"
            " counts lead to expect: what changes there, as a link that fills up, may change again;"
            " measure greater counts before you believe this"
        ] * (not 1 / BEND <= ratio <= BEND)

    def _add_layout(self, layout: Layout) -> None:
        """Predict the shortest, the middle and the longest message of a layout with a model."""
        ahead = layout.ahead(self.library.resampled)
        notes = [_law_text(layout.title, ahead.model), *layout.unlearnt]
        there = {self.analysis.case(row).nodes for row in layout.rows}
        lengths = sorted({message_bytes(row) for row in layout.used})
        for length in dict.fromkeys((lengths[0], lengths[len(lengths) // 2], lengths[-1])):
            places = [at for at, row in enumerate(layout.used) if message_bytes(row) == length]
            first = min(places, key=lambda at: self.analysis.case(layout.used[at]).nodes)
            subject = self._operation(layout, length)
            law = OperationLaw(ahead, length, ahead.time_s[:, first])
            found = self._predictions(subject, law)
            for count in sorted({*self.left_out} - {*self.nodes, *subject.by_nodes, 1}):
                # What no length has is said once.
                title = subject.title if count in there else layout.title
                self._miss_measured(COLLECTIVES, f"{title} on {count} nodes")
            if found:
                self._add(subject, law, layout.counts, found, notes)

    def _operation(self, layout: Layout, length: int) -> Subject:
        """A layout with messages of one length: as much a rank on more and more nodes."""
        title = joined(layout.title, bytes_text(length) if length else "")

        def at(nodes: int) -> Problem:
            return Problem(nodes, nodes * layout.on_node, title, 1.0)

        seen: dict[int, Measured] = {}
        for row in layout.rows:
            nodes = self.analysis.case(row).nodes
            if message_bytes(row) == length:
                times = row.series.by_block()
                seen.setdefault(nodes, Measured(at(nodes), times, None, flags_of([row])))
        measured = tuple(seen[nodes] for nodes in sorted(seen))
        return Subject(COLLECTIVES, self.environment, "weak", title, measured, at, least_nodes=2)

    def _predictions(self, subject: Subject, law: SubjectLaw) -> list[Prediction]:
        """Those of the counts asked for and of those left out; what has none is noted."""
        seen, found = subject.by_nodes, []
        for count in sorted({*self.nodes, *({*self.left_out} & seen.keys())}):
            if count < subject.least_nodes:
                continue
            one = _prediction(subject, law, count)
            if isinstance(one, Gap):
                self._miss(subject.check, f"{subject.title} on {count} nodes", one)
            else:
                at = Seen.of(seen[count], self.left_out) if count in seen else None
                found.append(replace(one, seen=at))
        return found

    def _add(
        self,
        subject: Subject,
        law: SubjectLaw,
        counts: tuple[int, ...],
        found: Sequence[Prediction],
        notes: Sequence[str],
    ) -> None:
        """Take in the predictions of a subject with the curve on 1, 2, 4, … nodes to the greatest,
        as far as problem and law allow."""
        greatest = max([*self.nodes, *subject.by_nodes], default=1)
        doubled = (2**power for power in range(greatest.bit_length()) if 2**power < greatest)
        between = (
            _prediction(subject, law, count)
            for count in (*doubled, greatest)
            if count >= subject.least_nodes
        )
        curve = tuple(one for one in between if isinstance(one, Prediction))
        self.predicted.append(
            Predicted(subject, counts, tuple(found), curve, law.errors, tuple(notes))
        )


def _prediction(subject: Subject, law: SubjectLaw, nodes: int) -> Prediction | Gap:
    """Time and efficiency on so many nodes, or why there are none."""
    seen = subject.by_nodes.get(nodes)
    problem = seen.problem if seen else subject.at(nodes)
    if isinstance(problem, str):
        return Gap(problem, "ask for another node count")
    expected = law.expected(problem)
    if isinstance(expected, Gap):
        return expected
    ideal_s = law.first_s * problem.work
    return Prediction(
        problem,
        Estimate.of(expected.value, expected.drawn),
        Estimate.of(float(ideal_s[0]) / expected.value, ideal_s / expected.drawn),
        expected.communication_share,
    )


def _law_text(title: str, model: CollectiveModel) -> str:
    """The law with what it is not told apart from."""
    text = f"{title}: {expression_text(model.best.startup, model.best.delay)} µs"
    others = list(alternatives(model))
    return f"{text}, undetermined: {'; '.join(others)}" if others else text
