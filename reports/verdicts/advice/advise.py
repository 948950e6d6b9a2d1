# SPDX-License-Identifier: Apache-2.0
"""An application's time in each environment of a run: computing + wait + Σ calls · time of a call.

The profile's own time in messages and in collectives is what the curves of its environment are held
against. What the program's calls take longer than the check's (cold caches, ranks that come apart)
is the same time in every environment; where they are faster, it is the same factor. The error
grows with the factor between the two. Wait is the program's imbalance and the same everywhere. All
numbers of a row come from the same resampled blocks.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from records.application_profile import ApplicationProfile
from records.errors import AssayError
from reports.analysis.run import Analysis
from reports.checks.collectives.measured import CHECK as COLLECTIVES
from reports.commands import campaign_of
from reports.notation.units import bytes_text, percent, significant
from reports.statistics.descriptive import Vector
from reports.verdicts.advice.curves import EXCHANGE, MESSAGES, EnvironmentCurves
from reports.verdicts.advice.demand import (
    OPERATIONS,
    Application,
    Demand,
    Family,
    application_of,
)
from reports.verdicts.advice.lengths import CallTime, NoCurve
from reports.verdicts.advice.outcome import (
    AdvisedPart,
    ConfirmPart,
    DecidingPart,
    ExplainedPart,
    LikelyPart,
    WithoutPart,
)
from reports.verdicts.prediction.library import SEED

#: From this share of the time in MPI in wait or behind computing on, curves say nothing of it.
MOST_HIDDEN = 0.3
#: Calls without a curve may take this share of the time in MPI.
MOST_UNKNOWN = 0.05
#: The curves must give between 1/so many and so many times of what was measured.
MOST_UNEXPLAINED = 2.0
#: Relative error of a family's time in another environment than the profile's: at least, and what
#: is added for each factor e that the curves are off by [choice; `bench advice_witness` counts the
#: coverage]. Of messages a ping-pong does not show what it means that the receiver is late.
MODEL_ERROR = 0.05
ERROR_OF_FACTOR = 0.1
#: … and for each factor e between its curves and those of the profile's environment [choice, by
#: `bench advice`]: a library that sleeps while it waits gains from what a ping-pong does not show.
ERROR_OF_DISTANCE = 0.05
#: The same where the profile is of no environment of the run.
UNCALIBRATED_ERROR = 0.3
#: One launch against the next: of the profile, of which there is one.
LAUNCH_ERROR = 0.03
#: From this share of messages on that are sent before they are asked for, a sender runs ahead.
MOST_AHEAD = 0.02
#: Libraries announce no shorter messages; where they begin to is mostly a power of two.
_LEAST_LIMIT = 1024.0
#: Errors are so many times as great where the curves' ranks shared cores.
CROWDED = 2.0
#: Rows that are shown of what decides, the share of it from which on they are, and from which on
#: another run is worth it.
MOST_DECIDING, LEAST_DECIDING, LEAST_SHARE = 5, 0.005, 0.1
#: The campaign that measures what advice needs.
CAMPAIGN = "advice"
#: Checks with curves; a run with none of them says nothing.
CURVES = (MESSAGES, "echo", COLLECTIVES)
#: Blocks of a run that measures what is missing.
FIRST_BLOCKS = 6
_FAMILIES: tuple[Family, ...] = ("messages", "collectives")
#: Each demand with its time in an environment.
Times = list[tuple[Demand, CallTime | NoCurve]]


@dataclass(frozen=True, eq=False)
class Forecast:
    """An environment: its communication and the whole in s by resample, the time of each demand in
    row 0, what of it is extrapolated, and whether its curves are of ranks that shared cores."""

    environment: str
    communication_s: Vector
    whole_s: Vector
    demand_s: tuple[float, ...]
    beyond: tuple[str, ...]
    crowded: bool


class FamilyTime(NamedTuple):
    """A family's calls that have a curve, in s by resample; the relative error of what of it was
    not measured; and what the profile has for the same calls."""

    time_s: Vector
    error: float
    measured_s: float


@dataclass(frozen=True, eq=False)
class Advice:
    """A profile (`source`, and as a mean rank), and what is asked of it: the same at another size,
    in the environments of a run. `profiled_in` is the environment of the profile, "" where the run
    has it not."""

    analysis: Analysis
    source: ApplicationProfile
    profile: Application
    asked: Application
    profiled_in: str
    sizes: float = 1.0

    @cached_property
    def _curves(self) -> dict[str, EnvironmentCurves]:
        return {name: EnvironmentCurves(self.analysis, name) for name in self.analysis.looks}

    def _times(self, asked: Application, environment: str) -> Times:
        curves = self._curves[environment]
        return [
            (one, NoCurve(differs))
            if (differs := self._otherwise_sent(one, own, environment))
            else (one, curves.of(one, asked.on_node, asked.nodes))
            for one, own in zip(asked.demands, self.profile.demands, strict=True)
        ]

    def _otherwise_sent(self, asked: Demand, own: Demand, environment: str) -> str:
        """Why a message whose sender runs ahead has no time: where a library announces messages
        from a length on, its sender waits for the receiver. "" where nothing differs."""
        if own.ahead < MOST_AHEAD or not self.profiled_in:
            return ""
        text = f"{asked.call} of {bytes_text(round(asked.message_bytes))}: whether its sender waits"
        lengths = (max(_LEAST_LIMIT, one.message_bytes) for one in (own, asked))
        powers = [math.ceil(math.log2(length)) for length in lengths]
        if powers[0] != powers[1]:
            known = bytes_text(round(own.message_bytes))
            return f"{text} for the receiver is not known from {known}"
        curves = (self._curves[name] for name in (self.profiled_in, environment))
        if len({one.asks_first(asked) for one in curves}) > 1:
            return f"{text} for the receiver differs between {self.profiled_in} and {environment}"
        return ""

    @cached_property
    def _there(self) -> tuple[dict[Family, FamilyTime], dict[Family, FamilyTime]]:
        """What the curves of the profile's environment give for it, and for what is asked."""
        if not self.profiled_in:
            return {}, {}
        own, asked = (self._times(one, self.profiled_in) for one in (self.profile, self.asked))
        return _family_times(own), _family_times(asked)

    @property
    def explained(self) -> list[ExplainedPart]:
        """The curves held against the profile."""
        return [
            ExplainedPart(family=of, measured_s=own.measured_s, curves_s=float(own.time_s[0]))
            for of, own in self._there[0].items()
        ]

    @cached_property
    def overlap_s(self) -> float:
        """Communication that passed behind computing: of a message no longer than it takes."""
        hidden = 0.0
        every = [self._times(self.profile, name) for name in self._curves]
        for pairs in zip(*every, strict=True):
            demand = pairs[0][0]
            times = [float(time.time_s[0]) for _, time in pairs if isinstance(time, CallTime)]
            if times and demand.outside_s:
                hidden += min(demand.outside_s, demand.count * float(np.median(times)))
        return hidden

    @cached_property
    def _outcomes(self) -> list[Forecast | WithoutPart]:
        return [self._outcome(place, name) for place, name in enumerate(self._curves)]

    @property
    def predicted(self) -> list[Forecast]:
        """Every environment with curves for the calls, the fastest first."""
        found = (one for one in self._outcomes if isinstance(one, Forecast))
        return sorted(found, key=lambda one: float(one.whole_s[0]))

    @property
    def left_out(self) -> list[WithoutPart]:
        """The environments without."""
        return [one for one in self._outcomes if isinstance(one, WithoutPart)]

    def _outcome(self, place: int, name: str) -> Forecast | WithoutPart:
        times = self._times(self.asked, name)
        lost = sorted(
            ((one.time_s, gap.why) for one, gap in times if isinstance(gap, NoCurve)), reverse=True
        )
        known = [time for _, time in times if isinstance(time, CallTime)]
        lost_s = sum(time_s for time_s, _ in lost)
        if not known or lost_s > MOST_UNKNOWN * self.profile.mpi_s:
            return WithoutPart(environment=name, why=[*dict.fromkeys(why for _, why in lost)])
        crowded = any(time.crowded for time in known)
        luck = np.random.default_rng([SEED, place])
        shared = np.random.default_rng(SEED)
        rows = len(known[0].time_s)
        total, own_factor = np.zeros(rows), dict[Family, float]()
        for family, found in _family_times(times).items():
            factor, error = self._factor(family, name, found.time_s)
            own_factor[family] = float(factor[0])
            error = math.hypot(error * (CROWDED if crowded else 1.0), found.error)
            noise = LAUNCH_ERROR * shared.standard_normal(rows) + error * luck.standard_normal(rows)
            noise[0] = 0.0
            total = total + factor * found.time_s * np.exp(noise)
        rest = self.asked.compute_s + self.asked.wait_s + sum(self.asked.other_s.values()) + lost_s
        return Forecast(
            environment=name,
            communication_s=total,
            whole_s=total + rest,
            demand_s=tuple(
                one.count * float(time.time_s[0]) * own_factor[one.family]
                if isinstance(time, CallTime)
                else 0.0
                for one, time in times
            ),
            beyond=tuple(dict.fromkeys(time.beyond for time in known if time.beyond)),
            crowded=crowded,
        )

    def _factor(self, family: Family, name: str, found: Vector) -> tuple[Vector, float]:
        """What a family's time by the curves is multiplied with in an environment, and its error:
        none where it is what was measured."""
        own, asked = (one.get(family) for one in self._there)
        if own is None or own.measured_s <= 0:
            return np.ones(1), UNCALIBRATED_ERROR
        longer_s = own.measured_s - own.time_s
        factor = np.where(longer_s > 0, 1 + longer_s / found, own.measured_s / own.time_s)
        if name == self.profiled_in and self.asked is self.profile:
            return factor, 0.0
        error = MODEL_ERROR + ERROR_OF_FACTOR * abs(math.log(own.measured_s / own.time_s[0]))
        if asked is not None:
            error += ERROR_OF_DISTANCE * abs(math.log(found[0] / asked.time_s[0]))
        return factor, error

    @cached_property
    def refused(self) -> list[str]:
        """Why the profile says nothing of other libraries; empty where it does."""
        return [*self._refusals()]

    def _refusals(self) -> Iterator[str]:
        of = self.profile
        if of.mpi_s <= 0 or not of.demands:
            yield "the profile has no communication that a library could be chosen for"
            return
        if self.source.source == "mpiP" and not any(one.bytes for one in self.source.calls):
            yield "the report has no message sizes: mpiP gives them without its option -c"
        if self.source.threads:
            yield "the time in MPI exceeds the program's: several threads were in MPI at once"
        share = (of.wait_s + self.overlap_s) / (of.mpi_s + self.overlap_s)
        if share >= MOST_HIDDEN:
            yield (
                f"{percent(share, 0)} of the time in MPI is wait for other ranks or overlaps with"
                f" computing, which no curve describes (allowed: below {percent(MOST_HIDDEN, 0)})"
            )
        other = sum(of.other_s.values())
        if other > MOST_UNKNOWN * of.mpi_s:
            names = sorted(of.other_s, key=lambda name: -of.other_s[name])[:3]
            yield (
                f"{percent(other / of.mpi_s, 0)} of the time in MPI is in calls that no check"
                f" measures: {', '.join(names)} (allowed: {percent(MOST_UNKNOWN, 0)})"
            )
        for one in self.explained:
            factor = one.measured_s / one.curves_s if one.curves_s else math.inf
            weighs = one.measured_s > MOST_UNKNOWN * of.mpi_s
            if weighs and not 1 / MOST_UNEXPLAINED <= factor <= MOST_UNEXPLAINED:
                yield (
                    f"its {one.family} took {significant(factor)} times what the curves of"
                    f" {self.profiled_in} give for them (allowed:"
                    f" {significant(1 / MOST_UNEXPLAINED)} to {significant(MOST_UNEXPLAINED)})"
                )
        sent = sum(one.time_s for one in self.asked.demands if one.family == "messages")
        if sent > MOST_UNKNOWN * of.mpi_s and any(one.crowded for one in self.predicted):
            yield (
                f"{self.asked.ranks} ranks share cores here, the curves of messages are of ranks"
                " that do not"
            )
        if len(self.predicted) < 2:
            whys = list(dict.fromkeys(why for one in self.left_out for why in one.why))
            yield "; ".join(whys[:3]) or "the run has fewer than two environments"

    @cached_property
    def advised(self) -> list[AdvisedPart]:
        """The predictions, the fastest first, with what cannot be told apart."""
        every = self.predicted
        first = every[0]
        parts = []
        for one in every:
            ratios = {
                other.environment: LikelyPart.of(one.whole_s / other.whole_s)
                for other in every
                if other is not one
            }
            part = AdvisedPart(
                environment=one.environment,
                place=1 + sum(ratio.low > 1 for ratio in ratios.values()),
                time_s=LikelyPart.of(one.whole_s),
                communication_s=LikelyPart.of(one.communication_s),
                ratio=LikelyPart.of(one.whole_s / first.whole_s),
                communication_ratio=LikelyPart.of(one.communication_s / first.communication_s),
                tied_with=[name for name, ratio in ratios.items() if ratio.tied],
            )
            parts.append(part)
        return parts

    @property
    def _ties(self) -> list[str]:
        """Environments that cannot be told apart from the first."""
        first = self.advised[0].environment
        return [one.environment for one in self.advised if first in one.tied_with]

    @property
    def deciding(self) -> list[DecidingPart]:
        """The calls that differ most between the first environment and the next that is apart from
        it, else the next one."""
        every = self.predicted
        (first, *rest), ties = every, self._ties
        other = next((one for one in rest if one.environment not in ties), rest[0])
        gaps = [b - a for a, b in zip(first.demand_s, other.demand_s, strict=True)]
        whole = sum(map(abs, gaps)) or 1.0
        order = sorted(range(len(gaps)), key=lambda place: -abs(gaps[place]))
        return [
            DecidingPart.filled(
                self.asked.demands[place],
                within_node=self.asked.demands[place].within,
                time_s={one.environment: one.demand_s[place] for one in every},
                share=abs(gaps[place]) / whole,
            )
            for place in order[:MOST_DECIDING]
            if abs(gaps[place]) > LEAST_DECIDING * whole
        ]

    @property
    def confirm(self) -> ConfirmPart | None:
        """The cheapest run of curves that tells more: of what is missing, or of a tie of the first.
        None where the first is apart from all others, and where no curve would help."""
        every, plan = self.predicted, self.analysis.run.plan
        measured = {case.check for case in plan.cases}
        if len(every) < 2:
            gaps = (one for name in self._curves for _, one in self._times(self.asked, name))
            checks = {one.check for one in gaps if isinstance(one, NoCurve) and one.check}
            names = [*self._curves]
        else:
            ties = self._ties
            names = [every[0].environment, *ties]
            decide = self.deciding if ties and not self.refused else []
            calls = [one.call for one in decide if one.share >= LEAST_SHARE]
            checks = {COLLECTIVES if call in OPERATIONS else MESSAGES for call in calls}
            checks |= {EXCHANGE} & measured if MESSAGES in checks else set()
        if not checks:
            return None
        again = checks <= measured
        return ConfirmPart(
            campaign=campaign_of(self.analysis.run) if again else CAMPAIGN,
            environments=names,
            checks=sorted(checks),
            blocks=2 * plan.blocks if again else FIRST_BLOCKS,
        )


def advise(
    analysis: Analysis,
    profile: ApplicationProfile,
    *,
    sizes: float = 1.0,
    ranks: int | None = None,
    environment: str = "",
) -> Advice:
    """What a profile asks of the environments of a run, with messages `sizes` times as long and on
    `ranks` ranks; `environment` is that of the profile where it does not say it itself. Raises
    AssayError for one that the run does not have."""
    if environment and environment not in analysis.looks:
        raise AssayError(
            f"--environment {environment}: not in the run; it has {', '.join(analysis.looks)}"
        )
    name = environment or profile.environment
    own = application_of(profile)
    same = sizes == 1.0 and ranks in (None, own.ranks)
    asked = own if same else own.scaled(sizes, ranks)
    return Advice(analysis, profile, own, asked, name if name in analysis.looks else "", sizes)


def _family_times(times: Times) -> dict[Family, FamilyTime]:
    """The time of each family of which calls have a curve."""
    found: dict[Family, FamilyTime] = {}
    for family in _FAMILIES:
        total, beyond, measured_s = np.zeros(1), 0.0, 0.0
        for one, time in times:
            if one.family == family and isinstance(time, CallTime):
                total = total + one.count * time.time_s
                beyond += one.count * float(time.time_s[0]) * time.error
                measured_s += one.time_s
        if total[0] > 0:
            found[family] = FamilyTime(total, beyond / float(total[0]), measured_s)
    return found
