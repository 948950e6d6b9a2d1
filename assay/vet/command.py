# SPDX-License-Identifier: Apache-2.0
"""`assay vet`: on this node, by jobs, or inside a job; always one line a node and one status."""

from __future__ import annotations

import argparse
import ctypes
import os
import select
import signal
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec
from ClusterShell.NodeSet import NodeSet, NodeSetException

from assay.commands import run_command
from assay.vet import drain
from assay.vet.folder import VetFolder
from assay.vet.local import Say, VetRequest, node_name, reasons, vet_here, words_of
from assay.vet.measuring import SECONDS, StepError, build_program, program_path
from assay.vet.nodes import not_vetted, usable, vet_by_slurm, vet_in_job
from checks.common.slurm.commands import Slurm
from checks.common.slurm.text import pairs
from records.errors import AssayError, ExitStatus, InfrastructureError
from records.forms import as_bytes
from records.vetting import METRICS, STATUS, WORDS, Vetting, vetting_of
from reports.notation.units import percent

#: Vettings of each node for a reference.
_REFERENCE_VETTINGS = 5
#: Seconds beyond its budget after which a vetting is ended from outside.
_GRACE_S = 12.0
_PR_SET_PDEATHSIG = 1


def vet_command(arguments: argparse.Namespace) -> int:
    """`assay vet`; the exit status is that of the worst word."""
    if arguments.answer is not None:
        return _answer(arguments.port, arguments.answer)
    if [arguments.local, arguments.job, bool(arguments.nodes)].count(True) > 1:
        raise AssayError("vet: give nodes, or --local, or --job, not two of them")
    try:
        folder, policy = _folder_and_policy(arguments)
        if arguments.local:
            return _vet_local(arguments, folder, policy)
    except AssayError as error:
        if not arguments.by_slurm:
            raise
        print(not_vetted(node_name(), f"{error}").line)  # as a prolog it must not drain
        return ExitStatus.PASS
    try:
        build_program()
    except StepError as error:
        raise AssayError(f"{error}") from error
    options = [f"--disk={arguments.disk}", *_given(arguments)]
    if arguments.job:
        here = [f"--folder={folder.path.absolute()}", *options]
        vettings = vet_in_job(here)
        _show(vettings, arguments)
        for word, names in (("good", WORDS[:2]), ("bad", WORDS[2:])):
            nodes = NodeSet.fromlist([one.node for one in vettings if one.word in names])
            print(f"{word} {nodes}", file=sys.stderr if arguments.json else sys.stdout)
        return _status(vettings)
    return _vet_nodes(arguments, folder, policy, options)


def _given(arguments: argparse.Namespace) -> list[str]:
    """The options of a node that the caller gave."""
    steps = [f"--steps={arguments.steps}"] if arguments.steps else []
    return [*steps, *([f"--budget={arguments.budget:g}"] if arguments.budget else [])]


def _vet_nodes(
    arguments: argparse.Namespace, folder: VetFolder, policy: drain.Policy, options: Sequence[str]
) -> int:
    from assay.sites.loading import load_site  # slow: not for --local

    if not arguments.site:
        raise AssayError("vet: which nodes? Give --site SITE and NODE…, or --local for this one")
    site = load_site(arguments.site)
    states = pairs(site.slurm_output("sinfo", "-h", "-N", "-o", "%N %T"))
    try:
        nodes = [*NodeSet(",".join(arguments.nodes))] or usable(states)
    except NodeSetException as error:
        raise AssayError(f"vet: {error}") from error
    if unknown := [node for node in nodes if node not in states]:
        raise AssayError(f"vet: Slurm has no node {unknown[0]}; it has {NodeSet.fromlist(states)}")
    found: list[Vetting] = []
    for _ in range(_REFERENCE_VETTINGS if arguments.reference else 1):
        vettings = vet_by_slurm(site, nodes, folder, options, arguments.port)
        for vetting in vettings:
            if vetting.id != "none" and not folder.record_path(vetting).exists():
                folder.keep(vetting)
        _show(vettings, arguments)
        found += vettings
    _learn(folder)
    if arguments.drain:
        drains = drain.Drains(folder, policy, site.slurm())
        for vetting in found:
            _tell(drains.act(vetting, _reason(vetting)))
    return ExitStatus.PASS if arguments.reference else _status(found)


def _learn(folder: VetFolder) -> None:
    """Add the records to the history, make the reference, and name nodes that lose over weeks."""
    from reports.verdicts.vetting.reference import decays  # slow: SciPy

    history = folder.collect()
    for decay in decays(history) if history else ():
        title = METRICS[decay.metric][1]
        _tell(
            f"{decay.node} decays: {title} loses {percent(decay.rate, 2)} a week since"
            f" {decay.since:%Y-%m-%d}, {percent(decay.loss)} so far (chance without a loss"
            f" {decay.chance:.1g}); at this rate 10 % in {decay.weeks_left:.0f} weeks"
        )


def _folder_and_policy(arguments: argparse.Namespace) -> tuple[VetFolder, drain.Policy]:
    """The folder of vettings, and what the site allows."""
    path, policy = arguments.folder, drain.Policy()
    if arguments.site:
        from assay.sites.site_file import read_site_file  # slow: pydantic
        from assay.sites.values import expanded  # slow: pydantic

        described = read_site_file(arguments.site.partition(":")[0]).vetting
        policy = drain.Policy(described.drain, described.drains_per_hour)
        path = path or (Path(expanded(described.folder)) if described.folder else None)
    return VetFolder(path or Path("results/vettings")), policy


def _vet_local(arguments: argparse.Namespace, folder: VetFolder, policy: drain.Policy) -> int:
    """Vet this node; a vetting that fails ends with a line and drains nothing."""
    try:
        steps = words_of(arguments.steps.split(",")) if arguments.steps else VetRequest.steps
    except ValueError as error:
        raise AssayError(f"vet: {error}") from error
    request = VetRequest(
        folder,
        steps,
        (arguments.budget or VetRequest.budget_s) + (SECONDS["link"] if arguments.neighbour else 0),
        arguments.disk,
        arguments.neighbour or "",
        arguments.port,
    )
    quiet = arguments.json or arguments.by_slurm

    def work(say: Say) -> Vetting:
        vetting = vet_here(request, say)
        done = ""
        if arguments.drain:
            done = drain.Drains(folder, policy, Slurm()).act(vetting, _reason(vetting))
        return msgspec.structs.replace(vetting, line=f"{vetting.line}; {done}".rstrip("; "))

    times = _REFERENCE_VETTINGS if arguments.reference else 1
    vettings = [guarded(request.budget_s + _GRACE_S, work, quiet=quiet) for _ in range(times)]
    _show(vettings, arguments)
    if arguments.reference:
        _learn(folder)
        return ExitStatus.PASS
    return ExitStatus.PASS if arguments.by_slurm else _status(vettings)


def guarded(limit_s: float, work: Callable[[Say], Vetting], *, quiet: bool = False) -> Vetting:
    """What `work` gives in a process of its own, which dies with this one; suspect with the reason
    where it does not end in time, as on a file system that hangs, or fails."""
    reading, writing = os.pipe()
    parent = os.getpid()
    child = os.fork()
    if child == 0:
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        try:
            os.close(reading)
            if os.getppid() != parent:
                os._exit(1)
            result = work(lambda text: None if quiet else print(text, flush=True))
        except BaseException as error:
            why = f"the vetting failed ({type(error).__name__}: {error})"
            result = not_vetted(node_name(), why[:300])
        os.write(writing, as_bytes(result))
        os._exit(0)
    os.close(writing)
    until, told = time.monotonic() + limit_s, b""
    while select.select([reading], [], [], max(0.0, until - time.monotonic()))[0]:
        part = os.read(reading, 1 << 16)
        told += part
        if not part:
            os.waitpid(child, 0)
            break
    else:
        os.kill(child, signal.SIGKILL)  # not waited for: it may hang in the kernel
    os.close(reading)
    try:
        return vetting_of(told)
    except msgspec.MsgspecError:
        return not_vetted(node_name(), f"the vetting did not end within {limit_s:.0f} s")


def _show(vettings: Sequence[Vetting], arguments: argparse.Namespace) -> None:
    for vetting in vettings:
        print(as_bytes(vetting).decode() if arguments.json else vetting.line, flush=True)


def _status(vettings: Sequence[Vetting]) -> ExitStatus:
    return STATUS[max((one.word for one in vettings), key=WORDS.index)]


def _reason(vetting: Vetting) -> str:
    """The reason of a drain: the worst of what was found."""
    return next(iter(reasons(vetting)), vetting.word)


def _tell(line: str) -> None:
    if line:
        print(line, flush=True)


def _answer(port: int, seconds: float) -> int:
    """The listening end of a neighbour's link, twice, for its second look."""
    until = time.monotonic() + seconds
    for _ in range(2):
        left_s = until - time.monotonic()
        words = [str(program_path()), "--step", "link", "--port", str(port)]
        try:
            if run_command(words, os.environ, limit_s=max(0.1, left_s)).status != 0:
                return ExitStatus.PASS
        except InfrastructureError:
            return ExitStatus.PASS
    return ExitStatus.PASS
