# SPDX-License-Identifier: Apache-2.0
"""A survey as a result: one page of a whole history."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from plugins.reframe import survey_launches
from plugins.reframe.survey import (
    LEAST_LAUNCHES,
    LEAST_OF_A_LIMIT,
    LEAST_OF_A_NODE,
    LOOSE,
    NODE_GAP,
    ONE_IN,
    ReferenceFinding,
    Survey,
)
from records.history.model import Night, SeriesKey
from reports.answers import Answer, State
from reports.notation.units import count_text, fixed, percent, significant
from reports.result import EVERYWHERE, Block, Facts, Result, Section, Sentence
from reports.show.tables import Cell, numeric, pivot
from reports.verdicts.nightly.forms import compared, day_of, state_of, value_text

#: Rows of a table.
_MOST_ROWS = 200
_METHOD = (
    "A change is a step of the median of more than 3 % that lasts four nights (E-divisive means"
    " over 30 nights, permutation p ≤ 0.0001, Mann–Whitney p ≤ 0.001), a step in the first nights,"
    " or a drift (the first 30 nights against the last 10). Noise is 1.4826·MAD of"
    f" nights over their level. The data support the limit that at most one launch in {ONE_IN} at"
    " the present level misses, of any distribution (order statistics), at least the"
    f" 99.9 % prediction limit of normal noise and 3 %; {LEAST_OF_A_LIMIT} launches are needed. A"
    f" reference with {LEAST_LAUNCHES} launches is too tight if it allows less than normal noise"
    f" does or surely more than one launch in {ONE_IN} misses it (binomial p < 0.01), too loose if"
    f" it allows more than {LOOSE:g} times what the data support and what the worst launch had. A"
    " node is slow if the 99 % bound of its median, over"
    f" all nodes and series, is worse than that of the good nodes by {percent(NODE_GAP, 0)}, with"
    f" {LEAST_OF_A_NODE} launches or more; launches on several nodes count for each of them."
)


class _Row(NamedTuple):
    """A finding of a series of a survey, and " on SYSTEM" where there are several systems."""

    of: Survey
    what: Any
    where: str

    @property
    def key(self) -> SeriesKey:
        """The series' key."""
        row: int = self.what.series
        return self.of.history.series[row]

    @property
    def test(self) -> str:
        """Test, environment and what tells it from the test's other cases."""
        return self.of.names[self.key.case_id] + self.where

    @property
    def nights(self) -> NDArray[np.float64]:
        """The values of the nights that have one."""
        values: NDArray[np.float64] = self.of.history.values[self.what.series]
        return np.asarray(values[np.isfinite(values)])


def _where(surveys: Sequence[Survey], one: Survey) -> str:
    return f" on {one.site}" if len(surveys) > 1 else ""


def _rows(surveys: Sequence[Survey], what: Callable[[Survey], Iterable[Any]]) -> list[_Row]:
    return [_Row(one, item, _where(surveys, one)) for one in surveys for item in what(one)]


def survey_result(surveys: Sequence[Survey]) -> Result[survey_launches.SurveyForm]:
    """Surveys of systems as one result."""
    nights = [night for one in surveys for night in one.history.nights]
    changes = _rows(surveys, lambda one: one.history.changes[::-1])
    changes.sort(key=lambda row: not row.what.open)
    nodes = _node_rows(surveys)
    spreads = _rows(surveys, lambda one: one.spreads)
    spreads.sort(key=lambda row: -1.0 if row.what.noise is None else row.what.noise, reverse=True)
    answer = _answer(surveys, changes, nodes)
    systems = ", ".join(dict.fromkeys(night.site for night in nights))
    nights_text = count_text(len(nights), "night")
    parts: list[tuple[str, str, Callable[[], Iterable[Block]]]] = [
        ("changes", "Lasting changes", partial(_changes, changes)),
        ("references", "References to correct", partial(_references, surveys)),
        ("nodes", "Slow nodes", partial(_nodes, surveys, nodes)),
        ("tests", "Flaky and failing tests", partial(_tests, surveys)),
    ]
    return Result(
        kicker=f"Assay history · {nights_text} · {_series_text(surveys)}",
        title=f"History of {systems}",
        data=_form(surveys, answer, changes, nodes, spreads),
        answer=answer,
        facts=_facts(nights, systems),
        sections=[
            *(Section(*part, shown_on=EVERYWHERE) for part in parts),
            Section("noise", "All series by noise", partial(_noise, spreads)),
            Section("method", "Method", lambda: [Sentence(_METHOD)]),
        ],
        closing=f"Assay history · n = {nights_text}",
    )


def _series_text(surveys: Sequence[Survey]) -> str:
    return count_text(sum(len(one.history.series) for one in surveys), "series")


def _facts(nights: Sequence[Night], systems: str) -> Facts:
    imported = any(night.imported for night in nights)
    launches = sum(sum(night.statuses.values()) for night in nights)
    return Facts(
        [
            ("systems", systems),
            ("nights", f"{min(n.date for n in nights)} to {max(n.date for n in nights)} UTC"),
            ("launches", fixed(launches, 0)),
            ("proof", "imported: not run and not proven by Assay" if imported else "Assay's own"),
        ]
    )


def _moved(row: _Row) -> str:
    """ "5.1 % slower", "5.1 % less" where the direction is not known."""
    change = row.what
    if row.key.better != "unknown":
        return compared(row.key, change.before, change.after)
    return f"{percent(abs(change.ratio - 1))} {'more' if change.ratio > 1 else 'less'}"


def _answer(surveys: Sequence[Survey], changes: Sequence[_Row], nodes: Sequence[_Row]) -> Answer:
    """Answer with what to look at first: how many findings of each kind, and the gravest."""
    still = [row for row in changes if row.what.open]
    counts = [
        (len(still), "series is", "series are", "slower than before"),
        (sum(len(one.of("missed", "too tight")) for one in surveys), "reference", "", "too tight"),
        (sum(len(one.of("too loose")) for one in surveys), "reference", "", "too loose"),
        (len(nodes), "node", "", "slow"),
        (sum(len(one.hidden) for one in surveys), "test", "", "flaky"),
    ]
    told = [f"{count_text(n, one, many)} {what}" for n, one, many, what in counts if n]
    unknown = sum(key.better == "unknown" for one in surveys for key in one.history.series)
    why = f"which direction of {count_text(unknown, 'series')} is better" if unknown else ""
    if not told:
        return Answer(State.MEASURED, f"Nothing stands out in {_series_text(surveys)}.", why)
    details = [
        f"{row.test}: {row.key.title} {_moved(row)} since {day_of(row.of.history, row.what)}."
        for row in still[:1]
    ] + [
        f"{row.what.node}: {percent(row.what.worse)} slower than {row.what.others} other nodes."
        for row in nodes[:1]
    ]
    return Answer(State.SUSPECT, f"{'; '.join(told)}.", why, details=tuple(details))


def _changes(rows: Sequence[_Row]) -> Iterator[Block]:
    def cells(row: _Row) -> list[Cell | str]:
        change, history = row.what, row.of.history
        unknown = row.key.better == "unknown"
        both = (change.before, change.after)
        return [
            row.test,
            row.key.title,
            day_of(history, change),
            " → ".join(value_text(row.key, value, both) for value in both),
            Cell(_moved(row), tone="bad" if change.open and not unknown else ""),
            "direction not known" if unknown else state_of(history, change),
        ]

    yield pivot(
        rows,
        [(["test", "figure", "since", "median", "change", "state"], cells)],
        anchor="table-changes",
        title="Lasting changes",
        most=_MOST_ROWS,
    ) or Sentence("No series changed to stay.")


def _references(surveys: Sequence[Survey]) -> Iterator[Block]:
    def cells(row: _Row) -> list[Cell | str]:
        found = row.what
        unit = found.reference.unit
        return [
            row.test,
            row.key.title,
            Cell(found.advice, tone="bad" if found.advice in ("missed", "too tight") else "open"),
            f"{significant(found.reference.value, 4)} {unit}",
            f"{significant(found.level / found.reference.factor, 4)} {unit}",
            "none" if found.allows is None else percent(found.allows),
            percent(found.supported),
            f"{found.missed} of {found.n}",
        ]

    numbers = numeric("reference", "level", "it allows", "data support", "launches miss it")
    yield pivot(
        _rows(surveys, lambda one: one.of("missed", "too tight", "too loose", "no limit")),
        [(["test", "figure", "reference is", *numbers], cells)],
        anchor="table-references",
        title="References to correct",
        note="“It allows”: how much worse than the level a launch may be. Level: the present one;"
        " of a series that is slower than before, that before.",
        most=_MOST_ROWS,
    ) or Sentence("No reference is too tight or too loose.")
    judged = [found for one in surveys for found in one.references]
    few = sum(found.supported is None for found in judged)
    by = f", {few} by fewer than {LEAST_OF_A_LIMIT} launches, which support no limit" if few else ""
    yield Sentence(
        f"{count_text(len(judged), 'reference')} judged in {_series_text(surveys)}{by}; write those"
        " that the data support with:",
        code="assay reframe references",
    )


def _node_rows(surveys: Sequence[Survey]) -> list[_Row]:
    """Each slow node where it is slowest, the slowest first."""
    rows = _rows(surveys, lambda one: one.nodes)
    rows.sort(key=lambda row: -row.what.worse)
    worst: dict[tuple[int, str], _Row] = {}
    for row in rows:
        worst.setdefault((id(row.of), row.what.node), row)
    return [*worst.values()]


def _nodes(surveys: Sequence[Survey], rows: Sequence[_Row]) -> Iterator[Block]:
    def cells(row: _Row) -> list[Cell | str]:
        node = row.what
        return [
            node.node + row.where,
            row.test,
            row.key.title,
            Cell(percent(node.worse), tone="bad"),
            str(node.n),
            str(node.others),
            str(sum(one.node == node.node for one in row.of.nodes)),
        ]

    numbers = numeric("slower by", "launches", "other nodes", "series")
    lead = ["node", "slowest in", "figure", *numbers], cells
    yield pivot(
        rows, [lead], anchor="table-nodes", title="Slow nodes", most=_MOST_ROWS
    ) or Sentence(
        "No node is slower than the others."
        if any(one.single_nodes for one in surveys)
        else "No launch ran on a single node; of nodes nothing stands out."
    )


def _tests(surveys: Sequence[Survey]) -> Iterator[Block]:
    def cells(found: tuple[str, survey_launches.FailingTestPart]) -> list[Cell | str]:
        name, test = found
        hidden = Cell(str(test.hidden), tone="open" if test.hidden else "")
        return [name, str(test.launches), str(test.failed), hidden, str(test.nights)]

    numbers = numeric("launches", "failed", "nights hidden by a retry", "nights")
    yield pivot(
        [
            (one.test_names.get(test.test, test.test) + _where(surveys, one), test)
            for one in surveys
            for test in one.tests
        ],
        [(["test", *numbers], cells)],
        anchor="table-tests",
        title="Flaky and failing tests",
        note="Hidden: ReFrame tried a failed launch again that night, and this passed. Its run"
        " reports and its database tell that; logs do not.",
        most=_MOST_ROWS,
    ) or Sentence("No launch failed.")


def _noise(rows: Sequence[_Row]) -> Iterator[Block | None]:
    def cells(row: _Row) -> list[Cell | str]:
        known = row.nights.tolist()
        return [
            row.test,
            row.key.title,
            row.key.better if row.key.better != "unknown" else Cell("not known", tone="open"),
            value_text(row.key, known[-1]) if known else "none",
            percent(row.what.noise, 2),
            percent(row.what.within, 2),
            str(len(known)),
        ]

    numbers = numeric("last night", "nights vary", "launches vary", "nights")
    lead = ["test", "figure", "better", *numbers], cells
    title, most = "All series by noise", _MOST_ROWS * 3
    yield pivot(rows, [lead], anchor="table-noise", title=title, most=most)


def _series_part(row: _Row, found: ReferenceFinding | None) -> survey_launches.SurveySeriesPart:
    reference, known = found and found.reference, row.nights
    return survey_launches.SurveySeriesPart.filled(
        row.key,
        site=row.of.site,
        test=row.test,
        metric=row.key.title,
        nights=len(known),
        level=found.level if found else float(np.median(known)) if len(known) else None,
        noise=row.what.noise,
        within=row.what.within,
        reference=reference and reference.value,
        reference_unit=reference.unit if reference else "",
        allows=found and found.allows,
        supported=found and found.supported,
        advice=found.advice if found else "",
    )


def _form(
    surveys: Sequence[Survey],
    answer: Answer,
    changes: Sequence[_Row],
    nodes: Sequence[_Row],
    spreads: Sequence[_Row],
) -> survey_launches.SurveyForm:
    found = {(id(one), item.series): item for one in surveys for item in one.references}

    def change_part(row: _Row) -> survey_launches.SurveyChangePart:
        history = row.of.history
        return survey_launches.SurveyChangePart.filled(
            row.what,
            site=row.of.site,
            test=row.test,
            metric=row.key.title,
            since=history.nights[history.position(row.what.since)].started_at,
            kind="change" if row.key.better == "unknown" else row.what.kind,
        )

    return survey_launches.SurveyForm(
        history=surveys[0].checked.history_file,
        imported=any(night.imported for one in surveys for night in one.history.nights),
        nights=sum(len(one.history.nights) for one in surveys),
        answer=answer.part,
        changes=[change_part(row) for row in changes],
        nodes=[
            survey_launches.SlowNodePart.filled(
                row.what, site=row.of.site, test=row.test, launches=row.what.n
            )
            for row in nodes
        ],
        tests=[test for one in surveys for test in one.tests],
        series=[_series_part(row, found.get((id(row.of), row.what.series))) for row in spreads],
    )
