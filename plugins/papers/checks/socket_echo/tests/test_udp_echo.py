# SPDX-License-Identifier: Apache-2.0
"""The echo over UDP on loopback: answers, altered ones, and datagrams that a peer loses."""

from __future__ import annotations

import select
import socket
import struct
import subprocess
import threading
from contextlib import suppress
from pathlib import Path

import pytest

from checks.common import json_lines
from checks.common.tests.program_runs import built_alone
from plugins.papers.checks.socket_echo import CHECK
from plugins.papers.checks.socket_echo.tests.test_tcp_echo import (
    asking_end,
    heard,
    outcome,
    two_ends,
)


@pytest.fixture(scope="module")
def program(tmp_path_factory) -> str:
    return built_alone(tmp_path_factory.mktemp("udp"), "udp_echo")


@pytest.fixture(scope="module")
def patient(program) -> str:
    """The program as it is where no answer comes late."""
    library, script = f"{program}.so", Path(f"{program}.patient")
    source = str(Path(__file__).with_name("patient.c"))
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, source], check=True)
    script.write_text(f'#!/bin/sh\nexec env LD_PRELOAD={library} {program} "$@"\n')
    script.chmod(0o755)
    return str(script)


def lost(output: json_lines.Output) -> dict[int, float]:
    """The datagrams lost, by their length."""
    named = (metric for metric in output.metrics if metric.name == "datagrams_lost")
    return {(metric.at or {})["message_bytes"]: metric.value for metric in named}


def test_it_measures_every_size_and_loses_none_on_one_host(patient):
    with two_ends(patient, ["--sizes=1,15,65507", "--iterations=4", "--warmup=1"]) as (asking, end):
        status, output = heard(asking)
        assert outcome(end) == (0, "")
    assert (status, output.ended, output.errors) == (0, True, [])
    trips = [metric for metric in output.metrics if metric.name == "half_round_trip"]
    assert [len(metric.samples or []) for metric in trips] == [4, 4, 4]
    assert lost(output) == {1: 0, 15: 0, 65507: 0}


@pytest.mark.parametrize("size", [1, 5000])
def test_an_altered_byte_is_a_wrong_answer(patient, size):
    with two_ends(patient, [f"--sizes={size}", "--inject-fault"]) as (asking, _):
        status, output = heard(asking)
    assert (status, output.ended) == (2, False)
    assert output.wrong == [f"datagram: the reply to datagram 0 of {size} bytes does not answer it"]


def reflect(
    port: int, drop: dict[int, int], twice: set[int], short: bool, came: list[bytes]
) -> None:
    """An answering end that drops so many copies of a message, by its place among the different
    ones, and answers others twice; `came`: every datagram that it received.

    `short`: before each answer it sends one of another length.
    """
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as datagrams:
        datagrams.bind(("127.0.0.1", 0))
        with socket.create_connection(("127.0.0.1", port)) as control:
            control.sendall(struct.pack("!H", datagrams.getsockname()[1]))
            control.recv(2)
            while True:
                ready, _, _ = select.select([control, datagrams], [], [])
                if control in ready:
                    told = control.recv(16)
                    if len(told) < 16 or struct.unpack("qq", told)[0] == 0:
                        break
                    control.sendall(b"\0")
                if datagrams in ready:
                    message, sender = datagrams.recvfrom(65536)
                    came.append(message)
                    place = [*dict.fromkeys(came)].index(message)
                    answers = 2 if place in twice else 1
                    if short:
                        datagrams.sendto(b"of 7 by", sender)
                    for _ in range(answers if came.count(message) > drop.get(place, 0) else 0):
                        datagrams.sendto(bytes(255 - byte for byte in message), sender)
        datagrams.setblocking(False)
        with suppress(BlockingIOError):  # sent once more, and then the late answer came
            while True:
                came.append(datagrams.recv(65536))


def against(
    program: str, drop: dict[int, int], twice: set[int], short: bool = False
) -> tuple[int, json_lines.Output, int]:
    """What the asking end makes of such an end, and how many datagrams it sent once more."""
    asking, port = asking_end(program, ["--sizes=100", "--iterations=5", "--warmup=1"])
    came: list[bytes] = []
    end = threading.Thread(target=reflect, args=(port, drop, twice, short, came), daemon=True)
    end.start()
    status, output = heard(asking)
    end.join()
    return status, output, len(came) - len(set(came))


def test_lost_datagrams_are_counted_and_sent_again(program):
    status, output, again = against(program, drop={0: 1, 3: 2, 6: 1}, twice=set())
    assert (status, output.ended, lost(output)) == (0, True, {100: again})
    assert again >= 4  # an answer that is late counts as lost, too
    worst = next(metric for metric in output.metrics if metric.name == "half_round_trip_worst")
    assert worst.value > 0.09  # two losses in a row, 0.1 s each; half of that


def test_a_late_answer_of_another_length_is_no_loss(patient):
    status, output, _ = against(patient, drop={}, twice=set(), short=True)
    assert (status, output.ended, lost(output)) == (0, True, {100: 0})


def test_an_answer_that_nobody_waits_for_is_wrong(patient):
    _, output, _ = against(patient, drop={}, twice={3})
    assert any("does not answer it" in said for said in output.wrong)


def test_a_peer_that_answers_nothing_is_a_failure(program):
    status, output, _ = against(program, drop={0: 100}, twice=set())
    assert (status, output.wrong) == (2, [])
    assert "30 datagrams of 100 bytes in a row had no answer" in output.errors[0]


def test_more_than_a_datagram_holds_is_refused():
    given = {"transport": "udp", "sizes": [65508]}
    with pytest.raises(ValueError, match="allowed are at most 65507"):
        CHECK.parameters.model_validate(given)
