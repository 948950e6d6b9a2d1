# SPDX-License-Identifier: Apache-2.0
"""Metrics: what a named quantity is, one value of it, and the register of those that a run knows.

Units are SI base units; a rendering converts. The checks define the metrics, `plan.json` carries
them, and all who read a run ask the plan's register: a run is read without the check that made it.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import msgspec

from records.units import axis_of, unit_of
from records.values import Word

_GREATEST_POSITION, _WORD_LENGTH = 2**63, 500

Better = Literal["higher", "lower"]
#: What bounds a metric (records/site/limits.py): a link one way, all ranks' links together, the
#: cores of all ranks, a node's memory; "": nothing that is known.
Limit = Literal["", "link", "links", "flop", "memory"]
#: What its window depends on besides its unit and bound (records/site/limits.py): a share of a
#: whole, a time divided by a count, by that of operations each on the last one's result, a time
#: summed over ranks, a mean over ranks, a copy by one core.
Kind = Literal["", "share", "quotient", "chain", "sum", "mean", "copy"]


class MetricDefinition(msgspec.Struct, frozen=True, omit_defaults=True):
    """A named quantity: `unit` in SI base units, `better` says which direction is good. One that is
    not `measured` tells where a launch lay; nothing is judged by it."""

    name: Word
    unit: str
    better: Better
    definition: str
    may_be_zero: bool = False
    title: str = ""
    measured: bool = True
    limit: Limit = ""
    kind: Kind = ""

    @property
    def bounds(self) -> tuple[float, float]:
        """The least and the greatest value that can be measured."""
        unit = unit_of(self.unit)
        greatest = min(unit.greatest, sys.float_info.max)
        if unit.signed:
            return -greatest, greatest
        return 0.0 if self.may_be_zero else sys.float_info.min, greatest


class Metric(msgspec.Struct, frozen=True, omit_defaults=True):
    """A value of a defined metric, in SI base units. `at` names the point inside the launch, e.g.
    {"construct": "Send/Recv", "message_bytes": 1024}; `samples` are the raw values behind `value`,
    in the order they were taken."""

    name: str
    unit: str
    better: Better
    value: float
    at: dict[str, Any] | None = None
    samples: list[float] | None = None


class CheckDescription(msgspec.Struct, frozen=True, omit_defaults=True):
    """Names of a check for readers, and the metrics that stand for it. `deciding` is what
    environments are compared by ("" for every metric), `shown` what a launch's progress line
    prints; a history keeps the metrics `beside` it too."""

    name: Word
    title: str
    deciding: str
    shown: str
    beside: tuple[str, ...] = ()


def figure_name(metric: Metric) -> str:
    """Name of a value for ReFrame and its logs, which are taken apart at colons and bars: metric
    and point."""
    at = (f"{name}_{value}" for name, value in sorted((metric.at or {}).items()))
    return re.sub(r"[^\w.+-]+", "_", "_".join((metric.name, *at))).strip("_")


#: What a plan of earlier times calls a metric without a title, and what it is called.
_OLD_TITLE = "half round trip", "one-way time"


@dataclass(frozen=True)
class Register:
    """Metrics and checks by name, each defined once; the order is that of tables."""

    metrics: Mapping[str, MetricDefinition]
    checks: Mapping[str, CheckDescription]

    @classmethod
    def of(
        cls, metrics: Iterable[MetricDefinition], checks: Iterable[CheckDescription]
    ) -> Register:
        """The register of these definitions. A name with two definitions is an error."""
        by_name: dict[str, MetricDefinition] = {}
        for metric in metrics:
            if by_name.setdefault(metric.name, metric) != metric:
                raise ValueError(f"the metric {metric.name} has two definitions")
        return cls(by_name, {check.name: check for check in checks})

    def fault(self, metric: Metric) -> str | None:
        """Fault of a value: its name, its unit, or that no measurement gives it."""
        known = self.metrics.get(metric.name)
        if known is None:
            return f"metric {metric.name!r:.100}; allowed: a metric that plan.json defines"
        if known.unit != metric.unit:
            return f"metric {metric.name!r} in {metric.unit!r:.100}; allowed: {known.unit}"
        if known.better != metric.better:
            return f"`better` of {metric.name} is {metric.better!r}; allowed: {known.better!r}"
        if metric.samples is not None and not metric.samples:
            return f"`samples` of {metric.name} are an empty list"
        low, high = known.bounds
        odd = next(
            (v for v in (metric.value, *(metric.samples or ())) if not low <= v <= high), None
        )
        if odd is not None:
            return f"{metric.name} is {odd:g} {known.unit}, which cannot be measured"
        return point_fault(metric.name, metric.at or {})

    def metric_title(self, name: str) -> str:
        """Readable name of a metric."""
        known = self.metrics.get(name)
        return (known.title if known else "") or name.replace("_", " ").replace(*_OLD_TITLE)

    def check_title(self, name: str) -> str:
        """Readable name of a check."""
        known = self.checks.get(name)
        return known.title if known else name

    def decides(self, check: str, metric: str) -> bool:
        """Tell whether a metric is what environments are compared by in a check. Each metric is,
        of a check that names none."""
        known = self.checks.get(check)
        return known is None or known.deciding in ("", metric)

    def is_kept(self, check: str, metric: str) -> bool:
        """Tell whether a history keeps a metric of a check: it decides, or stands beside that."""
        known = self.checks.get(check)
        return self.decides(check, metric) or (known is not None and metric in known.beside)


def point_fault(name: str, at: Mapping[str, Any]) -> str | None:
    """Fault of a metric's point."""
    for key, value in at.items():
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if is_number and not 0 <= value < _GREATEST_POSITION:
            return f"`at` of {name} has {key:.80} {value!s:.80}; allowed: 0 to 2**63"
        if (axis_of(key).unit and not is_number) or isinstance(value, list | dict):
            return f"`at` of {name} has {key:.80} {value!r:.80}; allowed: a number, or a word"
        if not f"{key}{value}".isprintable() or len(f"{key}{value}") > _WORD_LENGTH:
            return f"`at` of {name} holds {key!r:.80}: up to 500 printable characters are allowed"
    return None
