# SPDX-License-Identifier: Apache-2.0
"""Launches that are too short to say something, and the sizes that take long enough."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from assay.plan.expand import Case, brief
from assay.sites.site import SiteFacts
from checks.common.brought import checks_with
from checks.common.definition import FastMachine
from checks.common.durations import shortfall
from records.run.plan import PlannedCase
from records.run.record import CASE_ID, latest_attempts
from records.run.run_directory import RunDirectory
from reports.notation.labels import case_names

#: How many times the least duration a proposed size takes: launches differ.
ROOM = 1.25
#: Sentences that a plan keeps.
MOST_TOLD = 50

#: Seconds behind the values of the launches of an earlier run, by case.
Measured = Mapping[str, list[float]]


def measured_in(run: RunDirectory) -> Measured:
    """Seconds that the ok launches of a run measured, by case."""
    found: defaultdict[str, list[float]] = defaultdict(list)
    checks = checks_with(run.plan().brought)
    for record in latest_attempts(run.records(), CASE_ID).values():
        definition = checks.get(record.check)
        if record.status == "ok" and definition is not None:
            params = definition.parameters.model_validate(record.params)
            found[record.case_id] += definition.durations_s(params, record.metrics)
    return found


def short_launches(
    cases: Iterable[Case], planned: Sequence[PlannedCase], site: SiteFacts, measured: Measured
) -> list[str]:
    """A sentence for each set of parameters whose launches are too short, with a size that is not.
    By what was measured where it was, else by what fast cores and links may take. Of the
    environments the one with the shortest launches is named."""
    worst: dict[str, tuple[float, str]] = {}
    names = case_names(planned)
    for case, place in zip(cases, planned, strict=True):
        if place.skipped is not None:
            continue
        definition, params = case.combination.definition, case.combination.parameters
        known = measured.get(place.id)
        fast = FastMachine(place.ranks, place.nodes, site.network_bytes_per_s)
        expected_s = definition.fastest_s(params, fast)
        found = shortfall(known or expected_s, definition.least_measured_s)
        if found is None:
            continue
        measured_s, factor = found
        longer = definition.longer(params, ROOM * factor)
        took = f"may take only {measured_s:.3g} s"
        if known:
            took = f"took {measured_s:.3g} s in {place.environment}"
        name = names[place.id]
        needed = f"needed are {definition.least_measured_s:g} s; long enough: {brief(longer)}"
        told = f"{name}: {took}, {needed}"
        worst[name] = max(worst.get(name, (0.0, "")), (factor, told))
    lines = [text for _, text in worst.values()]
    further = len(lines) - MOST_TOLD
    return [*lines[:MOST_TOLD], *([f"… and {further} further"] if further > 0 else [])]
