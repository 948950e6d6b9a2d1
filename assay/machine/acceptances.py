# SPDX-License-Identifier: Apache-2.0
"""Forms of what concerns acceptances: `accept`, `verify`."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from assay.machine.form import Form, Part
from assay.machine.runs import AnswerPart

Verdict = Literal["PASS", "FAIL", "SUSPECT", "INCONCLUSIVE"]


class Chain(Part):
    """The records of a run."""

    run_id: str
    """The run."""
    records: int
    """How many records."""
    without_chain: int
    """How many of them carry no chain (schema 1)."""
    head: str
    """The hash in which all of them end."""


class CriteriaFile(Part):
    """What was judged by."""

    name: str
    """The criteria."""
    sha256: str
    """The checksum of the file."""


class Bounded(Part):
    """A value with its bounds, in its unit."""

    n: int
    """Launches."""
    median: float
    """The centre."""
    low: float | None
    """Lower bound."""
    high: float | None
    """Upper bound."""
    level: float
    """The level of each bound, one-sided."""
    bound: str
    """How they were made."""


class Accusation(Bounded):
    """A value that speaks against what is named."""

    criterion: str
    """The criterion."""
    environment: str
    """The environment."""
    subject: str
    """What was judged."""
    point: str
    """At which point."""


class Named(Part):
    """A node, link, cut, or something without a value."""

    kind: str
    """node, group, link, cut, pair, unsteady, missing."""
    name: str
    """Its name."""
    nodes: list[str]
    """The nodes concerned."""
    state: Literal["suspected", "confirmed", "not confirmed", "missing"]
    """suspected: a re-run decides; not confirmed: re-runs cleared it."""
    note: str
    """What else is known."""
    criteria: list[str]
    """The criteria that it is beyond."""
    accusations: list[Accusation]
    """The values behind it."""


class JudgedItem(Bounded):
    """One value held against its limit."""

    subject: str
    """What was judged: a case, a node, a pair."""
    about: str
    """value, node, group, link, cut, pair, unsteady, missing."""
    point: str
    """At which point."""
    environment: str
    """The environment."""
    metric: str
    """The metric."""
    unit: str
    """The unit of median, bounds and limits."""
    at_least: float | None
    """The limit from below."""
    at_most: float | None
    """The limit from above."""
    margin: float | None
    """Distance of the median from the limit, as a share of it; negative: beyond."""
    measured: float | None
    """The plain value behind a share."""
    measured_unit: str
    """Its SI unit."""
    verdict: Verdict
    """The verdict."""
    state: str | None
    """What re-runs say of it."""
    waived: bool
    """Whether a waiver covers it."""
    note: str
    """A remark."""
    launches: int
    """Its launches: the place in the criterion's `launches`."""


class Result(Part):
    """A criterion and what became of it."""

    id: str
    """Its id."""
    kind: str
    """limit, efficiency, ratio, spread, nodes, links, answers."""
    title: str
    """Its title."""
    statement: str
    """What must hold."""
    verdict: Verdict
    """The verdict of all items."""
    without_waived: Verdict
    """The verdict without what is waived."""
    note: str
    """A remark."""
    absolute: bool
    """Whether the limit does not come from the machine itself."""
    further_passed: int
    """Items that passed and are not listed."""
    items: list[JudgedItem]
    """The values judged."""
    launches: list[Any]
    """Raw output of launches, a list for each set that items share."""


class LeftOut(Part):
    """A criterion that was not judged."""

    id: str
    """Its id."""
    note: str
    """Why."""


class Acceptance(Form, extra="allow"):
    """`assay accept`, and acceptance.json: a judgement with all it rests on; this is sealed."""

    VERSION: ClassVar[int] = 3
    kind: Literal["assay-acceptance"]
    """What this is."""
    verdict: Verdict
    """The verdict."""
    judged_on: str
    """The day."""
    made_with: str
    """The version of the judging."""
    campaign: str
    """The campaign."""
    site: str
    """The site."""
    run_id: str
    """The run."""
    reruns: list[str]
    """Runs that repeated cases of it."""
    records: list[Chain]
    """The records of the run and of each re-run."""
    criteria: CriteriaFile
    """The criteria."""
    manifest_sha256: str
    """The checksum of manifest.sha256, the list of all files."""
    named: list[str]
    """What is named, in words."""
    findings: list[Named]
    """What is or was suspected."""
    results: list[Result]
    """The criteria."""
    left_out: list[LeftOut]
    """Criteria that were not judged."""
    absolute: bool
    """Whether an absolute limit is met."""
    proposals: list[str]
    """Absolute criteria that the site's nominal rates allow."""
    waivers: list[dict[str, Any]]
    """Waivers with what became of them."""
    rerun_wanted: list[str]
    """Cases that should be run again."""
    files: dict[str, str]
    """Checksums of the files."""
    answer: AnswerPart | None = None
    """The answer, on standard output; the sealed file does not have it."""


class Verification(Part):
    """One thing that was verified."""

    what: str
    """What it is."""
    faults: list[str]
    """What differs."""
    note: str
    """A remark."""
    unproven: bool
    """Whether it could not be verified."""


class Verified(Form):
    """`assay verify`: checksums and verdicts recomputed."""

    result: str
    """The result in words."""
    verified: bool
    """Whether all holds, against a seal on paper."""
    run: str
    """The run directory."""
    checks: list[Verification]
    """What was verified."""
