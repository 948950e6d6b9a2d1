# SPDX-License-Identifier: Apache-2.0
"""The echoes over TCP and UDP: two processes on loopback, their faults, datagrams that a peer
loses; their start by ranks of each library."""

import json
import re
import select
import socket
import struct
import subprocess
import threading
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from checks.common import json_lines
from checks.common.tests.judged import Launch, evidence_of
from checks.common.tests.program_runs import LIBRARIES, built_alone, built_programs, ran, run_each
from plugins.papers.checks.socket_echo import CHECK

FEW = ["--sizes=1,15,1024,300000", "--iterations=5", "--warmup=1"]
ENDLESS = ["--sizes=1000", "--iterations=1000000"]


def parse(text):
    return json_lines.parse(text, CHECK.metrics_by_name)


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    return built_alone(tmp_path_factory.mktemp("tcp"), "tcp_echo")


def started(*words, **how):
    return subprocess.Popen(words, stdout=subprocess.PIPE, text=True, **how)


def asking_end(program, options):
    """The asking end, as soon as it listens, and its port."""
    with socket.socket() as kept:  # bound, so that no other program gets it before the end does
        kept.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        kept.bind(("127.0.0.1", 0))
        port = kept.getsockname()[1]
        asking = started(program, f"--port={port}", *options)
        with Path("/proc/net/tcp").open() as table:
            while f":{port:04X} 00000000:0000 0A" not in table.read() and asking.poll() is None:
                table.seek(0)
    return asking, port


@contextmanager
def two_ends(program, options):
    """The asking end and the other one, joined as soon as the first listens."""
    asking, port = asking_end(program, options)
    other = started(program, f"--port={port}", *options, "--host=localhost")
    try:
        yield [asking, other]
    finally:
        for end in (asking, other):
            end.kill()
            end.communicate()


def outcome(end):
    text, _ = end.communicate(timeout=600)
    return end.returncode, text


def heard(end):
    """Status and output of an end."""
    status, text = outcome(end)
    return status, parse(text)


def test_the_order_of_sizes_is_shuffled_by_the_seed(program):
    orders = set()
    for seed in (1, 2, 3):
        with two_ends(program, ["--sizes=1,2,3,4,5,6", "--iterations=1", f"--seed={seed}"]) as ends:
            metrics = heard(ends[0])[1].metrics
        orders.add(tuple(m.at["message_bytes"] for m in metrics if m.name == "half_round_trip"))
    assert len(orders) > 1
    assert {tuple(sorted(order)) for order in orders} == {(1, 2, 3, 4, 5, 6)}


@pytest.mark.parametrize(
    ("end", "size", "reply"),
    [
        *(("program", size, "round_trip: the reply to message 1") for size in (1, 20, 100000)),
        *(("patient", size, "datagram: the reply to datagram 0") for size in (1, 5000)),
    ],
)
def test_an_altered_byte_is_a_wrong_answer(request, end, size, reply):
    given = [f"--sizes={size}", "--inject-fault"]
    with two_ends(request.getfixturevalue(end), given) as (asking, other):
        status, output = heard(asking)
        assert end == "patient" or outcome(other)[0] == 2
    assert (status, output.ended) == (2, False)
    assert output.wrong == [f"{reply} of {size} bytes does not answer it"]


@pytest.mark.parametrize("victim", [0, 1])
def test_an_end_whose_peer_is_killed_fails_and_does_not_hang(program, victim):
    with two_ends(program, ENDLESS) as ends:
        while '"program"' not in ends[0].stdout.readline():  # both ends are joined then
            assert ends[0].poll() is None
        ends[victim].kill()
        status, output = heard(ends[1 - victim])
    assert (status, output.ended, output.wrong) == (2, False, [])
    (error,) = output.errors
    assert "end" in error


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--port=5", "--sizes=0,1"], "allowed are sizes above 0"),
        (["--sizes=1"], "option --port: found none"),
        pytest.param(  # which it tries again for 20 s
            ["--port=1", "--host=localhost", "--sizes=1"],
            "host localhost, port 1: Connection refused",
            marks=pytest.mark.full,
        ),
        (["--port=1", "--host=no.such.host.invalid", "--sizes=1"], "host no.such.host.invalid"),
    ],
)
def test_what_cannot_be_measured_is_refused(program, options, said):
    run = ran([program, *options], check=False)
    assert run.returncode == 2
    assert said in json.loads(run.stdout)["message"]


@pytest.mark.full
@pytest.mark.parametrize("library", LIBRARIES)
def test_ranks_of_each_library_start_it_on_their_hosts(library):
    out = built_programs(library, ["tcp_pair", "tcp_echo"])
    here = out / "here"  # this machine's name may have no address
    named = '"${@/#--host=${HOSTNAME%%.*}*/--host=localhost}"'
    here.write_text(f"#!/bin/bash\nexec {out}/tcp_echo {named}\n")
    here.chmod(0o755)
    own = "@listening --port=@port @other --host=@host --port=@port"
    ends = f"{here} {' '.join(FEW)} %s{own}"
    asked = [ends % "", ends % "--inject-fault ", f"{out}/nothing @listening @other"]
    runs = run_each(library, out, [f"2 tcp_pair {one}" for one in asked])
    good, altered, nothing = runs.values()
    output = good.output
    assert (good.status, output.ended, output.errors) == (0, True, []), good.text
    assert sum(metric.name == "half_round_trip" for metric in output.metrics) == 4
    assert len(output.evidence.ranks) == 2
    assert altered.status != 0 and nothing.status != 0
    assert any("does not answer it" in said for said in altered.output.wrong)
    assert any("nothing ended" in said for said in nothing.output.errors)


#: What the ranks that start it print after it.
STARTED = """\
{"assay":"note","key":"carried_by","value":"sockets of the hosts of ranks 0 and 1"}
{"assay":"end","program":"tcp_pair","ok":true}
"""


def reading(program, placement):
    """What the check makes of an echo on loopback, asked for on two nodes or on one."""
    asked = {"transport": "tcp", "sizes": [1, 15, 1024, 300000], "iterations": 5, "warmup": 1}
    params = CHECK.parameters.model_validate(asked | {"placement": placement})
    with two_ends(program, FEW) as (asking, other):
        output = parse(f"{outcome(asking)[1]}{STARTED}")
        assert outcome(other) == (0, "")
    hosts = ["n1", "n1"] if placement == "within-node" else ["n1", "n2"]
    output.evidence = evidence_of(*hosts)
    return CHECK.read(params, output)


def test_all_values_are_right_and_a_connection_within_a_node_is_none_between_nodes(program):
    assert reading(program, "within-node").wrong is None
    assert "not to another node" in reading(program, "between-nodes").wrong


def test_an_echo_from_the_login_node_joins_two_hosts():
    launch = Launch("socket_echo", "login.mpich")
    assert launch.outcome(launch.text).status == "ok"
    for own in ("10.77.0.1", "127.0.0.1"):
        addresses = r'("key":"(?:peer|own)_address","value":")[^"]*'
        said = launch.outcome(re.sub(addresses, rf"\g<1>{own}", launch.text))
        assert said.status == "wrong"
        assert f"came from {own}, the node itself" in str(said.reason)


def test_an_echo_over_sockets_has_no_empty_message_and_two_ends():
    asked = CHECK.parameters(sizes=[8, 16])
    assert CHECK.message_bytes(asked) == [8, 16]
    assert asked.complete()["transport"] == "tcp"
    refused = {"placement": "self", "distance": 3, "mpi_profile": True}
    given = [({name: value}, name) for name, value in refused.items()]
    given.append(({"transport": "udp", "sizes": [65508]}, "allowed are at most 65507"))
    for params, said in given:
        with pytest.raises(ValueError, match=said):
            CHECK.parameters.model_validate(params)


def test_the_end_on_the_login_node_waits_for_the_other_or_the_end_of_the_launch(program, tmp_path):
    script = str(Path(CHECK.folder, "login-end.sh"))
    waiting = started(script, program, *FEW, cwd=tmp_path)
    asking, port = asking_end(program, FEW)
    (tmp_path / "listening").write_text(f"localhost {port}\n")
    assert outcome(asking)[0] == 0
    assert outcome(waiting) == (0, "")
    (tmp_path / "listening").unlink()
    idle = started(script, program, *FEW, cwd=tmp_path)
    (tmp_path / "launch.ended").touch()
    assert outcome(idle) == (0, "")


@pytest.fixture(scope="module")
def udp_program(tmp_path_factory):
    return built_alone(tmp_path_factory.mktemp("udp"), "udp_echo")


@pytest.fixture(scope="module")
def patient(udp_program):
    """The udp_program as it is where no answer comes late."""
    library, script = f"{udp_program}.so", Path(f"{udp_program}.patient")
    ran(["cc", "-shared", "-fPIC", "-o", library, Path(__file__).with_name("patient.c")])
    script.write_text(f'#!/bin/sh\nexec env LD_PRELOAD={library} {udp_program} "$@"\n')
    script.chmod(0o755)
    return script


def lost(output):
    """The datagrams lost, by their length."""
    named = (metric for metric in output.metrics if metric.name == "datagrams_lost")
    return {metric.at["message_bytes"]: metric.value for metric in named}


def test_udp_measures_every_size_and_loses_none_on_one_host(patient):
    with two_ends(patient, ["--sizes=1,15,65507", "--iterations=4", "--warmup=1"]) as (asking, end):
        status, output = heard(asking)
        assert outcome(end) == (0, "")
    assert (status, output.ended, output.errors) == (0, True, [])
    trips = [metric for metric in output.metrics if metric.name == "half_round_trip"]
    assert [len(metric.samples) for metric in trips] == [4, 4, 4]
    assert lost(output) == {1: 0, 15: 0, 65507: 0}


def reflect(port, drop, twice, short, came):
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


def against(udp_program, drop=(), twice=(), short=False):
    """What the asking end makes of such an end, and how many datagrams it sent once more."""
    asking, port = asking_end(udp_program, ["--sizes=100", "--iterations=5", "--warmup=1"])
    came = []
    end = threading.Thread(target=reflect, args=(port, dict(drop), twice, short, came), daemon=True)
    end.start()
    status, output = heard(asking)
    end.join()
    return status, output, len(came) - len(set(came))


def test_lost_datagrams_are_counted_and_sent_again(udp_program):
    status, output, again = against(udp_program, drop={0: 1, 3: 2, 6: 1})
    assert (status, output.ended, lost(output)) == (0, True, {100: again})
    assert again >= 4  # an answer that is late counts as lost, too
    worst = next(metric for metric in output.metrics if metric.name == "half_round_trip_worst")
    assert worst.value > 0.09  # two losses in a row, 0.1 s each; half of that


def test_a_late_answer_of_another_length_is_no_loss(patient):
    status, output, _ = against(patient, short=True)
    assert (status, output.ended, lost(output)) == (0, True, {100: 0})


def test_an_answer_that_nobody_waits_for_is_wrong(patient):
    _, output, _ = against(patient, twice={3})
    assert any("does not answer it" in said for said in output.wrong)


def test_a_peer_that_answers_nothing_is_a_failure(udp_program):
    status, output, _ = against(udp_program, drop={0: 100})
    assert (status, output.wrong) == (2, [])
    assert "30 datagrams of 100 bytes in a row had no answer" in output.errors[0]
