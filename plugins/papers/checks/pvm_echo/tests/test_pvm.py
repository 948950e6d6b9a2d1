# SPDX-License-Identifier: Apache-2.0
"""PVM's programs on a daemon of this host, and where NetPIPE runs."""

import json
import os
import signal
import subprocess
import tempfile
import time
from pathlib import Path

import pytest

from checks.common import json_lines
from checks.common.evidence import Claim, contradictions
from checks.common.registry import CHECKS
from checks.common.sources import LIBRARY
from checks.common.tests.program_runs import ran, require
from plugins.papers.checks.netpipe import output as netpipe

NPPVM = Path("/usr/bin/NPpvm")
#: PVM refuses root.
ORDINARY = {"user": "nobody", "group": "nogroup", "extra_groups": []} if os.geteuid() == 0 else {}


def parse(text):
    return json_lines.parse(text, CHECKS["pvm_echo"].metrics_by_name)


@pytest.fixture(scope="module")
def program():
    require("make", "cc", "pvmd")
    if not Path("/usr/include/pvm3.h").exists():
        pytest.skip("needs PVM's headers, which Debian 13 lacks: make packages, as root")
    with tempfile.TemporaryDirectory(prefix="assay-pvm-", dir="/tmp") as folder:
        ran(["make", "-C", str(LIBRARY), "pvm", "CC=cc", f"OUT={folder}"])
        Path(folder).chmod(0o755)
        yield f"{folder}/pvm_echo"


@pytest.fixture(scope="module")
def daemon(program):
    """A virtual machine of this host alone; gives the variables that tasks find it by."""
    with tempfile.TemporaryDirectory(prefix="assay-pvm-", dir="/tmp") as folder:
        Path(folder).chmod(0o777)
        found = {**os.environ, "PVM_TMP": folder, "PVM_VMID": "proof", "PVM_ROOT": "/usr/lib/pvm3"}
        how = {"env": found, "cwd": folder, "stdin": -3, "stdout": -3, "stderr": -3, **ORDINARY}
        process, files = subprocess.Popen(["pvmd", "-nlocalhost"], **how), Path(folder)
        # until the file with its address is written
        while process.poll() is None and not any(
            file.stat().st_size for file in files.glob("pvmd.*")
        ):
            time.sleep(0.01)
        yield found
        process.terminate()
        process.wait()


def pair_of(program):
    return program.replace("pvm_echo", "pvm_pair")


def launched(program, variables, *options):
    """Status, output and errors of a program."""
    how = {"env": variables, "timeout": 600, "cwd": "/", **ORDINARY}
    answer = ran([program, *options], check=False, **how)
    return answer.returncode, answer.stdout, answer.stderr


def refusal(program, variables, *options):
    """First line of a program that must fail."""
    status, text, _ = launched(program, variables, *options)
    assert status != 0
    return parse(text).errors[0]


@pytest.mark.parametrize("route", ["direct", "daemon"])
@pytest.mark.parametrize("element", ["byte", "int", "double"])
def test_every_protocol_answers_rightly_on_both_routes(program, daemon, route, element):
    check = CHECKS["pvm_echo"]
    # The best of so many round trips is not a time slice of another program.
    few = {"sizes": [0, 1, 7, 300, 5001, 70000], "iterations": 30, "warmup": 1}
    asked = {"route": route, "element": element, "placement": "within-node"}
    params = check.parameters.model_validate(few | asked)
    command = check.command(params, Path(program).parent)
    status, text, _ = launched(command[0], daemon, *command[1:])
    output = parse(text)
    assert (status, output.ended, output.errors) == (0, True, [])
    assert check.read(params, output).wrong is None


def test_the_evidence_is_judged_like_that_of_an_mpi_program(program, daemon):
    options = ["--within-node", "--sizes=8", "--iterations=1"]
    evidence = parse(launched(program, daemon, *options)[1]).evidence
    here = os.uname().nodename
    assert contradictions(evidence, Claim([here], 2, 2, r"^PVM 3\.4")) == []
    assert "calls itself 'PVM 3" in contradictions(evidence, Claim([here], 2, 2, "^MPICH"))[0]
    assert "a node" in contradictions(evidence, Claim([here, "n2"], 2, 1, "^PVM", False))[0]


@pytest.mark.parametrize("construct", ["psend", "InPlace", "Raw", "Default"])
def test_a_spoiled_byte_is_caught(program, daemon, construct):
    options = ["--within-node", "--inject-fault", f"--constructs={construct}", "--sizes=4096"]
    status, text, _ = launched(program, daemon, *options)
    (line,) = [json.loads(line) for line in text.splitlines() if '"error"' in line]
    assert line["message"] == f"byte 2048 of 4096 is not what was sent ({construct})"
    assert line["wrong"] is True
    assert status != 0


def test_a_partner_that_dies_ends_the_run(program, daemon):
    options = ["--within-node", "--sizes=1000", "--iterations=1000000"]
    asking = subprocess.Popen(
        [program, *options], env=daemon, stdout=subprocess.PIPE, cwd="/", **ORDINARY
    )
    partners = set()
    while not partners and asking.poll() is None:
        found = subprocess.run(["pgrep", "-f", program], capture_output=True, check=False)
        partners = {int(pid) for pid in found.stdout.split()} - {asking.pid}
        time.sleep(0.02)
    os.kill(partners.pop(), signal.SIGKILL)
    text, _ = asking.communicate(timeout=600)
    assert asking.returncode == 2
    assert parse(text.decode()).errors == ["partner: the partner task ended early"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--sizes=3k"], "found '3k'"),
        (["--constructs=xdr"], "psend InPlace Raw Default"),
        (["--element=int,byte"], "allowed is one"),
        (["--iterations=0"], "an integer from 1"),
        ([], "found 1 hosts in the virtual machine"),  # has no second node
    ],
)
def test_what_cannot_be_asked_is_refused(program, daemon, options, message):
    assert message in refusal(program, daemon, *options)


def test_without_a_daemon_the_program_says_so(program, daemon):
    with tempfile.TemporaryDirectory(prefix="assay-pvm-", dir="/tmp") as folder:
        Path(folder).chmod(0o777)
        assert refusal(program, {**daemon, "PVM_TMP": folder}, "--sizes=8")


@pytest.mark.skipif(
    not NPPVM.exists(),
    reason="needs NetPIPE for PVM, which Debian 13 lacks: make packages, as root",
)
def test_netpipe_finds_its_other_end_and_leaves_nothing(program, daemon):
    options = ["-l", "1", "-u", "4096", "-n", "20", "-p", "0", "-o", "/dev/null"]
    words = ["--within-node", str(NPPVM), *options]
    status, text, said = launched(pair_of(program), daemon, *words)
    output = parse(text)
    assert (status, output.ended, output.errors) == (0, True, []), said
    assert [facts.rank for facts in output.evidence.ranks] == [0, 1]
    points = netpipe.parse(said, netpipe.schedule(1, 4096, 0), 20)
    assert min(point.half_round_trip_s for point in points) > 0


def test_a_pair_of_no_program_is_refused(program, daemon):
    status, text, _ = launched(pair_of(program), daemon, "--within-node")
    assert status == 2
    assert "found 0 words, allowed are PROGRAM" in parse(text).errors[0]


def test_netpipe_runs_where_it_is_whatever_the_library():
    features = {kind: {kind, "program:netpipe"} for kind in ("mpi", "pvm")} | {"bare": {"pvm"}}
    asked = CHECKS["netpipe"]
    library = asked.features_of(asked.parameters.model_validate({}))
    tcp = asked.features_of(asked.parameters.model_validate({"transport": "tcp"}))
    assert [name for name, offered in features.items() if library <= offered] == ["mpi", "pvm"]
    assert not any(tcp <= offered for offered in features.values())
