# SPDX-License-Identifier: Apache-2.0
"""A survey as a result: one page of a whole history."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from records.history.model import Change, Night, SeriesKey
from reports.answers import Answer, State, fitting
from reports.notation.units import count_text, fixed, percent, significant
from reports.result import EVERYWHERE, ON_PAPER, Block, Facts, Medium, Result, Section, Sentence
from reports.show.panel import Picture
from reports.show.tables import Cell, numeric, pivot
from reports.verdicts.nightly.pictures import trend
from reports.verdicts.nightly.wording import (
    case_labels,
    compared,
    day_of,
    state_of,
    value_text,
)
from reports.verdicts.survey.forms import (
    FailingTestPart,
    SlowNodePart,
    SurveyChangePart,
    SurveyForm,
    SurveySeriesPart,
)
from reports.verdicts.survey.survey import (
    LEAST_LAUNCHES,
    LEAST_OF_A_NODE,
    LOOSE,
    NODE_GAP,
    NodeFinding,
    ReferenceFinding,
    Survey,
    TestFinding,
)

#: Rows of a table, and trends that are drawn.
_MOST_ROWS, _MOST_TRENDS = 200, 24
_METHOD = (
    "A change is a step of the median of more than 3 % that lasts four nights (E-divisive means"
    " over 30 nights, permutation p ≤ 0.0001, Mann–Whitney p ≤ 0.001). Noise is 1.4826·MAD of"
    " nights over their level. A launch at the present level stays within the 99.9 % prediction"
    f" limit; the data support this limit, or 3 % if it is less. A reference with {LEAST_LAUNCHES}"
    " launches is too tight if it allows less than noise does, too loose if it allows more than"
    f" {LOOSE:g} times what the data support. A node is slow if the 99 % bound of its median, over"
    f" all nodes and series, is worse than that of the good nodes by {percent(NODE_GAP, 0)}, with"
    f" {LEAST_OF_A_NODE} launches or more; launches on several nodes count for each of them."
)


class _Row(NamedTuple):
    """Something of a survey, by its system."""

    of: Survey
    several: bool
    what: Change | ReferenceFinding | NodeFinding | TestFinding | int

    @property
    def site(self) -> str:
        """The system."""
        return self.of.checked.night.site

    @property
    def row(self) -> int:
        """The series; -1 of a test."""
        return self.what if isinstance(self.what, int) else getattr(self.what, "series", -1)

    @property
    def key(self) -> SeriesKey:
        """The series' key."""
        return self.of.history.series[self.row]

    @property
    def test(self) -> str:
        """Test, environment and what tells it from the test's other cases; of several systems the
        system too."""
        name = test_name(self.key, self.of)
        return f"{name} on {self.site}" if self.several else name


def test_name(key: SeriesKey, of: Survey) -> str:
    """ "Stream in gnu (n=2)"."""
    label = _labels(of).get(key.case_id, "")
    return f"{key.check_title} in {key.environment}" + (f" ({label})" if label else "")


def _labels(of: Survey) -> dict[str, str]:
    cache: dict[str, str] = of.checked.__dict__.setdefault("_case_labels", {})
    if not cache:
        cache.update(case_labels(of.history))
    return cache


def survey_result(surveys: Sequence[Survey]) -> Result[SurveyForm]:
    """Surveys of systems as one result."""
    nights = [night for one in surveys for night in one.history.nights]
    series = sum(len(one.history.series) for one in surveys)
    answer = _answer(surveys)
    systems = ", ".join(dict.fromkeys(night.site for night in nights))
    nights_text = count_text(len(nights), "night")

    def section(
        anchor: str,
        title: str,
        make: Callable[[Sequence[Survey]], Iterable[Block | None]],
        on: frozenset[Medium] = ON_PAPER,
    ) -> Section:
        return Section(anchor, title, partial(make, surveys), shown_on=on)

    return Result(
        kicker=f"Assay history · {nights_text} · {count_text(series, 'series')}",
        title=f"History of {systems}",
        data=_form(surveys, answer),
        answer=answer,
        facts=_facts(nights, systems),
        sections=[
            section("changes", "Lasting changes", _changes, EVERYWHERE),
            section("references", "References to correct", _references, EVERYWHERE),
            section("nodes", "Slow nodes", _nodes, EVERYWHERE),
            section("tests", "Flaky and failing tests", _tests, EVERYWHERE),
            section("trends", "Changed series, night by night", _trends),
            section("noise", "All series by noise", _noise),
            section("method", "Method", lambda _: [Sentence(_METHOD)]),
        ],
        closing=f"Assay history · n = {nights_text}",
    )


def _facts(nights: Sequence[Night], systems: str) -> Facts:
    imported = any(night.imported for night in nights)
    launches = sum(sum(night.statuses.values()) for night in nights)
    pairs = {
        "systems": systems,
        "nights": f"{min(n.date for n in nights)} to {max(n.date for n in nights)} UTC",
        "launches": fixed(launches, 0),
        "proof": "imported: not run and not proven by Assay" if imported else "Assay's own",
    }
    return Facts([*pairs.items()])


def _rows(surveys: Sequence[Survey], what: Callable[[Survey], Iterable[object]]) -> list[_Row]:
    return [_Row(one, len(surveys) > 1, item) for one in surveys for item in what(one)]  # type: ignore[arg-type]


def _change_rows(surveys: Sequence[Survey]) -> list[_Row]:
    """Open regressions first, the newest of each kind first."""
    rows = _rows(surveys, lambda one: one.history.changes[::-1])
    return sorted(rows, key=lambda row: not (isinstance(row.what, Change) and row.what.open))


def _kind(row: _Row, change: Change) -> str:
    return "change" if row.key.better == "unknown" else change.kind


def _moved(row: _Row, change: Change) -> str:
    """ "5.1 % slower", "5.1 % less" where the direction is not known."""
    if row.key.better != "unknown":
        return compared(row.key, change.before, change.after)
    return f"{percent(abs(change.ratio - 1))} {'more' if change.ratio > 1 else 'less'}"


def _answer(surveys: Sequence[Survey]) -> Answer:
    """What to look at first: how many findings of each kind, and the gravest."""
    changes = [row for row in _change_rows(surveys) if isinstance(row.what, Change)]
    still = [row for row in changes if isinstance(row.what, Change) and row.what.open]
    counts = [
        (len(still), "series is", "series are", "slower than before"),
        (sum(len(one.of("missed", "too tight")) for one in surveys), "reference", "", "too tight"),
        (sum(len(one.of("too loose")) for one in surveys), "reference", "", "too loose"),
        (
            len({(r.site, getattr(r.what, "node", "")) for r in _node_rows(surveys)}),
            "node",
            "",
            "slow",
        ),
        (sum(len(one.hidden) for one in surveys), "test", "", "flaky"),
    ]
    told = [f"{count_text(n, one, many)} {what}" for n, one, many, what in counts if n]
    unknown = sum(key.better == "unknown" for one in surveys for key in one.history.series)
    why = f"which direction of {count_text(unknown, 'series')} is better" if unknown else ""
    if not told:
        n = sum(len(one.history.series) for one in surveys)
        return Answer(State.MEASURED, f"Nothing stands out in {count_text(n, 'series')}.", why)
    sentence = f"{'; '.join(told)}."
    details = []
    for row in still[:1]:
        change = row.what
        assert isinstance(change, Change)
        since = day_of(row.of.history, change.since)
        details.append(f"{row.test}: {row.key.title} {_moved(row, change)} since {since}.")
    for row in _node_rows(surveys)[:1]:
        node = row.what
        assert isinstance(node, NodeFinding)
        details.append(f"{node.node}: {percent(node.worse)} slower than {node.others} other nodes.")
    return Answer(State.SUSPECT, fitting(sentence), why, details=tuple(details))


def _changes(surveys: Sequence[Survey]) -> Iterator[Block | None]:
    def cells(row: _Row) -> list[Cell | str]:
        change = row.what
        assert isinstance(change, Change)
        history = row.of.history
        unknown = row.key.better == "unknown"
        both = (change.before, change.after)
        first, second = (value_text(row.key, value, both) for value in both)
        return [
            row.test,
            row.key.title,
            day_of(history, change.since),
            f"{first} → {second}",
            Cell(_moved(row, change), tone="bad" if change.open and not unknown else ""),
            "direction not known" if unknown else state_of(history, change),
        ]

    rows = _change_rows(surveys)
    table = pivot(
        rows,
        [(["test", "figure", "since", "median", "change", "state"], cells)],
        anchor="table-changes",
        title="Lasting changes",
        most=_MOST_ROWS,
    )
    yield table or Sentence("No series changed to stay.")


def _references(surveys: Sequence[Survey]) -> Iterator[Block | None]:
    def cells(row: _Row) -> list[Cell | str]:
        found = row.what
        assert isinstance(found, ReferenceFinding)
        level = significant(found.level / found.reference.factor, 4)
        unit = found.reference.unit
        return [
            row.test,
            row.key.title,
            Cell(found.advice, tone="bad" if found.advice in ("missed", "too tight") else "open"),
            f"{significant(found.reference.value, 4)} {unit}",
            f"{level} {unit}",
            "none" if found.allows is None else percent(found.allows),
            percent(found.supported),
            f"{found.missed} of {found.n}",
        ]

    wrong = _rows(surveys, lambda one: one.of("missed", "too tight", "too loose", "no limit"))
    columns = ["test", "figure", "reference is"]
    columns_numeric = numeric("reference", "level", "it allows", "data support", "launches miss it")
    yield pivot(
        wrong,
        [([*columns, *columns_numeric], cells)],
        anchor="table-references",
        title="References to correct",
        note="“It allows”: how much worse than the present level a launch may be.",
        most=_MOST_ROWS,
    ) or Sentence("No reference is too tight or too loose.")
    judged = sum(len(one.references) for one in surveys)
    series = sum(len(one.history.series) for one in surveys)
    yield Sentence(
        f"{count_text(judged, 'reference')} judged in {count_text(series, 'series')}; write those"
        " that the data support with:",
        code="assay export references",
    )


def _node_rows(surveys: Sequence[Survey]) -> list[_Row]:
    """Each slow node where it is slowest."""
    worst: dict[tuple[int, str], _Row] = {}
    rows = _rows(surveys, lambda one: sorted(one.nodes, key=lambda node: -node.worse))
    for row in rows:
        assert isinstance(row.what, NodeFinding)
        worst.setdefault((id(row.of), row.what.node), row)
    return sorted(worst.values(), key=lambda row: -getattr(row.what, "worse", 0.0))


def _nodes(surveys: Sequence[Survey]) -> Iterator[Block | None]:
    def cells(row: _Row) -> list[Cell | str]:
        node = row.what
        assert isinstance(node, NodeFinding)
        of = sum(one.node == node.node for one in row.of.nodes)
        return [
            Cell(f"{node.node} on {row.site}" if row.several else node.node, tone="bad"),
            row.test,
            row.key.title,
            percent(node.worse),
            str(node.n),
            str(node.others),
            str(of),
        ]

    columns = ["node", "slowest in", "figure"]
    table = pivot(
        _node_rows(surveys),
        [([*columns, *numeric("slower by", "launches", "other nodes", "series")], cells)],
        anchor="table-nodes",
        title="Slow nodes",
        most=_MOST_ROWS,
    )
    alone = any(one.single_nodes for one in surveys)
    yield table or Sentence(
        "No node is slower than the others."
        if alone
        else "No launch ran on a single node; of nodes nothing stands out."
    )


def _tests(surveys: Sequence[Survey]) -> Iterator[Block | None]:
    def cells(row: _Row) -> list[Cell | str]:
        test = row.what
        assert isinstance(test, TestFinding)
        hidden = Cell(str(test.hidden), tone="open" if test.hidden else "")
        name = f"{test.test} on {row.site}" if row.several else test.test
        return [name, str(test.launches), str(test.failed), hidden, str(test.nights)]

    table = pivot(
        _rows(surveys, lambda one: one.tests),
        [
            (
                [
                    "test",
                    *numeric("launches", "failed", "nights hidden by a retry", "nights"),
                ],
                cells,
            )
        ],
        anchor="table-tests",
        title="Flaky and failing tests",
        note="Hidden: a launch failed and another try of the same test passed that night.",
        most=_MOST_ROWS,
    )
    yield table or Sentence("No launch failed.")


def _trends(surveys: Sequence[Survey]) -> Iterator[Block | None]:
    rows = {(row.site, row.row): row for row in _change_rows(surveys)}
    if not rows:
        yield Sentence("No series changed.")
    for row in list(rows.values())[:_MOST_TRENDS]:
        panel = trend(row.of.checked, row.row)
        name = f"{row.site}-{row.key.case_id}-{row.key.metric}"
        yield Picture(f"trend-{name}", row.test, row.key.title, [panel], [])


def _noise(surveys: Sequence[Survey]) -> Iterator[Block | None]:
    def order(row: _Row) -> float:
        noise = float(row.of.noise[row.row])
        return -noise if np.isfinite(noise) else 1.0

    def cells(row: _Row) -> list[Cell | str]:
        known = row.of.history.values[row.row]
        known = known[np.isfinite(known)]
        noise, within = (float(one[row.row]) for one in (row.of.noise, row.of.within))
        last = float(known[-1]) if len(known) else float("nan")
        return [
            row.test,
            row.key.title,
            row.key.better if row.key.better != "unknown" else Cell("not known", tone="open"),
            value_text(row.key, last) if len(known) else "none",
            percent(noise, 2) if np.isfinite(noise) else "–",
            percent(within, 2) if np.isfinite(within) else "–",
            str(len(known)),
        ]

    rows = sorted(_rows(surveys, lambda one: range(len(one.history.series))), key=order)
    yield pivot(
        rows,
        [
            (
                [
                    "test",
                    "figure",
                    "better",
                    *numeric("last night", "nights vary", "launches vary", "nights"),
                ],
                cells,
            )
        ],
        anchor="table-noise",
        title="All series by noise",
        most=_MOST_ROWS * 3,
    )


def _series_part(row: _Row, found: ReferenceFinding | None) -> SurveySeriesPart:
    values = row.of.history.values[row.row]
    known = values[np.isfinite(values)]
    reference = found and found.reference
    return SurveySeriesPart(
        site=row.site,
        test=row.test,
        metric=row.key.title,
        unit=row.key.unit,
        better=row.key.better,
        nights=len(known),
        level=found.level if found else float(np.median(known)) if len(known) else None,
        noise=float(row.of.noise[row.row]),
        within=float(row.of.within[row.row]),
        reference=reference and reference.value,
        reference_unit=reference.unit if reference else "",
        allows=found and found.allows,
        supported=found and found.supported,
        advice=found.advice if found else "",
    )


def _form(surveys: Sequence[Survey], answer: Answer) -> SurveyForm:
    found = {(id(one), item.series): item for one in surveys for item in one.references}

    def change_part(row: _Row) -> SurveyChangePart:
        change, history = row.what, row.of.history
        assert isinstance(change, Change)
        since = history.nights[history.position(change.since)].started_at
        told = (change.before, change.after, _kind(row, change))
        return SurveyChangePart(row.site, row.test, row.key.title, since, *told)

    everything = _rows(surveys, lambda one: np.argsort(-np.nan_to_num(one.noise)).tolist())
    return SurveyForm(
        history=surveys[0].checked.history_file,
        imported=any(night.imported for one in surveys for night in one.history.nights),
        nights=sum(len(one.history.nights) for one in surveys),
        answer=answer.part,
        changes=[change_part(row) for row in _change_rows(surveys)],
        nodes=[
            SlowNodePart.filled(row.what, site=row.site, test=row.test, launches=row.what.n)
            for row in _node_rows(surveys)
            if isinstance(row.what, NodeFinding)
        ],
        tests=[
            FailingTestPart.filled(test, site=one.checked.night.site)
            for one in surveys
            for test in one.tests
        ],
        series=[_series_part(row, found.get((id(row.of), row.row))) for row in everything],
    )
