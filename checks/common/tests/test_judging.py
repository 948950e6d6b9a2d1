# SPDX-License-Identifier: Apache-2.0
"""Whatever a launch prints becomes an outcome with a reason; the last guard is for the rest."""

import os
import re
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from checks.common.answer import Reading
from checks.common.base import OwnProgram
from checks.common.json_lines import TAIL_BYTES, Printed, read_printed
from checks.common.judging import JudgingError
from checks.common.registry import CHECKS
from checks.common.session import outcome as outcomes
from checks.common.session.outcome import Outcome
from checks.common.tests.judged import OURS, Launch
from records.flags import BEYOND_LIMIT
from records.metric import Metric
from records.site.limits import Nominal


def launch(**changes: Any) -> Launch:
    return Launch("pt2pt", "mpich", **changes)


def judged(text: str) -> tuple[str, str]:
    """Status and reason; no exception."""
    outcome = launch().outcome(text)
    assert outcome.status is not None
    return outcome.status, str(outcome.reason)


@pytest.mark.skipif("one_sided" not in CHECKS, reason="its sample is of plugin papers")
def test_a_launch_on_another_device_than_the_site_demands_is_wrong():
    for demanded, status in (("ob1:tcp", "ok"), ("ucx", "wrong")):
        one = Launch("one_sided", "lock.openmpi", device=demanded)
        outcome = one.outcome(one.text)
        assert outcome.status == status
    assert "the site demands ucx: use a build" in str(outcome.reason)


@settings(max_examples=100)
@given(st.binary(max_size=200), st.integers(0, 10**6))
def test_any_bytes_may_stand_anywhere(noise, seed):
    raw = launch().text.encode()
    place = seed % len(raw)
    judged((raw[:place] + noise + raw[place:]).decode(errors="replace"))


DEEP = 100_000
VALUES = ["1" + "0" * 400, "1" + "0" * 5000, "[" * DEEP + "]" * DEEP, "[" * DEEP]
VALUES += ["NaN", "-Infinity", "1e999", r'"\ud800"', r'{"\ud800":1}']


@pytest.mark.parametrize("value", VALUES, ids=lambda value: value[:12])
@pytest.mark.parametrize(
    "kind", ["metric", "program", "evidence", "note", "stamp", "exit", "error"]
)
def test_values_that_no_record_holds(kind, value):
    text = launch().text
    for names in ("value", "key", "settings", "ranks", "at", "status", "message", "name"):
        line = f'{{"assay":"{kind}","token":"{OURS}","{names}":{value}}}'
        status, _ = judged(f"{text}{line}\n")
        assert status in ("wrong", "failed")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"ranks": {"0": {}}}, "evidence that cannot be read: Expected `array`"),
        ({"ranks": []}, "evidence came of ranks []"),
        ({"ranks": None}, "evidence that cannot be read"),
        ({"links": [{"from_host": "n1", "to_host": "n2"}]}, "missing required field `sent_bytes`"),
        ({"links": []}, "0 links between 2 nodes were probed"),
        ({"library": 5}, "Expected `str`, got `int` - at `$.library`"),
        ({"variables": ["x"]}, "Expected `object`, got `array` - at `$.variables`"),
        ({"link": []}, "unknown field `link`"),
        (lambda found: found["ranks"][0].update(cpus=["0"]), "got `str` - at `$.ranks"),
        (lambda found: found["ranks"][1].update(cpu=[3]), "unknown field `cpu` - at `$.ranks"),
        (lambda found: found["ranks"][1].update(rank=0), "evidence came of ranks [0, 0]"),
        (lambda found: found["ranks"][1].pop("host"), "missing required field `host`"),
        (lambda found: found["links"].append(found["links"][1]), "right is one of each host"),
        (lambda found: found["links"][1].update(from_host="n1"), "right is one of each host"),
        (lambda found: found["links"][1].update(sent_bytes=1), "the network was not used"),
    ],
)
def test_what_is_odd_in_evidence_is_named(change, said):
    how = (lambda entry: entry.update(change)) if isinstance(change, dict) else change
    status, reason = judged(launch().changed("evidence", how))
    assert status == "wrong"
    assert said in reason


def test_many_cores_are_matched_without_recursion():
    wide = {"cpus": list(range(50_000))}
    text = launch().changed("evidence", lambda found: [one.update(wide) for one in found["ranks"]])
    assert judged(text)[0] == "ok"


def test_a_value_that_the_link_cannot_give_flags_the_launch():
    fast = launch()
    assert fast.outcome(fast.text).flags == []
    assert launch(nominal=Nominal(link_bytes_per_s=1e3)).outcome(fast.text).flags == [BEYOND_LIMIT]


@pytest.mark.parametrize(("dead", "status"), [("node n2 died", "lost"), (None, "wrong")])
def test_a_line_that_a_node_cut_by_its_death_is_no_wrong_answer(dead, status):
    one = launch(dead_nodes=lambda: dead)
    place = one.text.index('"assay":"evidence"') + 40
    assert one.outcome(one.text[:place]).status == status
    assert one.outcome(one.text[:place] + one.text[place + 20 :]).status == "wrong"


class Numberless(OwnProgram):
    """Its reader, as one from outside the tree may, returns what no record can hold."""

    given: Any = None

    def read(self, output, text):
        if isinstance(self.given, Exception):
            raise self.given
        return Reading([Metric("half_round_trip", "s", "lower", self.given)])


@pytest.mark.parametrize("given", [KeyError("x"), RecursionError(), "fast", object(), float("nan")])
def test_what_no_reader_foresaw_is_a_fault_of_the_check(given, monkeypatch):
    monkeypatch.setattr(Numberless, "given", given)
    faulty = launch()
    faulty.leaf = Numberless
    with pytest.raises(JudgingError):
        faulty.outcome(faulty.text)


def test_long_output_is_read_up_to_the_limit_which_the_reason_names(tmp_path):
    one = launch()
    stdout = tmp_path / "rfm_job.out"
    *head, tail = one.text.split("\n", 3)
    stdout.write_text("\n".join([*head, "noise\n" * 400_000 + tail]))
    size = stdout.stat().st_size
    outcome = one.outcome(read_printed(stdout, 1_000_000))
    assert outcome.status == "wrong"
    assert outcome.reason == f"rfm_job.out has {size} bytes; at most 1000000 are read"
    assert one.outcome(read_printed(stdout, size)).status == "ok"
    stdout.write_text(stdout.read_text().replace('"status":0', '"status":124'))
    assert str(one.outcome(read_printed(stdout, 1_000_000)).reason).startswith("time limit: ")


def test_what_is_read_of_a_sparse_giant_is_its_beginning_and_its_end(tmp_path):
    giant = tmp_path / "rfm_job.err"
    giant.write_text("first\n")
    os.truncate(giant, 5 * 10**9)
    with giant.open("a") as file:
        file.write("\nlast words\n")
    printed = read_printed(giant, TAIL_BYTES)
    assert printed.text.startswith("first\n")
    assert printed.text.endswith("last words\n")
    assert len(printed.text) <= 2 * TAIL_BYTES
    failed = launch(stderr=partial(read_printed, giant))
    outcome = failed.outcome(failed.text.replace('"status":0', '"status":3'))
    assert outcome.reason == "exit status 3: last words"


@pytest.mark.parametrize(
    ("stdout", "stderr", "reason"),
    [
        ("", "Traceback:\nModuleNotFoundError: numpy\n{0}", "ModuleNotFoundError: numpy"),
        ("ERROR: no atoms\n", "{0}", "ERROR: no atoms"),
        ("", "{0}", "srun: error: n1: task 0: Exited with exit code 3"),
        ("", "", "nothing was printed"),
    ],
)
def test_an_epitaph_is_no_reason_where_the_program_said_anything(tmp_path, stdout, stderr, reason):
    epitaph = "srun: error: n1: task 0: Exited with exit code 3\n"
    (tmp_path / "rfm_job.err").write_text(stderr.format(epitaph))
    failed = launch(stderr=partial(read_printed, tmp_path / "rfm_job.err"))
    outcome = failed.outcome(stdout + failed.text.replace('"status":0', '"status":3'))
    assert outcome.reason == f"exit status 3: {reason}"


@pytest.mark.parametrize("kind", ["link", "fifo", "folder"])
def test_only_an_ordinary_file_is_read(tmp_path, kind):
    stdout = tmp_path / "rfm_job.out"
    (tmp_path / "other").write_text(launch().text)
    make = {"link": lambda: stdout.symlink_to("other"), "fifo": lambda: os.mkfifo(stdout)}
    make.get(kind, stdout.mkdir)()
    outcome = launch().outcome(read_printed(stdout, 10**6))
    assert outcome.status == "failed"
    assert "rfm_job.out " in str(outcome.reason)


@pytest.mark.parametrize(
    ("said", "status", "fault"),
    [
        ("timeout: failed to run command 'mpirun': No such file or directory", None, "environment"),
        ("bash: line 1: helper: command not found", "failed", None),
    ],
)
def test_a_launcher_that_is_not_there_is_no_result_of_the_launch(said, status, fault):
    stopped = launch(stderr=lambda _: Printed(f"{said}\n"))
    kept = [line for line in stopped.text.split("\n") if re.match('{"assay":"(stamp|alloc)', line)]
    ended = f'{{"assay":"exit","token":"{OURS}","status":127}}'
    outcome = stopped.outcome("\n".join([*kept, ended, ""]))
    assert (outcome.status, outcome.fault) == (status, fault)
    assert said in outcome.reason


@pytest.mark.parametrize(
    ("interval", "slurm", "told"),
    [
        ((20.0, 30.0), {}, ["20.000Z", "30.000Z"]),
        ((20.0, 10.0), {}, ["20.000Z", "20.000Z"]),
        (None, {"StartTime": "Unknown", "EndTime": "2026-11-22T08:00:07"}, [None, "07.000Z"]),
        (None, {"StartTime": "2026-11-22T08:00:07"}, ["07.000Z", None]),
    ],
)
def test_a_launch_ends_no_sooner_than_it_began_as_far_as_both_are_known(
    monkeypatch, interval, slurm, told
):
    sent: list[Outcome] = []
    monkeypatch.setattr(outcomes, "send", sent.append)
    job = {"jobid": "12", "nodelist": ["n1"], "slurm": slurm}
    job |= {"script_filename": "s", "stdout": "o", "stderr": "e"}
    test = SimpleNamespace(job=SimpleNamespace(**job), launch_index=3, executed=[], stagedir=".")
    test.current_partition = SimpleNamespace(max_jobs=1)
    outcomes.emit(test, Outcome(), interval)
    assert [time and time[-7:] for time in (sent[0].started_at, sent[0].ended_at)] == told
