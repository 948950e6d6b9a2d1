# SPDX-License-Identifier: Apache-2.0
"""Environments of a site as trials of a probe job, and the shell text that tries them.

The functions that the text calls are in probe.sh.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from assay.probe.job import END_MARK
from assay.sites.description import EnvironmentKeys
from assay.sites.site import Site
from checks.common.session.launch_commands import LAUNCHERS, launch_words
from records.waiting import ATTEMPT_S, scaled


@dataclass(frozen=True)
class Attempt:
    """A way to start ranks: a shell line, to which program and arguments are added. `label` is for
    readers, e.g. "srun --mpi=pmix"."""

    label: str
    line: str


@dataclass(frozen=True)
class Trial:
    """An environment to be tried: how it is prepared, its compiler, the ways to start its ranks.

    `prologue`: shell lines that make a shell ready, or end it. `preload`: a library that ranks
    preload. `helpers`: preloads and the programs that mind daemons are built, too. `every`: all
    attempts are made, also after a right one.
    """

    name: str
    compiler: str
    attempts: Sequence[Attempt]
    prologue: str = ""
    preload: str = ""
    helpers: bool = False
    every: bool = False

    @property
    def build_key(self) -> tuple[str, str, bool]:
        """Trials that are alike in it share a build."""
        return self.compiler, self.prologue, self.helpers

    def build_words(self, out: str) -> str:
        """Arguments of the build: its folder, the compiler, the targets."""
        return shlex.join([out, self.compiler, "evidence", *["daemon"] * self.helpers])

    def preparation(self, out: str) -> str:
        """Lines that prepare its shell; their output goes to a file of the folder `out`."""
        return f"{{\n{self.prologue or ':'}\n}} >{out}/prepare.out 2>&1 </dev/null"


def trial_of(
    site: Site,
    name: str,
    ranks: int,
    ranks_per_node: int,
    ways: Iterable[EnvironmentKeys] = (),
    *,
    every: bool = False,
) -> Trial:
    """An environment, started as it is described, or in several ways in turn until one is right."""
    environment = site.description.environments[name]
    known = list(ways) or [environment]
    attempts = []
    for way in known:
        mpirun, template = way.mpirun or "", way.launcher_command or ""
        words = launch_words(way.launcher, ranks, ranks_per_node, mpirun=mpirun, template=template)
        words += way.launcher_options
        # Inside the session of every launch.
        limit = f"{scaled(ATTEMPT_S):.0f}"
        session = ["./session.sh", LAUNCHERS[way.launcher].daemons, limit, *words]
        attempts.append(Attempt(shlex.join(words), shlex.join(session)))
    daemons = any(LAUNCHERS[way.launcher].daemons != "none" for way in known)
    return Trial(
        name,
        environment.compiler,
        attempts,
        prologue="\n".join(site.preparation(name)),
        preload=environment.preload,
        helpers=daemons or bool(environment.preload),
        every=every,
    )


def login_build_script(folder: str, trials: Sequence[Trial], outs: Sequence[str]) -> str:
    """Script that compiles all trials on the login node, each in a shell of its own."""
    parts = [
        f"(\nmkdir -p {out}\n{trial.preparation(out)}\nbuild_placement {trial.build_words(out)}\n)"
        for trial, out in zip(trials, outs, strict=True)
    ]
    return "\n".join([_begin(folder), *parts])


def job_script(
    folder: str, trials: Sequence[Trial], outs: Sequence[str], ranks: int, nodes: int
) -> str:
    """The whole job: facts of its nodes, then each trial, in a shell of its own; its attempts in
    turn until one starts ranks right."""
    parts = ["#!/bin/bash", _begin(folder), "facts_of_nodes"]
    for number, (trial, out) in enumerate(zip(trials, outs, strict=True)):
        go_on = "" if trial.every else " && exit 0"
        parts += [
            "(",
            f"begin_trial {number}",
            trial.preparation('"$work"'),
            f"try_build {trial.build_words(out)}",
            f"export ASSAY_PRELOAD={shlex.quote(trial.preload)}",
            *(
                f"attempt {index} {ranks} {nodes} {one.line}{go_on}"
                for index, one in enumerate(trial.attempts)
            ),
            ")",
        ]
    return "\n".join([*parts, f"echo '{END_MARK}'", ""])


def _begin(folder: str) -> str:
    return f"""\
here={shlex.quote(folder)}
cd "$here" || {{ echo "not shared: $(hostname) has no $here"; exit 1; }}
. ./probe.sh"""
