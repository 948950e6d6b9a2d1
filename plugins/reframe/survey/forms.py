# SPDX-License-Identifier: Apache-2.0
"""The keys of `assay reframe import` and `report` with `--json`."""

from __future__ import annotations

from typing import Annotated, Literal

from records.forms import Form, Part, key
from reports.answers import AnswerPart


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
