# SPDX-License-Identifier: Apache-2.0
"""Launches judged once more from the raw output that a run keeps, by the code that judged them.

What only Slurm or the site's file knew is not asked again: the job's state, hops. So the status of
a launch that is not `ok` may say more than its output does; of one that is `ok` nothing may differ.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any

from pydantic import ValidationError

from assay.documents.run_checks import NotReadError, SuiteTestError
from checks.common.base import NOT_JUDGED
from checks.common.brought import checks_with
from checks.common.evidence.clocks import Moment
from checks.common.evidence.printed import Printed
from checks.common.json_lines import TOKEN, session_lines
from checks.common.metrics import HOPS
from checks.common.reframe_tests import ReframeDefinition
from checks.common.session.launch_commands import LAUNCHERS
from checks.common.session.leaves import leaf_of
from checks.common.session.outcome import Outcome, iso_time
from records.flags import RAW_CUT, RAW_LIMIT_BYTES
from records.metric import Metric
from records.run.archive import RawFiles
from records.run.belonging import raw_paths
from records.run.plan import Plan
from records.run.provenance import EnvironmentAsRun, Provenance
from records.run.record import Record
from records.site.pair_scans import ARTIFACT

#: The token of a launch; launches of before have two secrets in its place.
_TOKEN = re.compile(
    rf"^export (?:{TOKEN}|ASSAY_(?:SESSION|PROGRAM)_SECRET)=([0-9a-f]{{16}})$", re.MULTILINE
)
_TEXTS = ("stdout", "stderr")
#: What the name of a job says of its launch, and its comment of its run.
_JOB = re.compile(r"^#SBATCH --job-name=\"rfm_L\d+_(\w+)_b(\d+)\"$", re.MULTILINE)
_RUN = re.compile(r"^#SBATCH --comment=assay-(\d{8}T\d{6}Z-[0-9a-f]{4})-", re.MULTILINE)
_Place = tuple[str, tuple[tuple[str, Any], ...]]
#: A site's own program where there may be one: its output is read otherwise.
_FOREIGN = {"programs": dict.fromkeys(("hpl", "osu", "netpipe", "su3_rmd"), "/")}
_leaf = cache(leaf_of)


class Rereader:
    """Judges the launches of one run again."""

    def __init__(self, plan: Plan, provenance: Provenance) -> None:
        self._checks = checks_with(plan.brought)
        self._cases = {case.id: case for case in plan.cases}
        self._provenance, self._metrics = provenance, plan.register.metrics
        self._read: dict[str, str] = {}

    def faults(self, files: RawFiles, record: Record) -> Iterator[str]:
        """How a launch's record differs from its raw output. Raises NotReadError, and AssayError
        for an archive that is damaged."""
        raw = {kind: files.read(path) or b"" for kind, path in raw_paths(record.artifacts).items()}
        script = raw.get("script", b"").decode("utf-8", "replace")
        tokens = _TOKEN.findall(script)
        if not tokens or "stdout" not in raw:
            told = "their job scripts have no token by which their lines are known"
            raise NotReadError(told)
        yield from self._of_another(record, script, token := tokens[0])
        if RAW_CUT in record.flags and max(map(len, raw.values())) <= RAW_LIMIT_BYTES:
            yield "it is said to be cut, and none of its raw files is so long"
        secret = rf'"secret":\s*"(?:{"|".join(tokens)})"'.encode()
        raw["stdout"] = re.sub(secret, f'"token":"{token}"'.encode(), raw["stdout"])
        read = [[*self._differences(record, self._judged(record, token, raw, {}))]]
        if read[0]:  # a site's own program may have printed it
            read.append([*self._differences(record, self._judged(record, token, raw, _FOREIGN))])
        yield from min(read, key=len)
        stdout = raw["stdout"].decode("utf-8", "replace")
        interval = session_lines(stdout, token).session_interval()
        for name, at in zip(("started_at", "ended_at"), interval or (), strict=False):
            kept = getattr(record, name)
            refused = kept is None and record.status != "ok"  # what a session said was not taken
            if kept != iso_time(at) and not refused:
                yield f"{name} is {kept}, its raw output says {iso_time(at)}"

    def _of_another(self, record: Record, script: str, token: str) -> Iterator[str]:
        """That the job's script, or its token, is that of another launch."""
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

    def _differences(self, record: Record, found: Outcome) -> Iterator[str]:
        if (found.reason or "").startswith(NOT_JUDGED):
            raise NotReadError(f"{found.reason}"[:200])
        if record.status != found.status:
            if record.status != "ok":
                told = "is ok all the same" if found.status == "ok" else "says nothing"
                raise NotReadError(f"recorded as {record.status}, of which their output {told}")
            yield f"it is recorded as ok, its raw output is {found.status}: {found.reason}"
            return
        kept, read = (_values(one.metrics, self._metrics) for one in (record, found))
        for place in sorted(kept.keys() | read.keys(), key=str):
            one, other = kept.get(place), read.get(place)
            if one != other:
                name, at = place
                where = f"{name} at {dict(at)}" if at else name
                yield f"{where} is {_told(one)} in the record, {_told(other)} in the raw output"
        if record.status == "ok" and (ARTIFACT in record.artifacts) != (ARTIFACT in found.files):
            yield "its values lie in a file, or not, other than its check does"
        if record.status == "ok" and (found.profile or []) != (record.profile or []):
            yield "its MPI profile is not that of the raw output"
        flags = [", ".join(sorted({*one.flags} - {RAW_CUT})) or "none" for one in (record, found)]
        if flags[0] != flags[1]:
            yield f"its flags are {flags[0]}, by the raw output {flags[1]}"

    def _judged(
        self, record: Record, token: str, raw: dict[str, bytes], extras: dict[str, Any]
    ) -> Outcome:
        """What the raw output of a launch comes to."""
        text = {kind: raw.get(kind, b"").decode("utf-8", "replace") for kind in _TEXTS}
        case = self._cases.get(record.case_id)
        if case is None or case.check not in self._checks:
            raise NotReadError("the check is not here; name its folder with --checks DIR")
        if isinstance(definition := self._checks[case.check], ReframeDefinition):
            raise SuiteTestError
        described = self._provenance.environments.get(case.environment, EnvironmentAsRun())
        library = f"^{re.escape(described.library)} " if described.library else ""
        check = _leaf(definition)
        layout = {"ranks": case.ranks, "ranks_per_node": case.ranks_per_node}
        model, asked = definition.parameters, {**layout, **case.params}
        try:
            params = model.model_validate({n: asked[n] for n in model.model_fields if n in asked})
        except ValidationError as error:
            raise NotReadError("the check here has no such parameters") from error
        begin, end = session_lines(text["stdout"], token).session_interval() or (0.0, 0.0)
        launcher = LAUNCHERS.get(described.launcher or "")
        pvm, alone = described.launcher == "assay-pvm", definition.without_mpi
        with TemporaryDirectory() as stage:
            Path(stage, "err").write_text(text["stderr"], encoding="utf-8")
            launch = object.__new__(check)
            launch.__dict__.update(
                params=params,
                token=token,
                **layout,
                cpus_per_task=case.cpus_per_task or 0,
                launch_limit_s=0.0,
                resources=case.resources,
                kept_table=raw.get(ARTIFACT),
                _stagedir=stage,
                _login_end=None,
                _job=SimpleNamespace(
                    **{"loss": None, "exitcode": 0, "state": "COMPLETED", "slurm": {}},
                    nodelist=record.nodes,
                    handed_in=Moment(begin, 0.0),
                    ended=Moment(end, end - begin),
                    launcher=SimpleNamespace(
                        daemons=launcher.daemons if launcher and not alone else "none"
                    ),
                    stderr="err",
                ),
                _current_environ=SimpleNamespace(
                    extras={"library": library, "device": "", "seen": {}, "programs": {}, **extras},
                    features=["pvm" if pvm else "mpi"],
                ),
                _current_partition=SimpleNamespace(
                    extras={
                        "wire_is_counted": self._provenance.site.network.counted is not False,
                        "topology": None,
                        "memory_bytes_per_node": self._provenance.site.memory_bytes_per_node,
                        "nominal": self._provenance.site.rates,
                    }
                ),
                _dead_nodes=lambda: None,
                **dict.fromkeys(("hpl", "programs"), SimpleNamespace(folder=Path(stage))),
            )
            return launch.judge(Printed(text["stdout"]))


def _values(metrics: Iterable[Metric], names: Container[str]) -> dict[_Place, Any]:
    """Metrics by name and point; without hops, which the site's file tells."""
    return {
        (one.name, tuple(sorted((one.at or {}).items()))): (
            *(one.value, one.unit, one.better, one.samples),
        )
        for one in metrics
        if one.name in names and one.name != HOPS.name
    }


def _told(found: tuple[Any, ...] | None) -> str:
    return "missing" if found is None else f"{found[0]!r} {found[1]}, {found[2]} is better"
