# SPDX-License-Identifier: Apache-2.0
"""Eleven outages in 34 days of ten seconds: all are booked, and kill -9 loses none."""

import json
import re
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

import pytest
from ClusterShell.NodeSet import NodeSet

from assay.tests.test_run_on_cluster import ASSAY, own_name, wait_for
from assay.tests.test_run_on_cluster import of_full as pytestmark
from plugins.contract.stability.ledger import ClusterLook, WatchFolder
from plugins.contract.stability.result import OutagePart, stability_result
from virtual_cluster import host
from virtual_cluster.api import Cluster, down, revive, state_of, up
from virtual_cluster.host import run, tries
from virtual_cluster.state import folders
from virtual_cluster.tests.clusters import booted, run_in

__all__ = ["pytestmark"]
NAME = own_name("s")
#: A look every 8 s, and contract time that passes in a second.
EVERY_S, SCALE = 8.0, 8640
#: Slurm sees after so many seconds that a node is silent (SlurmdTimeout of a virtual cluster).
SEEN_AFTER_S = 60.0
#: Reasons of outages that nobody planted: what a busy machine answers too late, and a job that
#: begins as the controller is killed, which is begun again and for which Slurm drains its node.
_UNPLANTED = re.compile(r"did not answer within|timed out|Duplicate jobid")


@dataclass
class Rehearsal:
    """A cluster, its booker, and when what was planted."""

    cluster: Cluster
    folder: Path
    full: Path
    closed: Path
    booker: subprocess.Popen[bytes] | None = None
    #: Name → before and after its begin, before and after its end.
    planted: dict[str, list[float]] = field(default_factory=dict)

    def run(self, *words: str) -> str:
        """What a command prints that sees the small file system."""
        return run_in(self.cluster, *words)

    def update(self, what: str, state: str, *more: str) -> None:
        self.run("scontrol", "update", what, f"State={state}", *more)

    def book(self) -> None:
        words = ["contract", "watch", "--site", f"virtual:{NAME}", "--folder", str(self.folder)]
        words += ["--every", "19.2h", "--for", "34d", "--scale", str(SCALE)]
        words += ["--file-system", str(self.full), "--file-system", str(self.closed)]
        with (self.folder.parent / "booker.log").open("ab") as log:
            before = self.looks()
            self.booker = subprocess.Popen([ASSAY, *words], stdout=log, stderr=log)
        assert any(self.looks() > before for _ in tries(60, 0.2))

    def looks(self) -> int:
        ledger = self.folder / "looks.jsonl"
        return ledger.read_text().count('"what":"look"') if ledger.exists() else 0

    def booked(self, name: str, near: float) -> bool:
        """Whether an outage of a kind and thing that begins next to a time is in the ledger."""
        outages = stability_result(WatchFolder(self.folder).entries()).data.outages
        return any(one.wall > near - EVERY_S for one in alike(name, outages))

    def kill(self) -> None:
        assert self.booker is not None
        near = self.planted["node down n1,n2"][0]
        wait_for(lambda: self.booked("node down n1,n2", near))
        self.booker.send_signal(signal.SIGKILL)
        self.booker.wait()

    def called_down(self, nodes: str) -> Iterator[float]:
        """When Slurm itself found one silent for too long; on a busy machine also a good one."""
        log = (folders(NAME).root / "log" / "slurmctld.log").read_text()
        said = re.findall(r"\[(\S+)\.\d+\] .*odes? (\S+) not responding, setting DOWN", log)
        those = set(nodes.split(","))
        for at, names in said:
            if those & {*NodeSet(names)}:  # `date`: the controller has a time zone of its own
                yield float(run(["date", f"--date={at}", "+%s"]).stdout)

    def end(self, part: str) -> None:
        """Kill a daemon, or all of a node; Slurm is not told."""
        assert host.end(state_of(NAME).processes[part])

    def play(self, plan: list[tuple[float, str, Callable[[], object]]]) -> None:
        """Do each at its second; what has a name begins an outage, and the next of it ends it."""
        began = time.monotonic()
        for second, name, do in sorted(plan, key=lambda one: one[0]):
            time.sleep(max(0.0, began + second - time.monotonic()))
            times = self.planted.setdefault(name, [])
            # A look that comes late misses no outage; a restart is to be seen by none.
            if times and name not in ("", "node restarted n4"):
                waits = time.monotonic()
                wait_for(lambda name=name, near=times[0]: self.booked(name, near))
                began += time.monotonic() - waits  # what follows keeps its distances
            before = time.time()
            do()
            times.extend((before, time.time()))


@pytest.fixture
def rehearsal(tmp_path: Path) -> Iterator[Rehearsal]:
    cluster = up(booted(NAME, nodes=4, cpus_per_node=1), lambda _: None)
    facts = cluster.site_facts()
    full, closed = (Path(facts["home_dir"]) / name for name in ("full", "closed"))
    try:
        for path in (full, closed):
            path.mkdir()
        place = f"{folders(NAME).view}{full}"  # what is mounted there appears on all hosts
        mount = ["mount", "-t", "tmpfs", "-o", "size=4m", "none", place]
        subprocess.run(cluster.admin_command(mount, "holder"), check=True)
        made = Rehearsal(cluster, tmp_path / "phase", full, closed)
        made.run("scontrol", "create", "PartitionName=small", "Nodes=n3", "State=UP")
        yield made
        if made.booker is not None:
            made.booker.kill()
            made.booker.wait()
    finally:
        down(cluster.name)


def plan_of(it: Rehearsal) -> list[tuple[float, str, Callable[[], object]]]:
    def service() -> str:
        words = "ReservationName=svc", "StartTime=now", "Duration=9", "Users=root", "Nodes=n3"
        return it.run("scontrol", "create", "reservation", *words, "Flags=MAINT,IGNORE_JOBS")

    def half(do: Callable[[str], None]) -> None:
        for node in ("n1", "n2"):
            do(node)

    cut, restore, gone = it.cluster.kill_node, it.cluster.restore_node, it.closed.with_name("gone")
    rest, small = str(it.full / "rest"), "PartitionName=small"
    return [
        (10, "node down n1", lambda: it.end("n1")),
        (34, "node down n1", lambda: restore("n1")),
        (16, "node drained n2", lambda: it.update("NodeName=n2", "DRAIN", "Reason=fan")),
        (40, "node drained n2", lambda: it.update("NodeName=n2", "RESUME")),
        (24, "file system full", lambda: it.run("fallocate", "-l", "4032K", rest)),
        (46, "file system full", lambda: it.run("rm", rest)),
        (38, "partition small", lambda: it.update(small, "DOWN")),
        (56, "partition small", lambda: it.update(small, "UP")),
        (50, "maintenance n3", service),
        (70, "maintenance n3", lambda: it.run("scontrol", "delete", "ReservationName=svc")),
        (60, "node down n1,n2", lambda: half(cut)),
        (99, "node down n1,n2", lambda: half(restore)),
        (85, "", it.kill),
        (87, "node drained n3", lambda: it.update("NodeName=n3", "DRAIN", "Reason=disk")),
        (121, "node drained n3", lambda: it.update("NodeName=n3", "RESUME")),
        (89, "node restarted n4", lambda: it.end("n4")),
        (95, "node restarted n4", lambda: restore("n4")),
        (112, "", it.book),
        (138, "controller controller", lambda: it.end("slurmctld")),
        (152, "controller controller", lambda: revive(NAME, lambda _: None)),
        (158, "file system closed", lambda: it.closed.chmod(0)),
        (172, "file system closed", lambda: it.closed.chmod(0o700)),
        (184, "file system gone", lambda: it.closed.rename(gone)),
        (198, "file system gone", lambda: gone.rename(it.closed)),
    ]


def alike(name: str, outages: list[OutagePart]) -> list[OutagePart]:
    """The outages of a kind and thing."""
    thing = {"file system gone": "file system closed"}.get(name, name)
    return [one for one in outages if thing in (f"{one.kind} {Path(one.thing).name}", one.kind)]


def test_outages_of_all_kinds_are_booked_within_an_interval(rehearsal: Rehearsal) -> None:
    rehearsal.book()
    rehearsal.play(plan_of(rehearsal))
    assert rehearsal.booker is not None
    log = rehearsal.folder.parent / "booker.log"
    assert rehearsal.booker.wait() == 0, log.read_text()
    entries = WatchFolder(rehearsal.folder).entries()
    looks = [one for one in entries if isinstance(one, ClusterLook)]
    gaps = sorted(b.steady - a.steady for a, b in pairwise(looks))
    interval = max(EVERY_S, gaps[-2])  # a loaded machine looks less often; the last is the kill
    outages = stability_result(entries).data.outages
    problems, taken = [], set()
    for name, times in rehearsal.planted.items():
        if not name:
            continue
        begun, ended = times[:2], times[2:]
        found = alike(name, outages)
        assert found, f"{name}: none of {[(one.kind, one.thing) for one in outages]}"
        distances = [abs(one.wall - begun[1]) for one in found]
        one = found[distances.index(min(distances))]
        taken.add(one.id)
        slack = interval + 3.0
        if name == "node down n1":
            slack += min(t for t in rehearsal.called_down(one.thing) if t > begun[1]) - begun[1]
        begin, end = one.wall, one.wall + one.length_s / SCALE
        if name != "node restarted n4" and not begun[0] - interval <= begin <= begun[1] + slack:
            problems.append(f"{name} began {begin - begun[1]:+.1f} s late")
        if not ended[0] - interval <= end <= ended[1] + interval + 3:
            problems.append(f"{name} ended {end - ended[1]:+.1f} s late")
    further = [
        one.id
        for one in outages
        if one.id not in taken and not _UNPLANTED.search(one.reason)
        if not any(
            one.wall - 1 <= at <= one.wall + interval + SEEN_AFTER_S
            for at in rehearsal.called_down(one.thing)
        )
    ]
    assert (problems, further, len(taken)) == ([], [], 11), json.dumps(rehearsal.planted)
    words = {one.kind: one.word for one in outages}
    assert words["maintenance"] == "scheduled"
    assert words["node down"] == "unknown"
