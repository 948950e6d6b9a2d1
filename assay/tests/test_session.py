# SPDX-License-Identifier: Apache-2.0
"""A session: its work folder, private, made anew and in no other hands; what comes out of its pipe,
also of one that breaks; raw output of its launches, broken ones too: kept whole, cut, or refused
with the reason."""

import hashlib
import json
import os
import resource
import shutil
import stat
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.run import session as sessions
from assay.run.launches import RawArchives
from assay.run.session import Session, WorkFolder
from assay.sites.loading import SlurmSite
from assay.tests.campaign_texts import virtual_site
from checks.common.session.outcome import Launch, Outcome
from checks.common.slurm.job import ALLOCATION, Allocation
from records.errors import InfrastructureError
from records.flags import RAW_CUT, RAW_LIMIT_BYTES
from records.input_files import RefusedFileError
from records.run.archive import RawFiles
from records.run.run_directory import RunDirectory


@pytest.fixture
def shared(tmp_path):
    """A folder that everybody may write, and in which each renames only what is his own."""
    (tmp_path / "scratch").mkdir()
    (tmp_path / "scratch").chmod(0o1777)
    return tmp_path / "scratch"


@pytest.fixture
def run(tmp_path):
    made = RunDirectory(tmp_path / "20261122T000000Z-aaaa")
    made.raw.mkdir(parents=True)
    return made


@pytest.fixture
def work(run, shared):
    made = work_folder(run, shared)
    made.fresh_session()
    return made


def work_folder(run, shared):
    return WorkFolder(virtual_site(work_dir=str(shared)), run.path)


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_all_of_it_is_private_and_every_session_begins_empty(work, shared):
    (work.session / "file").write_text("text")
    work.write_control("site.json", "{}")
    for path in (work.path, work.control, work.programs, work.session):
        assert stat.S_IMODE(path.stat().st_mode) == 0o700
    work.fresh_session()
    assert names(work.session) == []
    assert (work.control / "site.json").read_text() == "{}"
    for path in (work.control / "site.json", work.session / "../control/site.json", "out", ""):
        with pytest.raises(RefusedFileError):
            work.open(str(path))
    work.remove()
    assert names(shared) == []


def test_a_copied_run_directory_has_a_work_folder_of_its_own(run, tmp_path, shared):
    copy = tmp_path / "elsewhere" / run.path.name
    shutil.copytree(run.path, copy)
    first, second = work_folder(run, shared), work_folder(RunDirectory(copy), shared)
    assert first.name != second.name
    assert first.path != second.path
    moved = run.path.rename(tmp_path / "elsewhere" / "moved")
    assert work_folder(RunDirectory(moved), shared).name.endswith(first.name.split("-")[-1])


def test_what_a_link_of_a_job_leads_to_is_not_removed(tmp_path, work):
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / "file").write_text("text")
    (work.session / "link").symlink_to(precious)
    work.fresh_session()
    assert names(work.session) == []
    assert names(precious) == ["file"]


def test_a_leftover_that_is_nested_beyond_all_limits_is_removed(work):
    before = Path.cwd()
    os.chdir(work.session)
    for _ in range(3000):
        Path("d").mkdir()
        os.chdir("d")
    os.chdir(before)
    work.fresh_session()
    assert names(work.path) == ["control", "session"]


def test_a_work_folder_that_vanished_says_so(work):
    shutil.rmtree(work.path)
    for act in (work.fresh_session, lambda: work.write_control("site.json", "{}")):
        with pytest.raises(InfrastructureError, match="the work folder cannot be used"):
            act()


LAUNCHES = [Launch(i, f"startup-{i}", "startup", "lam", {}, 2, 1, 2, 1, 1, 9.0) for i in (0, 1)]
GOOD = {"status": "failed", "reason": "no", "launch_index": 0}
METRIC = {"name": "init", "unit": "s", "better": "lower", "value": 0.25}
WHOLE = json.dumps({**GOOD, "status": "ok", "metrics": [METRIC], "nodes": ["n1"]}).encode()
BUSY = '{"progress": "building"}'
HEAD = "import os, sys, time\npipe = int(os.environ['ASSAY_OUTCOME_FD'])\n"


class Talking(SlurmSite):
    """A site whose sessions run a program of the test in ReFrame's place."""

    program = ""

    def command(self, argv, variables, folder=None):
        return super().command([sys.executable, "-c", HEAD + self.program], variables, folder)


@pytest.fixture
def messages_of(work, shared):
    """What a session gives whose ReFrame is this program."""

    def messages(program, allocation=None):
        site = Talking(virtual_site(work_dir=str(shared)).description)
        site.program = program
        with Session(site, work, LAUNCHES, allocation) as session:
            return [message for message in session.messages(100.0) if message is not None]

    return messages


def saying(*lines):
    text = "".join(f"{line}\n" for line in lines)
    return f"os.write(pipe, {text.encode()!r})\n"


def test_outcomes_and_progress_are_heard(messages_of):
    lines = [json.dumps({"progress": "building"}), json.dumps(GOOD)]
    progress, outcome = messages_of(saying(*lines))
    assert progress.progress == "building"
    assert (outcome.status, outcome.reason, outcome.launch_index) == ("failed", "no", 0)


def test_an_allocation_of_ten_thousand_nodes_is_told(messages_of):
    """Linux takes no variable of more than 128 KiB."""
    nodes = [f"some-long-name-{number:05}" for number in range(10_000)]
    allocation = Allocation(job_id="12", nodes=nodes, ends_at=1e10, leaves={"s1": nodes})
    program = f"told = open(os.environ[{ALLOCATION!r}]).read()\n"
    program += """os.write(pipe, b'{"progress": "%d"}\\n' % len(told))"""
    (message,) = messages_of(program, allocation)
    assert message.progress == str(len(allocation.model_dump_json()))


@pytest.mark.parametrize(
    ("printed", "said"),
    [
        ("ERROR: no such site\nLog file(s) saved in '/tmp/rfm-x.log'\n", "ERROR: no such site"),
        ("start\n./x.py: error: bad\nmore\nLog file(s) saved in 'x'\n", "./x.py: error: bad"),
        ("one\n two \n\n", "two"),
        ("Log file(s) saved in 'x'\n", "Log file(s) saved in 'x'"),
        ("", ""),
    ],
)
def test_the_error_is_told_and_not_where_the_log_is(tmp_path, printed, said):
    session = Session.__new__(Session)
    session._output = tmp_path / "reframe.out"
    session._output.write_text(printed)
    assert session.last_line() == said


UNFIT = {
    "no JSON": "nothing",
    "no launch": json.dumps({**GOOD, "launch_index": 7}),
    "unknown status": json.dumps({**GOOD, "status": "good"}),
    "no number": '{"launch_index":0,"metrics":[{"value":NaN}]}',
    "surrogate": '{"progress": "\\ud800"}',
    "deep": "[" * 100_000,
    "a long status": json.dumps({"status": "\u202e" * 9000}, ensure_ascii=False),
}


@settings(max_examples=300)
@given(st.integers(0, len(WHOLE)), st.integers(0, len(WHOLE)), st.binary(max_size=9))
def test_a_damaged_message_ends_the_session(begin, end, noise):
    session = Session.__new__(Session)
    session._open = {0}
    try:
        message = session._message(WHOLE[:begin] + noise + WHOLE[end:])
    except InfrastructureError as error:
        assert str(error).isprintable()
    else:
        assert message.launch_index <= 0


@pytest.mark.parametrize("line", UNFIT.values(), ids=UNFIT)
def test_what_is_no_message_ends_the_session_in_one_sentence(messages_of, line):
    with pytest.raises(InfrastructureError, match="a message of the ReFrame session") as caught:
        messages_of(saying(line))
    assert "\n" not in str(caught.value)
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 900


def test_a_second_outcome_of_a_launch_is_refused(messages_of):
    with pytest.raises(InfrastructureError, match="a launch that is not to come"):
        messages_of(saying(json.dumps(GOOD), json.dumps(GOOD)))


def test_a_line_without_end_is_refused(messages_of, monkeypatch):
    monkeypatch.setattr(sessions, "GREATEST_MESSAGE_BYTES", 1 << 20)
    with pytest.raises(InfrastructureError, match="is too long"):
        messages_of("while True:\n    os.write(pipe, bytes(65536))\n")


def test_a_line_in_pieces_is_one_message(messages_of):
    begin, end = json.dumps({**GOOD, "reason": "BREAK"}).encode().split(b"BREAK")
    text = f"text = {begin!r} + b'x' * 3_000_000 + {end!r} + b'\\n'\n"
    (outcome,) = messages_of(text + "while text:\n    text = text[os.write(pipe, text):]\n")
    assert len(outcome.reason) == 3_000_000


@pytest.mark.parametrize("child", ["time.sleep(1000)", f"{saying(BUSY).strip()}; time.sleep(0.1)"])
def test_what_holds_the_pipe_open_after_the_end_is_not_waited_for(messages_of, monkeypatch, child):
    monkeypatch.setattr(sessions, "scaled", lambda limit_s: 1.0)
    heard = messages_of(f"if os.fork() == 0:\n    while True: {child}\n" + saying(json.dumps(GOOD)))
    assert [message.status for message in heard if message.status] == ["failed"]


def kept(run, work, *outcomes, stem="case"):
    """The artifacts of each outcome, one a block."""
    with RawArchives(run, SimpleNamespace(entries=[]), print) as raw:
        return [
            raw.keep(work.open, stem, block, outcome) for block, outcome in enumerate(outcomes, 1)
        ]


@pytest.mark.parametrize(
    ("breaks", "told"),
    [
        (lambda path: path.symlink_to("/etc/passwd"), "stderr is a link"),
        (os.mkfifo, "stderr is a FIFO"),
        (os.mkdir, "stderr is a folder"),
        (lambda _: None, "stderr is missing"),
    ],
)
def test_what_is_no_file_is_neither_followed_nor_waited_for(run, work, breaks, told):
    stage = work.session / "stage"
    stage.mkdir()
    breaks(stage / "err")
    (work.session / "out").write_text("text")
    files = {"stdout": str(work.session / "out"), "stderr": str(stage / "err")}
    outcomes = [Outcome("ok", files=files), Outcome("failed", "no answer", files=files)]
    for artifacts in kept(run, work, *outcomes):
        assert artifacts.keys() == {"stdout", "stdout_sha256"}
    ok, failed = outcomes
    assert (ok.status, ok.reason) == ("wrong", f"raw output refused: {told}")
    assert failed.status == "failed"
    assert failed.reason.startswith("no answer")


def test_immense_output_is_cut_in_the_middle_at_little_cost(run, work):
    source = work.session / "rfm_job.err"
    with source.open("wb") as file:
        file.write(b"head")
        file.seek(5 * 2**30 - 4)
        file.write(b"tail")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    outcome = Outcome("ok", files={"stderr": str(source)})
    (artifacts,) = kept(run, work, outcome)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 64 * 2**10  # KiB
    with RawFiles(run.path) as files:
        text = files.read(artifacts["stderr"])
    left_out = 5 * 2**30 - RAW_LIMIT_BYTES
    assert text.startswith(b"head")
    assert text.endswith(b"tail")
    assert b"\n[assay: %d bytes are left out here]\n" % left_out in text
    assert len(text) < RAW_LIMIT_BYTES + 100
    assert (outcome.status, outcome.flags) == ("ok", [RAW_CUT])
    assert stat.S_IMODE((run.raw / "b1.zip").stat().st_mode) == 0o600


def test_the_values_of_a_scan_are_kept_whole_and_a_link_is_refused(run, work):
    (work.session / "points.parquet").write_bytes(b"x" * 3_000_000)
    (work.session / "link.parquet").symlink_to(work.session / "points.parquet")
    paths = (work.session / f"{name}.parquet" for name in ("points", "link", "none"))
    outcomes = [Outcome("ok", files={"points": str(path)}) for path in paths]
    artifacts, *others = kept(run, work, *outcomes, stem="scan-1.b1.a1")
    file = run.path / artifacts["points"]
    assert file.read_bytes() == b"x" * 3_000_000
    assert artifacts["points_sha256"] == hashlib.sha256(file.read_bytes()).hexdigest()
    assert [outcome.status for outcome in outcomes] == ["ok", "wrong", "wrong"]
    assert "points is missing" in outcomes[2].reason
    assert not any(others)
