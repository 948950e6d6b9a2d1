# SPDX-License-Identifier: Apache-2.0
"""The way of a new user on a foreign cluster with two kinds of nodes, and what its jobs ask for.

Run by `make test-site` on the cluster of twain.yaml, whose names, limits, modules and switches are
unlike those of test_site.py; Slurm manages memory and GPUs there.
"""

import os
import pty
import re
import select
import signal
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any, Self

import pytest
import yaml

from setup.foreign_cluster.tests import site_setup
from setup.foreign_cluster.tests.walk import NEEDS_SITE, PATIENCE_S, Walk, Wheels, walk_on

pytestmark = NEEDS_SITE
NAME, USER = "twain", "kim"
ASSAY = ".venv/bin/assay"
#: Into which partitions the cluster is cut, and which partition of the written site.yaml leads to
#: which kind of nodes.
LAYOUTS = {"one": {"work-thin": "t", "work-fat": "f"}, "two": {"slim": "t", "thick": "f"}}
ASKED = """\
schema: 1
name: asked
question: Does Slurm grant what launches ask for beside nodes?
environments: [mpich]
blocks: 1
seed: 1
cases:
- check: startup
  fixed: {{ranks: 2, ranks_per_node: 1}}
  resources: {{{resources}}}
limits: {{launch_s: 60, retries: 1}}
"""


@pytest.fixture(scope="module")
def walk(wheels: Wheels) -> Iterator[Walk]:
    """The cluster, with a checkout of its user."""
    with walk_on(NAME, wheels) as found:
        found.set_up(USER)
        yield found


def site_of(walk: Walk, name: str) -> dict[str, Any]:
    """The site.yaml that `site init` wrote."""
    text = (walk.home(USER) / "site-config" / name / "site.yaml").read_text()
    print(text)
    return dict(yaml.safe_load(text))


@pytest.fixture(params=LAYOUTS)
def layout(walk: Walk, request: pytest.FixtureRequest) -> Iterator[str]:
    """Both kinds in one partition, or a partition for each."""
    if request.param == "two":
        walk.admin("scontrol", "create", "PartitionName=slim", "Nodes=t[01-02]", "MaxTime=40")
        walk.admin("scontrol", "create", "PartitionName=thick", "Nodes=f[1-2]", "MaxTime=30")
        walk.admin("scontrol", "update", "PartitionName=work", "State=INACTIVE")
    yield request.param
    if request.param == "two":
        walk.admin("scontrol", "update", "PartitionName=work", "State=UP")
        walk.admin("scontrol", "delete", "PartitionName=slim")
        walk.admin("scontrol", "delete", "PartitionName=thick")


def test_each_kind_of_nodes_from_clone_to_report(walk, layout):
    kinds = LAYOUTS[layout]
    begun = time.monotonic()
    options = f"--overwrite {'--environments mpich' if layout == 'two' else ''}"
    done = walk.user(USER, f"{ASSAY} site init {layout} {options}")
    assert done.returncode == 0, done.stderr
    assert set(site_of(walk, layout)["partitions"]) == set(kinds)
    for key, first_letter in kinds.items():
        words = f"{ASSAY} run quick --site {layout}:{key} --checks startup --blocks 1"
        done = walk.user(USER, words)
        assert done.returncode == 0, done.stderr
        records = walk.records(USER, "quick")
        assert {record["status"] for record in records} <= {"ok", "skipped"}
        nodes = {node for record in records for node in record["nodes"]}
        assert {node[0] for node in nodes} == {first_letter}
    assert "index.html" in walk.user(USER, f"{ASSAY} report").stdout
    took = time.monotonic() - begun
    print(f"{layout}: init, two runs and a report took {took:.0f} s")
    print(f"since the cluster was there: {time.monotonic() - walk.begun:.0f} s")


def test_cron_measures_each_mpi_of_environment_modules(walk):
    site = site_of(walk, "one")
    assert site["modules_system"] == "tmod4"
    modules = {name: one["modules"] for name, one in site["environments"].items()}
    assert modules == {
        "mpich": ["base/2023", "comp/gnu/12.2", "mpi/mpich-4/4.0"],
        "openmpi": ["base/2023", "comp/gnu/12.2", "ompi/4.1"],
    }
    walk.cron_measures_every_mpi(USER, "one", list(modules))


def ask(walk: Walk, resources: str) -> tuple[int, str]:
    """Run the campaign with these resources on the nodes with GPUs: its status and what it said."""
    walk.write(USER, "asked.yaml", ASKED.format(resources=resources))
    walk.user(USER, "rm -rf results/asked")
    done = walk.user(USER, f"{ASSAY} run asked.yaml --site one:work-fat --plain")
    return done.returncode, done.stdout + done.stderr


@pytest.fixture
def one(walk: Walk) -> Iterator[Walk]:
    """The site `one`, whose jobs write down the GPUs that they have."""
    file = walk.home(USER) / "site-config" / "one" / "site.yaml"
    text = file.read_text()
    site = yaml.safe_load(text)
    told = 'echo "$SLURM_JOB_NAME ${SLURM_JOB_GPUS:-none}" >>$HOME/granted'
    site["environments"]["mpich"]["prepare"] = [told]
    walk.write(USER, "site-config/one/site.yaml", yaml.safe_dump(site))
    yield walk
    walk.write(USER, "site-config/one/site.yaml", text)


def test_slurm_grants_gpus_memory_and_switches_as_asked(one):
    status, said = ask(one, "gpu: {count: 2}, memory: {megabytes: 700}, switches: {count: 1}")
    assert status == 0, said
    (record,) = one.records(USER, "asked")
    job = one.admin("scontrol", "show", "job", "-o", str(record["job_id"]))
    print(job)
    assert re.search(r"TRES=\S*mem=1400M\S*gres/gpu=4", job)
    assert re.search(r"Switches=1@", job)
    words = "sacct", "-nP", "--allusers", "-j", str(record["job_id"]), "--format=JobID,AllocTRES"
    steps = one.admin(*words)
    print(steps)
    assert re.search(r"^\d+\.\d+\|.*gres/gpu=4", steps, re.MULTILINE)
    granted = (site_setup.users(NAME)[USER] / "granted").read_text()
    print(granted)
    assert re.search(r"^rfm_\S+ 0,1$", granted, re.MULTILINE)


@pytest.mark.parametrize(
    ("resources", "said"),
    [("gpu: {count: 3}", "gres=gpu:3"), ("memory: {megabytes: 9000}", "mem=9000M")],
)
@pytest.mark.parametrize("reserved", [False, True], ids=["free", "before a maintenance"])
def test_what_cannot_be_granted_is_refused_before_the_run(one, resources, said, reserved):
    if reserved:
        words = ["StartTime=now+2days", "Duration=60", "Users=root", "Nodes=ALL", "Flags=MAINT"]
        one.admin("scontrol", "create", "reservation", "ReservationName=later", *words)
    status, told = ask(one, resources)
    if reserved:
        one.admin("scontrol", "delete", "ReservationName=later")
    assert status == 2
    assert said in told
    assert not list((one.home(USER) / "results").glob("asked/*"))


class Person:
    """Starts a command on a terminal of its own. Use as a context manager: leaving it hangs up."""

    def __init__(self, argv: Sequence[str]) -> None:
        self.shown = ""
        self._pid, self._terminal = pty.fork()
        if self._pid == 0:
            signal.signal(signal.SIGINT, signal.SIG_DFL)  # tests in the background ignore it
            os.execvp(argv[0], list(argv))  # noqa: S606

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._terminal)

    def sees(self, text: str, keys: bytes = b"") -> None:
        """Press keys, again after each second, until this is shown."""
        deadline, pressed = time.monotonic() + PATIENCE_S, 0.0
        while text not in self.shown:
            now = time.monotonic()
            assert now < deadline, f"not shown: {text}\n{self.shown}"
            if now - pressed > 1:
                os.write(self._terminal, keys)
                pressed = now
            assert self._read(), f"ended before: {text}\n{self.shown}"

    def ends(self) -> int:
        """The exit status, once the command has ended."""
        deadline = time.monotonic() + PATIENCE_S
        while self._read():
            assert time.monotonic() < deadline, f"does not end\n{self.shown}"
        return os.waitstatus_to_exitcode(os.waitpid(self._pid, 0)[1])

    def _read(self) -> bool:
        """Take over what is shown within a second; whether the terminal is still there."""
        if select.select([self._terminal], [], [], 1.0)[0]:
            with suppress(OSError):  # EIO: nobody has the terminal open any more
                text = os.read(self._terminal, 1 << 16).decode(errors="replace")
                print(text, end="", flush=True)
                self.shown += text.replace("\r\n", "\n")
                return bool(text)
            return False
        return True


def test_ctrl_c_leaves_nothing_half_written(one):
    with Person(one.argv(USER, [ASSAY, "site", "init", "dropped"])) as person:
        person.sees("probe jobs of")
        person.sees("nothing is written", keys=b"\x03")
        assert person.ends() == 4
    assert not (one.home(USER) / "site-config" / "dropped").exists()
    assert not list((site_setup.users(NAME)[USER] / "assay-work").glob("assay-probe-*"))
    assert one.admin("squeue", "--noheader").strip() == ""
