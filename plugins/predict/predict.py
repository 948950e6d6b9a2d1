# SPDX-License-Identifier: Apache-2.0
"""Predictions of a run on node counts that it did not measure, and what it lacks for them.

Intervals hold together what is not known: blocks of the run's launches are drawn with replacement,
the same blocks for α, β and every time; the law is fitted anew to each draw, and its exponents and
the errors of a node count are drawn from what the measured counts leave open (models.scaling).
Where no law fits what was measured, nothing is predicted.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field

from plugins.predict.laws import (
    ADD_COUNT,
    ADD_ECHO,
    ApplicationLaw,
    ExpectedTime,
    Gap,
    OperationLaw,
    SubjectLaw,
)
from plugins.predict.library import Layout, Library, library_of
from plugins.predict.models.collectives import LEAST_COUNTS as LEAST_OPERATION_COUNTS
from plugins.predict.models.collectives import CollectiveModel
from plugins.predict.operations import CHECK as COLLECTIVES
from plugins.predict.operations import alternatives, expression_text, words
from plugins.predict.outcome import (
    EstimatePart,
    Measured,
    MeasuredPart,
    MissingPart,
    PointPart,
    Predicted,
    PredictionOutcome,
    Problem,
    Subject,
    SubjectPart,
)
from plugins.predict.subjects import APPLICATIONS, not_learnt_from, subjects
from reports.analysis.run import Analysis, flags_of
from reports.notation.units import bytes_text, count_text, significant
from reports.show.lines import joined
from reports.show.rows import message_bytes

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
#: What else to know of a subject, by its problems and their predicted times.
_Notes = Callable[[Sequence[tuple[Problem, EstimatePart]]], list[str]]


def predict(
    analysis: Analysis,
    nodes: Collection[int],
    left_out: Collection[int] = (),
    *,
    environments: Collection[str] = (),
    checks: Sequence[str] = CHECKS,
) -> PredictionOutcome:
    """Predict every subject on these node counts; the counts `left_out` are not learnt from."""
    found = PredictionOutcome([], [])
    present = [check for check in checks if analysis.rows_of(check)]
    for environment in (environments or analysis.looks) if present else ():
        library = library_of(analysis, environment, left_out)
        mine = _Environment(analysis, environment, library, nodes, left_out, found)
        for check in APPLICATIONS:
            if check in present:
                mine.add_application(check)
        if COLLECTIVES in present:
            mine.add_operations()
    planned = {case.check for case in analysis.run.plan.cases}
    failed = [check for check in checks if check in planned]
    if not present and failed:
        why = f"no launch of {', '.join(failed)} gave a time; assay status says why"
        missing = MissingPart(", ".join(failed), "", "anything", why, "run it again")
        found.missing.append(missing)
    elif not present:
        why, add = f"the run has none of {', '.join(checks)}", _ADD_COUNTS[checks[0]]
        found.missing.append(MissingPart(", ".join(checks), "", "anything", why, add))
    elif not found.predicted and not found.missing:
        why, add = "no launch on full nodes with a time", _ADD_COUNTS[present[0]]
        found.missing.append(MissingPart(", ".join(present), "", "any", why, add))
    return found


@dataclass(eq=False)
class _Environment:
    """Request for one environment; `found` takes what there is."""

    analysis: Analysis
    environment: str
    library: Library
    nodes: Collection[int]
    left_out: Collection[int]
    found: PredictionOutcome = field(repr=False)

    def add_application(self, check: str) -> None:
        """Predict all subjects of an application."""
        mine = subjects(self.analysis, self.environment, check)
        gaps = [(subject, self._gap(subject)) for subject in mine]
        known = [subject for subject, gap in gaps if gap is None]
        for subject in known:
            self._add_subject(subject)
        if mine and not known:
            # The subject with the most counts is nearest to what is needed.
            best, gap = max(gaps, key=lambda one: len(one[0].measured))
            assert gap is not None
            self._miss(check, best.title, gap)
        there = {nodes for subject in mine for nodes in subject.by_nodes}
        for count in sorted({*self.left_out} - there - {*self.nodes}) if known else ():
            self._miss_measured(check, f"{check} on {count_text(count, 'node')}")

    def add_operations(self) -> None:
        """Predict the shortest, middle and longest message of each operation."""
        layouts: dict[str, list[Layout]] = defaultdict(list)
        for layout in self.library.layouts:
            layouts[layout.operation].append(layout)
        begin = len(self.found.missing)
        why_not: dict[Gap, list[str]] = defaultdict(list)
        modelled = False
        for operation, mine in layouts.items():
            known = [one for one in mine if isinstance(one.model, CollectiveModel)]
            modelled = modelled or bool(known)
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
        if modelled and 1 in {*self.nodes, *self.left_out}:
            why = "no message crosses the network there, so that the law is another"
            self._miss(COLLECTIVES, "1 node", Gap(why, "ask for 2 nodes or more"))
        own = self.found.missing[begin:]
        self.found.missing[begin:] = [one for at, one in enumerate(own) if one not in own[:at]]

    def _miss(self, check: str, what: str, gap: Gap) -> None:
        self.found.missing.append(MissingPart(check, self.environment, what, gap.why, gap.add))

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

    def _gap(self, subject: Subject) -> Gap | None:
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

        def notes(times: Sequence[tuple[Problem, EstimatePart]]) -> list[str]:
            problems = [*(one.problem for one in used), *(problem for problem, _ in times)]
            known = [*self._unlearnt(subject), *self.library.sums_note(problems)]
            return [*known, *law.serial_note(times), *self._bend(used)]

        self._add(subject, law, [one.problem.nodes for one in used], notes)

    def _bend(self, used: Sequence[Measured]) -> list[str]:
        """Where the greatest count is far from what the smaller ones lead to expect."""
        if len(used) <= LEAST_COUNTS:
            return []
        expected = ApplicationLaw(self.library, used[:-1]).expected(used[-1].problem)
        assert isinstance(expected, ExpectedTime)
        ratio = used[-1].median_s / expected.value
        return [
            f"{used[-1].problem.nodes} nodes take {significant(ratio)} times what the smaller"
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
            self._add(subject, law, [*layout.counts], lambda _: [*notes])
            for count in sorted({*self.left_out} - {*self.nodes, *subject.by_nodes, 1}):
                # What no length has is said once.
                title = subject.title if count in there else layout.title
                self._miss_measured(COLLECTIVES, f"{title} on {count_text(count, 'node')}")

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

    def _add(self, subject: Subject, law: SubjectLaw, used: list[int], notes: _Notes) -> None:
        """Predict a subject on the counts asked for and on those left out, what has none is noted;
        and the curve on 1, 2, 4, … nodes to the greatest, as far as problem and law allow."""
        seen = subject.by_nodes

        def points(counts: Collection[int]) -> list[tuple[int, tuple[Problem, PointPart] | Gap]]:
            able = (count for count in counts if count >= subject.least_nodes)
            return [(count, self._point(subject, law, count)) for count in able]

        found = []
        for count, one in points(sorted({*self.nodes, *({*self.left_out} & seen.keys())})):
            if isinstance(one, Gap):
                self._miss(subject.check, f"{subject.title} on {count_text(count, 'node')}", one)
            else:
                found.append(one)
        if not found:
            return
        part = SubjectPart.filled(
            subject,
            learnt_from=used,
            errors=law.errors,
            notes=notes([(problem, one.time_s) for problem, one in found]),
            points=[one for _, one in found],
        )
        greatest = max([*self.nodes, *seen], default=1)
        doubled = (2**power for power in range(greatest.bit_length()) if 2**power < greatest)
        curve = [one[1] for _, one in points((*doubled, greatest)) if not isinstance(one, Gap)]
        self.found.predicted.append(Predicted(subject, part, curve))

    def _point(
        self, subject: Subject, law: SubjectLaw, nodes: int
    ) -> tuple[Problem, PointPart] | Gap:
        """Time and efficiency on so many nodes, or why there are none."""
        seen = subject.by_nodes.get(nodes)
        problem = seen.problem if seen else subject.at(nodes)
        if isinstance(problem, str):
            return Gap(problem, "ask for another node count")
        expected = law.expected(problem)
        if isinstance(expected, Gap):
            return expected
        time_s, measured = EstimatePart.of(expected.value, expected.drawn), None
        if seen:
            inside, is_left_out = time_s.holds(seen.median_s), nodes in self.left_out
            launches, flags = len(seen.time_s), list(seen.flags)
            measured = MeasuredPart(seen.median_s, launches, is_left_out, inside, flags)
        ideal_s = law.first_s * problem.work
        efficiency = EstimatePart.of(float(ideal_s[0]) / expected.value, ideal_s / expected.drawn)
        at = nodes, problem.ranks, problem.text
        return problem, PointPart(*at, time_s, efficiency, expected.communication_share, measured)


def _law_text(title: str, model: CollectiveModel) -> str:
    """The law with what it is not told apart from."""
    text = f"{title}: {expression_text(model.best.startup, model.best.delay)} µs"
    others = list(alternatives(model))
    return f"{text}, undetermined: {'; '.join(others)}" if others else text
