# SPDX-License-Identifier: Apache-2.0
"""The register of metrics: name, unit, better-direction and definition, each stated once.

Units are SI base units; a rendering converts. A value whose name is not registered here never
enters a record. One module a family; a new one is added to `_FAMILIES`.
"""

from __future__ import annotations

from records.metrics import (
    collectives,
    interference,
    linpack,
    messages,
    netpipe,
    node,
    osu,
    pt2pt,
    pvm_echo,
    startup,
    su3_rmd,
)
from records.metrics.definition import Better, CheckMetrics, MetricDefinition

__all__ = ["CHECK_METRICS", "REGISTER", "Better", "CheckMetrics", "MetricDefinition"]

_FAMILIES = (
    linpack,
    messages,
    netpipe,
    node,
    osu,
    pt2pt,
    pvm_echo,
    su3_rmd,
    startup,
    collectives,
    interference,
)


def _register(*definitions: MetricDefinition) -> dict[str, MetricDefinition]:
    by_name = {definition.name: definition for definition in definitions}
    assert len(by_name) == len(definitions), "a metric is registered twice"
    return by_name


REGISTER = _register(*(item for family in _FAMILIES for item in family.DEFINITIONS))

#: By the check's name.
CHECK_METRICS = {item.check: item for family in _FAMILIES for item in family.CHECKS}
