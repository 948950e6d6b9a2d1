# SPDX-License-Identifier: Apache-2.0
"""Outcomes that a session forges, through its real pipe: each makes its launch wrong, and the run
can be read by every command."""

import json
import os
import subprocess

import pytest

from assay.tests.test_run_on_cluster import (
    ASSAY,
    campaign,
    pytestmark,  # noqa: F401  what these tests need
    records_of,
)
from checks.common.sources import CHECKS
from virtual_cluster import ClusterSpec, up

#: The start-up program, whose outcome is changed before it is sent.
DEFINITION = """
from checks.common.parameters import quantity
from checks.startup import StartupDefinition, StartupParameters


class ForgerParameters(StartupParameters):
    forgery: str = quantity("What becomes of the outcome.", "none", "none")


class ForgerDefinition(StartupDefinition):
    name = "forger"
    no_options = frozenset({"forgery"})
    parameters = ForgerParameters


CHECK = ForgerDefinition()
"""
RUN = '''
import json
import os

from checks.common.session import outcome as outcomes
from checks.common.base import OwnProgram

FORGERIES = json.loads("""%s""")


SEND, JOBS, OUTPUTS = outcomes.send, ["1"], ["/"]


class Run(OwnProgram):
    def judge(self, printed):
        outcomes.send = self.forge
        return super().judge(printed)

    def forge(self, outcome):
        if outcome.launch_index < 0:
            return SEND(outcome)
        forgery = FORGERIES[self.params.forgery]
        words = {
            "EARLIER_JOB": JOBS[-1],
            "EARLIER_OUTPUT": OUTPUTS[-1],
            "OUTPUT": outcome.files["stdout"],
        }
        JOBS.append(outcome.job_id)
        OUTPUTS.append(outcome.files["stdout"])
        message = json.loads(outcomes.msgspec.json.encode(outcome))
        if isinstance(forgery, str):
            text = forgery.replace("INDEX", str(outcome.launch_index))
        else:
            change(message, forgery, words)
            text = json.dumps(message)
        line = text.encode(errors="surrogatepass") + b"\\n"
        while line:
            line = line[os.write(outcomes.outcome_pipe(), line):]


def change(message, forgery, words):
    for path, value in forgery:
        *above, last = path.split(".")
        place = message
        for part in above:
            place = place[int(part) if part.isdecimal() else part]
        value = words.get(value, value) if isinstance(value, str) else value
        if value == "DROP":
            del place[last]
        elif value == "TWICE":
            place[last] = place[last] * 2
        elif isinstance(value, str) and value.startswith("LONG"):
            place[last] = value[4:] * 3_000_000
        elif value == "DEEP":
            for _ in range(300):
                value = [value]
            place[last] = {"x": value}
        else:
            place[last] = value
'''
#: What is put in the place of members of an outcome; a text replaces all of it.
FORGERIES = {
    "unit": [("metrics.0.unit", "bananas")],
    "unit_of_another": [("metrics.0.unit", "bytes/s")],
    "negative": [("metrics.0.value", -5)],
    "immense": [("metrics.0.value", 1e308)],
    "beyond_doubles": '{"status":"ok","launch_index":INDEX,"metrics":[{"value":1e999}]}',
    "below_a_tick": [("metrics.0.value", 1e-11)],
    "longer_than_the_launch": [("metrics.0.value", 1e6)],
    "nan": '{"status":"ok","launch_index":INDEX,"metrics":[{"value":NaN}]}',
    "text_value": [("metrics.0.value", "1")],
    "no_value": [("metrics.0.value", None)],
    "zero": [("metrics.0.value", 0)],
    "samples_number": [("metrics.0.samples", -1)],
    "samples_huge_number": [("metrics.0.samples", 10**30)],
    "samples_empty": [("metrics.0.samples", [])],
    "samples_negative": [("metrics.0.samples", [0.1, -1.0])],
    "no_metrics": [("metrics", [])],
    "metrics_dropped": [("metrics", "DROP")],
    "metrics_twice": [("metrics", "TWICE")],
    "unknown_metric": [("metrics.0.name", "magic")],
    "metric_of_another_check": [
        ("metrics.0.name", "bandwidth"),
        ("metrics.0.unit", "bytes/s"),
        ("metrics.0.better", "higher"),
    ],
    "better": [("metrics.0.better", "higher")],
    "point_text": [("metrics.0.at", {"message_bytes": "long"})],
    "point_list": [("metrics.0.at", {"x": [1]})],
    "point_negative": [("metrics.0.at", {"x": -1})],
    "point_huge": [("metrics.0.at", {"x": 10**400})],
    "point_deep": [("metrics.0.at", "DEEP")],
    "no_such_day": [("started_at", "2026-02-30T00:00:00.000Z")],
    "month_13": [("ended_at", "2026-13-01T00:00:00.000Z")],
    "long_ago": [("started_at", "1999-01-01T00:00:00.000Z")],
    "in_future": [("ended_at", "2999-01-01T00:00:00.000Z")],
    "no_time": [("started_at", None)],
    "time_number": [("ended_at", 5)],
    "other_nodes": [("nodes", ["n99"])],
    "other_node_of_cluster": [("nodes", ["n4"])],
    "more_nodes": [("nodes", ["n1", "n2", "n3", "n4"])],
    "no_nodes": [("nodes", [])],
    "node_option": [("nodes", ["-rf"])],
    "node_twice": [("nodes", ["n1", "n1"])],
    "job_of_another": [("job_id", "EARLIER_JOB")],
    "job_to_come": [("job_id", "4242424")],
    "job_of_array": [("job_id", "4_2")],
    "job_of_nobody": [("job_id", "; rm")],
    "no_job": [("job_id", None)],
    "flag_escape": [("flags", ["\x1b[2J"])],
    "flag_long": [("flags", "LONG"), ("flags", ["x" * 1000])],
    "flag_twice": [("flags", ["partial", "partial"])],
    "profile_not_asked": [("profile", [])],
    "beside_alone": [("beside", [{"launch_index": 0, "nodes": ["n1"]}])],
    "extra_key": [("colour", "red")],
    "skipped": [("status", "skipped")],
    "unknown_status": [("status", "good")],
    "other_file": [("files", {"../../x": "/etc/passwd"})],
    "files_of_another": [("files.stdout", "EARLIER_OUTPUT")],
    "no_files": [("files", {})],
    "no_stderr": [("files.stderr", "DROP")],
    "points_not_asked": [("files.points", "OUTPUT")],
    "no_programs": [("programs", [])],
    "raw_cut_by_word": [("flags", ["raw-cut-to-64-MiB"])],
    "ok_with_fault": [("fault", "slurm")],
    "neither_status_nor_fault": [("status", None)],
    "with_progress": [("progress", "building")],
    "with_build": [("build", {"environment": "mpich", "program": "Programs", "output": ""})],
    "file_outside": [("files.stdout", "/etc/shadow")],
    "member_twice": '{"status":"ok","status":"failed","launch_index":INDEX}',
    "deep": '{"launch_index":INDEX,"metrics":' + "[" * 50_000,
    "cut": '{"status":"ok","launch_index":INDEX,"metrics":[{"name":"laun',
    "surrogate": '{"status":"failed","reason":"\\ud800","launch_index":INDEX}',
}
#: What is no forgery: the launch stays as it was.
HARMLESS = {
    "none": [],
    "reason_escape": [("status", "failed"), ("reason", "\x1b[2J\u202e\x00 no\nmore")],
    "reason_long": [("status", "failed"), ("reason", "LONGx")],
}


def told(*words):
    ended = subprocess.run([ASSAY, *words], capture_output=True, text=True, check=False)
    return ended.returncode, ended.stdout + ended.stderr


@pytest.fixture(scope="module")
def cluster():
    """One of its own: what these jobs leave on it hurts no other test."""
    made = up(ClusterSpec(f"t-f{os.getpid()}", nodes=4, network="unlimited"), lambda _: None)
    yield made
    made.down(lambda _: None)


@pytest.fixture(scope="module")
def forged(cluster, tmp_path_factory):
    """Run directory after all forgeries, and the status of the run."""
    folder = tmp_path_factory.mktemp("forged")
    check = folder / "checks" / "forger"
    check.mkdir(parents=True)
    (check / "__init__.py").write_text(DEFINITION)
    known = json.dumps({**FORGERIES, **HARMLESS})
    (check / "run.py").write_text(RUN.replace("%s", known.replace("\\", "\\\\")))
    program = (CHECKS / "startup" / "startup.c").read_text()
    (check / "forger.c").write_text(program.replace('"startup"', '"forger"'))
    names = [*FORGERIES, *HARMLESS]
    cases = f"  - check: forger\n    fixed: {{ranks: 1}}\n    matrix: {{forgery: {names}}}\n"
    name = campaign(folder, "forged", "mpich", 1, cases)
    site = f"virtual:{cluster.name}"
    command = [ASSAY, "run", name, "--site", site, "--checks", str(check.parent)]
    ended = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    runs = list((folder / "results" / "forged").iterdir())
    assert len(runs) == 1, ended.stdout
    return runs[0], ended


def test_each_forgery_makes_its_launch_wrong_and_names_what_is_wrong(forged):
    run, ended = forged
    assert ended.returncode == 1, ended.stderr
    found = {record.params["forgery"]: record for record in records_of(run)}
    assert found.keys() == {*FORGERIES, *HARMLESS}
    assert {name: found[name].reason for name in FORGERIES if found[name].status != "wrong"} == {}
    for name in FORGERIES.keys() - {"file_outside"}:
        assert "was refused" in found[name].reason, name
        assert found[name].metrics == [] and found[name].nodes == [], name
    assert found["none"].status == "ok", found["none"].reason
    assert [found[name].status for name in HARMLESS if name != "none"] == ["failed", "failed"]
    assert all(len(one.reason or "") <= 4000 for one in found.values())
    assert all((one.reason or "").isprintable() for one in found.values())


@pytest.mark.parametrize("key", ["unit", "started_at", "nodes", "flags", "job_id", "metrics"])
def test_the_reason_says_which_member(forged, key):
    by_key = {
        "unit": "in 'bananas'",
        "started_at": "`started_at` is '2026-02-30",
        "nodes": "`nodes` hold some that job",
        "flags": "`flags` are not",
        "job_id": "is not the job of this launch",
        "metrics": "`metrics` is missing or empty",
    }
    reasons = [record.reason or "" for record in records_of(forged[0])]
    assert any(by_key[key] in reason for reason in reasons), reasons


@pytest.mark.full
def test_every_command_reads_the_run(forged):
    run, _ = forged
    checks = ["--checks", str(run.parents[2] / "checks")]
    for words in (["status"], ["report"], ["verify", *checks]):
        status, said = told(*words, str(run))
        assert status in (0, 1), said
        assert "Traceback" not in said
    assert told("verify", str(run), *checks)[0] == 0
    assert told("verify", str(run))[0] == 3  # nobody here can judge its launches again
    before = records_of(run)
    status, said = told("run", "--resume", str(run), *checks)
    assert (status, records_of(run)) == (1, before), said
