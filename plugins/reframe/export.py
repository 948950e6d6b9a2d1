# SPDX-License-Identifier: Apache-2.0
"""Export to ReFrame's users: a run as its report (data version 4.2) and performance logs,
and the references that a history supports, as a test takes them.

Dashboards that read ReFrame's files show Assay's launches by these: a record is a test case, an
attempt a retry, a block a repeat.
"""

import json
import re
from collections.abc import Iterator, Sequence
from math import ceil
from pprint import pformat
from typing import Any
from uuid import NAMESPACE_URL, uuid5

import yaml

from plugins.reframe.survey import Survey
from records.errors import AssayError
from records.forms import as_text
from records.metric import figure_name
from records.run.provenance import Provenance
from records.run.record import Record
from reports.notation.units import time_of

DATA_VERSION = "4.2"
_RESULTS = {"ok": "pass", "skipped": "skip"}
#: Columns of a log before and after the figures.
_BEFORE = (
    *("result", "job_completion_time", "descr", "environ", "job_completion_time_unix"),
    *("job_nodelist", "jobid", "name", "num_tasks", "partition"),
)
_AFTER = ("short_name", "system", "unique_name")

References = dict[str, dict[str, dict[str, dict[str, tuple[Any, ...]]]]]


def _moment(text: str | None) -> float | None:
    return time_of(text).timestamp() if text else None


def _name(text: str) -> str:
    """A text as a part of the names that ReFrame takes apart at colons and bars."""
    return re.sub(r"[^\w.+-]+", "_", text).strip("_")


def _figures(record: Record) -> Iterator[tuple[str, list[Any]]]:
    """Values by their names: metric and point."""
    for metric in record.metrics:
        yield figure_name(metric), [metric.value, 0, None, None, metric.unit, "pass"]


def _case(record: Record, partition: str, uuid: str) -> dict[str, Any]:
    begun, ended = _moment(record.started_at), _moment(record.ended_at)
    system = _name(record.site)
    params = "".join(f" %{name}={_name(str(value))}" for name, value in record.params.items())
    failed = record.status not in _RESULTS
    return {
        "build_jobid": None,
        "descr": record.check,
        "display_name": f"{record.check}{params} %.repeat_no={record.block - 1}",
        "environ": record.environment,
        "fail_phase": ("sanity" if record.status == "wrong" else "run") if failed else None,
        "fail_reason": (record.reason or record.status) if failed else None,
        "filename": record.check,
        "fixture": False,
        "job_completion_time": record.ended_at,
        "job_completion_time_unix": ended,
        "job_nodelist": record.nodes,
        "jobid": record.job_id,
        "name": f"{record.check}{params}",
        "num_tasks": record.ranks,
        "partition": partition,
        "perfvalues": {f"{system}:{partition}:{name}": told for name, told in _figures(record)},
        "result": _RESULTS.get(record.status, "fail"),
        "scheduler": "slurm",
        "short_name": f"{record.check}_{record.case_id}",
        "system": system,
        "time_total": ended - begun if begun is not None and ended is not None else None,
        "unique_name": f"{record.check}_{record.case_id}_{record.block}",
        "uuid": uuid,
    }


def reframe_report(
    records: Sequence[Record], provenance: Provenance, run_id: str
) -> dict[str, Any]:
    """The report of a run as ReFrame 4.7 and later read it. Raises AssayError for a run without a
    record."""
    if not records:
        raise AssayError(f"{run_id} has no record yet; nothing to export")
    partition = _name(provenance.site.partition or "") or "default"
    session = str(uuid5(NAMESPACE_URL, run_id))
    runs: list[dict[str, Any]] = []
    for attempt in range(1, max(one.attempt for one in records) + 1):
        chosen = [one for one in records if one.attempt == attempt]
        cases = [
            _case(one, partition, f"{session}:{attempt - 1}:{number}")
            for number, one in enumerate(chosen)
        ]
        counts = {
            f"num_{name}": sum(case["result"] == word for case in cases)
            for name, word in (("failures", "fail"), ("skipped", "skip"))
        }
        told = {"num_cases": len(cases), "num_aborted": 0, **counts}
        runs.append({**told, "run_index": attempt - 1, "testcases": cases})
    ends = [end for one in records if (end := _moment(one.ended_at)) is not None]
    begun = _moment(provenance.started_at) or min(ends, default=0.0)
    ended = max(ends, default=begun)
    info = {
        "cmdline": f"assay reframe export {run_id}",
        "data_version": DATA_VERSION,
        "hostname": _name(records[0].site),
        "num_cases": runs[0]["num_cases"],
        "num_failures": runs[-1]["num_failures"],
        "num_aborted": 0,
        "num_skipped": runs[-1]["num_skipped"],
        "time_elapsed": ended - begun,
        "time_end_unix": ended,
        "time_start_unix": begun,
        "uuid": session,
    }
    return {"session_info": info, "runs": runs, "restored_cases": []}


def performance_logs(report: dict[str, Any]) -> dict[str, str]:
    """The logs of a report, "system/partition/check.log" → text: a header, a line each launch."""
    cases = [case for run in report["runs"] for case in run["testcases"]]
    logs: dict[str, list[dict[str, Any]]] = {}
    for case in cases:
        file = f"{case['system']}/{case['partition']}/{_name(case['descr'])}.log"
        logs.setdefault(file, []).append(case)
    return {file: "".join(_log(members)) for file, members in logs.items()}


def _log(cases: Sequence[dict[str, Any]]) -> Iterator[str]:
    names = list(dict.fromkeys(name for case in cases for name in case["perfvalues"]))
    heads = ("value", "unit", "ref", "lower_thres", "upper_thres")
    figures = [f"{name.rpartition(':')[2]}_{head}" for name in names for head in heads]
    yield "|".join((*_BEFORE, *figures, *_AFTER)) + "\n"
    for case in cases:
        values = []
        for name in names:
            value, reference, lower, upper, unit, _ = case["perfvalues"].get(name) or [None] * 6
            values += [_field(value), _field(unit), _field(reference), str(lower), str(upper)]
        before, after = ([_field(case[name]) for name in part] for part in (_BEFORE, _AFTER))
        yield "|".join((*before, *values, *after)) + "\n"


def _field(value: Any) -> str:
    if isinstance(value, list):
        return ",".join(map(str, value))
    text = value if isinstance(value, str) else json.dumps(value)
    return re.sub(r"[|\r\n]", " ", text)


def references(surveys: Sequence[Survey]) -> References:
    """Of each test and environment the references that the data support, as a test's `reference`:
    "system:partition" → figure → value, lower and upper limit, unit as the test writes it. The
    limit is on the worse side, rounded up; on both where the better direction is not known."""
    found: References = {}
    for one in surveys:
        for item in one.references:
            key = one.history.series[item.series]
            name, _, place = one.tests_of[item.series].rpartition(" @")
            partition, _, environ = place.partition("+")
            if item.supported is None:
                continue
            limit = ceil(1e4 * item.supported) / 1e4
            lower = None if key.better == "lower" else -limit
            upper = None if key.better == "higher" else limit
            level = float(f"{item.level / item.reference.factor:.9g}")
            places = found.setdefault(name, {}).setdefault(environ, {})
            figures = places.setdefault(f"{one.site}:{partition}", {})
            figures[key.title] = level, lower, upper, item.reference.unit
    return found


def references_text(found: References, suffix: str) -> str:
    """References as Python (".py"), YAML or, by default, JSON."""
    if suffix == ".py":
        head = "# In a test, before performance is judged:\n"
        use = "# self.reference = REFERENCES[self.name][self.current_environ.name]\n"
        return f"{head}{use}REFERENCES = {pformat(found, width=96, sort_dicts=False)}\n"
    if suffix in (".yaml", ".yml"):
        return yaml.safe_dump(found, sort_keys=False, allow_unicode=True)
    return as_text(found)
