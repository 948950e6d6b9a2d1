# SPDX-License-Identifier: Apache-2.0
"""The imported launches of a history as columns, and the tests of which some failed."""

from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray

from plugins.reframe.imported import stored_launches
from records.forms import Form, Part, key
from records.history.model import History
from records.history.store import Store
from reports.answers import AnswerPart
from reports.statistics.descriptive import Matrix


class UnreadPart(Part):
    """Part that could not be read."""

    file: Annotated[str, key("The file.")]
    line: Annotated[int, key("Its line, or a session of a database; 0: the file as a whole.")]
    reason: Annotated[str, key("Why.")]


class ImportForm(Form, kw_only=True):
    """`assay reframe import`: what was taken in."""

    history: Annotated[str, key("The history.")]
    files: Annotated[int, key("Files that had launches or were to have some.")]
    added: Annotated[int, key("Launches that are new.")]
    known: Annotated[int, key("Launches that were there already.")]
    nights: Annotated[int, key("Nights that grew.")]
    series: Annotated[int, key("Series that the files have.")]
    not_numbers: Annotated[int, key("Figures of new launches that are NaN or infinite.")]
    unread: Annotated[int, key("Lines and test cases that could not be read.")]
    unread_parts: Annotated[list[UnreadPart], key("The first hundred of them.")]


class SurveySeriesPart(Part):
    """A series of the history."""

    site: Annotated[str, key("The system.")]
    test: Annotated[str, key("The test, its parameters and its environment.")]
    metric: Annotated[str, key("The figure.")]
    unit: Annotated[str, key("Its SI unit.")]
    better: Annotated[Literal["higher", "lower", "unknown"], key("Direction that is better.")]
    nights: Annotated[int, key("Nights with a value.")]
    level: Annotated[float | None, key("The level of the last nights.")]
    noise: Annotated[float | None, key("Variation of nights, a fraction: 1.4826·MAD.")]
    within: Annotated[float | None, key("Variation of launches, a fraction.")]
    reference: Annotated[float | None, key("The newest reference, in `reference_unit`.")]
    reference_unit: Annotated[str, key("The unit as the test writes it.")]
    allows: Annotated[float | None, key("Loss against the level that the reference allows.")]
    supported: Annotated[
        float | None, key("The limit that one launch in 100 misses; none of fewer than 99.")
    ]
    advice: Annotated[
        str, key("missed, too tight, too loose, no limit, no reference, fits; empty: not judged.")
    ]


class SurveyChangePart(Part):
    """A lasting change."""

    site: Annotated[str, key("The system.")]
    test: Annotated[str, key("The test.")]
    metric: Annotated[str, key("The figure.")]
    since: Annotated[str, key("The first night of the new level (UTC).")]
    before: Annotated[float, key("Median before, in SI units.")]
    after: Annotated[float, key("Median after.")]
    kind: Annotated[str, key("regression, improvement, or change: the direction is not known.")]


class SlowNodePart(Part):
    """A slow node."""

    site: Annotated[str, key("The system.")]
    node: Annotated[str, key("The node.")]
    test: Annotated[str, key("The test in which it is slowest.")]
    worse: Annotated[float, key("By what fraction it is worse than the other nodes.")]
    launches: Annotated[int, key("Its launches of that test.")]
    others: Annotated[int, key("Nodes that it is compared with.")]


class FailingTestPart(Part):
    """A test of which launches failed."""

    site: Annotated[str, key("The system.")]
    test: Annotated[str, key("The test.")]
    launches: Annotated[int, key("Its launches.")]
    failed: Annotated[int, key("Launches that failed, or have a figure that is NaN or infinite.")]
    hidden: Annotated[int, key("Nights on which a retry passed, by the retry index of reports.")]
    nights: Annotated[int, key("Nights with a launch of it.")]


class SurveyForm(Form, kw_only=True):
    """`assay reframe survey`: a history as a whole."""

    history: Annotated[str, key("The history.")]
    imported: Annotated[bool, key("True if its launches were run by another harness.")]
    nights: Annotated[int, key("Nights of all systems.")]
    answer: Annotated[AnswerPart, key("The answer.")]
    changes: Annotated[list[SurveyChangePart], key("Lasting changes, open regressions first.")]
    nodes: Annotated[list[SlowNodePart], key("Slow nodes, the slowest first.")]
    tests: Annotated[list[FailingTestPart], key("Failing tests; those that a retry hid first.")]
    series: Annotated[list[SurveySeriesPart], key("All series, the noisiest first.")]


Numbers = NDArray[np.int64]

_FAILED, _PASSED = {"fail", "error", "abort"}, {"pass", "xfail"}


@dataclass(frozen=True)
class ImportedLaunches:
    """Values of launches, a row each, by series and night: series (row of the history), night
    (position), value over the level of its series at that time, and set of nodes (position in
    `sets`). `tests_of` has the test of each series: "Stream %n=1 @partition+environment"; `failing`
    the tests of which a launch failed, those that a retry hid first."""

    series: Numbers
    nights: Numbers
    shares: Matrix
    sets_of: Numbers
    sets: list[tuple[str, ...]]
    tests_of: dict[int, str]
    failing: list[FailingTestPart]

    def without(self, nodes: set[str], at: slice) -> NDArray[np.bool_]:
        """Mask of the launches of these rows that had none of the nodes."""
        return np.array([nodes.isdisjoint(one) for one in self.sets])[self.sets_of[at]]

    def of_series(self) -> Iterator[tuple[int, slice]]:
        """Each series with the rows of its launches."""
        rows, begins = np.unique(self.series, return_index=True)
        for row, ends in zip(rows, pairwise([*begins, len(self.series)]), strict=True):
            yield int(row), slice(*ends)


def launches_of(
    store: Store, history: History, levels: Matrix, site: str, campaign: str
) -> ImportedLaunches:
    """The imported launches of a group; those of Assay's own nights are in no table."""
    tests, results, sets = kinds = [defaultdict[str, int]() for _ in range(3)]
    for one in kinds:
        one.default_factory = one.__len__  # texts by numbers, in the order in which they came first
    launches, values = [np.zeros((6, 0), dtype=np.int64)], [np.zeros((5, 0))]
    for ids, retries, *texts, counts, pairs in stored_launches(store, site, campaign):
        numbers = (
            [*map(one.__getitem__, column)] for one, column in zip(kinds, texts, strict=True)
        )
        of = np.array([ids, *numbers, counts, retries], dtype=np.int64)
        launches.append(of)
        values.append(np.vstack([np.repeat(of[[0, 1, 3]], counts, axis=1), pairs.T]))
    night, test, result, _, count, retry = np.hstack(launches)
    *columns, found = np.hstack(values)
    nights, test_of, ran_on, series = (column.astype(np.int64) for column in columns)
    row_of = {number: row for row, number in enumerate(history.series_ids)}
    rows, places = _placed(series, row_of.__getitem__), _placed(nights, history.position)
    order = np.lexsort((places, rows))
    known, first = np.unique(rows, return_index=True)
    listed = [*tests]
    failed, passed, wrong = (
        np.isin(result, [results[one] for one in kind & results.keys()])
        for kind in (_FAILED, _PASSED, {"wrong"})
    )
    counted = _failing(night, test, wrong | (failed & (count == 0)), passed & (retry > 0))
    failing = [FailingTestPart(site, listed[one], *row) for one, row in counted]
    return ImportedLaunches(
        rows[order],
        places[order],
        (found / levels[rows, places])[order],
        ran_on[order],
        [tuple(nodes.split()) for nodes in sets],
        {row: listed[one] for row, one in zip(known.tolist(), test_of[first], strict=True)},
        sorted(failing, key=lambda one: (-one.hidden, -one.failed)),
    )


def _placed(numbers: Numbers, place: Callable[[int], int]) -> Numbers:
    """The place of each number; each is looked up once."""
    known, back = np.unique(numbers, return_inverse=True)
    return np.array([place(one) for one in known.tolist()], dtype=np.int64)[back]


def _failing(
    night: Numbers, test: Numbers, failed: NDArray[np.bool_], hidden: NDArray[np.bool_]
) -> Iterator[tuple[int, list[int]]]:
    """The tests of which a launch `failed` or a failure is `hidden`, each with its launches, those
    that failed, the nights with a hidden failure, and its nights; arrays of launches."""
    nights = test * (night.max(initial=0) + 1) + night
    first, behind = (np.unique(nights[of], return_index=True)[1] for of in (..., hidden))
    parts = test, test[failed], test[hidden][behind], test[first]
    size = int(test.max(initial=-1)) + 1
    table = np.array([np.bincount(part, minlength=size) for part in parts]).T
    for number, row in enumerate(table.tolist()):
        if row[1] or row[2]:
            yield number, row
