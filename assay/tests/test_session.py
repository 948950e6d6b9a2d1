# SPDX-License-Identifier: Apache-2.0
"""What comes out of a session's pipe: messages, and what a session that breaks leaves there."""

import json
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.run import session as sessions
from assay.run.session import Session, WorkFolder
from assay.sites.loading import SlurmSite
from assay.sites.site_file import read_description
from assay.tests.test_work_folder import made_run
from checks.common.session.outcome import Launch
from checks.common.slurm.job import ALLOCATION, Allocation
from records.errors import InfrastructureError

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
def messages_of(tmp_path):
    """What a session gives whose ReFrame is this program."""
    described = read_description("virtual").model_copy(update={"work_dir": str(tmp_path / "work")})

    def messages(program, allocation=None):
        site = Talking(described)
        site.program = program
        work = WorkFolder(site, made_run(tmp_path).path)
        work.fresh_session()
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
    forked = f"if os.fork() == 0:\n    while True: {child}\n"
    heard = messages_of(forked + saying(json.dumps(GOOD)))
    assert [message.status for message in heard if message.status] == ["failed"]
