# SPDX-License-Identifier: Apache-2.0
"""Gauges with labels as OpenMetrics text.

https://prometheus.io/docs/specs/om/open_metrics_spec/: HELP, TYPE and UNIT once a family, its
samples together, label values escaped, `# EOF` at the end; base units in the names. All are gauges
without a time stamp, so that the textfile collector of a node exporter, which reads the older text
format, takes the same file.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from records.plain_text import plain
from records.units import unit_of

PREFIX = "assay"
#: What stands at the end of a name for a unit that is not known.
UNKNOWN = "value"
_ESCAPED = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n"})

Labels = Mapping[str, str]


@dataclass
class Family:
    """A gauge: `name` without prefix and unit, what it tells, its samples by labels."""

    name: str
    text: str
    unit: str = ""
    samples: dict[tuple[tuple[str, str], ...], float] = field(default_factory=dict)

    @property
    def full_name(self) -> str:
        """With the prefix and the unit."""
        return "_".join(filter(None, (PREFIX, self.name, self.unit)))

    def add(self, value: float, **labels: str) -> None:
        """A sample; empty labels are left out, as they mean the same as none."""
        told = {name: plain(text) for name, text in labels.items() if text}
        self.samples[tuple(told.items())] = value


@dataclass
class Families:
    """All families of an export, each once."""

    found: dict[str, Family] = field(default_factory=dict)

    def of(self, name: str, text: str, unit: str = "") -> Family:
        """The family of this name and unit."""
        family = Family(name, text, unit)
        return self.found.setdefault(family.full_name, family)

    def valued(self, name: str, text: str, si_unit: str) -> Family:
        """The family of values in this SI unit; those of all units that are not known are one."""
        return self.of(name, text, unit_of(si_unit).spelled or UNKNOWN)

    def text(self) -> str:
        """As OpenMetrics."""
        lines = [line for family in self.found.values() for line in _lines(family)]
        return "\n".join([*lines, "# EOF", ""])


def _lines(family: Family) -> Iterable[str]:
    name = family.full_name
    if not family.samples:
        return
    yield f"# HELP {name} {family.text.translate(_ESCAPED)}"
    yield f"# TYPE {name} gauge"
    if family.unit and family.unit != UNKNOWN:
        yield f"# UNIT {name} {family.unit}"
    for labels, value in family.samples.items():
        inner = ",".join(f'{label}="{text.translate(_ESCAPED)}"' for label, text in labels)
        yield f"{name}{{{inner}}} {number(value)}" if inner else f"{name} {number(value)}"


def number(value: float) -> str:
    """A number as OpenMetrics writes it."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    return f"{value:.12g}"
