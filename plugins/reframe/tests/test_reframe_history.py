# SPDX-License-Identifier: Apache-2.0
"""What ReFrame logged comes into a history, once, and its planted faults are found."""

import json
import sys
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from bench.tests.simulated.reframe_logs import SLOW_NODE, log_lines, step_at, write_logs
from checks.common.tests.program_runs import ran
from plugins.reframe.command import import_files, surveys_of
from plugins.reframe.imported import CAMPAIGN, nodes_of, stored_launches
from plugins.reframe.survey import Survey
from plugins.reframe.survey_launches import ImportForm
from records.errors import AssayError
from records.history.model import Night, NightValues, SeriesKey
from records.history.store import Store
from reports.verdicts.nightly.judge import check_history

NIGHTS, REPEATS = 60, 3
Case = dict[str, Any]
SESSION = {"data_version": "4.2", "time_start_unix": 1.7e9, "time_end_unix": 1.8e9}
#: A test case of a report.
CASE: Case = {
    "name": "S", "system": "d", "partition": "p", "environ": "e", "jobid": "1",
    "job_completion_time_unix": 1.7e9, "perfvalues": {"d:p:x": [1.0, 0, None, None, "s"]},
}  # fmt: skip


def taken(history: Path, *paths: Path) -> ImportForm:
    return import_files(history, paths, "UTC")


def reported(folder: Path, *cases: Case, **info: Any) -> ImportForm:
    """A report of test cases, taken."""
    report = {"session_info": SESSION | info, "runs": [{"testcases": cases}]}
    (folder / "report.json").write_text(json.dumps(report))
    return taken(folder / "h.sqlite", folder / "report.json")


def values_of(history: Path) -> dict[str, list[tuple[int, ...] | float]]:
    (found,) = surveys_of(history, "daint", CAMPAIGN)
    names = [key.title + key.case_id for key in found.history.series]
    return dict(zip(names, found.history.values.tolist(), strict=True))


@pytest.fixture(scope="module")
def survey(tmp_path_factory: pytest.TempPathFactory) -> Survey:
    folder = tmp_path_factory.mktemp("planted")
    taken(folder / "h.sqlite", write_logs(folder / "logs", 6, NIGHTS, REPEATS))
    retried = retries_report(log_lines(3, NIGHTS, REPEATS))
    (folder / "report.json").write_text(json.dumps(retried))
    assert taken(folder / "h.sqlite", folder / "report.json").added == 0
    (found,) = surveys_of(folder / "h.sqlite", None, None)
    return found


def _case(names: list[str], fields: list[str]) -> Case:
    """A line of a log as a test case of a report."""
    return {**dict(zip(names, fields, strict=True)), "perfvalues": {}}


def retries_report(lines: list[str], *again: Case) -> dict[str, Any]:
    """The failed tries of a log, and what came after each, as ReFrame reports them: a run of all,
    and one of those that were tried again; and `again` in this."""
    names, *cases = (line.split("|") for line in lines)
    told = [_case(names, fields) for fields in cases]
    failed = [at for at, case in enumerate(told) if case["triad_value"] == "None"]
    first = [told[at] for at in failed]
    second = [*(told[at + 1] for at in failed), *again]
    runs = [{"run_index": 0, "testcases": first}, {"run_index": 1, "testcases": second}]
    return {"session_info": SESSION, "runs": runs}


def test_a_planted_step_is_found_at_its_night(survey: Survey) -> None:
    (change,) = survey.history.changes
    title = survey.history.series[change.series].check_title
    assert (title, change.kind) == ("Stream0", "regression")
    assert survey.history.position(change.since) == step_at(NIGHTS)


def test_references_are_held_against_what_the_launches_support(survey: Survey) -> None:
    series = survey.history.series
    found = sorted((series[one.series].check_title, one.advice) for one in survey.references)
    # That of Stream0, which became slower, was right before.
    assert found.pop(2) in [("Stream2", word) for word in ("missed", "too tight")]
    fits = [(f"Stream{number}", "fits") for number in (3, 4, 5)]
    assert found == [("Stream0", "fits"), ("Stream1", "too loose"), *fits]


def test_the_slow_node_and_the_test_that_a_retry_hid_are_named_alone(survey: Survey) -> None:
    assert {one.node for one in survey.nodes} == {SLOW_NODE}
    assert all(0.07 < one.worse < 0.13 for one in survey.nodes)
    told = [(one.test, one.failed, one.hidden) for one in survey.hidden]
    assert told == [("Stream3 @mc+gnu", NIGHTS // 10, NIGHTS // 10)]


def test_missed_references_repeats_and_reruns_are_no_retries(tmp_path: Path) -> None:
    """Four repeats of a night miss their reference, and keep it when they are run once more."""
    logs, (head, *first) = tmp_path / "Stream0.log", log_lines(0, 1, 4)
    again = [line.replace("pass|", "fail|", 1) for line in first]
    ends = [line.split("|")[7] for line in first]
    hours = [
        f"{float(end) + 3600}".join(line.split(end)) for line, end in zip(first, ends, strict=True)
    ]
    hours = [line.replace("T02:", "T03:") for line in hours]
    logs.write_text("\n".join([head, *again, *hours]) + "\n")
    taken(tmp_path / "h.sqlite", logs)
    (found,) = surveys_of(tmp_path / "h.sqlite", None, None)
    assert sum(found.history.nights[0].statuses.values()) == 8
    assert (found.hidden, found.tests) == ([], [])
    # `reframe --reruns=1` numbers its runs like retries, and runs what passed once more, too.
    lines = log_lines(3, 10, 1)
    passed = _case(*(lines[at].split("|") for at in (0, 3)))
    report = retries_report(lines, passed)
    report["runs"][0]["testcases"].append(passed)
    (tmp_path / "report.json").write_text(json.dumps(report))
    taken(tmp_path / "reruns.sqlite", tmp_path / "report.json")
    (found,) = surveys_of(tmp_path / "reruns.sqlite", None, None)
    assert found.hidden == []


def test_importing_again_adds_nothing_and_more_lines_add_themselves(tmp_path: Path) -> None:
    logs, history = write_logs(tmp_path / "logs", 2, 20, 2), tmp_path / "h.sqlite"
    whole = log_lines(0, 20, 2)
    log = logs / "daint/mc/Stream0.log"
    log.write_text("\n".join(whole[:22]) + "\n")
    assert taken(history, logs).added == 21 + 40
    again = taken(history, logs)
    assert (again.added, again.known) == (0, 61)
    log.write_text("\n".join(whole) + "\n")
    assert taken(history, log).added == 19
    taken(tmp_path / "at-once.sqlite", logs)
    assert values_of(history) == values_of(tmp_path / "at-once.sqlite")


def test_nights_from_the_first_that_grew_on_are_judged_anew(tmp_path: Path) -> None:
    lines, log = log_lines(0, 20, 2), tmp_path / "Stream0.log"
    log.write_text("\n".join([*lines[:22], *lines[23:31]]) + "\n")  # one launch of night 10 lacks
    taken(tmp_path / "h.sqlite", log)
    with Store(tmp_path / "h.sqlite") as store:
        check_history(store, "daint", CAMPAIGN)
        assert all(night.judged for night in store.nights("daint", CAMPAIGN))
        log.write_text("\n".join(lines) + "\n")
        taken(tmp_path / "h.sqlite", log)
        judged = [night.judged for night in store.nights("daint", CAMPAIGN)]
    assert judged == [True] * 10 + [False] * 10


@pytest.mark.parametrize("version", ["4.6", "4.9"])
def test_layouts_of_all_versions_give_the_same_series(tmp_path: Path, version: str) -> None:
    taken(tmp_path / "new.sqlite", write_logs(tmp_path / "new", 3, 12, 3))
    form = taken(tmp_path / "old.sqlite", write_logs(tmp_path / "old", 3, 12, 3, version))
    assert (form.unread, form.added) == (0, 108)
    assert values_of(tmp_path / "old.sqlite") == values_of(tmp_path / "new.sqlite")


def test_a_changed_header_and_the_former_file_are_one_history(tmp_path: Path) -> None:
    lines = log_lines(0, 12, 3)
    (tmp_path / "Stream0.log.h0").write_text("\n".join(lines[:19]) + "\n")
    new = [line.replace("|descr|", "|cells|descr|", 1) for line in lines[:1]]
    new += [line.replace("||{}|", "|7||{}|", 1) for line in lines[19:]]
    (tmp_path / "Stream0.log").write_text("\n".join(new) + "\n")
    form = taken(tmp_path / "h.sqlite", tmp_path)
    assert (form.added, form.unread, form.nights, form.series) == (36, 0, 12, 1)


def test_local_times_alone_and_a_description_of_two_lines_are_read(tmp_path: Path) -> None:
    head = "result|job_completion_time|descr|name|environ|jobid|a_value|a_unit"
    (tmp_path / "A.log").write_text(
        f"{head}\npass|2026-03-01 23:30:00|two\nlines|A|gnu|7|1.5|W\n"
        "pass|2026-03-02T01:30:00|x|A|gnu|8|1.6|W\npass|2026-03-02T13:00:00|x|A|gnu|9|1.6|W\n"
    )
    form = import_files(tmp_path / "h.sqlite", [tmp_path], "Europe/Zurich")
    assert (form.added, form.nights, form.unread) == (3, 2, 0)
    (found,) = surveys_of(tmp_path / "h.sqlite", None, None)
    assert found.history.nights[0].started_at == "2026-03-01T22:30:00Z"
    assert found.history.series[0].better == "unknown"


def test_what_cannot_be_read_is_counted_with_file_and_line(tmp_path: Path) -> None:
    lines = log_lines(0, 4, 1)
    lines[2] = lines[2][:80]
    lines[4] = lines[4].replace("|GB/s|100|", "|GB/s|a hundred|")
    log = tmp_path / "Stream0.log"
    log.write_text("\n".join(lines) + "\n")
    form = taken(tmp_path / "h.sqlite", tmp_path, log)
    assert (form.added, form.known) == (2, 0)
    assert [(one.file, one.line) for one in form.unread_parts] == [(str(log), 3), (str(log), 5)]


@pytest.mark.parametrize(
    ("key", "value", "added"),
    [
        ("job_completion_time_unix", float("nan"), 1),
        ("job_completion_time_unix", 1e300, 1),
        ("job_completion_time_unix", -1e12, 1),
        ("name", "a\ud800\0", 2),
        ("perfvalues", {"d:p:x": [1.0, 0, None, None, 5]}, 2),
        ("perfvalues", {"d:p:\ud800": [1.0, 0, None, None, "\ud800"]}, 2),
        ("perfvalues", {"d:p:x": [10**400, 0, None, None, "s"]}, 1),
        ("job_nodelist", [1, None], 1),
        ("result", ["pass"], 1),
    ],
)
def test_a_damaged_test_case_costs_itself_alone(
    tmp_path: Path, key: str, value: object, added: int
) -> None:
    form = reported(tmp_path, CASE | {key: value}, CASE | {"jobid": "2"})
    assert (form.added, form.unread) == (added, 2 - added)


def test_nan_is_no_value(tmp_path: Path) -> None:
    values = {"x": [float("nan"), 0, None, None, "us"], "y": [2.0, 0, None, None, "MB/s"]}
    form = reported(tmp_path, CASE | {"result": "fail", "perfvalues": values})
    assert (form.added, form.unread) == (1, 0)
    with Store(tmp_path / "h.sqlite") as store:
        ((*_, counts, figures),) = stored_launches(store, "d", CAMPAIGN)
    assert (counts, figures[:, 1].tolist()) == ([1], [2e6])
    (found,) = surveys_of(tmp_path / "h.sqlite", None, None)
    assert found.history.nights[0].statuses == {"wrong": 1}
    assert [(one.launches, one.failed, one.hidden) for one in found.tests] == [(1, 1, 0)]
    assert form.not_numbers == 1


def test_a_log_of_reframe_3_is_refused_with_its_version(tmp_path: Path) -> None:
    line = "2020-06-24T00:27:06|reframe 3.1-dev0 (rev: 9d92d0ec)|Stream on daint:mc using gnu|job=5"
    (tmp_path / "Stream0.log").write_text("\n".join(log_lines(0, 2, 1)) + "\n")
    (tmp_path / "StreamTest.log").write_text(f"{line}|Copy=6606.1|ref=0 (l=0, u=0)|MB/s\n" * 2)
    (told,) = taken(tmp_path / "h.sqlite", tmp_path).unread_parts
    assert told.reason == "written by ReFrame 3.1-dev0; 4.6 and later are read"


def test_an_old_report_is_refused_and_a_jobless_case_ends_with_its_session(tmp_path: Path) -> None:
    with pytest.raises(AssayError, match=r"data version 3\.1; 4\.0 and later are read"):
        reported(tmp_path, CASE, data_version="3.1")
    jobless = CASE | {"job_completion_time_unix": None, "jobid": None}
    assert [reported(tmp_path, jobless).added for _ in range(2)] == [1, 0]


def test_proven_and_imported_nights_are_not_mixed(tmp_path: Path) -> None:
    history = tmp_path / "h.sqlite"
    taken(history, write_logs(tmp_path / "logs", 1, 3, 1))
    key = SeriesKey("c", "c", "e", {}, "m", "s", "lower", {}, "m", "c")
    night = Night("r1", "daint", CAMPAIGN, "2026-01-01T00:00:00Z", {}, ("n1",), {"ok": 3})
    with Store(history) as store, pytest.raises(AssayError, match="not mixed"):
        store.add(night, [NightValues(key, (1.0, 1.0, 1.0))])


def test_a_folder_without_a_launch_is_refused_and_leaves_no_night(tmp_path: Path) -> None:
    (tmp_path / "x.log").write_text("nothing of ReFrame\n")
    with pytest.raises(AssayError, match=r"x\.log, line 1"):
        taken(tmp_path / "h.sqlite", tmp_path)
    with Store(tmp_path / "h.sqlite") as store:
        assert store.groups() == []


def test_lists_of_nodes_are_read_as_slurm_shortens_them() -> None:
    assert nodes_of("nid[001-003,007],login1") == "nid001 nid002 nid003 nid007 login1"
    assert nodes_of("r[1-2]n[08-09], m1") == "r1n08 r1n09 r2n08 r2n09 m1"
    assert nodes_of("null") == ""


TEST = """
import reframe as rfm
import reframe.utility.sanity as sn
@rfm.simple_test
class Stream(rfm.RunOnlyRegressionTest):
    valid_systems = ['*']
    valid_prog_environs = ['*']
    executable = 'echo triad 99.125'
    n = parameter([1, 2])
    reference = {'*': {'triad': (100., -0.05, None, 'MB/s')}}
    @sanity_function
    def right(self):
        return sn.assert_found('triad', self.stdout)
    @performance_function('MB/s')
    def triad(self):
        return sn.extractsingle(r'triad (\\S+)', self.stdout, 1, float)
"""


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("session")
    (folder / "stream.py").write_text(TEST)
    words = "-c stream.py -r --repeat=2 --perflogdir=logs --report-file=report.json"
    command = [str(Path(sys.executable).with_name("reframe")), *words.split()]
    stored = {"RFM_ENABLE_RESULTS_STORAGE": "1", "RFM_SQLITE_DB_FILE": f"{folder}/results.db"}
    ran(command, stored, cwd=folder)
    return folder


def test_what_reframe_writes_is_one_set_of_launches(session: Path, tmp_path: Path) -> None:
    whole = taken(tmp_path / "h.sqlite", session / "logs")
    assert (whole.added, whole.series, whole.unread) == (4, 2, 0)
    for other in (session / "report.json", session / "results.db", session):
        form = taken(tmp_path / "h.sqlite", other)
        assert (form.added, form.unread, form.known >= 4) == (0, 0, True)
    (found,) = surveys_of(tmp_path / "h.sqlite", "generic", CAMPAIGN)
    assert found.history.values.tolist() == [[99.125e6], [99.125e6]]
    assert {key.better for key in found.history.series} == {"higher"}
    assert found.history.nights[0].imported


def test_variants_that_have_one_name_are_series_of_their_own(session: Path, tmp_path: Path) -> None:
    """ReFrame leaves what `-P` varies out of the name, as it does the number of a repeat."""
    words = "-c stream.py -r -n Stream.*n=1 -P num_cpus_per_task=1,2"
    command = [str(Path(sys.executable).with_name("reframe")), *words.split()]
    places = {"perflogdir": "logs", "report-file": "report.json", "prefix": ""}
    command += [f"--{option}={tmp_path / name}" for option, name in places.items()]
    ran(command, cwd=session)
    for name in ("logs", "report.json"):
        form = taken(tmp_path / f"{name}.sqlite", tmp_path / name)
        assert (form.added, form.series, form.unread) == (2, 2, 0)
    (found,) = surveys_of(tmp_path / "logs.sqlite", None, None)
    assert sorted(found.tests_of.values()) == [
        f"Stream %n=1 %unique_name=Stream_{number} @default+builtin" for number in (0, 1)
    ]


@pytest.mark.parametrize(
    ("named", "hashed", "series"),
    [("", "", 2), ("Stream_", ".repeat_no={}", 1), ("Stream_", ".nid=nid{}.part=daint:mc", 1)],
)
def test_repeats_and_nodes_are_told_from_variants_by_the_hash_of_all_parameters(
    tmp_path: Path, named: str, hashed: str, series: int
) -> None:
    lines = ["result|job_completion_time|system|partition|environ|name|unique_name|jobid"]
    lines[0] += "|short_name|job_nodelist|a_value|a_unit"
    for number in range(2):
        code = sha256(f"Stream{hashed.format(number)}".encode()).hexdigest()[:8]
        place = f"pass|2026-01-01T01:00:00|daint|mc|gnu|Stream|Stream_{number}|{number}"
        lines.append(f"{place}|{named and named + code}|nid{number}|1.0|s")
    (tmp_path / "Stream.log").write_text("\n".join(lines) + "\n")
    assert taken(tmp_path / "h.sqlite", tmp_path).series == series
