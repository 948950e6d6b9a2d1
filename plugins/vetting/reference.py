# SPDX-License-Identifier: Apache-2.0
"""From the history of vettings to the reference."""

from collections.abc import Mapping, Sequence
from itertools import zip_longest
from math import log, sqrt

import numpy as np

from plugins.vetting.judge import LEAST_LOSS, METRICS, KindReference, Level, Reference
from records.history.model import History
from records.site.pair_scans import NODE
from reports.statistics.descriptive import MAD
from reports.statistics.levels import deviations_of, top_of, typical_deviation

#: Vettings of a kind that a level needs; the latest of each node that enter it.
LEAST_VETTINGS, MOST_VETTINGS = 5, 30
#: No spread is taken to be less: fewer values than a thousand show no less.
LEAST_SPREAD = 0.005


def series_of(history: History) -> dict[tuple[str, str], dict[str, list[float]]]:
    """Values of each node in order of time, by kind and metric; those that a vetting called unfit
    are left out."""
    found: dict[tuple[str, str], dict[str, list[float]]] = {}
    for row, key in enumerate(history.series):
        node = str(key.at[NODE])
        for place, night in enumerate(history.nights):
            value = float(history.values[row, place])
            if np.isfinite(value) and value > 0 and key.metric in METRICS and not night.failures:
                series = found.setdefault((night.kinds.get(node, ""), key.metric), {})
                series.setdefault(node, []).append(value)
    return found


def level_of(series: Mapping[str, Sequence[float]], better: str) -> Level | None:
    """The level of the good nodes: those of the upper cluster, as in an acceptance; None below
    LEAST_VETTINGS values."""
    sign, names = (1 if better == "higher" else -1), [*series]
    kept = [[sign * log(x) for x in values[-MOST_VETTINGS:]] for values in series.values()]
    if sum(map(len, kept)) < LEAST_VETTINGS:
        return None
    logs = np.array([*zip_longest(*kept, fillvalue=np.nan)]).T
    centres = np.nanmedian(logs, axis=1)
    deviations, freedom = deviations_of(logs, shared=False)
    known = freedom > 0
    each = deviations[known] / typical_deviation(freedom[known])
    noise = max(LEAST_SPREAD, float(np.median(each)) if known.any() else 0.0)
    top = top_of(centres, -log(1 - LEAST_LOSS), noise / sqrt(np.median([*map(len, kept)])))
    good = np.flatnonzero(top.good)
    between = MAD * float(np.median(np.abs(centres[good] - top.level)))
    return Level(
        centre=top.level,
        spread=sqrt(noise**2 + between**2),
        noise=noise,
        freedom=max(1.0, float(freedom[good].sum())),
        worst=float(np.nanmin(logs[good])),
        nodes=len(good),
        vettings=int(np.isfinite(logs[good]).sum()),
        own={name: float(centre) for name, centre in zip(names, centres, strict=True)},
        counts={name: len(values) for name, values in zip(names, kept, strict=True)},
    )


def reference_of(history: History, made_at: str) -> Reference:
    """The reference that a history of vettings gives; facts are those of each node's latest one."""
    latest = {night.nodes[0]: night for night in history.nights}
    kinds: dict[str, KindReference] = {}
    for (kind, metric), series in series_of(history).items():
        if level := level_of(series, METRICS[metric][3]):
            kinds.setdefault(kind, KindReference()).levels[metric] = level
    for node, night in latest.items():
        if not night.failures:
            known = kinds.setdefault(night.kinds.get(node, ""), KindReference())
            for fact, value in night.context.items():
                known.facts.setdefault(fact, {}).setdefault(value, []).append(node)
    fit = [node for node, night in latest.items() if not (night.failures or night.warnings)]
    fit.sort(key=lambda node: latest[node].started_at, reverse=True)
    return Reference(made_at=made_at, kinds=kinds, fit=fit)
