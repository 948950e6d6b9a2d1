# SPDX-License-Identifier: Apache-2.0
"""Launches judged once more from the raw output that a run keeps, by the code that judged them.

What only Slurm or the site's file knew is not asked again: the job's state, hops. So the status of
a launch that is not `ok` may say more than its output does; of one that is `ok` nothing may differ.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import ValidationError

from assay.documents.verify import NotReadError
from checks.common.base import Setting
from checks.common.definition import CheckDefinition
from checks.common.json_lines import TOKEN, Printed, session_lines
from checks.common.judging import EndedJob, JudgingError, judge
from checks.common.metrics import HOPS
from checks.common.registry import Checks, checks_with, leaf_of
from checks.common.session.launch_commands import LAUNCHERS
from checks.common.session.outcome import Moment, Outcome, iso_time
from records.flags import RAW_CUT, RAW_LIMIT_BYTES
from records.metric import Metric
from records.run.archive import RawFiles
from records.run.plan import Plan, PlannedCase
from records.run.provenance import EnvironmentAsRun, Provenance
from records.run.record import Record, raw_paths
from records.site.pair_scans import ARTIFACT

#: The token of a launch; launches of before have two secrets in its place.
_TOKEN = re.compile(
    rf"^export (?:{TOKEN}|ASSAY_(?:SESSION|PROGRAM)_SECRET)=([0-9a-f]{{16}})$", re.MULTILINE
)
#: What the name of a job says of its launch, and its comment of its run.
_JOB = re.compile(r"^#SBATCH --job-name=\"rfm_L\d+_(\w+)_b(\d+)\"$", re.MULTILINE)
_RUN = re.compile(r"^#SBATCH --comment=assay-(\d{8}T\d{6}Z-[0-9a-f]{4})-", re.MULTILINE)
_Point = tuple[str, tuple[tuple[str, Any], ...]]
#: A site's own program where there may be one: its output is read otherwise.
_FOREIGN = dict.fromkeys(("hpl", "osu", "netpipe", "su3_rmd"), "/")
_NOWHERE = Path("/nonexistent")


class _Raw(NamedTuple):
    """Raw output of a launch, with its token, and begin and end of its session."""

    token: str
    stdout: str
    stderr: str
    table: bytes | None
    interval: tuple[float, float] | None

    @classmethod
    def of(cls, tokens: Sequence[str], raw: Mapping[str, bytes]) -> _Raw:
        """Of launches of before, which had two secrets in place of a token, the first."""
        secret = rf'"secret":\s*"(?:{"|".join(tokens)})"'.encode()
        stdout = re.sub(secret, f'"token":"{tokens[0]}"'.encode(), raw["stdout"])
        out, errors = (text.decode("utf-8", "replace") for text in (stdout, raw.get("stderr", b"")))
        interval = session_lines(out, tokens[0]).session_interval()
        return cls(tokens[0], out, errors, raw.get(ARTIFACT), interval)

    def job(self, nodes: Sequence[str], daemons: str) -> EndedJob:
        """The job of the launch, which took as long as its session."""
        begin, end = self.interval or (0.0, 0.0)
        first, last = Moment(begin, 0.0), Moment(end, end - begin)
        return EndedJob(token=self.token, nodes=nodes, daemons=daemons, handed_in=first, ended=last)


class Rereader:
    """Judges the launches of one run again."""

    def __init__(self, plan: Plan, provenance: Provenance) -> None:
        self._checks = checks_with(plan.brought)
        self._cases = {case.id: case for case in plan.cases}
        self._provenance, self._metrics = provenance, plan.register.metrics
        self._read: dict[str, str] = {}

    def faults(self, files: RawFiles, record: Record) -> Iterator[str]:
        """Differences of a launch's record from its raw output. Raises NotReadError, and AssayError
        for an archive that is damaged."""
        raw = {kind: files.read(path) or b"" for kind, path in raw_paths(record.artifacts).items()}
        script = raw.get("script", b"").decode("utf-8", "replace")
        tokens = _TOKEN.findall(script)
        if not tokens or "stdout" not in raw:
            raise NotReadError("their job scripts have no token by which their lines are known")
        yield from self._of_another(record, script, tokens[0])
        if RAW_CUT in record.flags and max(map(len, raw.values())) <= RAW_LIMIT_BYTES:
            yield "it is said to be cut, and none of its raw files is so long"
        kept = _Raw.of(tokens, raw)
        faults = [*self._differences(record, self._judged(record, kept, {}))]
        if faults:  # a site's own program may have printed it
            own = self._judged(record, kept, _FOREIGN)
            faults = min(faults, [*self._differences(record, own)], key=len)
        yield from faults
        for name, at in zip(("started_at", "ended_at"), kept.interval or (), strict=False):
            recorded = getattr(record, name)
            refused = recorded is None and record.status != "ok"  # a session's word was not taken
            if recorded != iso_time(at) and not refused:
                yield f"{name} is {recorded}, its raw output says {iso_time(at)}"

    def _of_another(self, record: Record, script: str, token: str) -> Iterator[str]:
        """Faults of a job's script, or a token, that are those of another launch."""
        mine = record.case_id.replace("-", "_"), str(record.block)
        for name, block in _JOB.findall(script):
            if (name, block) != mine:
                yield f"its job script is that of {name}, block {block}"
        for run_id in _RUN.findall(script):
            if run_id != record.run_id:
                yield f"its job script is of run {run_id}"
        this = f"{record.case_id}, block {record.block}, attempt {record.attempt}"
        if (first := self._read.setdefault(token, this)) != this:
            yield f"its raw output is that of {first}"

    def _differences(self, record: Record, again: Outcome) -> Iterator[str]:
        if record.status != again.status:
            if record.status != "ok":
                output = "is ok all the same" if again.status == "ok" else "says nothing"
                raise NotReadError(f"recorded as {record.status}, of which their output {output}")
            yield f"it is recorded as ok, its raw output is {again.status}: {again.reason}"
            return
        kept, read = (
            _values(metrics, self._metrics) for metrics in (record.metrics, again.metrics)
        )
        for point in sorted(kept.keys() | read.keys(), key=str):
            if kept.get(point) != read.get(point):
                name, at = point
                where = f"{name} at {dict(at)}" if at else name
                values = _value_text(kept.get(point)), _value_text(read.get(point))
                yield f"{where} is {values[0]} in the record, {values[1]} in the raw output"
        if record.status == "ok" and (ARTIFACT in record.artifacts) != (ARTIFACT in again.files):
            yield "its values lie in a file, or not, other than its check does"
        if record.status == "ok" and (again.profile or []) != (record.profile or []):
            yield "its MPI profile is not that of the raw output"
        flags = [
            ", ".join(sorted({*names} - {RAW_CUT})) or "none"
            for names in (record.flags, again.flags)
        ]
        if flags[0] != flags[1]:
            yield f"its flags are {flags[0]}, by the raw output {flags[1]}"

    def _judged(self, record: Record, raw: _Raw, programs: Mapping[str, str]) -> Outcome:
        """The outcome of a launch by its raw output, in an environment with these programs of the
        site's own. Raises NotReadError where the check here cannot read it."""
        case = self._cases.get(record.case_id)
        definition = _check_of(case, self._checks) if case else None
        if case is None or definition is None:
            raise NotReadError("the check is not here; name its folder with --checks DIR")
        if not definition.is_reread:
            why = "it is a test of a ReFrame suite, which alone can read it"
            raise NotReadError(why, suite=True)
        environment = self._provenance.environments.get(case.environment, EnvironmentAsRun())
        site = self._provenance.site
        setting = Setting(
            ranks=case.ranks,
            ranks_per_node=case.ranks_per_node,
            cpus_per_task=case.cpus_per_task or 0,
            has_resources=bool(case.resources),
            library=f"^{re.escape(environment.library)} " if environment.library else "",
            programs=programs,
            features=["pvm" if environment.launcher == "assay-pvm" else "mpi"],
            wire_is_counted=site.network.counted is not False,
            nominal=site.rates,
            partition={"memory_bytes_per_node": site.memory_bytes_per_node},
            builds=dict.fromkeys(definition.builds, _NOWHERE),
            folder=_NOWHERE,
            stderr=lambda *_: Printed(raw.stderr),
            kept_table=raw.table,
        )
        launch = leaf_of(definition)(definition, _params(definition, case), setting)
        launcher = LAUNCHERS.get(environment.launcher or "")
        daemons = launcher.daemons if launcher and not definition.without_mpi else "none"
        try:
            return judge(Printed(raw.stdout), raw.job(record.nodes, daemons), launch)
        except JudgingError as error:
            raise NotReadError(f"judging failed: {error}"[:200]) from error


def _check_of(case: PlannedCase, checks: Checks) -> CheckDefinition[Any] | None:
    """The check of a case, or the one that runs such cases now."""
    for check in checks.values():
        former, parameter = check.took_over
        if former == case.check and parameter in case.params:
            return check
    return checks.get(case.check)


def _params(definition: CheckDefinition[Any], case: PlannedCase) -> Any:
    """The parameters of a case. Raises NotReadError where the check here has others."""
    layout = {"ranks": case.ranks, "ranks_per_node": case.ranks_per_node}
    model, asked = definition.parameters, {**layout, **case.params}
    gone = case.params.keys() - model.model_fields.keys() - layout.keys()
    try:
        known = model.model_validate({n: asked[n] for n in model.model_fields if n in asked})
    except ValidationError:
        known = None
    if known is None or any(case.params[name] for name in gone):
        raise NotReadError("the check here has no such parameters")
    return known


def _values(metrics: Iterable[Metric], names: Container[str]) -> dict[_Point, tuple[Any, ...]]:
    """Metrics by name and point; without hops, which the site's file tells."""
    return {
        (metric.name, tuple(sorted((metric.at or {}).items()))): (
            *(metric.value, metric.unit, metric.better, metric.samples),
        )
        for metric in metrics
        if metric.name in names and metric.name != HOPS.name
    }


def _value_text(value: tuple[Any, ...] | None) -> str:
    return "missing" if value is None else f"{value[0]!r} {value[1]}, {value[2]} is better"
