# SPDX-License-Identifier: Apache-2.0
"""Values that no machine measures make a launch wrong; those of real launches are kept."""

import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from assay.tests.test_accept_every_campaign import WITH_RUN, stored_run
from checks.common import json_lines
from checks.common.answer import beyond_window
from checks.common.brought import checks_with
from checks.common.json_lines import OutputError
from checks.common.registry import CHECKS, Checks
from checks.common.sources import CHECKS as FOLDER
from records.run.archive import RawFiles
from records.run.record import read_records
from records.run.run_directory import open_run
from records.site.limits import Launched, window


def wrong_in(
    check: str, params: dict[str, Any], text: str, metrics=None, checks: Checks = CHECKS
) -> str | None:
    """What is wrong with a launch of one of our programs that printed this, or None.

    With `metrics`, as of a foreign program, those are judged and not read.
    """
    definition = checks[check]
    try:
        output = json_lines.parse(text, definition.metrics_by_name)
        if metrics is None:
            reading = definition.read(definition.parameters.model_validate(params), output)
            if reading.wrong:
                return reading.wrong
            metrics = reading.metrics
    except OutputError as error:
        return str(error)
    daemons = (output.allocation or {}).get("daemons", "none")
    nodes = sorted({*output.hosts()})
    said = output.other_session(daemons=daemons, nodes=nodes)
    stamps = said if said and "stamps" in said else None
    return stamps or beyond_window(metrics, definition.metrics_by_name, output)


@pytest.mark.parametrize("campaign", WITH_RUN)
def test_no_value_of_a_real_launch_is_impossible(campaign, tmp_path):
    run, judged = stored_run(campaign, tmp_path), 0
    checks = checks_with(open_run(str(run)).plan().brought)
    with RawFiles(run) as files:
        for record in read_records(run / "records.jsonl"):
            if record.status != "ok":
                continue
            text = "".join(
                (files.read(record.artifacts[kind]) or b"").decode(errors="replace")
                for kind in ("stdout", "stderr")
            )
            # `read` is that of programs that print metrics themselves.
            own = record.check in ("startup", "pvm_echo", "pt2pt", "echo", "node", "collectives")
            metrics = None if own else record.metrics
            text = re.sub(r',"secret":"\w+"', "", text)
            found = wrong_in(record.check, record.params, text, metrics, checks)
            assert found is None, (record.case_id, record.environment, record.block, found)
            judged += 1
    assert judged > 0


def sample(check: str, name: str) -> tuple[dict[str, Any], str]:
    folder = FOLDER / check / "samples"
    params = json.loads((folder / f"{name}.params.json").read_text())
    return params, (folder / f"{name}.out").read_text()


def with_value(text: str, metric: str, value: float, at: str = "") -> str:
    pattern = rf'("name":"{metric}","unit":"[^"]*","value":)[^,}}]+((?:,"at":{{)?[^{{}}\n]*{at})'
    changed, count = re.subn(pattern, rf"\g<1>{value:.9g}\g<2>", text, count=1)
    assert count == 1, f"{metric} is not in the sample"
    return changed


@pytest.mark.parametrize(
    ("check", "name", "metric", "value"),
    [
        ("startup", "mpich", "first_instruction", 1.67e-11),
        ("startup", "mpich", "first_instruction", 0.17),
        ("startup", "mpich", "first_instruction", 0.1763),
        ("startup", "lam", "first_instruction", 1e-9),
        ("pvm_echo", "pvm", "send_time", 1.0),
        ("pvm_echo", "pvm", "wait_time", 1.0),
        ("pvm_echo", "pvm", "copy_time", 1e-11),
        ("pvm_echo", "pvm", "copy_time", 1000.0),
        ("node", "openmpi", "stream_copy", 1.3e13),
        ("node", "openmpi", "dhrystone_time", 1e-10),
        ("node", "openmpi", "operation_time", 1e-12),
    ],
)
def test_an_impossible_value_makes_the_launch_wrong(check, name, metric, value):
    params, text = sample(check, name)
    assert wrong_in(check, params, text) is None
    assert wrong_in(check, params, with_value(text, metric, value)) is not None


def with_all(text: str, metrics: str, value: float) -> str:
    """The output with every value and sample of the metrics replaced, so that they agree."""
    lines = text.splitlines()
    for place, line in enumerate(lines):
        if '"assay":"metric"' not in line:
            continue
        entry = json.loads(line)
        if entry["name"] in metrics.split():
            entry["value"] = value
            if "samples" in entry:
                entry["samples"] = [value for _ in entry["samples"]]
            lines[place] = json.dumps(entry, separators=(",", ":"))
    return "\n".join(lines)


@pytest.mark.parametrize(
    ("check", "name", "metrics", "value", "possible"),
    [
        ("node", "openmpi", "operation_time", 7e-11, 1.1e-10),
        ("node", "openmpi", "floatmath_time", 5e-5, 4e-4),
        ("node", "openmpi", "sieve_time", 1e-6, 2e-4),
        ("node", "openmpi", "dhrystone_time", 1e-5, 2e-4),
        ("node", "openmpi", "whetstone_time", 1e-6, 5e-5),
        ("interference", "3ranks.mpich", "exchange_time", 1.0, 1e-3),
        ("interference", "3ranks.mpich", "exchange_time", 2e-9, 2e-7),
        ("collectives", "each.lam", "collective_time collective_time_best", 2e-9, 2e-7),
        ("alltoall_pairs", "mpich", "pair_latency", 2e-9, 1.5e-7),
    ],
)
def test_values_that_agree_with_each_other_are_possible_too(check, name, metrics, value, possible):
    params, text = sample(check, name)
    assert wrong_in(check, params, with_all(text, metrics, possible)) is None
    assert wrong_in(check, params, with_all(text, metrics, value)) is not None


def test_one_rank_alone_sends_nothing():
    """A broadcast to nobody returns at once, whatever its length."""
    (metric, *_), at = CHECKS["collectives"].metrics, {"message_bytes": 2**20}
    least = {
        ranks: window(metric, at, Launched(ranks=ranks, cores=ranks, seconds=1))[0]
        for ranks in (1, 2)
    }
    assert least[1] < 2e-8
    assert least[2] > 4e-7


MASK = '"cpus":[0,1],"allowed":"0-1"'


def test_no_rank_sends_more_than_a_message_a_tick():
    streams, at = CHECKS["streams"].metrics_by_name["window_rate"], {"message_bytes": 2}
    assert window(streams, at, Launched(ranks=2, cores=2, seconds=1))[1] < 1e10


@pytest.mark.parametrize(
    "changed",
    [
        *(f'"cpus":{cpus},"allowed":"0-1"' for cpus in ("[0,2]", "[0]", "[1,0]", "[0,1,2]")),
        *(f'"cpus":[0,1],"allowed":"{said}"' for said in ("0-2", "0", "", "x", "1-0")),
        '"cpus":[0,1]',
    ],
)
def test_cores_are_those_that_the_kernel_lists(changed):
    """Three ranks on cores 0 and 1 share them; one on another core would have its own."""
    params, text = sample("startup", "mpich")
    said = text.replace('"cpus":[0,1]', MASK)
    assert said.count(MASK) == 3
    assert wrong_in("startup", params, said) is None
    at = said.rindex(MASK)
    found = wrong_in("startup", params, said[:at] + changed + said[at + len(MASK) :])
    assert found is not None and "may run on cores" in found


@pytest.mark.parametrize("probe_s", [1e-12, 0, 1e4])
def test_a_probe_lasts_as_long_as_its_bytes(probe_s):
    _, text = sample("startup", "mpich")
    nodes = ["n1", "n2", "n3"]
    output = json_lines.parse(text, CHECKS["startup"].metrics_by_name)
    assert output.other_session(daemons="none", nodes=nodes) is None
    changed = re.sub(r'"probe_s":[^,}]+', f'"probe_s":{probe_s}', text)
    output = json_lines.parse(changed, CHECKS["startup"].metrics_by_name)
    found = output.other_session(daemons="none", nodes=nodes)
    assert found == f"the probe of the links took {probe_s:g} s"


def test_a_copy_of_13_terabytes_a_second_is_wrong():
    params, text = sample("pvm_echo", "pvm")
    found = re.search(r'"name":"copy_time".*"message_bytes":(\d+)', text)
    size = int(found[1])
    line = next(one for one in text.splitlines() if found[0] in one)
    value = re.search(r'"value":([^,}]+)', line)[1]
    changed = text.replace(line, line.replace(value, f"{size / 13e12:.9g}", 1))
    assert changed != text
    assert "can be" in wrong_in("pvm_echo", params, changed)


@pytest.mark.parametrize("digit", range(36))
def test_a_digit_of_a_boot_id_is_no_other_kernel(digit):
    """Of three ranks on cores 0 and 1 of one kernel: apart, each would have a core of its own."""
    params, text = sample("startup", "mpich")
    at = [found.start(1) for found in re.finditer(r'"boot_id":"([^"]+)"', text)][1] + digit
    other = "3" if text[at] != "3" else "4"
    changed = text[:at] + other + text[at + 1 :]
    found = wrong_in("startup", params, changed)
    assert found is not None and ("boot id" in found)


@pytest.mark.parametrize("name", ["session_begin", "launch_begin", "launch_end", "session_end"])
@pytest.mark.parametrize("moved_s", [-1.0, -1e-3, 1e-3, 1.0])
def test_a_stamp_that_moved_is_not_the_one_that_is_said_again(name, moved_s):
    params, text = sample("startup", "mpich")
    stamps = dict(re.findall(r'"stamp","name":"(\w+)","at":([\d.]+)', text))
    again = ",".join(f'"{one}":{at}' for one, at in stamps.items())
    text += f'{{"assay":"stamps","at":{{{again}}}}}\n'
    assert wrong_in("startup", params, text) is None
    at = stamps[name]
    line = f'"stamp","name":"{name}","at":'
    changed = text.replace(line + at, f"{line}{float(at) + moved_s:.6f}")
    assert changed != text
    assert wrong_in("startup", params, changed) is not None


def session(folder: Path, *words: str, **variables: str) -> str:
    """Output of the session of a launch, of a program without MPI."""
    scripts = FOLDER / "common" / "launch"
    names = {"SLURM_JOB_NODELIST": "n1", "SLURMD_NODENAME": "n1", "SLURM_JOB_ID": "1"}
    return subprocess.run(
        [scripts / "session.sh", "none", "10", scripts / "witness.sh", *words],
        check=True,
        capture_output=True,
        text=True,
        cwd=folder,
        env={**os.environ, **names, "SLURM_STEP_ID": "0", **variables},
    ).stdout


def test_the_session_says_its_stamps_again(tmp_path):
    output = json_lines.parse(session(tmp_path, "true"), {})
    assert len(output.stamps) == 4
    assert output.stamps_again == output.stamps


def test_times_have_a_point_where_the_locale_has_a_comma(tmp_path):
    locale = {"LOCPATH": str(tmp_path), "LC_ALL": "de_DE.UTF-8"}
    made = ["localedef", "-i", "de_DE", "-f", "UTF-8", str(tmp_path / locale["LC_ALL"])]
    subprocess.run(made, check=True)
    said = session(tmp_path, "bash", "-c", "echo $EPOCHREALTIME $ASSAY_LAUNCHED_AT", **locale)
    (printed,) = (line for line in said.splitlines() if line and line[0] != "{")
    of_bash, launched_at = printed.split()
    assert "," in of_bash
    output = json_lines.parse(said, {})
    assert output.stamps["launch_begin"] == pytest.approx(float(launched_at), abs=10)
    assert output.evidence.ranks[0].start == pytest.approx(float(launched_at), abs=10)
