# SPDX-License-Identifier: Apache-2.0
"""The result of judging: items, judged criteria, findings, waivers, and the whole judgement."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import Any, Literal

from ClusterShell.NodeSet import NodeSet
from scipy import special  # type: ignore[import-untyped]

from records.criteria import Criterion, Waiver
from reports.notation.units import as_stated, fixed, readable_unit, significant
from reports.statistics.bounds import Bounds, Verdict, worst

State = Literal["suspected", "confirmed", "not confirmed", "missing"]
#: What an item or a finding speaks of: a value; a node, several nodes, a node's link, a cut between
#: groups of nodes, a pair of nodes; launches that scatter; what has no value.
Subject = Literal["value", "node", "group", "link", "cut", "pair", "unsteady", "missing"]
WaiverState = Literal["applied", "expired", "not needed"]

#: (case id, block) of a launch.
LaunchKey = tuple[str, int]

#: How the note of a pair begins that another cause explains.
EXPLAINED = "explained by "
#: More nodes than these are written as a list such as n[1-9].
MOST_LISTED = 8
#: How the title of a finding of a kind begins.
FINDING_WORDS: dict[str, str] = {
    "node": "slow node",
    "group": "slow group of nodes",
    "link": "slow link of",
    "cut": "slow cut between",
    "pair": "slow link",
    "unsteady": "unsteady",
    "missing": "no value of",
}


@dataclass(frozen=True, slots=True)
class Item:
    """One value judged: a case, a node, a pair of nodes or what explains pairs, in one environment.

    `bounds` and the limits are in `unit`; `measured` is the plain value behind a share, in
    `measured_unit`. `place` names the nodes concerned: one, two, several, or none. `decidable`:
    more launches can decide it.
    """

    subject: str
    environment: str
    bounds: Bounds
    unit: str
    at_least: float | None
    at_most: float | None
    verdict: Verdict
    note: str
    launches: tuple[LaunchKey, ...]
    place: tuple[str, ...] = ()
    group: str = ""
    metric: str = ""
    measured: float | None = None
    measured_unit: str = ""
    state: State | None = None
    about: Subject = "value"
    shares: tuple[float, ...] = ()
    waived: bool = False
    decidable: bool = True

    @property
    def margin(self) -> float | None:
        """Distance of the centre from the nearest limit, as a share of it; negative is bad."""
        return self.margin_of(self.bounds.centre)

    def margin_of(self, value: float) -> float | None:
        """The same of another value, such as a bound."""
        margins = [value / self.at_least - 1] if self.at_least else []
        margins += [1 - value / self.at_most] if self.at_most else []
        return min(margins, default=None)

    @property
    def deciding_bounds(self) -> tuple[float, ...]:
        """The bound that decides: for PASS the one towards the limit, for FAIL and SUSPECT the one
        away from it; low and high where neither does; none below the least n."""
        low, high = self.bounds.low, self.bounds.high
        if low is None or high is None:
            return ()
        two_limits = (self.at_least is None) == (self.at_most is None)
        if two_limits or self.verdict == "INCONCLUSIVE":
            return low, high
        return (low,) if self.lower_matters else (high,)

    @property
    def lower_matters(self) -> bool:
        """Whether, of one limit, the low bound is the one that decides."""
        return (self.at_most is None) == (self.verdict == "PASS")

    @property
    def charged_to(self) -> str:
        """What explains a slow pair in its place: "the slow link of n3"; "" where nothing does."""
        return self.note.removeprefix(EXPLAINED) if self.note.startswith(EXPLAINED) else ""


@dataclass(frozen=True, slots=True)
class JudgedCriterion:
    """A criterion with its items; `verdict` counts all, `effective` leaves out what is waived.

    `further` counts items that passed and are not kept, because there are very many, `explained`
    pairs that a slow link or cut among the items explains. `absolute`: the limit does not come from
    the machine itself. `lacks_rate`: there are values, but the site states no nominal rate.
    """

    id: str
    kind: str
    title: str
    statement: str
    items: tuple[Item, ...]
    note: str = ""
    further: int = 0
    absolute: bool = False
    explained: int = 0
    lacks_rate: bool = False

    @property
    def verdict(self) -> Verdict:
        """The worst of the items; INCONCLUSIVE when there is none."""
        return worst([item.verdict for item in self.items]) if self.items else "INCONCLUSIVE"

    @property
    def effective(self) -> Verdict:
        """The verdict without what is waived."""
        counted = [item.verdict for item in self.items if not item.waived]
        return worst(counted) if self.items else "INCONCLUSIVE"

    @property
    def binds(self) -> bool:
        """Whether it is an absolute limit that something keeps to."""
        kept = any(item.verdict == "PASS" and not item.waived for item in self.items)
        return self.absolute and kept

    @property
    def bad_share(self) -> str:
        """How many items fail or are open, and the 95 % bound of their share."""
        single = [item for item in self.items if item.about in ("value", "node", "pair")]
        bad = sum(item.verdict != "PASS" for item in single) + self.explained
        n = len(single) + self.further + self.explained
        bound = float(special.betaincinv(bad + 1, n - bad, 0.95)) if bad < n else 1.0
        most = significant(100 * bound, 2)
        return f"{bad} of {fixed(n, 0)} fail or are open, {most} % at most (95 %)"

    def most_telling(self) -> Item | None:
        """The item nearest to its limit, or farthest beyond, among those of the worst verdict; none
        where the note says what decides."""
        if self.note:
            return None
        verdict = self.verdict
        ranked = [item for item in self.items if item.verdict == verdict]
        return min(
            ranked, key=lambda item: inf if item.margin is None else item.margin, default=None
        )


@dataclass(frozen=True, slots=True)
class Accusation:
    """One item that speaks against a node or a link."""

    criterion: str
    item: Item


@dataclass(frozen=True, slots=True)
class AcceptanceFinding:
    """What is named: nodes, links, cuts, launches that scatter, or something without a value."""

    kind: Subject
    name: str
    accusations: tuple[Accusation, ...]
    note: str = ""

    @property
    def state(self) -> State:
        """Confirmed or suspected if any of its accusations is."""
        states = [accusation.item.state for accusation in self.accusations]
        order: tuple[State, ...] = ("confirmed", "suspected", "missing")
        return next((state for state in order if state in states), "not confirmed")

    @property
    def nodes(self) -> tuple[str, ...]:
        """The nodes concerned."""
        return self.accusations[0].item.place

    @property
    def named(self) -> bool:
        """Whether re-runs have not cleared it."""
        return self.state != "not confirmed"

    @property
    def title(self) -> str:
        """The name in words: "slow node n2", "slow link of n3", "slow link n1–n2"."""
        return f"{FINDING_WORDS[self.kind]} {self.name}"


@dataclass(frozen=True, slots=True)
class JudgedWaiver:
    """A waiver and what became of it."""

    waiver: Waiver
    state: WaiverState


@dataclass(frozen=True, slots=True)
class AcceptanceJudgement:
    """All verdicts of an acceptance; `rerun` has the cases that should be run once more, of a scan
    of pairs with those that are enough, "n1:n2" (none: as planned).

    `left_out` names the criteria that could not apply, each with the reason; `proposals` are
    absolute criteria that the site's nominal rates allow, where no absolute one is met.
    """

    verdict: Verdict
    criteria: tuple[JudgedCriterion, ...]
    findings: tuple[AcceptanceFinding, ...]
    waivers: tuple[JudgedWaiver, ...]
    rerun: Mapping[str, tuple[str, ...]]
    rerun_count: int
    left_out: tuple[tuple[str, str], ...] = ()
    absolute: bool = True
    proposals: tuple[str, ...] = ()

    @property
    def named(self) -> tuple[AcceptanceFinding, ...]:
        """Findings that re-runs have not cleared."""
        return tuple(finding for finding in self.findings if finding.named)


def listed_nodes(names: Sequence[str], most: int = MOST_LISTED) -> str:
    """Nodes in words: n1, n2; more than `most` as n[1-9]."""
    if len(names) <= most:
        return ", ".join(names)
    return str(NodeSet.fromlist(names))


def limit_text(at_least: float | None, at_most: float | None, unit: str) -> str:
    """A limit in words: "at least 0.95", "between 1 and 2 s"."""
    limits = [limit for limit in (at_least, at_most) if limit is not None]
    readable = readable_unit(unit, limits)
    suffix = f" {readable.label}".rstrip()
    words = [as_stated(limit / readable.factor) for limit in limits]
    if len(words) == 2:
        return f"between {words[0]} and {words[1]}{suffix}"
    return f"at {'least' if at_most is None else 'most'} {words[0]}{suffix}"


def judged(
    criterion: Criterion, statement: str, items: Iterable[Item], note: str = "", **more: Any
) -> JudgedCriterion:
    """A criterion with its items; without any, `note` says why. `more` are further fields."""
    names = criterion.id, criterion.kind, criterion.title
    return JudgedCriterion(*names, statement, tuple(items), note, **more)


def with_waivers(criterion: JudgedCriterion, waivers: Sequence[Waiver]) -> JudgedCriterion:
    """The criterion with the items marked that one of these (valid) waivers covers."""
    mine = [waiver for waiver in waivers if waiver.criterion == criterion.id]
    items = tuple(
        replace(item, waived=item.verdict != "PASS" and any(covers(w, item) for w in mine))
        for item in criterion.items
    )
    return replace(criterion, items=items)


def covers(waiver: Waiver, item: Item) -> bool:
    """Whether a waiver's subject is the item: its node, one of its pair's nodes, or its pair.

    What concerns more nodes is covered by its own name only.
    """
    if waiver.subject is None:
        return True
    if item.about in ("group", "cut"):
        return waiver.subject == item.subject
    pair = {"-".join(item.place), "-".join(reversed(item.place))} if len(item.place) == 2 else set()
    return waiver.subject in {item.subject, *item.place, *pair}
