# SPDX-License-Identifier: Apache-2.0
"""Samples as OpenMetrics text (https://prometheus.io/docs/specs/om/open_metrics_spec/).

All are gauges without a time stamp, so that the textfile collector of a node exporter, which reads
the older text format, takes the same file.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from prometheus_client.core import GaugeMetricFamily
from prometheus_client.openmetrics.exposition import generate_latest
from prometheus_client.samples import Sample as _Line

from records.text.plain_text import plain
from records.units import unit_of
from reports.result import Sample

PREFIX = "assay"
#: The end of a name for a unit that is not known.
UNKNOWN = "value"


def openmetrics(samples: Iterable[Sample]) -> str:
    """A family for each name and unit, in the order of its first sample; each set of labels once,
    the last value of it. Empty labels mean the same as none and are left out."""
    made = generate_latest(_Families(samples))  # type: ignore[no-untyped-call]
    text: str = made.decode()
    return text


class _Families:
    """Collector of families for the library."""

    def __init__(self, samples: Iterable[Sample]) -> None:
        self._families: dict[str, GaugeMetricFamily] = {}
        self._lines: dict[str, dict[tuple[tuple[str, str], ...], float]] = {}
        for sample in samples:
            # A gauge without a unit has "" for one; a value of an unknown unit says so in its name.
            unit = sample.unit if sample.unit == "" else unit_of(sample.unit).spelled or UNKNOWN
            name = "_".join(filter(None, (PREFIX, sample.name, unit)))
            known = "" if unit == UNKNOWN else unit
            self._families.setdefault(name, GaugeMetricFamily(name, sample.text, unit=known))
            labels = {key: plain(text) for key, text in sample.labels.items() if text}
            self._lines.setdefault(name, {})[tuple(labels.items())] = float(sample.value)

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """Every family with its samples."""
        for name, family in self._families.items():
            family.samples = [
                _Line(name, dict(labels), float(f"{value:.12g}"))
                for labels, value in self._lines[name].items()
            ]
            yield family
