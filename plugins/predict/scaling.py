# SPDX-License-Identifier: Apache-2.0
"""The time of an application on node counts that were not measured, with what is not known of it.

T = γ·W·k^a + κ·C·(k/2)^b on k nodes: W the work of a rank, C what Hockney's α and β say its
messages take (R. W. Hockney, Parallel Computing 20, 1994). γ is the time of a unit of work; κ what
α and β of a ping-pong lack when all ranks send, wait and share links (o and g of LogP: D. Culler et
al., PPoPP 1993); a and b are the exponents that the law lacks: contention makes b positive.

Bayes with weak normal priors [choice]: γ is free, ln κ is 0 ± 0.7, a 0 ± 0.03, b 0 ± 0.3. Without
data an exponent is as uncertain as that, and every measured count narrows it. Errors are
normal in logarithms and of one node count. Their scale is that of the standardised residuals when
each node count in turn is left out and predicted from the others (D. M. Allen, Technometrics 16,
1974), with `PRIOR_COUNTS` further counts of the scale `PRIOR_SCALE`; so Student's t decides.

All arrays have a first axis of resamples; row 0 is what was measured itself.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from reports.statistics.descriptive import Matrix, Vector

#: Standard deviations of ln γ, a, ln κ, b before anything is measured.
PRIOR = np.array([20.0, 0.03, 0.7, 0.3])
#: Relative error of a node count, as if `PRIOR_COUNTS` of them had been seen.
PRIOR_SCALE, PRIOR_COUNTS = {"time": 0.02, "compute": 0.02, "messages": 0.06}, 2
_STEPS, _ROUNDS = 12, 3
_MOST_STEP = 1.5


@dataclass(frozen=True, eq=False)
class Counts:
    """Values of each node count: nodes, W of a rank, and resamples of C, T and, where the
    program tells it, of the communication in T; in s, shape (resamples, counts)."""

    nodes: Vector
    work: Vector
    messages_s: Matrix
    time_s: Matrix
    communication_s: Matrix | None = None

    def only(self, kept: NDArray[np.bool_], *, row: bool = False) -> Counts:
        """Some of the counts; `row`: of what was measured itself alone."""
        rows = slice(1) if row else slice(None)
        parts = self.communication_s
        return replace(
            self,
            nodes=self.nodes[kept],
            work=self.work[kept],
            messages_s=self.messages_s[rows, kept],
            time_s=self.time_s[rows, kept],
            communication_s=None if parts is None else parts[rows, kept],
        )


@dataclass(frozen=True, eq=False)
class ScalingLaw:
    """ln γ, a, ln κ, b in each resample, and their covariance without that of the resamples.

    `scales` are the errors of a node count by what they are of: "time", or "compute" and
    "messages".
    """

    values: Matrix
    covariance: NDArray[np.float64]
    scales: dict[str, float]
    counts: int

    @property
    def freedom(self) -> int:
        """Degrees of freedom of Student's t."""
        return self.counts - 1 + PRIOR_COUNTS

    def parts_s(self, nodes: float, work: float, messages_s: Vector) -> tuple[Vector, Vector]:
        """Compute and communication time in each resample, without the errors."""
        compute, messages = _logs(self.values, np.array([nodes]), np.array([work]), messages_s)
        return np.exp(compute[:, 0]), np.exp(messages[:, 0])

    def drawn_s(
        self, nodes: float, work: float, messages_s: Vector, generator: np.random.Generator
    ) -> tuple[Vector, Vector]:
        """Parts with all errors drawn; the row 0 is an ordinary draw."""
        rows = len(self.values)
        wide = np.sqrt(self.freedom / generator.chisquare(self.freedom, rows))
        roots = np.linalg.cholesky(self.covariance)
        away = np.einsum("rij,rj->ri", roots, generator.standard_normal((rows, 4)))
        law = replace(self, values=self.values + wide[:, np.newaxis] * away)
        compute, messages = law.parts_s(nodes, work, messages_s)
        own = {
            name: np.exp(scale * wide * generator.standard_normal(rows))
            for name, scale in self.scales.items()
        }
        if "time" in own:
            return compute * own["time"], messages * own["time"]
        return compute * own["compute"], messages * own["messages"]


def fit_law(counts: Counts) -> ScalingLaw:
    """The law of at least two node counts; see the module's docstring."""
    kinds = ("time",) if counts.communication_s is None else ("compute", "messages")
    scales = {name: PRIOR_SCALE[name] for name in kinds}
    whole = counts.only(np.ones(len(counts.nodes), dtype=np.bool_), row=True)
    for _ in range(_ROUNDS):
        scales = _left_out_scales(whole, scales)
    values, covariance = _fit(counts, scales)
    return ScalingLaw(values, covariance, scales, len(counts.nodes))


def _left_out_scales(counts: Counts, scales: dict[str, float]) -> dict[str, float]:
    """The scales by the standardised residuals of each count that is left out."""
    squares = {name: PRIOR_COUNTS * PRIOR_SCALE[name] ** 2 for name in scales}
    seen = dict.fromkeys(scales, PRIOR_COUNTS)
    for place in range(len(counts.nodes)):
        left_out = np.arange(len(counts.nodes)) == place
        values, covariance = _fit(counts.only(~left_out), scales)
        for name, (residual, slopes) in _residuals(values, counts.only(left_out)).items():
            if not np.isfinite(residual[0, 0]):
                continue
            slope = slopes[0, 0]
            own = scales[name] ** 2
            squares[name] += residual[0, 0] ** 2 / (1 + slope @ covariance[0] @ slope / own)
            seen[name] += 1
    return {name: float(np.sqrt(squares[name] / seen[name])) for name in scales}


def _fit(counts: Counts, scales: dict[str, float]) -> tuple[Matrix, NDArray[np.float64]]:
    """Gauss–Newton to the mode in each resample; ln γ, a, ln κ, b and their covariance."""
    rows = len(counts.time_s)
    values = np.zeros((rows, 4))
    values[:, 0] = np.log(counts.time_s / counts.work).min(axis=1)
    inverse = np.diag(PRIOR**-2)
    start = np.zeros((rows, 4))
    start[:, 0] = values[:, 0]
    for _ in range(_STEPS):
        information = np.broadcast_to(inverse, (rows, 4, 4)).copy()
        slope = (start - values) @ inverse
        for name, (residuals, slopes) in _residuals(values, counts).items():
            known = np.isfinite(residuals)
            weighted = np.where(known, residuals, 0.0) / scales[name] ** 2
            of_known = np.where(known[..., np.newaxis], slopes, 0.0)
            information += np.einsum("rni,rnj->rij", of_known, of_known) / scales[name] ** 2
            slope += np.einsum("rni,rn->ri", of_known, weighted)
        step = np.linalg.solve(information, slope[..., np.newaxis])[..., 0]
        values = values + np.clip(step, -_MOST_STEP, _MOST_STEP)
        if np.abs(step).max() < 1e-9:
            break
    return values, np.linalg.inv(information)


def _residuals(values: Matrix, counts: Counts) -> dict[str, tuple[Matrix, NDArray[np.float64]]]:
    """Of each observation: ln(measured/law), shape (resamples, counts), and its slopes by the four
    values; not finite where a count has no messages."""
    compute, messages = _logs(values, counts.nodes, counts.work, counts.messages_s)
    zero, x = np.zeros_like(compute), np.broadcast_to(np.log(counts.nodes), compute.shape)
    of_compute = np.stack([zero + 1, x, zero, zero], axis=-1)
    of_messages = np.stack([zero, zero, zero + 1, x - np.log(2)], axis=-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        if counts.communication_s is None:
            law = np.logaddexp(compute, messages)
            share = np.exp(compute - law)[..., np.newaxis]
            slopes = share * of_compute + (1 - share) * of_messages
            return {"time": (np.log(counts.time_s) - law, slopes)}
        own = np.log(counts.communication_s) - messages
        own = np.where(np.isfinite(messages), own, np.nan)
        rest = np.log(counts.time_s - counts.communication_s) - compute
    return {"compute": (rest, of_compute), "messages": (own, of_messages)}


def _logs(values: Matrix, nodes: Vector, work: Vector, messages_s: Matrix) -> tuple[Matrix, Matrix]:
    """Logarithms of compute and communication time, shape (resamples, counts); the latter −∞
    without messages. `messages_s` may be one count's."""
    messages = messages_s if messages_s.ndim == 2 else messages_s[:, np.newaxis]
    x = np.log(nodes)
    gamma, a, kappa, b = (values[:, [place]] for place in range(4))
    with np.errstate(divide="ignore"):
        return gamma + a * x + np.log(work), kappa + b * (x - np.log(2)) + np.log(messages)
