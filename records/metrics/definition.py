# SPDX-License-Identifier: Apache-2.0
"""What is registered of a metric, and of a check's metrics."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Better = Literal["higher", "lower"]


@dataclass(frozen=True)
class MetricDefinition:
    """A named quantity: `unit` in SI base units, `better` says which direction is good.

    One that is not `measured` tells where a launch lay; nothing is judged by it.
    """

    name: str
    unit: str
    better: Better
    definition: str
    may_be_zero: bool = False
    title: str = ""
    measured: bool = True


@dataclass(frozen=True)
class CheckMetrics:
    """How a check is named to readers, and which of its metrics stand for it.

    `deciding` is what environments are compared by ("" for every metric), `shown` what a launch's
    progress line prints.
    """

    check: str
    title: str
    deciding: str
    shown: str
