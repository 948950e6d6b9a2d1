# SPDX-License-Identifier: Apache-2.0
"""Looks at what Slurm 22.05 printed; the ledger, its lock, the command, a phase on a cluster."""

import os
import re
import shutil
import signal
import subprocess
import sys
from types import SimpleNamespace
from typing import Any

import pytest

from assay import ROOT
from assay.cli import main
from assay.tests.published_forms import published
from assay.tests.test_slurm_versions import SAID, answers_of, site_of
from checks.common.slurm.commands import Answer, slurm_seconds
from plugins.contract.stability import command
from plugins.contract.stability.ledger import ClusterLook, NodeState, WatchFolder, WatchTerms
from plugins.contract.stability.looking import Known, Looking
from records.errors import AssayError, InfrastructureError

BOOTED = "BootTime=2026-11-27T07:02:16 SlurmdStartTime=2026-11-27T14:37:15"
NODES = f"""\
NodeName=c001 Arch=x86_64 CPUAlloc=0 State=IDLE+MAINTENANCE+RESERVED ThreadsPerCore=1 {BOOTED}
NodeName=c002 Arch=x86_64 CPUAlloc=1 State=DOWN+NOT_RESPONDING ThreadsPerCore=1 {BOOTED}
NodeName=c003 Arch=x86_64 CPUAlloc=0 State=IDLE+DRAIN ThreadsPerCore=1 {BOOTED} \
CfgTRES=cpu=2 Reason=fan broken [root@2026-11-27T14:37:19]
NodeName=c005 Arch=x86_64 State=IDLE+REBOOT_ISSUED ThreadsPerCore=1 {BOOTED}
NodeName=c006 Arch=x86_64 State=MIXED+REBOOT_REQUESTED ThreadsPerCore=1 {BOOTED}
NodeName=c007 Arch=x86_64 State=MIXED+NOT_RESPONDING ThreadsPerCore=1 {BOOTED}
NodeName=c008 Arch=x86_64 State=IDLE* ThreadsPerCore=1 {BOOTED}
NodeName=c010 Arch=x86_64 State=UNKNOWN ThreadsPerCore=1 {BOOTED}
NodeName=c004 Arch=x86_64 CPUAlloc=0 State=IDLE+CLOUD+POWERED_DOWN ThreadsPerCore=1 {BOOTED}
"""
PARTITIONS = """\
PartitionName=debug AllowGroups=ALL Default=YES Nodes=c[001-003] State=DOWN TotalCPUs=6
PartitionName=batch AllowGroups=ALL Default=NO Nodes=c[001-004] State=UP TotalCPUs=6
"""
CONFIG = """\
Configuration data as of 2026-11-27T14:40:00
AccountingStorageType   = accounting_storage/{}
BOOT_TIME               = 2026-11-27T14:37:14
PrivateData             = {}
"""
EVENTS = """\
c002|2026-11-27T14:38:06|2026-11-27T14:38:20|DOWN*|power was cut
c003|2026-11-27T14:37:19|Unknown|DRAIN|fan broken
"""
KILLED = "1|2026-11-27T14:37:18|2026-11-27T14:38:06|c002|NODE_FAIL\n"
CONTACT = "slurm_load_node error: Unable to contact slurm controller (connect failure)"


def at(text: str) -> float | None:
    return slurm_seconds(f"2026-11-27T{text}")


class CannedSite:
    """A site whose commands print what they printed once."""

    name = "walk"
    description = SimpleNamespace(access=["--partition=batch"])

    def __init__(self, **said: str) -> None:
        self.said = {"nodes": NODES, "config": CONFIG.format("slurmdbd", "none"), **said}

    def ask(self, argv: Any, given: bytes = b"", **_: Any) -> Answer:
        command = " ".join(argv)
        if fault := self.said.get("fault"):
            return Answer(127 if "No such file" in fault else 1, "", fault)
        for words, out in (
            ("show node", self.said["nodes"]),
            ("show partition", PARTITIONS),
            ("show config", self.said["config"]),
            ("sacctmgr", EVENTS),
            ("sacct ", KILLED),
            ("squeue", KILLED),
        ):
            if words in command:
                return Answer(0, out, "")
        return Answer(127, "", "no such program")

    def command(self, argv: list[str], variables: dict[str, str]) -> Any:
        return argv, {**os.environ, **variables}


def watch(**more: Any) -> WatchTerms:
    return WatchTerms(at=0.0, site="walk", every_s=60.0, length_s=3600.0, **more)


def look_of(begun: float, steady: float = 0.0, **more: Any) -> ClusterLook:
    return ClusterLook(at=begun, steady=steady, boot="a", host="h", **more)


def look(site: CannedSite, known: Known | None = None, **more: Any) -> ClusterLook:
    return Looking(site, watch(**more)).look(known or Known())  # type: ignore[arg-type]


def test_a_look_reads_nodes_partitions_and_the_controller():
    found = look(CannedSite())
    assert {node: one.out for node, one in found.nodes.items()} == {
        **{"c001": "maintenance", "c002": "down", "c003": "drained"},
        **{"c004": "", "c005": "down", "c006": "", "c007": "", "c008": ""},
        "c010": "",
    }
    assert [found.nodes[at].state for at in ("c006", "c008", "c010")] == ["", "IDLE*", "UNKNOWN"]
    drained = found.nodes["c003"]
    assert (drained.reason, drained.since) == ("fan broken", at("14:37:19"))
    assert found.partitions["debug"].state == "DOWN"
    assert found.partitions["batch"].nodes == ["c001", "c002", "c003", "c004"]
    assert (found.started, found.fault) == (at("14:37:14"), "")


def test_accounting_tells_outages_and_jobs_once():
    known = Known(last=look_of(at("14:37:00")))
    found = look(CannedSite(), known)
    told = [(one.node, one.end, one.out) for one in found.events]
    assert told == [("c002", at("14:38:20"), "down"), ("c003", None, "drained")]
    assert [(job.job, job.nodes) for job in found.jobs] == [("1", ["c002"])]
    assert found.accounting
    again = look(CannedSite(), Known.of([known.last, found]))
    assert (again.nodes, again.partitions, again.events, again.jobs) == ({}, {}, [], [])


def test_what_an_ordinary_user_cannot_see_is_said():
    found = look(CannedSite(config=CONFIG.format("none", "jobs,events")))
    told = "; ".join(found.unseen)
    assert not found.accounting
    for words in ("without slurmdbd", "PrivateData=jobs", "PrivateData=events"):
        assert words in told
    with pytest.raises(AssayError, match="no node to watch"):
        look(CannedSite(nodes=""))


def test_a_silent_controller_is_a_look_and_a_missing_program_is_none():
    found = look(CannedSite(fault=CONTACT))
    assert (found.fault, found.nodes) == (CONTACT, {})
    with pytest.raises(InfrastructureError, match="cannot be run"):
        look(CannedSite(fault="scontrol: No such file or directory"))


def test_a_node_that_slurm_forgets_is_absent_and_others_than_watched_do_not_count():
    known = Known(nodes={"c009": NodeState()})
    assert look(CannedSite(), known).nodes["c009"] == NodeState("down", "ABSENT")
    assert set(look(CannedSite(), partitions=["debug"]).nodes) == {"c001", "c002", "c003"}


def test_a_folder_that_cannot_be_written_is_a_fault(tmp_path):
    found = look(CannedSite(), file_systems=[str(tmp_path), str(tmp_path / "absent")])
    (folder,) = found.file_systems
    assert folder.endswith("absent")
    assert found.file_systems[folder].startswith("mktemp: ")
    assert list(tmp_path.iterdir()) == []


def test_a_torn_line_is_dropped_and_a_changed_or_missing_one_is_named(tmp_path):
    folder = WatchFolder(tmp_path)
    folder.add(watch())
    for _ in range(3):
        folder.add(look_of(1.0, 1.0))
    with folder.log.open("ab") as file:
        file.write(b'{"what":"look","at"')
    assert len(folder.entries()) == 4
    folder.add(look_of(2.0, 2.0))
    lines = folder.log.read_bytes().splitlines(keepends=True)
    assert len(folder.entries()) == len(lines) == 5
    folder.log.write_bytes(b"".join(lines[:-1]))
    with pytest.raises(AssayError, match="lines at the end are missing"):
        folder.entries()
    folder.log.write_bytes(b"".join([*lines[:2], lines[2].replace(b"1.0", b"9.0"), *lines[3:]]))
    with pytest.raises(AssayError, match=r"looks\.jsonl:4: the chain is broken"):
        folder.entries()


def test_a_second_booker_is_refused_while_one_is_at_work_and_not_after_its_kill(tmp_path):
    text = "import sys,pathlib; from plugins.contract.stability.ledger import WatchFolder\n"
    text += "with WatchFolder(pathlib.Path(sys.argv[1])).alone(): print(1,flush=True);input()"
    argv = [sys.executable, "-c", text, str(tmp_path)]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as booker:
        assert booker.stdout is not None
        booker.stdout.readline()
        with pytest.raises(AssayError, match="booked by another process"):
            WatchFolder(tmp_path).alone().__enter__()
        booker.send_signal(signal.SIGKILL)
        booker.wait()
    with WatchFolder(tmp_path).alone():
        pass


@pytest.fixture
def booked(folder) -> WatchFolder:
    """A ledger with one outage, which is at its end."""
    ledger = WatchFolder(folder / "results/stability/walk")
    ledger.path.mkdir(parents=True)
    ledger.add(watch(mtbi_s=3600.0))
    for number, out in enumerate(["", "down", "", ""]):
        nodes = {"n1": NodeState(out)}  # type: ignore[arg-type]
        ledger.add(look_of(1e9 + number, 1200.0 * number, nodes=nodes))
    return ledger


def test_a_class_needs_an_outage_a_name_and_a_reason_and_options_as_they_were(booked, said):
    wanted = ["contract", "watch", "--site", "walk"]
    (one,) = published("contract-watch", said(3, *wanted, "--json"))["outages"]
    outage = one["id"]
    named = ["--by", "A. Buyer", "--reason", "fuse"]
    other = "20010909T014641Z-node-down-n2"
    for words in ([f"{outage}=vendor"], [f"{outage}=ghost", *named], [f"{other}=vendor", *named]):
        assert main([*wanted, "--class", *words]) == 2
    assert main([*wanted, "--class", f"{outage}=vendor", *named]) == 0
    assert f"{outage} is vendor, says A. Buyer" in said(1, *wanted)
    assert (booked.path / "report" / "index.html").exists()
    assert "this phase has `mtbi_s` 3600.0" in said(2, *wanted, "--once", "--mtbi", "2h")


@pytest.mark.parametrize(
    ("site", "words", "told"),
    [
        ("virtual", ["--once"], "a phase begins with --every and --for"),
        ("virtual", ["--once", "--every", "2h", "--for", "1h"], "no look would be in the phase"),
        ("virtual", [], "no look was booked"),
        ("nosuch", ["--once", "--every", "60s", "--for", "30d"], "nosuch"),
    ],
)
def test_a_phase_that_cannot_begin_is_refused_and_leaves_nothing(site, words, told, folder, said):
    assert told in said(2, "contract", "watch", "--site", site, *words)
    assert list(folder.iterdir()) == []


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="no systemd-analyze")
def test_the_pages_units_are_accepted_by_systemd(tmp_path):
    page = (ROOT / "plugins/contract/docs/stability.md").read_text()
    units = re.findall(r"```ini file=(\S+)\n(.*?)```", page, re.DOTALL)
    assert [name for name, _ in units] == ["assay-watch.service", "assay-watch.timer"]
    for name, text in units:
        (tmp_path / name).write_text(text)
    words = ["systemd-analyze", "verify", *(str(tmp_path / name) for name, _ in units)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    said = [line for line in done.stderr.splitlines() if "assay-watch" in line]
    assert (done.returncode, said) == (0, [])


def test_looks_that_take_longer_than_an_interval_follow_each_other(tmp_path, monkeypatch) -> None:
    looks = iter([True, True, False])
    monkeypatch.setattr(command, "_looking", lambda *_: None)
    monkeypatch.setattr(command, "_look", lambda *_: next(looks))
    terms = WatchTerms(at=0.0, site="s", every_s=1e-9, length_s=1.0)
    command.book(WatchFolder(tmp_path), terms, once=False)
    assert [*looks] == []


@pytest.mark.parametrize("said", SAID, ids=lambda file: file.stem)
def test_a_watch_sees_the_nodes_of_each_version_of_slurm(said):
    found = Looking(
        site_of(answers_of(said)), SimpleNamespace(partitions=[], file_systems=[])
    ).look(Known())
    assert found.started and [one.out for one in found.nodes.values()] == ["", "", "drained"]
    assert found.nodes["n3"].reason == "fan 2"
    assert found.partitions["all"].nodes == ["n1", "n2", "n3"]
