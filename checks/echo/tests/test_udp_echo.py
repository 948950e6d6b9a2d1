# SPDX-License-Identifier: Apache-2.0
"""The echo over UDP on loopback: answers, altered ones, and datagrams that a peer loses."""

from __future__ import annotations

import select
import socket
import struct
import threading

import pytest

from checks.common import json_lines
from checks.echo import CHECK
from checks.echo.tests.test_tcp_echo import asking_end, built, outcome, parse, two_ends


@pytest.fixture(scope="module")
def program(tmp_path_factory) -> str:
    return built(tmp_path_factory.mktemp("udp"), "udp_echo")


def lost(output: json_lines.Output) -> dict[int, float]:
    """The datagrams lost, by their length."""
    named = (metric for metric in output.metrics if metric.name == "datagrams_lost")
    return {(metric.at or {})["message_bytes"]: metric.value for metric in named}


def test_it_measures_every_size_and_loses_none_on_one_host(program):
    with two_ends(program, ["--sizes=1,15,65507", "--iterations=4", "--warmup=1"]) as (asking, end):
        status, text = outcome(asking)
        assert outcome(end) == (0, "")
    output = parse(text)
    assert (status, output.ended, output.errors) == (0, True, [])
    trips = [metric for metric in output.metrics if metric.name == "half_round_trip"]
    assert [len(metric.samples or []) for metric in trips] == [4, 4, 4]
    assert lost(output) == {1: 0, 15: 0, 65507: 0}


@pytest.mark.parametrize("size", [1, 5000])
def test_an_altered_byte_is_a_wrong_answer(program, size):
    with two_ends(program, [f"--sizes={size}", "--inject-fault"]) as (asking, _):
        status, text = outcome(asking)
    output = parse(text)
    assert (status, output.ended) == (2, False)
    assert output.wrong == [f"datagram: the reply to datagram 0 of {size} bytes does not answer it"]


def reflect(port: int, drop: set[int], twice: set[int], short: bool) -> None:
    """An answering end that drops some datagrams, by their place, and answers others twice.

    `short`: before each answer it sends one of another length.
    """
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as datagrams:
        datagrams.bind(("127.0.0.1", 0))
        with socket.create_connection(("127.0.0.1", port)) as control:
            control.sendall(struct.pack("!H", datagrams.getsockname()[1]))
            control.recv(2)
            place = 0
            while True:
                ready, _, _ = select.select([control, datagrams], [], [])
                if control in ready:
                    told = control.recv(16)
                    if len(told) < 16 or struct.unpack("qq", told)[0] == 0:
                        return
                    control.sendall(b"\0")
                if datagrams in ready:
                    message, sender = datagrams.recvfrom(65536)
                    answers = 0 if place in drop else 2 if place in twice else 1
                    if short:
                        datagrams.sendto(b"of 7 by", sender)
                    for _ in range(answers):
                        datagrams.sendto(bytes(255 - byte for byte in message), sender)
                    place += 1


def against(
    program: str, drop: set[int], twice: set[int], short: bool = False
) -> tuple[int, json_lines.Output]:
    """What the asking end makes of such an end; places count from the verified datagram on."""
    asking, port = asking_end(program, ["--sizes=100", "--iterations=5", "--warmup=1"])
    end = threading.Thread(target=reflect, args=(port, drop, twice, short), daemon=True)
    end.start()
    status, text = outcome(asking)
    return status, parse(text)


def test_lost_datagrams_are_counted_and_sent_again(program):
    status, output = against(program, drop={0, 4, 5, 9}, twice=set())
    assert (status, output.ended, lost(output)) == (0, True, {100: 4})
    worst = next(metric for metric in output.metrics if metric.name == "half_round_trip_worst")
    assert worst.value > 0.09  # two losses in a row, 0.1 s each; half of that


def test_a_late_answer_of_another_length_is_no_loss(program):
    status, output = against(program, drop=set(), twice=set(), short=True)
    assert (status, output.ended) == (0, True)
    assert lost(output)[100] < 5  # of 12 datagrams; none on a machine that is quiet


def test_an_answer_that_nobody_waits_for_is_wrong(program):
    _, output = against(program, drop=set(), twice={3})
    assert any("does not answer it" in said for said in output.wrong)


def test_a_peer_that_answers_nothing_is_a_failure(program):
    status, output = against(program, drop=set(range(100)), twice=set())
    assert (status, output.wrong) == (2, [])
    assert "30 datagrams of 100 bytes in a row had no answer" in output.errors[0]


def test_more_than_a_datagram_holds_is_refused():
    given = {"transport": "udp", "sizes": [65508]}
    with pytest.raises(ValueError, match="allowed are at most 65507"):
        CHECK.parameters.model_validate(given)
