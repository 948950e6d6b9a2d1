# SPDX-License-Identifier: Apache-2.0
"""From the --criteria of a command line to validated criteria, or one message with every fault;
their JSON Schema."""

from collections.abc import Iterator
from functools import partial
from typing import Any

from pydantic import ValidationError

from assay import CRITERIA, criteria_files
from assay.schema.document import Location, Problem, checked, model_problems, one_of, read_text
from assay.schema.loading import file_of
from checks.common.registry import CHECKS, Checks, metrics_of
from records import criteria as kinds

SCHEMA_FILE = CRITERIA / "criteria.schema.json"
_NEEDS = "a criteria file needs at least schema, name, title and criteria"
#: Criteria of every acceptance, even if its file has none of them; a waiver may name them.
IMPLIED = ("answers", "nodes-measured")
#: Units of what has a peak.
_RATES = ("bytes/s", "flop/s")


def load_criteria(name_or_path: str, checks: Checks = CHECKS) -> tuple[kinds.Criteria, str]:
    """The criteria of a name in `campaigns/criteria/` or of a file, and the file's text; `checks`
    are those that they may judge.

    Raises AssayError with a line for each fault: file, line, key, what was found and is allowed.
    """
    path = file_of(name_or_path, "criteria", criteria_files(), "campaigns/criteria")
    text = read_text(path)
    return criteria_from_text(str(path), text, checks), text


def criteria_from_text(file: str, text: str, checks: Checks = CHECKS) -> kinds.Criteria:
    """The criteria of a text; `file` is its name for messages. Raises as `load_criteria`."""
    problems_of = partial(criteria_problems, checks=checks)
    return kinds.Criteria.model_validate(checked(file, text, _NEEDS, problems_of))


def criteria_schema() -> dict[str, Any]:
    """A JSON Schema (draft 2020-12) with a description and a unit on every key, for editors.

    Names of checks and metrics are not in it, only `load_criteria` knows them: a new check does not
    change the schema.
    """
    schema = kinds.Criteria.model_json_schema(by_alias=True)
    schema["title"] = "Assay criteria"
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}


def criteria_problems(value: dict[str, Any], checks: Checks = CHECKS) -> Iterator[Problem]:
    """Faults of a criteria file's value; `checks` are those that it may name. Rules between the
    parts are asked once each part has its form."""
    try:
        criteria = kinds.Criteria.model_validate(value)
    except ValidationError as error:
        yield from model_problems(error, kinds.Criteria, value)
        return
    seen: set[str] = set(IMPLIED)
    for index, criterion in enumerate(criteria.criteria):
        place = ("criteria", index)
        if criterion.id in seen:
            yield Problem((*place, "id"), f"the id {criterion.id} is taken; give another")
        seen.add(criterion.id)
        yield from _selection_problems(criterion, checks, place)
        yield from _limit_problems(criterion, checks, place)
    for index, waiver in enumerate(criteria.waivers):
        yield from one_of(waiver.criterion, seen, ("waivers", index, "criterion"))


def _promise_problems(criterion: kinds.Criterion, place: Location) -> Iterator[Problem]:
    promise = getattr(criterion, "promise", None)
    least, most = (getattr(criterion, name, None) for name in ("at_least", "at_most"))
    if promise is None:
        return
    if (least is not None and promise < least) or (most is not None and promise > most):
        limit = least if least is not None and promise < least else most
        yield Problem(
            (*place, "promise"),
            f"= {promise:g} is worse than the limit {limit:g}: a machine that keeps the promise"
            " would be refused; give a promise within the limit",
        )


def _selection_problems(
    chosen: kinds.Selection, checks: Checks, place: Location
) -> Iterator[Problem]:
    reference = getattr(chosen, "reference", None)
    if isinstance(reference, kinds.Selection):
        yield from _selection_problems(reference, checks, (*place, "reference"))
    if isinstance(chosen, kinds.MixCriterion) and not chosen.check:
        yield from one_of(chosen.metric, [kinds.THROUGHPUT], (*place, "metric"))
        yield from one_of(chosen.unit, ["1/s"], (*place, "unit"))
        for name in ("where", "environment"):
            if getattr(chosen, name):
                yield Problem((*place, name), "is of no use without check; remove it")
        return
    definition = checks.get(chosen.check)
    if definition is None:
        yield from one_of(chosen.check, checks, (*place, "check"))
        return
    if not isinstance(chosen, kinds.SuccessCriterion):
        yield from one_of(chosen.metric, definition.metrics_by_name, (*place, "metric"))
    selectable = [*definition.points, *definition.parameters.model_fields]
    for name in chosen.where:
        yield from one_of(name, selectable, (*place, "where", name))


def _limit_problems(
    criterion: kinds.Criterion, checks: Checks, place: Location
) -> Iterator[Problem]:
    yield from _promise_problems(criterion, place)
    metrics = {one.name: one for one in metrics_of(checks.values())}
    metric = metrics.get(criterion.metric)
    if isinstance(criterion, kinds.EfficiencyCriterion):
        if metric is not None and metric.unit not in _RATES:
            rates = sorted(one.name for one in metrics.values() if one.unit in _RATES)
            yield from one_of(criterion.metric, rates, (*place, "metric"))
        peak = criterion.reference and metrics.get(criterion.reference.metric)
        if metric is not None and peak and peak.unit != metric.unit:
            alike = sorted(one.name for one in metrics.values() if one.unit == metric.unit)
            yield from one_of(peak.name, alike, (*place, "reference", "metric"))
        if criterion.peak == "measured" and criterion.reference is None:
            yield Problem(place, "has peak: measured but no reference; give the per-node rate")
        if criterion.peak == "nominal" and criterion.reference is not None:
            yield Problem((*place, "reference"), "is not used with peak: nominal; remove it")
    if not isinstance(criterion, kinds.UnitCriterion | kinds.RatioCriterion | kinds.LinksCriterion):
        return
    least, most = criterion.at_least, criterion.at_most
    if least is None and most is None:
        yield Problem(place, "has neither at_least nor at_most; give one, or both")
    if isinstance(criterion, kinds.LinksCriterion):
        if metric is not None:
            pair = ("at_least", "at_most")
            right, wrong = pair if metric.better == "higher" else pair[::-1]
            if getattr(criterion, wrong) is not None:
                yield Problem(
                    (*place, wrong),
                    f"limits {metric.name} in its good direction ({metric.better} is better);"
                    f" allowed is {right}",
                )
    elif least is not None and most is not None and least > most:
        yield Problem(place, f"at_least = {least:g} is greater than at_most = {most:g}")
    if isinstance(criterion, kinds.UnitCriterion) and metric is not None:
        yield from one_of(criterion.unit, [metric.unit], (*place, "unit"))
