# SPDX-License-Identifier: Apache-2.0
"""Judged values, criteria, findings and the judgement of all; their JSON has the same keys."""

from collections.abc import Mapping, Sequence
from math import inf
from typing import Annotated, Any, Literal

from ClusterShell.NodeSet import NodeSet
from msgspec import Meta, field

from records.forms import Form, Part, key
from reports.statistics.bounds import Bounds, Verdict, worst

State = Literal["suspected", "confirmed", "not confirmed", "missing"]
#: Subject of an item or a finding: a value; a node, several nodes, a node's link, a cut between
#: groups of nodes, a pair of nodes; launches that scatter; a value that is missing.
Subject = Literal["value", "node", "group", "link", "cut", "pair", "unsteady", "missing"]

#: (case id, block) of a launch.
LaunchKey = tuple[str, int]

#: More nodes than these are written as a list such as n[1-9].
MOST_LISTED = 8
#: Beginning of the title of a finding of a kind.
FINDING_WORDS: dict[str, str] = {
    "node": "slow node",
    "group": "slow group of nodes",
    "link": "slow link of",
    "cut": "slow cut between",
    "pair": "slow link",
    "unsteady": "unsteady",
    "missing": "no value of",
}


class Item(Bounds, kw_only=True):
    """Value with its bounds, held against its limit."""

    subject: Annotated[str, key("Case, node or pair that was judged.")]
    about: Annotated[Subject, key("value, node, group, link, cut, pair, unsteady, missing.")] = (
        "value"
    )
    point: Annotated[str, key("At which point.")] = ""
    environment: Annotated[str, key("The environment.")]
    metric: Annotated[str, key("The metric.")] = ""
    unit: Annotated[str, key("The unit of median, bounds and limits.")] = "1"
    at_least: Annotated[float | None, key("The limit from below.")] = None
    at_most: Annotated[float | None, key("The limit from above.")] = None
    margin: Annotated[
        float | None,
        key("Distance of the median from the limit, as a share of it; negative: beyond."),
    ] = None
    measured: Annotated[float | None, key("The plain value behind a share.")] = None
    measured_unit: Annotated[str, key("Its SI unit.")] = ""
    verdict: Annotated[Verdict, key("The verdict.")] = "INCONCLUSIVE"
    state: Annotated[State | None, key("State by re-runs.")] = None
    waived: Annotated[bool, key("True if a waiver covers it.")] = False
    note: Annotated[str, key("A remark.")] = ""
    #: The keys of the launches, until a form gives each list of them a place.
    launches: Annotated[
        Any,
        key("Its launches: the place in the criterion's `launches`."),
        Meta(extra_json_schema={"type": "integer"}),
    ] = ()
    place: Annotated[tuple[str, ...], key("The nodes concerned: one, two, several, or none.")] = ()
    shares: Annotated[tuple[float, ...], key("The values of its launches, in its unit.")] = ()
    decidable: Annotated[bool, key("True if more launches can decide it.")] = True
    charged_to: Annotated[
        str, key("Explains a slow pair in its place: the slow link of n3; empty: nothing does.")
    ] = ""

    def margin_of(self, value: float) -> float | None:
        """Distance of a value from the nearest limit, as a share of it; negative is bad."""
        return margin_of(value, self.at_least, self.at_most)

    @property
    def deciding_bounds(self) -> tuple[float, ...]:
        """The bound that decides: for PASS the one towards the limit, for FAIL and SUSPECT the one
        away from it; low and high where neither does; none below the least n."""
        if self.low is None or self.high is None:
            return ()
        two_limits = (self.at_least is None) == (self.at_most is None)
        if two_limits or self.verdict == "INCONCLUSIVE":
            return self.low, self.high
        return (self.low,) if self.lower_matters else (self.high,)

    @property
    def lower_matters(self) -> bool:
        """True where, of one limit, the low bound decides."""
        return (self.at_most is None) == (self.verdict == "PASS")


def margin_of(value: float, at_least: float | None, at_most: float | None) -> float | None:
    """Distance of a value from the nearest limit, as a share of it; negative is bad."""
    margins = [value / at_least - 1] if at_least else []
    margins += [1 - value / at_most] if at_most else []
    return min(margins, default=None)


class JudgedCriterion(Part, kw_only=True):
    """Criterion with its items; `verdict_of` makes both verdicts."""

    id: Annotated[str, key("Its id.")]
    kind: Annotated[
        str, key("limit, efficiency, ratio, spread, nodes, links, answers, nodes-measured.")
    ]
    title: Annotated[str, key("Its title.")]
    statement: Annotated[str, key("Condition that must hold.")]
    verdict: Annotated[Verdict, key("The verdict of all items.")]
    effective: Annotated[Verdict, key("The verdict without what is waived.")] = field(
        name="without_waived"
    )
    note: Annotated[str, key("A remark.")] = ""
    absolute: Annotated[bool, key("True if the limit does not come from the machine itself.")] = (
        False
    )
    further: Annotated[int, key("Items that passed and are not listed.")] = field(
        default=0, name="further_passed"
    )
    explained: Annotated[
        int, key("Pairs that are not listed: a slow link or cut among the items explains them.")
    ] = field(default=0, name="further_explained")
    lacks_rate: Annotated[
        bool, key("True if there are values, but the site states no nominal rate.")
    ] = False
    items: Annotated[tuple[Item, ...], key("The values judged.")]
    launches: Annotated[
        tuple[tuple[str, ...], ...],
        key("Raw output of launches, a list for each set that items share."),
    ] = ()

    @property
    def binds(self) -> bool:
        """True for an absolute limit that something keeps to."""
        kept = any(item.verdict == "PASS" and not item.waived for item in self.items)
        return self.absolute and kept

    def most_telling(self) -> Item | None:
        """The item nearest to its limit, or farthest beyond, among those of the worst verdict; None
        where the note says what decides."""
        verdict = worst([item.verdict for item in self.items])
        ranked = [item for item in self.items if item.verdict == verdict and not self.note]
        return min(
            ranked, key=lambda item: inf if item.margin is None else item.margin, default=None
        )


def verdict_of(items: Sequence[Item], *, waived: bool = True) -> Verdict:
    """The worst of the items, without the waived ones if `waived` is False; INCONCLUSIVE when there
    is none."""
    counted = [item.verdict for item in items if waived or not item.waived]
    return worst(counted) if items else "INCONCLUSIVE"


class Accusation(Item, kw_only=True):
    """Item that speaks against what a finding names."""

    criterion: Annotated[str, key("The criterion.")]


class Finding(Part, kw_only=True):
    """Nodes, link, cut, launches that scatter, or a missing value, by name."""

    kind: Annotated[Subject, key("node, group, link, cut, pair, unsteady, missing.")]
    name: Annotated[str, key("Its name.")]
    nodes: Annotated[tuple[str, ...], key("The nodes concerned.")] = ()
    state: Annotated[State, key("suspected: a re-run decides; not confirmed: re-runs cleared it.")]
    criteria: Annotated[tuple[str, ...], key("The criteria that it is beyond.")]
    accusations: Annotated[tuple[Accusation, ...], key("The values behind it.")]

    @property
    def named(self) -> bool:
        """True unless re-runs have cleared it."""
        return self.state != "not confirmed"

    @property
    def title(self) -> str:
        """The name in words: "slow node n2", "slow link of n3", "slow link n1–n2"."""
        return f"{FINDING_WORDS[self.kind]} {self.name}"


class JudgedWaiver(Part, kw_only=True):
    """Waiver, and what became of it."""

    criterion: Annotated[str, key("The criterion.", "criterion")]
    subject: Annotated[
        str | None,
        key("Node or pair; null: all of it.", "for", lambda name: name or "all of it"),
    ] = None
    author: Annotated[str, key("Who waives it.", "by")]
    reason: Annotated[str, key("Why.", "reason")]
    expires: Annotated[str, key("Last day on which it holds.", "until")]
    state: Annotated[Literal["applied", "expired", "not needed"], key("Its state.", "state")]


class LeftOut(Part):
    """Criterion that was not judged."""

    id: Annotated[str, key("Its id.")]
    note: Annotated[str, key("Why.")]


class Judgement(Form, kw_only=True):
    """Verdict of a run by its criteria."""

    # Schema 2 added `records`; schema 3 groups, links and cuts (`about`, `nodes`), absolute limits
    # and criteria left out; schema 4 whole items in `accusations` and items, without `proposals`.
    schema: Annotated[int, key("The version of this form.")] = 4
    verdict: Annotated[Verdict, key("The verdict.")]
    titles: Annotated[tuple[str, ...], key("Named findings, in words.")] = field(name="named")
    findings: Annotated[tuple[Finding, ...], key("Findings that are or were suspected.")]
    criteria: Annotated[tuple[JudgedCriterion, ...], key("The criteria.")] = field(name="results")
    left_out: Annotated[tuple[LeftOut, ...], key("Criteria that were not judged.")] = ()
    absolute: Annotated[bool, key("True if an absolute limit is met.")] = True
    waivers: Annotated[tuple[JudgedWaiver, ...], key("Waivers with what became of them.")] = ()
    rerun_wanted: Annotated[tuple[str, ...], key("Cases that should be run again.")] = ()
    rerun_pairs: Annotated[
        dict[str, tuple[str, ...]],
        key("Of a scan of pairs among them the pairs that are enough, n1:n2, by case."),
    ] = field(default_factory=dict)

    @property
    def named(self) -> tuple[Finding, ...]:
        """Findings that re-runs have not cleared."""
        return tuple(finding for finding in self.findings if finding.named)

    @property
    def rerun(self) -> Mapping[str, tuple[str, ...]]:
        """Cases that should be run again, each with the pairs that are enough; none: as planned."""
        return {case: self.rerun_pairs.get(case, ()) for case in self.rerun_wanted}


def listed_nodes(names: Sequence[str], most: int = MOST_LISTED) -> str:
    """Nodes in words: n1, n2; more than `most` as n[1-9]."""
    if len(names) <= most:
        return ", ".join(names)
    return str(NodeSet.fromlist(names))
