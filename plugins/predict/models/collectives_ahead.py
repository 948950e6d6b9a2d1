# SPDX-License-Identifier: Apache-2.0
"""Collective operations at process counts that were not measured, with what is not known of them.

The laws are of the kinds that models.collectives fits; those that are only watched there, √p and
p·log₂p, are drawn as well. Each possible one counts as its BIC says, exp(−BIC/2) (J. A. Hoeting
et al., Statistical Science 14, 1999); so laws that the measured counts do not tell apart are all in
the interval. Errors are relative and of a process count, which all its lengths share, or
of one time; the former as if `PRIOR_COUNTS` further counts of the scale `PRIOR_SCALE` had been
seen, so Student's t decides.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from plugins.predict.models.collectives import CollectiveModel, Fit, Points, design
from reports.statistics.descriptive import Matrix, Vector

#: A law whose BIC is greater than the best one's by this is out of the question ("very strong"
#: evidence against it; A. E. Raftery, Sociological Methodology 25, 1995).
MOST_DELTA_BIC = 10.0
#: Relative error of a process count, as if `PRIOR_COUNTS` of them had been seen [choice].
PRIOR_SCALE, PRIOR_COUNTS = 0.05, 1


@dataclass(frozen=True, slots=True)
class Luck:
    """Relative errors of a process count and of one time; degrees of freedom of Student's t."""

    count: float
    time: float
    freedom: int


@dataclass(frozen=True, eq=False)
class Ahead:
    """A model with the points that it was fitted to; `time_s` are resamples of these, shape
    (resamples, points), row 0 what was measured."""

    model: CollectiveModel
    data: Points
    time_s: Matrix

    @property
    def error(self) -> float:
        """The relative error of a time at one process count."""
        luck = self._luck(self.model.best)
        return math.hypot(luck.count, luck.time)

    def drawn_s(self, message_bytes: float, p: float, generator: np.random.Generator) -> Vector:
        """T(m, p) in each resample with law and errors drawn; the best law must give a time there.

        A law that its errors have made impossible there, of no time or less, is drawn again.
        """
        laws = [
            fit
            for fit in self.model.fits
            if fit.bic - self.model.best.bic <= MOST_DELTA_BIC and fit.time_s(message_bytes, p) > 0
        ]
        weights = np.exp([(laws[0].bic - fit.bic) / 2 for fit in laws])
        drawn = generator.choice(len(laws), len(self.time_s), p=weights / weights.sum())
        there = Points(np.array([p]), np.array([message_bytes]), np.ones(1))
        times = np.empty(len(drawn))
        for place, fit in enumerate(laws):
            rows = np.flatnonzero(drawn == place)
            if len(rows):
                times[rows] = self._of(fit, rows, there, generator)
        possible = times > 0
        times[~possible] = generator.choice(times[possible], int((~possible).sum()))
        return times

    def resampled_s(self, message_bytes: float, p: int, seed: int) -> Vector:
        """The best law's time in row 0, which there must be, and where a draw has no bound; in the
        other rows `drawn_s`, the same for all times on so many processes."""
        best_s = self.model.best.time_s(message_bytes, p)
        times = self.drawn_s(message_bytes, p, np.random.default_rng([seed, p]))
        times[0] = best_s
        return np.where(np.isfinite(times), times, best_s)

    def _of(
        self, fit: Fit, rows: NDArray[np.int64], there: Points, generator: np.random.Generator
    ) -> Vector:
        """Times of a law in some of the resamples, all errors drawn."""
        columns, target = design(self.data, *fit.forms), design(there, *fit.forms)[0]
        scale = np.linalg.norm(columns / self.data.time_s[:, np.newaxis], axis=0)
        relative = columns / self.time_s[rows, :, np.newaxis] / scale
        normal = np.einsum("rni,rnj->rij", relative, relative)
        solution = np.linalg.solve(normal, relative.sum(axis=1)[..., np.newaxis])[..., 0]
        luck = self._luck(fit)
        wide = np.sqrt(luck.freedom / generator.chisquare(luck.freedom, len(rows)))
        away, own = generator.standard_normal((2, len(rows)))
        law = solution @ (target / scale) + wide * self._error_s(fit, luck, target) * away
        return np.asarray(law * np.exp(wide * math.hypot(luck.count, luck.time) * own))

    def _luck(self, fit: Fit) -> Luck:
        """Errors by the residuals: the means of each process count, and what is left within."""
        columns = design(self.data, *fit.forms)
        places = zip(self.data.message_bytes, self.data.p, strict=True)
        residuals = self.data.time_s / [fit.time_s(m, p) for m, p in places] - 1
        _, group, sizes = np.unique(self.data.p, return_inverse=True, return_counts=True)
        means = np.bincount(group, residuals) / sizes
        # A law of p, in startup or delay, follows the counts with two values, a constant with one.
        taken = 1 + (columns.shape[1] > 1 + (fit.delay is not None))
        freedom = len(sizes) - taken + PRIOR_COUNTS
        squares = float((means**2).sum()) + PRIOR_COUNTS * PRIOR_SCALE**2
        inner = max(1, len(residuals) - len(sizes) - columns.shape[1] + taken)
        time = np.sqrt(((residuals - means[group]) ** 2).sum() / inner)
        return Luck(float(np.sqrt(squares / freedom)), float(time), freedom)

    def _error_s(self, fit: Fit, luck: Luck, target: Vector) -> float:
        """Standard error of the law's value at `target`: the errors through least squares."""
        relative = design(self.data, *fit.forms) / self.data.time_s[:, np.newaxis]
        weights = np.linalg.pinv(relative).T @ target
        shared = sum(weights[self.data.p == p].sum() ** 2 for p in np.unique(self.data.p))
        return math.sqrt(luck.count**2 * shared + luck.time**2 * (weights**2).sum())
