# SPDX-License-Identifier: Apache-2.0
"""Availability and mean times of what was booked, and the promise judged by them, also as a kept
judgement, as those of runs are; what the promises of a period risk.

A = 1 − lost node hours / (all node hours − scheduled ones); MTBI = (period − scheduled) / number of
interrupts, its bounds by χ² (plugins.contract.reliability). Outages of class unknown and
unwatched time count in the worse end of each figure and not in the better one. A FAIL before the
end is one that no further look can change; a PASS needs the whole phase.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import cached_property
from math import inf
from operator import itemgetter
from typing import Annotated, Any

from plugins.contract.forms import PERIOD, ContractRisk, KeptJudgement
from plugins.contract.model import Risks, Stability
from plugins.contract.reliability import Demonstration, availability_pass_chance, mean_time_bounds
from plugins.contract.stability.booking import Booked, Outage
from plugins.contract.stability.ledger import Class
from records.forms import Part, key
from reports.answers import State
from reports.judgement import Item, JudgedCriterion
from reports.notation.units import count_text, percent
from reports.statistics.bounds import Verdict, worst

#: Of outages of one node at one time the first of these classes counts.
_ORDER: tuple[Class, ...] = ("scheduled", "external", "site", "vendor", "unknown")
#: What else a node may be: not yet there, and in service.
_LATE, _SERVES = "late", "serves"
#: Kinds that interrupt the machine: what is drained lets its jobs end.
INTERRUPTS = ("node down", "node restarted", "partition", "controller", "file system")
#: How much better than the promise the machine is whose refusal is the vendor's risk.
BETTER = 4.0


class JudgedPromise(Part, kw_only=True):
    """A promise judged."""

    name: Annotated[str, key("availability, MTBI or job MTTI.")]
    promised: Annotated[float, key("The promise: a share, or s.")]
    least: Annotated[
        float | None, key("Value seen if all that is not known counts; null: no failure.")
    ]
    most: Annotated[float | None, key("Value seen if none of it counts; null: no failure.")]
    verdict: Annotated[Verdict, key("PASS, FAIL or INCONCLUSIVE.")]
    why: Annotated[str, key("Reason that leaves it open.")] = ""
    failures: Annotated[list[int], key("Least and most failures that count.")]
    bounds: Annotated[
        list[float | None], key("Lower and upper bound of the mean, each 90 %, of one side.")
    ]
    buyers_risk: Annotated[
        float | None, key("Chance that a machine at the promise passes; null: not known.")
    ] = None
    vendors_risk: Annotated[
        float | None, key("Chance that a machine four times better does not pass.")
    ] = None


@dataclass(frozen=True)
class Figures:
    """Figures of what was booked, in seconds of contract time."""

    found: Booked

    @property
    def end(self) -> float:
        """The end of what is judged, on the ledger's own clock."""
        watch, times = self.found.watch, self.found.times
        return min(times[-1], times[0] + watch.length_s / watch.scale)

    @property
    def period_s(self) -> float:
        """Time of the phase that is booked."""
        return (self.end - self.found.times[0]) * self.found.watch.scale

    @property
    def finished(self) -> bool:
        """True if all of it is booked."""
        return self.period_s >= self.found.watch.length_s * (1 - 1e-9)

    @cached_property
    def lost(self) -> defaultdict[str, float]:
        """Node seconds without service by class; of overlapping outages of a node one counts."""
        result, before = defaultdict[str, float](float), self.found.times[0]
        late = {node for node, since in self.found.since.items() if since > before}
        active = {node: Counter([_LATE] if node in late else ()) for node in self.found.since}
        now = Counter({_LATE: len(late)})
        for time, step, word, nodes in self._changes(late):
            passed = (time - before) * self.found.watch.scale
            before = time
            for one, count in now.items():
                result[one] += count * passed
            for node in nodes:
                now[_first(active[node])] -= 1
                active[node][word] += step
                now[_first(active[node])] += 1
        return result

    def _changes(self, late: Collection[str]) -> list[tuple[float, int, str, Collection[str]]]:
        """When which nodes begin (1) or cease (-1) to be of a class, in order, until the end."""
        begin, end, since = self.found.times[0], self.end, self.found.since
        found = [(min(since[node], end), -1, _LATE, [node]) for node in late]
        for outage in self.found.outages:
            for spell in outage.spells:
                first, last = max(begin, spell.begin), min(end, spell.end)
                if last > first:
                    found += [(first, 1, outage.word, [*spell.nodes])]
                    found += [(last, -1, outage.word, [*spell.nodes])]
        return [*sorted(found, key=itemgetter(0)), (end, 0, "", [])]

    @cached_property
    def node_s(self) -> float:
        """Node seconds that service was due in: without scheduled ones."""
        lost = self.lost
        return len(self.found.since) * self.period_s - lost["scheduled"] - lost[_LATE]

    @cached_property
    def unseen_s(self) -> float:
        """Unwatched seconds."""
        scale = self.found.watch.scale
        return sum(max(0.0, min(b, self.end) - a) * scale for a, b in self.found.unseen)

    @cached_property
    def exposed_s(self) -> float:
        """The watched time that interrupts are counted in, less what was scheduled."""
        whole = len(self.found.since) * self.period_s
        share = self.node_s / whole if whole else 0.0
        return max(0.0, self.period_s - self.unseen_s) * share

    @cached_property
    def availability(self) -> tuple[float, float]:
        """Least and most: with outages of class unknown and unwatched time as lost, and without."""
        lost, unseen = self.lost, self.unseen_s * len(self.found.since)
        worst = min(self.node_s, lost["vendor"] + lost["unknown"] + unseen)
        if not self.node_s:
            return 0.0, 1.0
        return 1 - worst / self.node_s, 1 - lost["vendor"] / self.node_s

    @property
    def interrupts(self) -> list[Outage]:
        """The outages that interrupt the machine and that the vendor may have to answer for."""
        return [
            outage
            for outage in self.found.outages
            if outage.kind in INTERRUPTS and outage.word in ("vendor", "unknown")
            if outage.begin <= self.end
        ]

    @cached_property
    def killed(self) -> list[Class]:
        """The class of each job that a failure ended: that of the outage of its nodes then."""
        found, words = self.found, list[Class]()
        places = {job.job: place for place, look in enumerate(found.looks) for job in look.jobs}
        for job in found.jobs:
            begin, at = (found.own(wall, places[job.job]) for wall in (job.begin, job.end))
            if job.state != "NODE_FAIL" or not found.times[0] <= at <= self.end:
                continue
            reach = max(found.every, 1.0)
            hits = (
                outage.word
                for outage in found.outages
                for spell in outage.spells
                if spell.nodes & {*job.nodes}
                if spell.begin - reach <= at and spell.end >= begin
            )
            words.append(min(hits, key=_ORDER.index, default="unknown"))
        return words

    @cached_property
    def criteria(self) -> list[JudgedPromise]:
        """Each promise judged."""
        watch, found = self.found.watch, list[JudgedPromise]()
        if watch.availability is not None:
            found.append(self._availability(watch.availability))
        words = [outage.word for outage in self.interrupts]
        for name, promised, classes in (
            ("MTBI", watch.mtbi_s, words),
            ("job MTTI", watch.mtti_s, self.killed),
        ):
            if promised is not None:
                counts = classes.count("vendor"), classes.count("vendor") + classes.count("unknown")
                found.append(self._mean_time(name, promised, *counts))
        return found

    def _availability(self, promised: float) -> JudgedPromise:
        least, most = self.availability
        whole = len(self.found.since) * self.found.watch.length_s - self.lost["scheduled"]
        missed = self.lost["vendor"] > (1 - promised) * whole
        word, why = self._word(missed=missed, kept=least >= promised)
        lost = self.lost["vendor"] + self.lost["unknown"]
        risks: tuple[float | None, float | None] = None, None
        if lost and whole > 0:
            loss = lost / max(1, len([o for o in self.found.outages if o.word in _ORDER[3:]]))
            chances = [availability_pass_chance(promised, whole, loss, k) for k in (1.0, BETTER)]
            risks = chances[0], 1 - chances[1]
        return JudgedPromise(
            name="availability",
            promised=promised,
            least=least,
            most=most,
            verdict=word,
            why=why,
            failures=[],
            bounds=[],
            buyers_risk=risks[0],
            vendors_risk=risks[1],
        )

    def _mean_time(self, name: str, promised: float, fewest: int, most: int) -> JudgedPromise:
        planned = self.exposed_s if self.finished else self.found.watch.length_s
        clause = Demonstration.of(self.found.watch.length_s, promised)
        low = mean_time_bounds(self.exposed_s, most)[0] if self.exposed_s else 0.0
        high = mean_time_bounds(planned, fewest)[1]
        word, why = self._word(missed=high < promised, kept=low >= promised)
        why = clause.sentence if why and not clause.decides else why
        return JudgedPromise(
            name=name,
            promised=promised,
            least=self.exposed_s / most if most else None,
            most=self.exposed_s / fewest if fewest else None,
            verdict=word,
            why=why,
            failures=[fewest, most],
            bounds=[low, high if high < inf else None],
            buyers_risk=clause.buyers_risk if clause.decides else 0.0,
            vendors_risk=clause.vendors_risk(BETTER) if clause.decides else 1.0,
        )

    def _word(self, *, missed: bool, kept: bool) -> tuple[Verdict, str]:
        """The verdict, and what leaves it open."""
        if missed or (kept and self.finished):
            return "FAIL" if missed else "PASS", ""
        booked = percent(self.period_s / self.found.watch.length_s)
        unknown = [outage for outage in self.found.outages if outage.word == "unknown"]
        why = [
            "" if self.finished else f"{booked} of the phase are booked",
            f"{count_text(len(unknown), 'outage')} of unknown class" if unknown else "",
            f"{self.unseen_s / 3600:.3g} h were unwatched" if self.unseen_s else "",
        ]
        told = "; ".join(filter(None, why))
        return (
            "INCONCLUSIVE",
            told or "what was seen fits a machine that keeps it, and one that does not",
        )

    @property
    def verdict(self) -> State:
        """The worst of the criteria; without any the phase is only measured."""
        order = ("PASS", "INCONCLUSIVE", "FAIL")
        words = [one.verdict for one in self.criteria]
        return State[max(words, key=order.index)] if words else State.MEASURED


def _first(active: Counter[str]) -> str:
    """The class that a node counts in now."""
    return next((word for word in (_LATE, *_ORDER) if active[word] > 0), _SERVES)


#: Node hours that an outage is assumed to cost.
OUTAGE_NODE_H = 8.0


def period_judgement(
    figures: Figures, waived: Collection[str], day: str, files: dict[str, str]
) -> KeptJudgement:
    """The judgement of a period on a day; `waived` are criteria that waivers cover."""
    where = f"{figures.period_s / 86400:.3g} days"
    found = [
        _criterion(one, figures.found.watch.site, where, period_id(one.name) in waived, [*files])
        for one in figures.criteria
    ]
    return KeptJudgement(
        kind=PERIOD,
        verdict=worst([one.effective for one in found]),
        judged_on=day,
        results=found,
        named=[f"outage {one.id} ({one.word})" for one in figures.found.outages],
        files=files,
    )


def period_id(name: str) -> str:
    """The criterion's id of a promise: "mtbi", "job-mtti", "availability"."""
    return name.lower().replace(" ", "-")


def _criterion(
    one: JudgedPromise, site: str, where: str, waived: bool, files: list[str]
) -> JudgedCriterion:
    verdict, waived = one.verdict, waived and one.verdict != "PASS"
    return JudgedCriterion(
        id=period_id(one.name),
        kind="limit",
        title=f"{one.name} of the period",
        statement=f"{one.name} at least what is promised, by outages of the vendor's and of none",
        verdict=verdict,
        effective="PASS" if waived else verdict,
        note="",
        absolute=True,
        items=(_item(one, {"subject": site, "environment": where, "waived": waived}),),
        launches=(tuple(files),),
    )


def _item(one: JudgedPromise, more: dict[str, Any]) -> Item:
    """Item of what was seen, with the bounds of a mean time, or of an availability its range."""
    is_share, seen = one.name == "availability", one.least or 0.0
    low, high = (one.least, one.most) if is_share else (*one.bounds, None)[:2]
    return Item(
        n=max(one.failures, default=1),
        centre=seen,
        low=low,
        high=high,
        level=1.0 if is_share else 0.9,
        method="observed" if is_share else "chi-squared",
        about="value",
        point="",
        metric=one.name,
        unit="1" if is_share else "s",
        at_least=one.promised,
        at_most=None,
        margin=seen / one.promised - 1,
        measured=None,
        measured_unit="",
        verdict=one.verdict,
        state=None,
        note=one.why,
        launches=0,
        **more,
    )


def period_risks(
    allowed: Risks, stage: str, period: Stability, nodes: int
) -> Iterator[ContractRisk]:
    """The risks of a period's promises."""
    for name, (limit, promise), (buyer, vendor), why in _promises(allowed, period, nodes):
        yield ContractRisk(
            stage=stage,
            criterion=period_id(name),
            title=f"{name} of the period",
            limit=f"at least {limit}",
            promise=promise,
            repeats=f"{period.days:g} days",
            spread=None,
            spread_from="",
            buyer=buyer,
            vendor=vendor,
            refused=0.0,
            decided=not why,
            remedy=why,
        )


def _promises(
    allowed: Risks, period: Stability, nodes: int
) -> Iterator[tuple[str, tuple[str, str], tuple[float, float], str]]:
    """Name, limit and promise, both parties' risks of each promise, and what leaves it open."""
    for name, hours in (("MTBI", period.mtbi_h), ("job MTTI", period.mtti_h)):
        if hours is not None:
            test = Demonstration.of(period.days * 86400, hours * 3600)
            ends = (test.buyers_risk, test.vendors_risk(period.better)) if test.decides else (0, 1)
            decided = test.decides and ends[1] <= allowed.vendor
            words = f"{hours:g} h", f"{period.better * hours:g} h"
            yield name, words, ends, "" if decided else test.sentence.rstrip(".")
    if (limit := period.availability) is not None:
        total = nodes * period.days * 24
        passes = [
            availability_pass_chance(limit, total, OUTAGE_NODE_H, k) for k in (1.0, period.better)
        ]
        ends = passes[0], 1 - passes[1]
        words = percent(limit, 2), percent(1 - (1 - limit) / period.better, 2)
        why = (
            f"outages are assumed to cost {OUTAGE_NODE_H:g} node hours each; a longer period"
            " decides more"
        )
        yield "availability", words, ends, "" if allowed.allow(*ends) else why
