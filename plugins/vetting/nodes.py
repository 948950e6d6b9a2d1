# SPDX-License-Identifier: Apache-2.0
"""Vetting other nodes: a short job for each, or the nodes of the job that this is called in;
draining an unfit one and resuming it, by the site's policy."""

import os
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import chain
from threading import Lock
from typing import Annotated

import msgspec
from ClusterShell.NodeSet import NodeSet

from assay import ROOT
from assay.commands import python_folders, run_command
from assay.sites.site import Site
from checks.common.slurm.commands import Answer, Slurm, fields
from plugins.vetting.folder import VetFolder
from plugins.vetting.judge import WORDS, Reference, Vetting, vetting_of
from records.errors import AssayError, InfrastructureError
from records.files import append_whole, held
from records.forms import Part, as_bytes, key
from records.text.plain_text import speaking
from reports.notation.units import count_text
from virtual_cluster.session_python import python_words

#: Seconds that a job may wait for its nodes, and with it that it may take in all, at --time=2.
_WAIT_S, _LIMIT_S = 30, 180.0
_AT_ONCE = 32  # jobs
#: Looks for a neighbour, and seconds between two.
_LOOKS, _LOOK_S = 5, 1.0
#: A task a node, on all the cores that the job has there.
_SRUN = ("srun", "--quiet", "--mpi=none", "--ntasks-per-node=1", "--cpu-bind=none")
#: What each task of a job runs: the node itself, or the other end of its link.
_TASK = """\
node=$1; shift
[ "$SLURMD_NODENAME" = "$node" ] || set -- "$@" --answer=55
exec "$@"
"""


def vet_by_slurm(
    site: Site, nodes: Sequence[str], folder: VetFolder, words: Sequence[str], *, link: bool
) -> list[Vetting]:
    """Vet each node by a job of its own, side by side where nodes share no cores; a node that gets
    no job is suspect. `words` are those of `assay` on a node, `link`: it has the step."""
    reference, ours = None, site.python_words("assay.entry")
    with suppress(OSError, msgspec.MsgspecError):
        reference = folder.reference()
    folder.path.mkdir(parents=True, exist_ok=True)
    site.show_to_jobs([ROOT, *python_folders(), folder.path])
    partition = f"--partition={site.description.slurm_partition}"
    most = site.description.nodes - 1 if link else 0
    lock, held = Lock(), set[str]()

    def neighbours_of(node: str) -> list[str]:
        # A job that has ended holds its nodes for a moment, which may be the only neighbours.
        for _ in range(_LOOKS if most > 0 else 0):
            with lock:
                states = site.slurm().node_states(partition)
                found = good_neighbours(states, {node, *held}, reference)[:most]
                held.update(found)
            if found:
                return found
            time.sleep(_LOOK_S)
        return []

    def vet(node: str) -> Vetting:
        neighbours = neighbours_of(node)
        access = [*site.description.access, f"--immediate={_WAIT_S}", "--exclusive", "--time=2"]
        job = _job([*access, "--job-name=assay-vet"], node, neighbours, [*ours, *words])
        (vetting,) = _vetted(lambda: site.ask(job, limit_s=_LIMIT_S), [node])
        held.difference_update(neighbours)
        return vetting

    at_once = 1 if site.description.shared_cores else min(_AT_ONCE, 1 + len(nodes) // 4)
    with ThreadPoolExecutor(at_once) as pool:
        return [*pool.map(vet, nodes)]


def good_neighbours(
    states: Mapping[str, str], taken: Collection[str], reference: Reference | None
) -> list[str]:
    """Two idle nodes, those found fit lately before any other. The second look is at another link:
    where the first neighbour's is slow, the node is not unfit."""
    ready = {"idle", "completing"}
    idle = [name for name, state in states.items() if state in ready and name not in taken]
    known = [name for name in (reference.fit if reference else []) if name in idle]
    return [*dict.fromkeys([*known, *idle])][:2]


def vet_in_job(words: Sequence[str], *, link: bool) -> list[Vetting]:
    """Vet all nodes of the job that this is called in, at once without the link; then in groups of
    three the link of one node after the other, its best neighbours at the other end."""
    if not (nodes := [*NodeSet(os.environ.get("SLURM_JOB_NODELIST", ""))]):
        why = "no SLURM_JOB_NODELIST; call it in a batch script or inside salloc"
        raise InfrastructureError(f"vet --job: this is in no job of Slurm ({why})")

    def step(job: Sequence[str], vetted: Sequence[str]) -> list[Vetting]:
        return _vetted(lambda: run_command(job, os.environ, limit_s=_LIMIT_S), vetted)

    sizes = [f"--nodes={len(nodes)}", f"--ntasks={len(nodes)}"]
    words = [*python_words(None, "assay.entry"), *words]
    found = step([*_SRUN, "--overlap", *sizes, *words], nodes)
    order = {one.node: WORDS.index(one.word) for one in found}

    def links(group: Sequence[str]) -> list[Vetting]:
        best, asked = sorted(group, key=order.__getitem__), [*words, "--steps=link"]
        ends = {node: [one for one in best if one != node][:2] for node in group}
        jobs = {node: _job(["--overlap"], node, near, asked) for node, near in ends.items()}
        return [one for node, job in jobs.items() for one in step(job, [node])]

    count = max(1, len(nodes) // 3) if link and len(nodes) > 1 else 0
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        linked = pool.map(links, [nodes[first::count] for first in range(count)])
    return [*found, *chain.from_iterable(linked)]


def _job(
    options: Sequence[str], node: str, neighbours: Sequence[str], words: Sequence[str]
) -> list[str]:
    """The srun that vets a node while its neighbours answer."""
    named = [node, *neighbours]
    sizes = [f"--nodes={len(named)}", f"--ntasks={len(named)}", f"--nodelist={','.join(named)}"]
    linked = [f"--neighbour={','.join(neighbours)}"] if neighbours else []
    task = ["sh", "-c", _TASK, "sh", node, *words, *linked]
    return [*_SRUN, *options, *sizes, "--wait=1", "--chdir=/", *task]


def _vetted(ask: Callable[[], Answer], nodes: Sequence[str]) -> list[Vetting]:
    """The vetting of each node in what the nodes printed, a record a line; suspect where it is
    missing, with the last words that tell why, of the program or of Slurm."""
    try:
        answer = ask()
    except InfrastructureError as error:
        answer = Answer(124, "", str(error))
    said = replace(answer, stderr="\n".join(speaking(answer.stderr.splitlines()))).said
    found: dict[str, Vetting] = {}
    for line in answer.stdout.splitlines():
        with suppress(msgspec.MsgspecError):
            vetting = vetting_of(line)
            found[vetting.node] = vetting
    return [found.get(node) or not_vetted(node, f"no vetting came: {said}") for node in nodes]


def not_vetted(node: str, why: str) -> Vetting:
    """A vetting that found out nothing."""
    line = f"{node} is suspect: {why}; vet it again"
    return Vetting(id="none", node=node, at="", line=line, troubles=[why])


#: How each reason of ours begins.
MARK = "assay:"
_LONGEST_REASON = 200


class DrainEntry(Part):
    """A line of drains.jsonl."""

    node: Annotated[str, key("The node.")]
    record: Annotated[str, key("The vetting.")]
    at: Annotated[float, key("When, seconds since 1970.")]
    action: Annotated[str, key("drained or resumed.")]
    reason: Annotated[str, key("Slurm's reason of the drain; empty of a resume.")] = ""


_ENTRY = msgspec.json.Decoder(DrainEntry)


@dataclass(frozen=True)
class Drains:
    """Drains nodes of `slurm`, at most so many an hour as the site allows (0: none at all); on any
    error none."""

    folder: VetFolder
    most: int
    slurm: Slurm

    def act(self, vetting: Vetting, reason: str = "") -> str:
        """Drain the node of an unfit vetting, or resume it after a fit one if a vetting drained it.

        Gives what was done or why not, in one line; "" where there is nothing to do.
        """
        if vetting.word == "suspect" or not self.most:
            why = "the site's policy (vetting.drain) does not allow it"
            return f"not drained: {why}" if vetting.word == "unfit" else ""
        try:
            shown = self.slurm.ask("scontrol", "show", "node", vetting.node, "--oneliner")
            if shown.status != 0:
                return f"not drained or resumed: Slurm does not say its state ({shown.said})"
            log = self.folder.path / "drains.jsonl"
            with held(log, "another vetting drains a node now"):
                entries = [_ENTRY.decode(line) for line in log.read_bytes().splitlines()]
                text, action = self._decided(vetting, reason, shown.stdout, entries)
                if not action:
                    return text
                why, now = text if action == "drained" else "", time.time()
                entry = DrainEntry(vetting.node, vetting.id, now, action, why)
                # Before it is done: what a vetting has drained is known after a kill, too.
                with log.open("ab") as file:
                    append_whole(file.fileno(), as_bytes(entry) + b"\n")
            set_to = ["State=DRAIN", f"Reason={why}"] if why else ["State=RESUME"]
            done = self.slurm.ask("scontrol", "update", f"NodeName={vetting.node}", *set_to)
        except (OSError, msgspec.MsgspecError, AssayError) as error:
            return f"not drained or resumed: {error}"
        if done.status != 0:
            return f"not {action}: {done.said}"
        return f"drained, reason: {text}" if why else text

    def _decided(
        self, vetting: Vetting, reason: str, shown: str, entries: Sequence[DrainEntry]
    ) -> tuple[str, str]:
        """The reason of a drain, or what else is said; and what is done, "" for nothing."""
        state = fields(shown).get("State", "")
        if vetting.word == "fit":
            own = [one for one in entries if one.node == vetting.node][-1:]
            if "DRAIN" not in state:
                return "", ""
            # Only where the reason that the node has now is that of its last drain in the log.
            if not own or not own[0].reason or own[0].reason not in shown:
                return "not resumed: no vetting drained it", ""
            return "resumed: fit again", "resumed"
        if "DRAIN" in state or "DOWN" in state:
            return f"not drained: the node is {state} already", ""
        # Entries of the future are of a clock that was set: they count.
        recent = [one for one in entries if one.reason and time.time() - one.at < 3600]
        if len(recent) >= self.most:
            most = f"at most {count_text(self.most, 'drain')} an hour"
            return f"not drained: {most} (vetting.drains_per_hour)", ""
        return f"{MARK} {reason}"[:_LONGEST_REASON] + f" {vetting.id}", "drained"
