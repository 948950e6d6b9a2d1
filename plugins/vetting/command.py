# SPDX-License-Identifier: Apache-2.0
"""`assay vet`: on this node, by jobs, or inside a job; always one line a node and one status."""

import argparse
import ctypes
import os
import select
import signal
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

import msgspec
from ClusterShell.NodeSet import NodeSet, NodeSetException

from assay.cli.arguments import JSON, argument, declared, flag, site
from assay.commands import run_command
from checks.common.slurm.commands import Slurm, is_usable, pairs
from plugins.vetting import local
from plugins.vetting.folder import VetFolder
from plugins.vetting.judge import STATUS, WORDS, Vetting, Word, vetting_of
from plugins.vetting.nodes import Drains, not_vetted, vet_by_slurm, vet_in_job
from records.errors import AssayError, ExitStatus, InfrastructureError
from records.forms import as_bytes

#: Vettings of each node for a reference.
_REFERENCE_VETTINGS = 5
#: Seconds beyond its budget after which a vetting is ended from outside.
_GRACE_S = 12.0


def vet_command(arguments: argparse.Namespace) -> int:
    """`assay vet`; the exit status is that of the worst word."""
    if arguments.answer is not None:
        return _answer(arguments.port, arguments.answer)
    if [arguments.local, arguments.job, bool(arguments.nodes)].count(True) > 1:
        raise AssayError("vet: give nodes, or --local, or --job, not two of them")
    try:
        steps = (arguments.steps or ",".join(local.STEPS)).split(",")
        if odd := {*steps} - {*local.STEPS}:
            raise AssayError(f"vet: step {min(odd)}: allowed are {', '.join(local.STEPS)}")
        folder, most = _folder_and_drains(arguments)
        if arguments.local:
            return _vet_local(arguments, steps, folder, most)
    except AssayError as error:
        if not (arguments.by_slurm or arguments.unkept):
            raise
        _show([not_vetted(local.node_name(), f"{error}")], arguments)
        # As a prolog it must not drain.
        return ExitStatus.PASS if arguments.by_slurm else error.status
    local.build_program()
    words = ["vet", "--local", "--json", "--unkept", f"--folder={folder.path.absolute()}"]
    given = {key: vars(arguments)[key] for key in ("disk", "port", "steps", "budget")}
    words += [f"--{key}={value}" for key, value in given.items() if value]
    if not arguments.job:
        return _vet_nodes(arguments, folder, most, words, link="link" in steps)
    vettings = vet_in_job(words, link="link" in steps)
    _show(vettings, arguments, folder)
    bad = {one.node for one in vettings if one.word == "unfit"}
    good = {one.node for one in vettings} - bad
    lists = f"good {NodeSet.fromlist(good)}\nbad {NodeSet.fromlist(bad)}"
    print(lists, file=sys.stderr if arguments.json else sys.stdout)
    return _status(vettings)


def _vet_nodes(
    arguments: argparse.Namespace, folder: VetFolder, most: int, words: Sequence[str], *, link: bool
) -> int:
    from assay.sites.loading import load_site  # slow: not for --local

    if not arguments.site:
        raise AssayError("vet: which nodes? Give --site SITE and NODE…, or --local for this one")
    site = load_site(arguments.site)
    partition = site.description.slurm_partition
    answer = site.ask(["sinfo", "-h", "-N", f"--partition={partition}", "-o", "%N %T"])
    if answer.status != 0:
        raise InfrastructureError(f"vet: Slurm does not say its nodes: {answer.said}")
    states = pairs(answer.stdout)
    try:
        nodes = [*NodeSet(",".join(arguments.nodes))]
    except NodeSetException as error:
        raise AssayError(f"vet: {error}") from error
    nodes = nodes or [node for node, state in states.items() if is_usable(state)]
    if unknown := [node for node in nodes if node not in states]:
        raise AssayError(
            f"vet: partition {partition} has no node {unknown[0]}; it has"
            f" {NodeSet.fromlist(states)}. Nodes of others: --site {site.name}:PARTITION"
        )
    found: list[Vetting] = []
    for _ in range(_REFERENCE_VETTINGS if arguments.reference else 1):
        found += vet_by_slurm(site, nodes, folder, words, link=link)
        _show(found[-len(nodes) :], arguments, folder)
    try:
        folder.collect()
    except AssayError as error:  # it fails open: records and lines are there, no node is drained
        print(f"vet: no new reference and no drain: {error}", file=sys.stderr)
        return _status(found, "suspect")
    if arguments.drain:
        drains = Drains(folder, most, site.slurm())
        for vetting in found:
            if line := drains.act(vetting, *local.reasons(vetting)[:1]):
                print(line, flush=True)
    return ExitStatus.PASS if arguments.reference else _status(found)


def _folder_and_drains(arguments: argparse.Namespace) -> tuple[VetFolder, int]:
    """The folder of vettings, and how many drains an hour the site allows."""
    path, most = arguments.folder, 0
    if arguments.site:
        from assay.sites.site_file import read_site_file  # slow: pydantic
        from assay.sites.values import expanded  # slow: pydantic

        described = read_site_file(arguments.site.partition(":")[0]).vetting
        most = described.drains_per_hour if described.drain else 0
        path = path or (Path(expanded(described.folder)) if described.folder else None)
    return VetFolder(path or Path("results/vettings")), most


def _vet_local(
    arguments: argparse.Namespace, steps: Sequence[str], folder: VetFolder, most: int
) -> int:
    """Vet this node; a vetting that fails ends with a line and drains nothing."""
    asked = [step for step in local.SECONDS if step in steps]
    neighbours = arguments.neighbour.split(",") if arguments.neighbour else ()
    budget_s = (arguments.budget or local.VetRequest.budget_s) + local.SECONDS["link"] * bool(
        neighbours
    )
    request = local.VetRequest(
        folder,
        steps=asked,
        budget_s=budget_s,
        disk=arguments.disk,
        neighbours=neighbours,
        port=arguments.port,
        keep=not arguments.unkept,
    )
    quiet = arguments.json or arguments.by_slurm

    def work(say: local.Say) -> Vetting:
        vetting = local.LocalVetting(request, say).run()
        if arguments.drain:
            done = Drains(folder, most, Slurm()).act(vetting, *local.reasons(vetting)[:1])
            vetting.line = f"{vetting.line}; {done}".rstrip("; ")
        return vetting

    limit_s, times = request.budget_s + _GRACE_S, _REFERENCE_VETTINGS if arguments.reference else 1
    vettings = [guarded(limit_s, work, quiet=quiet) for _ in range(times)]
    _show(vettings, arguments)
    if arguments.reference:
        folder.collect()
    return ExitStatus.PASS if arguments.by_slurm or arguments.reference else _status(vettings)


def guarded(
    limit_s: float, work: Callable[[local.Say], Vetting], *, quiet: bool = False
) -> Vetting:
    """Result of `work` in a process of its own, which dies with this one; suspect with the reason
    where it does not end in time, as on a file system that hangs, or fails."""
    (reading, writing), parent = os.pipe(), os.getpid()
    child = os.fork()
    if child == 0:
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
        try:
            os.close(reading)
            if os.getppid() != parent:
                os._exit(1)
            result = work(lambda *words: None if quiet else print(*words, flush=True))
        except BaseException as error:
            why = f"the vetting failed ({type(error).__name__}: {error})"
            result = not_vetted(local.node_name(), why[:300])
        os.write(writing, as_bytes(result))
        os._exit(0)
    os.close(writing)
    until, told, ended = time.monotonic() + limit_s, b"", False
    # To the end of the pipe or of the time: a process that it left may hold the other end.
    while not ended and select.select([reading], [], [], max(0.0, until - time.monotonic()))[0]:
        part = os.read(reading, 1 << 16)
        told, ended = told + part, not part
    os.close(reading)
    if ended:
        os.waitpid(child, 0)
    else:
        os.kill(child, signal.SIGKILL)  # not waited for: it may hang in the kernel
    try:
        return vetting_of(told)
    except msgspec.MsgspecError:
        why = "was killed" if ended else f"did not end within {limit_s:.0f} s"
        return not_vetted(local.node_name(), f"the vetting {why}")


def _show(
    vettings: Sequence[Vetting], arguments: argparse.Namespace, folder: VetFolder | None = None
) -> None:
    """Print vettings, and keep those that a node has not kept itself."""
    for vetting in vettings:
        judged = vetting.oddities or any(figure.level for figure in vetting.figures)
        if arguments.reference and not (vetting.troubles or judged):
            vetting.line = f"{vetting.node} measured for the reference; record {vetting.id}"
        print(as_bytes(vetting).decode() if arguments.json else vetting.line, flush=True)
        if folder and vetting.id != "none":
            try:
                folder.keep(vetting)
            except OSError as error:
                why = f"vet: no record: {folder.path} ({error.strerror})"
                raise InfrastructureError(why) from error


def _status(vettings: Sequence[Vetting], least: Word = "fit") -> ExitStatus:
    return STATUS[max([least, *(one.word for one in vettings)], key=WORDS.index)]


def _answer(port: int, seconds: float) -> int:
    """The listening end of a neighbour's link. It ends last: srun ends the others soon after the
    first task."""
    until = time.monotonic() + seconds
    words = [str(local.program_path()), "--step", "link", "--port", str(port)]
    while (left_s := until - time.monotonic()) > 0:
        with suppress(InfrastructureError):
            run_command(words, os.environ, limit_s=left_s)
        time.sleep(0.1)
    return ExitStatus.PASS


declare = declared(
    vet_command,
    argument("nodes NODE", "a node, or nodes as n[1-3]; each gets a job", nargs="*"),
    flag("--local", "this node, without Slurm"),
    flag("--job", "the nodes of the job that this is called in: lists of good and bad ones"),
    site(None, "a folder of site-config/, for NODE and for the policy of --drain"),
    argument("--steps LIST", "only these, with commas between; default: all"),
    argument("--budget SECONDS", "of a node, without the link; default: 30", type=float),
    argument("--disk DIR", "folder of the step disk", type=Path, default=Path("/tmp")),  # noqa: S108
    argument("--folder DIR", "records and reference; default: results/vettings", type=Path),
    flag("--reference", "vet five times, and make the reference that later ones are judged by"),
    flag("--drain", "drain what is unfit and resume what is fit again, as the site allows"),
    flag("--by-slurm", "with --local: one line, and status 0, which drains no node"),
    flag("--unkept", "with --local --json: the caller keeps the record"),
    argument("--neighbour NODE", "the other end of the link, or two; they run --answer"),
    argument("--answer SECONDS", "answer a neighbour's step link, so long", type=float),
    argument("--port", "of the link", type=int, default=28571),
    JSON,
)
