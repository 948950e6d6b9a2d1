# SPDX-License-Identifier: Apache-2.0
"""From looks to outages: what was without service, since when, until when, and who answers for it.

Times are on the ledger's own clock: it begins with the wall clock of the first look and goes on
with the host's steady one, so a clock that is set neither adds time nor takes any away. Between two
looks an outage begins or ends where a witness says so (accounting, Slurm's reason, the start of a
daemon), else at the later look: begin and end are then late by less than the time between looks.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import pairwise
from typing import Literal, cast

from plugins.contract.stability import ledger

Kind = Literal[
    "node down",
    "node drained",
    "maintenance",
    "node restarted",
    "partition",
    "controller",
    "file system",
]
_OF_NODES: dict[str, Kind] = {
    "down": "node down",
    "drained": "node drained",
    "maintenance": "maintenance",
}
#: A time between looks of more than so many intervals was not watched.
UNSEEN_INTERVALS = 3.0
#: Slurm tells times in whole seconds.
_WHOLE_S = 1.0
#: Seconds by which a clock may drift between two looks, and the share of the time between them.
_DRIFT_S, _DRIFT = 1.0, 1e-3


@dataclass(frozen=True, slots=True)
class Spell:
    """A time without service of one thing: `nodes` that it took; `look` saw it first, from 1."""

    kind: Kind
    thing: str
    nodes: frozenset[str]
    begin: float
    end: float
    look: int
    reason: str = ""
    lasts: bool = False


@dataclass(frozen=True)
class Outage:
    """Spells of one kind that began together; `said` is who gave it a class, the last one counts.

    `begin` and `end` are on the ledger's own clock, `wall` is the begin by the clock of its time.
    """

    id: str
    kind: Kind
    thing: str
    spells: Sequence[Spell]
    wall: float
    said: Sequence[ledger.Classed] = ()

    @property
    def word(self) -> ledger.Class:
        """Its class; without anybody's word that of a maintenance is scheduled."""
        if self.said:
            return self.said[-1].word
        return "scheduled" if self.kind == "maintenance" else "unknown"

    @property
    def begin(self) -> float:
        """When the first of its spells began."""
        return min(spell.begin for spell in self.spells)

    @property
    def end(self) -> float:
        """When the last of its spells ended, or the last look."""
        return max(spell.end for spell in self.spells)

    @property
    def lasts(self) -> bool:
        """True if it had not ended at the last look."""
        return any(spell.lasts for spell in self.spells)

    @property
    def nodes(self) -> frozenset[str]:
        """The nodes that were without service by it."""
        return frozenset[str]().union(*(spell.nodes for spell in self.spells))

    @property
    def node_s(self) -> float:
        """Node seconds without service by it, on the ledger's own clock."""
        return sum((spell.end - spell.begin) * len(spell.nodes) for spell in self.spells)

    @property
    def reason(self) -> str:
        """The first reason that any of its spells has."""
        return next((spell.reason for spell in self.spells if spell.reason), "")


@dataclass(frozen=True)
class Booked:
    """All that a ledger says: `times` are the looks on the ledger's own clock, `since` is when each
    node was first seen, `unseen` are unwatched times."""

    watch: ledger.WatchTerms
    times: Sequence[float]
    looks: Sequence[ledger.ClusterLook]
    outages: Sequence[Outage]
    since: dict[str, float]
    unseen: Sequence[tuple[float, float]]
    jobs: Sequence[ledger.BookedJob]
    notes: Sequence[str]

    def is_long(self, look: int) -> bool:
        """True if the time before the look at this place was not watched."""
        passed = self.times[look] - self.times[look - 1] if look else 0.0
        return passed > UNSEEN_INTERVALS * self.every

    @property
    def every(self) -> float:
        """The time between looks by the clock, s."""
        return self.watch.every_s / self.watch.scale

    def own(self, wall: float, look: int) -> float:
        """A wall clock's time that the look at this place names, on the ledger's own clock."""
        return wall - self.looks[look].at + self.times[look]


def own_times(looks: Sequence[ledger.ClusterLook]) -> tuple[list[float], list[str]]:
    """The looks on the ledger's own clock, and each time that a clock was set, in words."""
    times, notes = [look.at for look in looks[:1]], []
    for number, (last, look) in enumerate(pairwise(looks), 2):
        wall, steady = look.at - last.at, look.steady - last.steady
        same = (last.boot, last.host) == (look.boot, look.host)
        passed = steady if same else max(0.0, wall)
        if same and abs(wall - steady) > _DRIFT_S + _DRIFT * steady:
            notes.append(
                f"The clock of {look.host} was set {'forward' if wall > steady else 'back'} by"
                f" {abs(wall - steady):.0f} s between look {number - 1} and {number}, before"
                f" {utc(look.at)}; {steady:.0f} s passed by its steady clock, and these count."
            )
        elif not same and wall < 0:
            notes.append(
                f"Between look {number - 1} on {last.host} and look {number} on {look.host} the"
                f" clock went back by {-wall:.0f} s; the time between them is not known and does"
                " not count."
            )
        times.append(times[-1] + passed)
    return times, notes


def utc(at: float) -> str:
    """A moment in words."""
    return f"{datetime.fromtimestamp(at, UTC):%Y-%m-%d %H:%M:%S} UTC"


def booked(entries: Sequence[ledger.Entry]) -> Booked:
    """The outages of a ledger that has a look."""
    watch = next(one for one in entries if isinstance(one, ledger.WatchTerms))
    looks = [one for one in entries if isinstance(one, ledger.ClusterLook)]
    times, notes = own_times(looks)
    found = Booked(watch, times, looks, [], {}, [], [], notes)
    unseen = [
        (times[place - 1], times[place])
        for place, look in enumerate(looks)
        if found.is_long(place) and not look.accounting
    ]
    since, jobs = dict[str, float](), dict[str, ledger.BookedJob]()
    for time, look in zip(times, looks, strict=True):
        since |= {node: time for node in look.nodes if node not in since}
        jobs |= {job.job: job for job in look.jobs if job.job not in jobs}
    found = replace(found, unseen=unseen, since=since, jobs=[*jobs.values()])
    spells = [*_of_nodes(found), *_of_services(found)]
    said = [one for one in entries if isinstance(one, ledger.Classed)]
    return replace(found, outages=list(_outages(found, spells, said)))


def _of_nodes(found: Booked) -> Iterator[Spell]:
    """The spells of nodes, each node by itself."""
    states: dict[str, ledger.NodeState] = {}
    open_: dict[str, Spell] = {}
    silent: dict[str, float] = {}
    answered = 0
    for place, look in enumerate(found.looks):
        if look.fault:
            continue
        events: dict[str, list[ledger.NodeEvent]] = {}
        for event in look.events if place else ():
            events.setdefault(event.node, []).append(event)
        for node in sorted({*look.nodes, *events}):
            before, now = states.get(node), look.nodes.get(node) or states.get(node)
            if now is None:  # accounting knows nodes that are not watched
                continue
            window = _Window(found, answered, place, node, before, now, silent.get(node))
            times, last = window.known(events.get(node, ())), open_.get(node)
            if last and (not now.out or (now.out == "maintenance") != (last.kind == "maintenance")):
                first = times.pop(0) if times and times[0].begin <= window.low + _WHOLE_S else None
                end = first.end if first else window.inside(now.daemon) or window.high
                yield replace(open_.pop(node), end=end, lasts=False)
            if now.out and node not in open_:
                latest = times.pop() if times and times[-1].end >= window.high - _WHOLE_S else None
                at = latest.begin if latest else window.inside(now.since) or window.high
                kind = _OF_NODES[now.out]
                at = min(at, window.silent or at) if now.out == "down" else at
                open_[node] = window.spell(kind, at, window.high, now.reason, lasts=True)
            elif before and not before.out and not now.out and not times:
                yield from window.restarted()
            yield from times if not (before and before.out and now.out) else ()
            if now.state and not now.out:  # it is not heard of, and not called down
                silent.setdefault(node, window.high)
            else:
                silent.pop(node, None)
        states |= look.nodes
        answered = place
    yield from (replace(spell, end=found.times[-1]) for spell in open_.values())


@dataclass(frozen=True)
class _Window:
    """The time between two looks that the controller answered, of one node."""

    found: Booked
    earlier: int
    later: int
    node: str
    before: ledger.NodeState | None
    now: ledger.NodeState
    silent: float | None  # the first of the looks before `later` at which it did not respond

    @property
    def low(self) -> float:
        return self.found.times[self.earlier]

    @property
    def high(self) -> float:
        return self.found.times[self.later]

    def inside(self, wall: float | None) -> float | None:
        """Time that a witness says, on the ledger's own clock; None outside of the window."""
        if wall is None or self.earlier == self.later:
            return None
        own = self.found.own(wall, self.later)
        low, high = self.low - _WHOLE_S, self.high + _WHOLE_S
        return min(max(own, self.low), self.high) if low < own <= high else None

    def spell(self, kind: Kind, begin: float, end: float, reason: str, *, lasts: bool) -> Spell:
        """A spell of the node."""
        only = frozenset([self.node])
        return Spell(kind, self.node, only, begin, end, self.later + 1, reason, lasts)

    def known(self, events: Sequence[ledger.NodeEvent]) -> list[Spell]:
        """The times that accounting knows of, those that touch as one."""
        spells: list[Spell] = []
        for event in sorted(events, key=lambda one: one.begin):
            begin = max(self.low, self.found.own(event.begin, self.later))
            end = self.high
            if event.end is not None:
                end = min(end, self.found.own(event.end, self.later))
            if not event.out or end <= self.low + _WHOLE_S or begin > self.high:
                continue
            if spells and begin <= spells[-1].end + _WHOLE_S:
                spells[-1] = replace(spells[-1], end=max(end, spells[-1].end))
            else:
                kind = _OF_NODES[event.out]
                spells.append(self.spell(kind, begin, max(begin, end), event.reason, lasts=False))
        return spells

    def restarted(self) -> Iterator[Spell]:
        """That the node has started again, by a new kernel, in unwatched time or after silence."""
        daemon, boot = self.inside(self.now.daemon), self.inside(self.now.boot)
        again = self.before and self.now.daemon != self.before.daemon
        lost = boot is not None or self.silent is not None or self.found.is_long(self.later)
        if again and daemon is not None and lost:
            begin = self.silent or (daemon if boot is None else min(boot, daemon))
            why = "it has started again"
            if not self.silent:
                since = utc(self.found.looks[self.earlier].at)
                why += f"; when service ended is not known, after {since}"
            yield self.spell("node restarted", begin, daemon, why, lasts=False)


def _of_services(found: Booked) -> Iterator[Spell]:
    """The spells of controller, partitions and file systems: of look after look with a fault."""
    all_nodes, controller = frozenset(found.since), ("controller", "controller")
    partitions: dict[str, ledger.PartitionState] = {}
    down: dict[tuple[str, str], tuple[str, frozenset[str]]] = {}
    open_: dict[tuple[str, str], Spell] = {}
    for place, (time, look) in enumerate(zip(found.times, found.looks, strict=True)):
        low = found.times[max(0, place - 1)]
        started = low - _WHOLE_S if look.started is None else found.own(look.started, place)
        witnessed = started if low - _WHOLE_S < started <= time else None
        if look.partitions:
            partitions |= look.partitions
            up = {node for one in partitions.values() if one.state == "UP" for node in one.nodes}
            down = {
                ("partition", name): (f"the partition is {one.state}", frozenset(one.nodes) - up)
                for name, one in partitions.items()
                if one.state != "UP"
            }
        faults = {("file system", at): (why, all_nodes) for at, why in look.file_systems.items()}
        faults |= down
        if look.fault:
            faults[controller] = look.fault, all_nodes
        elif witnessed and controller not in open_ and found.is_long(place):
            why = "it started again between two looks far apart"
            yield Spell("controller", "controller", all_nodes, witnessed, witnessed, place + 1, why)
        for ended in [one for one in open_ if one not in faults]:
            end = witnessed if ended == controller and witnessed else time
            yield replace(open_.pop(ended), end=end, lasts=False)
        for (kind, thing), (why, nodes) in faults.items():
            if (kind, thing) not in open_:
                spell = Spell(cast(Kind, kind), thing, nodes, time, time, place + 1, why, True)
                open_[kind, thing] = spell
    yield from (replace(spell, end=found.times[-1]) for spell in open_.values())


def _outages(
    found: Booked, spells: Sequence[Spell], said: Sequence[ledger.Classed]
) -> Iterator[Outage]:
    """Spells of nodes that began within an interval, of one kind and, where drained, of one reason,
    are one outage; any other spell is one."""
    groups: dict[object, list[list[Spell]]] = {}
    for spell in sorted(spells, key=lambda one: (one.begin, one.look, one.thing)):
        alone = spell.thing if spell.kind not in _OF_NODES.values() else ""
        why = spell.reason if spell.kind == "node drained" else ""
        known = groups.setdefault((spell.kind, alone, why), [])
        first = known[-1][0] if known and not alone else None
        if first and (
            spell.begin - first.begin <= found.every * 1.01
            or (spell.look - first.look == 1 and not found.is_long(first.look))
        ):
            known[-1].append(spell)
        else:
            known.append([spell])
    every_group = [group for known in groups.values() for group in known]
    for group in sorted(every_group, key=lambda one: one[0].begin):
        first = min(group, key=lambda one: (one.look, one.begin, one.thing))
        wall = first.begin - found.times[first.look - 1] + found.looks[first.look - 1].at
        name = f"{first.kind}-{first.thing.strip('/')}".replace(" ", "-").replace("/", "-")
        number = f"{datetime.fromtimestamp(wall, UTC):%Y%m%dT%H%M%SZ}-{name}"
        things = ",".join(sorted({spell.thing for spell in group}))
        words = [one for one in said if one.outage == number]
        yield Outage(number, first.kind, things, group, wall, words)
