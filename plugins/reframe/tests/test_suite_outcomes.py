# SPDX-License-Identifier: Apache-2.0
"""What launches of suites' tests come to: run by ReFrame here, without Slurm, and held against what
plain ReFrame finds in the same outputs."""

import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from assay.run.launches import launches_to_come
from assay.sites.loading import load_site
from checks.common.registry import BROUGHT_FILE
from checks.common.session.outcome import OUTCOME_FD, PROGRAMS, Outcome
from plugins.reframe.classes import outcomes as of_suites
from plugins.reframe.tests.test_suites import MAP, entry, planned

pytestmark = pytest.mark.full
__all__ = ["planned"]
SESSION = Path(str(sys.modules["checks.common.registry"].__file__)).parent / "session"
#: ReFrame's scheduler for this machine, with what Slurm's adds to a job.
SETTINGS = """
from reframe.core.backends import register_scheduler
from reframe.core.schedulers.local import LocalJobScheduler
from checks.common.session import settings

@register_scheduler("here")
class Here(LocalJobScheduler):
    def submit(self, job):
        job.slurm, job.loss = {}, None
        super().submit(job)

site_configuration = settings.site_configuration
site_configuration["systems"][0]["partitions"][0]["scheduler"] = "here"
"""
#: What a site sets for its own ReFrame: another system, and another meaning of "passed".
OF_SITE = {"RFM_SYSTEM": "daint:gpu", "RFM_TRAP_JOB_ERRORS": "1", "RFM_MODULE_MAP_FILE": "/none"}
TWENTY = """\
import reframe as rfm
import reframe.utility.sanity as sn

@rfm.simple_test
class Twenty(rfm.RunOnlyRegressionTest):
    valid_systems = ["*"]
    valid_prog_environs = ["*"]
    number = parameter(range(20))
    executable = "printf"

    @run_before("run")
    def words(self):
        value = repr(1.0 / 3 ** (self.number - 9))
        self.executable_opts = [f"'t {value} s, {self.number * 7}.1e3 GB/s\\\\n'"]

    @sanity_function
    def right(self):
        return sn.assert_found("t", self.stdout)

    @performance_function("us")
    def latency(self):
        return sn.extractsingle(r"t (\\S+) s", self.stdout, 1, float)

    @performance_function("GB/s")
    def rate(self):
        return sn.extractsingle(r", (\\S+) GB", self.stdout, 1, float)
"""


def session(plan, folder: Path) -> list[Outcome]:
    """The outcomes of a session with one launch of each case."""
    (folder / "settings.py").write_text(SETTINGS)
    launches = [*launches_to_come(plan, [])]
    site = {**load_site("here").session_data(), "reframe_prefix": str(folder)}
    template = {"launcher": "assay-template", "launcher_command": "env RANKS={ranks}"}
    for one in site["environments"].values():
        one |= {**template, "launcher_options": []}
    files = {
        "ASSAY_SITE_FILE": json.dumps(site),
        "ASSAY_LAUNCHES_FILE": msgspec.json.Encoder().encode_lines(launches).decode(),
        BROUGHT_FILE: msgspec.json.encode(plan.brought).decode(),
    }
    for name, text in files.items():
        (folder / name).write_text(text)
    for name in plan.environments:
        (folder / "programs" / f"Programs-{name}").mkdir(parents=True)
    variables = {name: str(folder / name) for name in files}
    variables |= {PROGRAMS: str(folder / "programs"), "ASSAY_RUN_ID": "x", **OF_SITE}
    reading, writing = os.pipe()
    argv = [
        *(sys.executable, "-P", "-m", "checks.common.session.command_line"),
        *(f"--config-file={folder}/settings.py", f"--checkpath={SESSION / 'launches.py'}", "--run"),
        *("--exec-policy=serial", "--exec-order=name", "--keep-stage-files"),
    ]
    variables |= {**os.environ, **variables, OUTCOME_FD: str(writing)}
    with (folder / "out").open("w") as out:
        told: dict[str, Any] = {"env": variables, "cwd": folder, "pass_fds": (writing,)}
        process = subprocess.Popen(argv, **told, stdout=out, stderr=out)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe, process:  # a pipe holds 64 KiB
        said = [msgspec.json.decode(line, type=Outcome) for line in pipe]
    found = {one.launch_index: one for one in said if one.launch_index >= 0}
    assert len(found) == len(launches), (folder / "out").read_text()[-3000:]
    return [found[index] for index in sorted(found)]


def test_a_launch_says_that_the_download_of_its_fixture_failed(planned, tmp_path):
    plan = planned(entry(MAP, "NeedsDownload"))
    assert "fixture Download (run, once a session)" in "\n".join(plan.brings())
    found = session(plan, tmp_path)
    assert {one.status for one in found} == {"failed"}
    assert all("a fixture failed: Download" in (one.reason or "") for one in found)


def test_the_modules_of_a_test_are_loaded(planned, tmp_path):
    init = tmp_path / "init"
    init.write_text('module() { [ "$1" = load ] && export LOADEDMODULES="$2"; }\n')
    site = tmp_path / "sites" / "here" / "site.yaml"
    site.write_text(site.read_text().replace("nomod", f"lmod\nmodule_init: {init}"))
    found = session(planned(entry(MAP, "NeedsModules")), tmp_path)
    assert {(one.status, one.reason) for one in found} == {("ok", None)}


def test_twenty_tests_have_plain_reframes_values(planned, tmp_path):
    file = tmp_path / "twenty.py"
    file.write_text(TWENTY)
    report = tmp_path / "plain.json"
    argv = [Path(sys.executable).parent / "reframe", "-c", file, "-r", f"--report-file={report}"]
    argv += [f"--prefix={tmp_path / 'plain'}"]
    subprocess.run(argv, cwd=tmp_path, stdout=subprocess.DEVNULL, check=True)
    values = [one["perfvalues"] for one in json.loads(report.read_text())["runs"][0]["testcases"]]
    plain = {
        tuple(sorted((key.rpartition(":")[2], value[0]) for key, value in one.items()))
        for one in values
    }
    plan = planned(entry("vars: {}", "Twenty", "twenty.py") + "    environments: [mpich]\n", file)
    found = session(plan, tmp_path)
    factors = {one.variable: one.factor for one in plan.brought["twenty"].figures}
    expected = {tuple((name, value * factors[name]) for name, value in one) for one in plain}
    assert {one.reason for one in found} == {None}
    assert (len(found), len(plain)) == (40, 20)
    assert {
        tuple(sorted((m.name.rpartition(".")[2], m.value) for m in one.metrics)) for one in found
    } == expected


def test_what_a_test_printed_is_told_before_an_epitaph(tmp_path):
    (tmp_path / "o").write_text("ERROR: no atoms\n")
    (tmp_path / "e").write_text("srun: error: n1: task 0: Exited with exit code 3\n")
    job = SimpleNamespace(jobid="1", stdout="o", stderr="e")
    test = SimpleNamespace(job=job, stagedir=tmp_path)
    assert of_suites._printed(test).endswith("ERROR: no atoms")
