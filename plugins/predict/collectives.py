# SPDX-License-Identifier: Apache-2.0
"""The time of collective operations in closed form, chosen among a few laws.

T(m, p) = T0(p) + D(m, p): a startup latency and a transmission delay proportional to the message
length m (Hwang, Wang and Wang, "Evaluating MPI Collective Communication on the SP2, T3D, and
Paragon Multicomputers", 1996, equation 1 and Table 3). Candidates: T0 = a + b·f(p) and
D/m = c + d·g(p), f, g ∈ {0, log₂p, ⌈log₂p⌉, p}, f = p·log₂p and g = (p − 1)/p as well; every pair
is fitted to all points at once by least squares of relative residuals. All lengths of one p share
its luck, so the pairs are compared with p as a random effect: ln T = ln f + u + e, with u normal
and the same for all times of a p, e normal and independent (C. R. Henderson, Biometrics 31, 1975;
J. C. Pinheiro and D. M. Bates, Mixed-Effects Models in S and S-PLUS, 2000, section 2.2), f linear
in its coefficients. Times in s, lengths in bytes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

from reports.models.collectives import FORMS, Form, Law, aggregated_factor
from reports.statistics.descriptive import Matrix, Vector

#: Ratios of the variances of u and e that are tried.
_RATIOS = np.concatenate([[0.0], np.logspace(-2, 3, 21)])
_MOST_STEPS = 10
#: A gain of the deviance below this ends the search.
_ENOUGH = 1e-3


@dataclass(frozen=True, slots=True)
class Grouped:
    """Times in s, and the number of the group that each belongs to, from 0 on."""

    time_s: Vector
    group: NDArray[np.int64]
    sizes: NDArray[np.int64]

    @classmethod
    def by(cls, time_s: Vector, key: Vector) -> Grouped:
        """Times of the same key are a group."""
        _, group, sizes = np.unique(key, return_inverse=True, return_counts=True)
        return cls(time_s, group, sizes)

    def _means(self, values: Vector) -> Vector:
        sums = [np.bincount(self.group, one, len(self.sizes)) for one in values.T]
        return np.asarray((np.stack(sums) / self.sizes).T)

    def _profile(self, residuals: Vector, least: float) -> tuple[float, float]:
        """−2·ln L but for a constant at its best ratio of variances, and that ratio."""
        means = self._means(residuals[:, np.newaxis])[:, 0]
        inner = ((residuals - means[self.group]) ** 2).sum()
        shrunk = 1 + np.outer(_RATIOS, self.sizes)
        squares = inner + (self.sizes * means**2 / shrunk).sum(axis=1)
        variance = np.maximum(squares / len(residuals), least**2)
        found = len(residuals) * np.log(variance) + np.log(shrunk).sum(axis=1)
        best = int(np.argmin(found))
        return float(found[best]), float(_RATIOS[best])

    def deviance(self, columns: Vector, start: Vector, least: float) -> float:
        """−2·ln L, but for a constant, of the best f = columns·β; infinite where f is not positive.

        Gauss–Newton from β = `start`, a step halved until it gains. Residuals below `least`
        (relative) count as such. Groups of one time each have no error of their own.
        """
        beta, fitted = start, columns @ start
        if not (fitted > 0).all():
            return math.inf
        residuals = np.log(self.time_s / fitted)
        deviance, ratio = self._profile(residuals, least)
        for _ in range(_MOST_STEPS):
            step = self._step(columns / fitted[:, np.newaxis], residuals, ratio)
            for part in (1.0, 0.5, 0.25, 0.125):
                tried = columns @ (beta + part * step)
                if (tried > 0).all():
                    left = np.log(self.time_s / tried)
                    found, its_ratio = self._profile(left, least)
                    if found < deviance:
                        break
            else:
                return deviance
            gain, beta, fitted, residuals = deviance - found, beta + part * step, tried, left
            deviance, ratio = found, its_ratio
            if gain < _ENOUGH:
                break
        return deviance

    def _step(self, slopes: Vector, residuals: Vector, ratio: float) -> Vector:
        """Generalised least squares: each group's mean is taken out as far as it is its luck."""
        share = 1 - 1 / np.sqrt(1 + ratio * self.sizes)
        both = np.column_stack([slopes, residuals])
        both = both - (share[:, np.newaxis] * self._means(both))[self.group]
        scale = np.linalg.norm(both[:, :-1], axis=0)
        scale[scale == 0] = 1.0
        solution = np.linalg.lstsq(both[:, :-1] / scale, both[:, -1], rcond=None)[0]
        return np.asarray(solution / scale)


_BOTH: tuple[Form, ...] = ("constant", "log2_p", "ceil_log2_p", "p")
STARTUP_FORMS: tuple[Form, ...] = (*_BOTH, "p_log2_p")
DELAY_FORMS: tuple[Form, ...] = (*_BOTH, "(p-1)/p")
#: No candidates, for no common algorithm has them but a grid, an exchange of all with all over one
#: wire or, in the delay, Bruck's exchange; but a law that they describe as well is not determined.
WATCHED_STARTUPS: tuple[Form, ...] = ("sqrt_p", "p_squared")
WATCHED_DELAYS: tuple[Form, ...] = ("sqrt_p", "p_log2_p")

#: Fewer process counts cannot tell the laws apart.
LEAST_COUNTS = 5
#: A law is chosen only if its BIC is this much lower than the next one: "positive" evidence
#: for a simpler law, "strong" against one as simple or simpler (Raftery, Sociological Methodology
#: 25, 1995). With 2 for both, near laws such as log₂p and p over six counts were taken for each
#: other in one of five simulated cases; with 6, in one of thirty.
LEAST_DELTA_SIMPLER = 2.0
LEAST_DELTA_BIC = 6.0
#: … than that of a watched law by this; both have the same number of parameters.
LEAST_DELTA_WATCHED = 3.0
#: … and no other law predicts left-out process counts better by more than this share.
LEFT_OUT_MARGIN = 0.1
#: Where every law misses left-out process counts by more than this (relative rms), none predicts
#: anything: as where some counts share cores and others do not.
MOST_LEFT_OUT = 0.5
#: A worse fit than this (relative rms) is none: ranks that share cores, or an algorithm that
#: changes with the length, follow no law of the form.
MOST_RMS = 0.25
#: The greatest relative rounding of a time: programs print nine digits, and half a unit of the
#: ninth is at most 5e-9 of the value. Smaller residuals are rounding, not evidence.
ROUNDING = 5e-9


@dataclass(frozen=True, slots=True)
class Fit:
    """Pair of laws: BIC and relative rms of the residuals."""

    startup: Law
    delay: Law | None
    bic: float
    rms: float

    @property
    def forms(self) -> tuple[Form, Form | None]:
        """Forms of startup and delay."""
        return self.startup.form, self.delay.form if self.delay else None


@dataclass(frozen=True, slots=True)
class Choice:
    """The law chosen for one part, and the laws that the data do not tell it from, by ascending
    BIC, watched ones too."""

    law: Law
    alike: tuple[Law, ...]

    @property
    def determined(self) -> bool:
        """True where the data exclude every other law."""
        return not self.alike


@dataclass(frozen=True, slots=True)
class CollectiveModel:
    """The best fit of all, and what was chosen for each part; `delay` is None for a barrier."""

    best: Fit
    startup: Choice
    delay: Choice | None
    points: int


@dataclass(frozen=True, slots=True)
class Points:
    """Measured times: three vectors of the same length, m in bytes (0 for a barrier), T in s."""

    p: Vector
    message_bytes: Vector
    time_s: Vector


def points(rows: Sequence[tuple[int, int, float]]) -> Points:
    """From (p, message_bytes, time_s)."""
    matrix = np.array(rows, dtype=np.float64).reshape(-1, 3)
    return Points(matrix[:, 0], matrix[:, 1], matrix[:, 2])


def fit_collective(data: Points) -> CollectiveModel | str:
    """Choose the laws; or say in words why none can be chosen.

    Assumes normal relative errors of equal size, of which a part may be the same for all lengths
    of one p (Grouped), and p > 0. Laws that give a startup of 0 or less or a negative
    delay at a measured p are no candidates.

    Nothing is decided by less than `ROUNDING` of a time: fits with smaller residuals count as
    equally good, so that the one with the fewest parameters is chosen; how they predict left-out
    counts, which is amplified rounding, is then no evidence; a startup or delay of that size is 0.
    """
    counts = np.unique(data.p)
    if len(counts) < LEAST_COUNTS:
        return f"{len(counts)} process counts; at least {LEAST_COUNTS} are needed"
    if not (np.isfinite(data.time_s).all() and (data.time_s > 0).all()):
        return "a time is not positive"
    has_delay = len(np.unique(data.message_bytes)) > 1
    grouped = Grouped.by(data.time_s, data.p)
    pairs = product(
        _told_apart(counts, (*STARTUP_FORMS, *WATCHED_STARTUPS)),
        _told_apart(counts, (*DELAY_FORMS, *WATCHED_DELAYS)) if has_delay else (None,),
    )
    every = [fit for pair in pairs if (fit := _fit(data, grouped, *pair)) is not None]
    every = sorted((fit for fit in every if _possible(data, fit)), key=lambda fit: fit.bic)
    fits = [fit for fit in every if not _is_watched(fit)]
    if none_holds := _none_holds(data, fits):
        return none_holds
    startup = _choose(data, every, lambda fit: fit.startup, WATCHED_STARTUPS)
    delay = _choose(data, every, lambda fit: fit.delay, WATCHED_DELAYS) if has_delay else None
    if startup is None or (has_delay and delay is None):
        return "only one law fits with a positive startup and delay"
    return CollectiveModel(fits[0], startup, delay, len(data.p))


def _told_apart(counts: Vector, forms: Sequence[Form]) -> list[Form]:
    """The forms that differ at these counts: at powers of two log₂p and ⌈log₂p⌉ are one."""
    same = np.array_equal(FORMS["log2_p"](counts), FORMS["ceil_log2_p"](counts))
    return [form for form in forms if not (same and form == "ceil_log2_p")]


def _is_watched(fit: Fit) -> bool:
    return fit.startup.form in WATCHED_STARTUPS or bool(
        fit.delay and fit.delay.form in WATCHED_DELAYS
    )


def _none_holds(data: Points, fits: Sequence[Fit]) -> str | None:
    """Why no law of `fits`, by ascending BIC, describes the data; None where one does."""
    if not fits:
        return "no law fits with a positive startup and delay"
    if fits[0].rms > MOST_RMS:
        return f"the best laws are off by {fits[0].rms:.0%} rms, more than {MOST_RMS:.0%} is no fit"
    missed = min(_left_out_rms(data, fit) for fit in fits)
    if missed <= MOST_LEFT_OUT:
        return None
    return (
        f"every law misses left-out process counts by {missed:.0%} rms or more; more than"
        f" {MOST_LEFT_OUT:.0%} is no prediction"
    )


def design(data: Points, startup: Form, delay: Form | None) -> Matrix:
    """Columns 1, f(p), m, m·g(p); constant forms have no second column."""
    columns = [np.ones_like(data.p)]
    if startup != "constant":
        columns.append(FORMS[startup](data.p))
    if delay is not None:
        columns.append(data.message_bytes)
    if delay not in (None, "constant"):
        columns.append(data.message_bytes * FORMS[delay](data.p))
    return np.column_stack(columns)


def _solve(relative: Matrix) -> Vector | None:
    """Coefficients that bring the relative model nearest to 1, or None without a single answer."""
    scale = np.linalg.norm(relative, axis=0)
    if not (scale > 0).all():
        return None
    solution, _, rank, _ = np.linalg.lstsq(relative / scale, np.ones(len(relative)), rcond=None)
    return solution / scale if rank == relative.shape[1] else None


def _fit(data: Points, grouped: Grouped, startup: Form, delay: Form | None) -> Fit | None:
    columns = design(data, startup, delay)
    relative = columns / data.time_s[:, np.newaxis]
    count, parameters = relative.shape
    solution = _solve(relative)
    if count <= parameters or solution is None:
        return None
    rms = max(ROUNDING, float(np.sqrt(np.mean((relative @ solution - 1) ** 2))))
    values = solution.tolist()
    first = Law(startup, values.pop(0), values.pop(0) if startup != "constant" else 0.0)
    second = None
    if delay is not None:
        second = Law(delay, values.pop(0), values.pop(0) if delay != "constant" else 0.0)
    # Two more parameters than the laws': the sizes of both errors. The same for all, so left out.
    bic = grouped.deviance(columns, solution, ROUNDING) + parameters * math.log(count)
    return Fit(first, second, bic, rms)


def _left_out_rms(data: Points, fit: Fit) -> float:
    """Relative rms at each process count, predicted from the others; infinite if it cannot be."""
    relative = design(data, *fit.forms) / data.time_s[:, np.newaxis]
    squares: list[float] = []
    for count in np.unique(data.p):
        held = data.p == count
        solution = _solve(relative[~held])
        if solution is None:
            return math.inf
        squares += ((relative[held] @ solution - 1) ** 2).tolist()
    return math.sqrt(sum(squares) / len(squares))


def _possible(data: Points, fit: Fit) -> bool:
    """True where at every measured p startup is above 0 and delay not below, past rounding."""
    longest = float(data.message_bytes.max())
    for p in np.unique(data.p):
        rounding_s = ROUNDING * float(data.time_s[data.p == p].min())
        if fit.startup.at(p) <= rounding_s:
            return False
        if fit.delay is not None and fit.delay.at(p) * longest < -rounding_s:
            return False
    return True


def _choose(
    data: Points,
    every: Sequence[Fit],
    part: Callable[[Fit], Law | None],
    watched: Sequence[Form],
) -> Choice | None:
    """The law of the best fit against the best fit with another form; fits by ascending BIC."""
    by_form: dict[Form, tuple[Law, Fit]] = {}
    for fit in every:
        law = part(fit)
        assert law is not None
        if law.form in watched or not _is_watched(fit):
            by_form.setdefault(law.form, (law, fit))
    candidates = [both for form, both in by_form.items() if form not in watched]
    if len(candidates) < 2:
        return None
    (law, first), (runner_up, _) = candidates[:2]
    left_out = [_left_out_rms(data, fit) for _, fit in candidates]
    near = LEAST_DELTA_WATCHED if law.form != "constant" else -math.inf
    needed = LEAST_DELTA_SIMPLER if law.form == "constant" else LEAST_DELTA_BIC
    alike = {
        form
        for form, (_, fit) in by_form.items()
        if fit.bic - first.bic < (near if form in watched else needed)
    }
    if first.rms > ROUNDING:
        for (other, _), missed in zip(candidates, left_out, strict=True):
            if left_out[0] > (1 + LEFT_OUT_MARGIN) * missed:
                alike.add(other.form)
        if left_out[0] > MOST_LEFT_OUT:
            alike.add(runner_up.form)
    alike.discard(law.form)
    return Choice(law, tuple(other for form, (other, _) in by_form.items() if form in alike))


def asymptotic_bandwidth(operation: str, delay: Law, p: float) -> float | None:
    """R∞(p) = f(m, p) / D(m, p) in bytes/s for long messages; None where the delay is 0."""
    per_byte = delay.at(p)
    return aggregated_factor(operation, p) / per_byte if per_byte > 0 else None
