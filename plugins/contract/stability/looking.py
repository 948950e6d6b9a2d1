# SPDX-License-Identifier: Apache-2.0
"""Look at a cluster, as an ordinary user: controller, nodes, partitions, accounting and file
systems."""

from __future__ import annotations

import re
import socket
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from ClusterShell.NodeSet import NodeSet

from assay.onboarding.slurm_view import fields_of
from assay.schedulers.slurm import asked
from assay.sites.site import Site
from checks.common.slurm.commands import Answer, is_down, setting, slurm_seconds
from plugins.contract.stability import ledger
from records.errors import AssayError, InfrastructureError
from records.waiting import SLURM_COMMAND_S, scaled

#: A file is written, forced to disk, read and removed in each folder; the folders are arguments.
_WRITE = """\
for folder; do
    file=$(mktemp "$folder/.assay-watch.XXXXXX") || exit
    trap 'rm -f "$file"' EXIT
    dd if=/dev/zero of="$file" bs=64k count=16 conv=fsync status=none || exit
    [ "$(wc -c <"$file")" = 1048576 ] || exit
    rm -f "$file" || exit
done
"""
#: Seconds by which the start of a kernel, which Slurm computes from its uptime, may differ.
_BOOT_S = 60.0
#: Accounting is asked from so many seconds before the last look on: changes reach it late.
_BEFORE_S = 300.0
_REASON = re.compile(r"(.*?)\s*\[[^\[\]]*@([-\dT:]+)\]\s*$", re.DOTALL)
#: Of a node that missed a message, by versions of Slurm; or that has not registered since the
#: controller started: its jobs go on.
_SILENT = re.compile(r"\*|\+NOT_RESPONDING|UNKNOWN")
_CONFIG = ("show", "config")


@dataclass
class Known:
    """Facts from the ledger so far that a look needs: it tells only what has changed."""

    nodes: dict[str, ledger.NodeState] = field(default_factory=dict)
    partitions: dict[str, ledger.PartitionState] = field(default_factory=dict)
    jobs: set[str] = field(default_factory=set)
    events: set[tuple[str, float, float | None]] = field(default_factory=set)
    unseen: set[str] = field(default_factory=set)
    last: ledger.ClusterLook | None = None

    @classmethod
    def of(cls, entries: Sequence[ledger.Entry]) -> Known:
        """Facts that these lines say."""
        known = cls()
        for look in entries:
            if isinstance(look, ledger.ClusterLook):
                known.nodes |= look.nodes
                known.partitions |= look.partitions
                known.jobs |= {job.job for job in look.jobs}
                known.unseen |= {*look.unseen}
                known.events |= {(one.node, one.begin, one.end) for one in look.events}
                known.last = look
        return known


def unreached(why: str) -> ledger.ClusterLook:
    """A look that finds no controller."""
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    steady = time.clock_gettime(time.CLOCK_BOOTTIME)
    return ledger.ClusterLook(
        at=time.time(), steady=steady, boot=boot, host=socket.gethostname(), fault=why
    )


class Looking:
    """Looks at the cluster of a site for what `watch` says."""

    def __init__(self, site: Site, watch: ledger.WatchTerms) -> None:
        self.site, self._watch = site, watch

    def look(self, known: Known) -> ledger.ClusterLook:
        """Look once. Raises InfrastructureError where Slurm's commands are not there, AssayError
        where this user sees no node."""
        found = unreached("")
        found.file_systems = dict(self._file_systems())
        texts = list[str]()
        for words in (
            ("--all", "show", "node", "-o"),
            ("--all", "show", "partition", "-o"),
            _CONFIG,
        ):
            try:
                answer = asked(self.site, "scontrol", *words)
            except InfrastructureError as silence:
                if "cannot be run" in str(silence):
                    raise
                answer = Answer(124, "", str(silence))
            if answer.status:  # the others would wait as long for an answer
                found.fault = answer.said
                return found
            texts.append(answer.stdout)
        config = texts[2]
        found.started = slurm_seconds((setting(config, "BOOT_TIME") or "").split(" ")[0])
        partitions = self._partitions(texts[1])
        nodes = self._nodes(texts[0], partitions, known)
        found.nodes = {node: one for node, one in nodes.items() if one != known.nodes.get(node)}
        there = known.partitions.items()
        found.partitions = {k: v for k, v in partitions.items() if (k, v) not in there}
        self._ask_accounting(found, known, config)
        found.unseen += _private(config)
        found.unseen = [text for text in found.unseen if text not in known.unseen]
        return found

    def _nodes(
        self, text: str, partitions: dict[str, ledger.PartitionState], known: Known
    ) -> dict[str, ledger.NodeState]:
        watched = {node for one in partitions.values() for node in one.nodes}
        found: dict[str, ledger.NodeState] = {}
        for shown in map(fields_of, text.splitlines()):
            name = shown.get("NodeName", "")
            if name and (name in watched or not self._watch.partitions):
                found[name] = _node(shown, known.nodes.get(name))
        if not found and not known.nodes:
            raise AssayError(
                f"{self.site.name}: Slurm shows this user no node to watch; allowed are partitions"
                " that `sinfo` lists, and a Slurm without PrivateData=nodes"
            )
        gone = known.nodes.keys() - found.keys()
        return found | {node: ledger.NodeState(out="down", state="ABSENT") for node in gone}

    def _partitions(self, text: str) -> dict[str, ledger.PartitionState]:
        found = {}
        for shown in map(fields_of, text.splitlines()):
            name, nodes = shown.get("PartitionName", ""), shown.get("Nodes", "")
            if name and (name in self._watch.partitions or not self._watch.partitions):
                listed = "" if nodes == "(null)" else nodes
                found[name] = ledger.PartitionState(shown.get("State", ""), [*NodeSet(listed)])
        return found

    def _file_systems(self) -> Iterator[tuple[str, str]]:
        """The faults of file systems; what hangs in the kernel is not waited for."""
        for folder in self._watch.file_systems:
            argv, variables = self.site.command(["sh", "-c", _WRITE, "sh", folder], {})
            pipe, null = subprocess.PIPE, subprocess.DEVNULL
            process = subprocess.Popen(argv, env=variables, stdin=null, stdout=null, stderr=pipe)
            limit_s = scaled(SLURM_COMMAND_S)
            try:
                said = process.communicate(timeout=limit_s)[1].decode(errors="replace")
            except subprocess.TimeoutExpired:
                process.kill()
                yield folder, f"it did not answer within {limit_s:.0f} s"
                continue
            if process.returncode:
                yield folder, Answer(process.returncode, "", said).said

    def _ask_accounting(self, found: ledger.ClusterLook, known: Known, config: str) -> None:
        """Take in what accounting tells of the time since the last look; without slurmdbd the jobs
        that slurmctld still knows."""
        since = (known.last.at if known.last else found.at) - _BEFORE_S
        begin = time.strftime("%Y-%m-%dT%H:%M:%S", time.localtime(since))
        rows = self._rows("squeue", "-ah", "-t", "NODE_FAIL", "-o", "%i|%S|%e|%N|%T")
        if (setting(config, "AccountingStorageType") or "").endswith("slurmdbd"):
            asked_for = "format=nodename,timestart,timeend,state,reason"
            words = "show", "event", "event=node", f"start={begin}", asked_for
            events, jobs = self._rows("sacctmgr", "-nP", *words), None
            if events is not None:
                options = "-aXDnP", "-S", begin, "-E", "now", "-s", "NF"
                jobs = self._rows("sacct", *options, "-o", "JobIDRaw,Start,End,NodeList,State")
            found.accounting = events is not None and jobs is not None
            if not found.accounting:
                found.unseen = ["accounting does not answer: what ends between two looks is unseen"]
            every = [event for row in events or () if (event := _event(row))]
            places = ((event.node, event.begin, event.end) for event in every)
            found.events = [
                e for e, at in zip(every, places, strict=True) if at not in known.events
            ]
            rows = [*(rows or ()), *(jobs or ())]
        else:
            found.unseen = [
                "without slurmdbd: drains and faults that begin and end between two looks, jobs of"
                " more than MinJobAge before a look, jobs that were requeued"
            ]
        for row in rows or ():
            times = [slurm_seconds(text) for text in row[1:3]]
            if len(row) == 5 and row[0] not in known.jobs and times[1] is not None:
                ended = times[1]
                if ended >= (known.last.at if known.last else found.at) - _BEFORE_S:
                    begun = times[0] if times[0] is not None else ended
                    nodes = [*NodeSet(row[3])] if row[3] not in ("", "None assigned") else []
                    job = ledger.BookedJob(row[0], begun, ended, nodes, "NODE_FAIL")
                    known.jobs.add(job.job)
                    found.jobs.append(job)

    def _rows(self, *argv: str) -> list[list[str]] | None:
        """The columns of each line of an answer; None where the command fails."""
        with suppress(InfrastructureError):
            answer = asked(self.site, *argv)
            if answer.status == 0:
                return [line.split("|") for line in answer.stdout.splitlines()]
        return None


def _node(shown: dict[str, str], before: ledger.NodeState | None) -> ledger.NodeState:
    """A node as `scontrol show node` describes it; one that is not heard of is not down yet."""
    state = shown.get("State", "")
    heard = _SILENT.sub("", state)
    out: ledger.Out = ""
    if "MAINT" in state:
        out = "maintenance"
    elif is_down(heard) or "REBOOT_ISSUED" in state:
        out = "down"
    elif "DRAIN" in state:
        out = "drained"
    told = _REASON.fullmatch(shown.get("Reason", ""))
    boot = slurm_seconds(shown.get("BootTime", ""))
    if boot and before and before.boot and abs(boot - before.boot) < _BOOT_S:
        boot = before.boot
    return ledger.NodeState(
        out=out,
        state=state if out or state != heard else "",
        reason=told[1] if told else shown.get("Reason", ""),
        since=slurm_seconds(told[2]) if told else None,
        boot=boot,
        daemon=slurm_seconds(shown.get("SlurmdStartTime", "")),
    )


def _event(row: Sequence[str]) -> ledger.NodeEvent | None:
    """A row of `sacctmgr show event`; None where it is no outage of a node."""
    if len(row) < 5 or (begin := slurm_seconds(row[1])) is None or not row[0]:
        return None
    out: ledger.Out = "down" if is_down(row[3]) else "drained" if "DRAIN" in row[3] else ""
    return ledger.NodeEvent(row[0], begin, slurm_seconds(row[2]), out, row[4]) if out else None


def _private(config: str) -> Iterator[str]:
    """Data that Slurm hides from ordinary users."""
    hidden = setting(config, "PrivateData") or "none"
    for word, what in (
        ("jobs", "jobs of others (PrivateData=jobs): the job MTTI is of this user's jobs"),
        ("events", "events of nodes in accounting (PrivateData=events)"),
        ("partitions", "partitions that this user may not use (PrivateData=partitions)"),
    ):
        if word in hidden:
            yield what
