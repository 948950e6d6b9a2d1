# SPDX-License-Identifier: Apache-2.0
"""`assay vet` on this machine: figures, records, one status table; and it fails open."""

import fcntl
import json
import math
import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from unittest.mock import Mock

import pytest

from assay.cli import main
from assay.sites.site import Site
from assay.tests.test_run_on_cluster import ASSAY
from checks.common.slurm.commands import Answer, Slurm
from plugins.vetting import judge
from plugins.vetting.command import guarded
from plugins.vetting.folder import VetFolder
from plugins.vetting.local import LocalVetting, VetRequest, look_at_facts, node_name, summary
from plugins.vetting.nodes import DrainEntry, Drains, vet_by_slurm
from plugins.vetting.tests.test_vet_on_cluster import write_reference
from records.forms import as_bytes
from records.site.node_facts import NodeFacts
from virtual_cluster.host import tries

pytestmark = pytest.mark.usefixtures("vets_alone", "believed")


def vet(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """A vetting that has time on a busy machine, too."""
    argv = [ASSAY, "vet", "--local", "--budget", "600", "--folder", str(folder), *words]
    return subprocess.run(argv, capture_output=True, text=True, check=False)


needs_compiler = pytest.mark.skipif(
    not shutil.which("cc"), reason="what it measures with is compiled: run make packages"
)


@needs_compiler
def test_without_a_reference_there_are_facts_figures_and_the_command_that_makes_one(tmp_path):
    ended = vet(tmp_path, "--steps", "facts,latency")
    assert ended.returncode == 3
    first, second, *_, last = ended.stdout.splitlines()
    assert "facts: Linux" in first
    assert "memory latency" in second
    assert "no reference" in last and "assay vet --reference" in last


@needs_compiler
def test_a_record_has_all_that_was_said_and_is_the_only_file(tmp_path):
    ended = vet(tmp_path, "--steps", "arithmetic,disk", "--json")
    told = judge.vetting_of(ended.stdout)
    assert {one.metric for one in told.figures} == {"core_share", "dgemm_rate", "disk_rate"}
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert files == [VetFolder(tmp_path).record_path(told)]
    assert judge.vetting_of(files[0].read_bytes()) == told


@pytest.mark.full
@needs_compiler
def test_five_vettings_make_a_reference_and_the_next_one_is_judged_by_it(tmp_path):
    assert vet(tmp_path, "--steps", "latency", "--reference").returncode == 0
    told = judge.vetting_of(vet(tmp_path, "--steps", "latency", "--json").stdout)
    assert told.figures[0].level is not None
    assert told.figures[0].compared_with.partition(" that vary")[0] == "itself, 5 vettings"


@pytest.mark.parametrize(
    ("facts", "status", "told"),
    [
        ({}, 0, "is fit: its facts are as its peers'"),
        ({"memory": "9999 GiB"}, 1, "is unfit: memory"),
        pytest.param({"kernel": "Linux 9.9"}, 3, "is suspect: kernel", marks=pytest.mark.full),
    ],
)
def test_facts_are_held_against_those_of_the_peers(tmp_path, facts, status, told):
    like_this = judge.Vetting(id="", node="", at="", facts=look_at_facts())
    write_reference(tmp_path, like_this, **facts)
    ended = vet(tmp_path, "--steps", "facts")
    assert ended.returncode == status
    assert ended.stdout.splitlines()[-1].startswith(f"{node_name()} {told}")


def test_as_a_prolog_bad_input_drains_no_node(tmp_path):
    for option, said in (("--site", ""), ("--steps", "step nothing: allowed are")):
        ended = vet(tmp_path, "--by-slurm", "--drain", option, "nothing")
        assert ended.returncode == 0
        assert " is suspect: " in ended.stdout and said in ended.stdout


def test_two_vettings_of_a_node_do_not_measure_at_once(tmp_path, monkeypatch):
    monkeypatch.setattr("plugins.vetting.local.PATIENCE_S", 0.3)
    with socket.socket(socket.AF_UNIX) as lock:
        lock.bind("\0assay-vet")
        told = LocalVetting(VetRequest(VetFolder(tmp_path)), lambda *_: None).run()
    assert told.word == "suspect"
    assert told.troubles == ["another vetting runs on this node"]


def test_a_vetting_that_hangs_or_fails_ends_as_suspect():
    fail = Mock(side_effect=MemoryError("planted"))
    assert "did not end within" in guarded(0.3, lambda _: time.sleep(1000)).line
    assert "MemoryError: planted" in guarded(1000, fail).line


@pytest.mark.full
@needs_compiler
def test_a_killed_vetting_leaves_no_process_and_no_part_of_a_file(tmp_path):
    """Killed as it begins, and as it looks at mounts, multiplies matrices, writes to the disk."""
    folder = VetFolder(tmp_path / "f")
    words = [ASSAY, "vet", "--local", "--budget", "600", "--disk", str(tmp_path)]
    marked = os.environ | {"ASSAY_TEST_MARK": tmp_path.name}
    for last in ("", "facts: ", "memory latency ", "memory bandwidth "):
        with subprocess.Popen(
            [*words, "--folder", str(folder.path)], stdout=subprocess.PIPE, text=True, env=marked
        ) as process:
            assert process.stdout
            assert not last or any(last in line for line in process.stdout)
            process.send_signal(signal.SIGKILL)

    def left() -> list[str]:
        found, mark = [], f"ASSAY_TEST_MARK={tmp_path.name}".encode()
        for process in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                if mark in (process / "environ").read_bytes():
                    found.append((process / "cmdline").read_text())
        return found

    assert any(not left() for _ in tries(60, 0.1)), left()
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    # One that ended before the kill has its record.
    assert files == [folder.record_path(judge.vetting_of(path.read_bytes())) for path in files]


class Controller:
    """What scontrol says and does of one node."""

    def __init__(self, state: str = "IDLE", reason: str = "") -> None:
        self.state, self.reason, self.updates = state, reason, 0

    def __call__(self, argv: Sequence[str]) -> Answer:
        if argv[1] == "show":
            return Answer(0, f"NodeName=n1 State={self.state} Reason={self.reason} [root@now]", "")
        self.updates += 1
        given = dict(word.split("=", 1) for word in argv[2:])
        self.state = "IDLE" if given["State"] == "RESUME" else "IDLE+DRAIN"
        self.reason = given.get("Reason", "")
        return Answer(0, "", "")


def made(word: str, node: str = "n1") -> judge.Vetting:
    figure = judge.Figure(metric="disk_rate", value=1.0, unit="bytes/s")
    return judge.Vetting(id=f"{node}-{word}", node=node, at="", word=word, figures=[figure])  # type: ignore[arg-type]


def test_a_drain_says_the_reason_and_the_record_and_is_resumed_when_fit(tmp_path):
    slurm = Controller()
    drains = Drains(VetFolder(tmp_path), 1, Slurm(slurm))
    assert "drained" in drains.act(made("unfit"), "disk 1 MB/s; fit is at least 2")
    assert slurm.reason == "assay: disk 1 MB/s; fit is at least 2 n1-unfit"
    assert (drains.act(made("suspect"), ""), slurm.state) == ("", "IDLE+DRAIN")
    assert (drains.act(made("fit"), ""), slurm.state) == ("resumed: fit again", "IDLE")
    actions = [json.loads(line)["action"] for line in (tmp_path / "drains.jsonl").open()]
    assert actions == ["drained", "resumed"]


@pytest.mark.parametrize("word", ["fit", "suspect", "unfit"])
def test_what_somebody_else_drained_stays_as_it_is(tmp_path, word):
    slurm = Controller("IDLE+DRAIN", "fan broken")
    Drains(VetFolder(tmp_path), 1, Slurm(slurm)).act(made(word), "slow")
    assert slurm.updates == 0


def test_drains_are_capped_an_hour_over_all_nodes(tmp_path):
    drains = [Drains(VetFolder(tmp_path), 2, Slurm(Controller())) for _ in range(5)]
    told = [one.act(made("unfit", f"n{i}"), "slow") for i, one in enumerate(drains)]
    assert sum("drained, reason" in text for text in told) == 2
    assert told[4] == "not drained: at most 2 drains an hour (vetting.drains_per_hour)"


def test_without_a_policy_or_an_answer_or_a_log_nothing_is_drained(tmp_path):
    slurm, log = Controller(), tmp_path / "drains.jsonl"

    def said(at_most: int = 1, asked: Callable[[Sequence[str]], Answer] = slurm) -> str:
        return Drains(VetFolder(tmp_path), at_most, Slurm(asked)).act(made("unfit"), "slow")

    assert "policy" in said(0)
    for status, words in ((124, "no answer"), (127, "no scontrol")):
        assert words in said(asked=Mock(return_value=Answer(status, "", words)))
    of_the_future = DrainEntry(node="n9", record="r", at=4e9, action="drained", reason="assay: x")
    for text in (b"{damaged\n", b"\0" * 100, as_bytes(of_the_future) + b"\n"):
        log.write_bytes(text)
        assert "not drained" in said()
    log.unlink()
    with log.open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        assert "not drained" in said()
    log.unlink()
    log.mkdir()
    assert "not drained" in said()
    assert slurm.updates == 0


#: Nodes of a partition of a cluster, and of all, which are unlike.
NODES = {"thick": ["f1", "f2", "f3"], None: ["t1", "t2", "t3", "f1", "f2", "f3"]}


class CutSite:
    """The partition `thick` of a cluster whose jobs get nodes of the partition that they name."""

    name, show_to_jobs = "cut", Mock()
    slurm, python_words = Site.slurm, Site.python_words
    description = Mock(
        access=["--partition=thick"], slurm_partition="thick", nodes=3, shared_cores=False
    )

    def ask(self, argv: Sequence[str], **_: object) -> Answer:
        options = dict(word.partition("=")[::2] for word in argv)
        among = NODES[options.get("--partition")]
        if argv[0] == "sinfo":
            return Answer(0, "".join(f"{node} idle\n" for node in among), "")
        named = options["--nodelist"].split(",")
        if {*named} - {*among}:
            return Answer(1, "", "srun: error: Requested node configuration is not available")
        near = ",".join(named[1:])
        one = judge.Vetting(id="none", node=named[0], at="", word="fit", neighbour=near, line=near)
        return Answer(0, as_bytes(one).decode(), "")


def test_nodes_and_neighbours_are_those_of_the_partition(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("assay.sites.loading.load_site", lambda _: CutSite())
    monkeypatch.setattr("plugins.vetting.local.build_program", Mock())
    words = ["vet", "--site", "virtual:cut", "--folder", str(tmp_path)]
    assert main(words) == 0
    assert sorted(capsys.readouterr().out.split()) == ["f1,f2", "f1,f3", "f2,f3"]
    assert main([*words, "--reference"]) == 0
    made = [f"{node} measured for the reference; record none" for node in ("f1", "f2")]
    assert sorted(capsys.readouterr().out.splitlines()[:2]) == made
    assert main([*words, "t1"]) == 2
    assert "partition thick has no node t1; it has f[1-3]" in capsys.readouterr().err


def test_a_node_that_an_ended_job_holds_yet_is_a_neighbour_for_the_next(tmp_path, monkeypatch):
    site, site_answer, states = CutSite(), CutSite().ask, iter(["idle", "allocated", "idle"])

    def asked(argv, **_):
        if argv[0] == "sinfo":
            state = next(states)
            return Answer(0, "".join(f"{node} {state}\n" for node in ("f1", "f2")), "")
        return site_answer(argv)

    monkeypatch.setattr(site, "ask", asked)
    found = vet_by_slurm(site, ["f1", "f2"], VetFolder(tmp_path), [], link=True)
    assert [one.neighbour for one in found] == ["f2", "f1"]


SRUN_CAUSE = (
    "srun: error: Unable to allocate resources: Requested node configuration is not available"
)


@pytest.mark.parametrize(
    ("stderr", "told"),
    [
        (f"Welcome to cut\n{SRUN_CAUSE}\n", SRUN_CAUSE),
        ("assay: full\nsrun: error: f1: task 0: Exited with exit code 2\n", "assay: full"),
        ("\nsrun: error: f1: task 0: Killed\n", "srun: error: f1: task 0: Killed"),
        ("", "status 1"),
    ],
)
def test_a_vetting_that_does_not_come_has_the_cause_that_slurm_or_the_program_told(
    tmp_path, monkeypatch, stderr, told
):
    site, states = CutSite(), Answer(0, "f1 idle\n", "")
    answers = {"sinfo": states, "srun": Answer(1, "", stderr)}
    monkeypatch.setattr(site, "ask", lambda argv, **_: answers[argv[0]])
    (one,) = vet_by_slurm(site, ["f1"], VetFolder(tmp_path), [], link=False)
    assert one.troubles == [f"no vetting came: {told}"]


@pytest.mark.parametrize(
    ("first", "second", "word"),
    [
        ((0.92, 0.0), 1.0, "suspect"),  # a node at -10 % had two chances of being fit
        ((0.80, 0.0), 1.0, "fit"),
        ((0.80, 0.0), 0.80, "unfit"),
        ((1.00, 0.4), 1.0, "fit"),
        ((1.00, 0.4), 0.80, "suspect"),
    ],
)
def test_only_an_unfit_or_disturbed_figure_takes_the_better_look(
    tmp_path, monkeypatch, first, second, word
):
    centre = math.log(4e10)
    rest = {"freedom": 16, "worst": centre - 0.04, "nodes": 4, "vettings": 20}
    level = judge.Level(centre=centre, spread=0.02, noise=0.02, **rest)
    kinds = {"": judge.KindReference(levels={"stream_triad": level})}
    reference = judge.Reference(made_at="2020-01-01T00:00:00Z", kinds=kinds, fit=[])
    (tmp_path / "reference.json").write_bytes(as_bytes(reference))
    looks = iter([first, (second, 0.0)])

    def measure(*_: object) -> list[judge.Figure]:
        share, by_others = next(looks)
        value = 4e10 * share
        return [judge.Figure(metric="stream_triad", value=value, unit="bytes/s", others=by_others)]

    monkeypatch.setattr("plugins.vetting.local.measure", measure)
    monkeypatch.setattr("plugins.vetting.local.look_at_facts", lambda _: NodeFacts())
    monkeypatch.setattr("plugins.vetting.local.APART_S", 0.0)
    request = VetRequest(VetFolder(tmp_path), steps=["memory"])
    assert LocalVetting(request, lambda *_: None).run().word == word


def test_the_line_of_a_vetting_names_three_reasons():
    figures = [
        judge.Figure(metric=metric, value=1.0, unit=unit, level=1.0, loss=0.0)
        for metric, (_, _, unit, _) in judge.METRICS.items()
    ]
    line = summary(judge.Vetting(id="x", node="n1", at="", figures=figures), has_reference=True)
    assert line.count(" as good as ") == 3
    assert "5 more in the record; vet it again" in line
