# SPDX-License-Identifier: Apache-2.0
"""Likelihood of times under a law where all times of a group share a part of their error.

ln T = ln f + u + e, with u normal and the same for all times of a group, e normal and independent:
one random effect a group (C. R. Henderson, Biometrics 31, 1975; J. C. Pinheiro and D. M. Bates,
Mixed-Effects Models in S and S-PLUS, 2000, section 2.2). f is linear in its coefficients.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reports.statistics.descriptive import Vector

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
