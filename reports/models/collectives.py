# SPDX-License-Identifier: Apache-2.0
"""Laws of collective operations over the process count p (Hwang, Wang and Wang, "Evaluating MPI
Collective Communication on the SP2, T3D, and Paragon Multicomputers", 1996). Times in s."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from reports.statistics.descriptive import Vector

Form = Literal[
    "constant", "log2_p", "ceil_log2_p", "p", "(p-1)/p", "sqrt_p", "p_log2_p", "p_squared"
]

#: f(p) of a law offset + slope·f(p).
FORMS: Mapping[Form, Callable[[Vector], Vector]] = {
    "constant": np.zeros_like,
    "log2_p": np.log2,
    "ceil_log2_p": lambda p: np.ceil(np.log2(p)),
    "p": lambda p: p,
    "(p-1)/p": lambda p: (p - 1) / p,
    "sqrt_p": np.sqrt,
    "p_log2_p": lambda p: p * np.log2(p),
    "p_squared": lambda p: p * p,
}


@dataclass(frozen=True, slots=True)
class Law:
    """offset + slope·f(p); slope is 0 where the form is constant. s, or s a byte."""

    form: Form
    offset: float
    slope: float

    def at(self, p: float) -> float:
        """The law's value at p processes."""
        return self.offset + self.slope * float(FORMS[self.form](np.array([float(p)]))[0])


def aggregated_factor(operation: str, p: float) -> float:
    """f(m, p) / m: how many messages of m bytes an operation moves in all.

    p − 1 for broadcast, gather, scatter, reduce and scan, p(p − 1) for total exchange (Hwang, Wang
    and Wang 1996, section 5); for what goes beyond the paper, in its spirit: p(p − 1) for allgather
    and reduce-scatter, 2(p − 1) for allreduce. 0 for the barrier.
    """
    if operation == "barrier":
        return 0.0
    if operation in ("total_exchange", "allgather", "reduce_scatter"):
        return p * (p - 1)
    return (2 if operation == "allreduce" else 1) * (p - 1)
