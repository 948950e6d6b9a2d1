# SPDX-License-Identifier: Apache-2.0
"""The shell text of a probe: how an environment is prepared, built and tried, by what probe.sh
knows."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass

from assay.probe.job import END_MARK

#: Seconds that one way to start ranks may take.
ATTEMPT_S = 40


@dataclass(frozen=True)
class Attempt:
    """One way to start ranks: the words of a shell line, to which program and arguments are added.

    `label` is for readers, e.g. "srun --mpi=pmix".
    """

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


def login_build_script(folder: str, trials: Sequence[Trial], outs: Sequence[str]) -> str:
    """What compiles all trials on the login node, each in a shell of its own."""
    parts = [
        f"(\nmkdir -p {out}\n{_prepared(trial, out)}\nbuild_placement {_build_words(trial, out)}\n)"
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
        attempts = [
            f"attempt {index} {ranks} {nodes} {one.line}{go_on}"
            for index, one in enumerate(trial.attempts)
        ]
        parts += [
            "(",
            f"begin_trial {number}",
            _prepared(trial, '"$work"'),
            f"try_build {_build_words(trial, out)}",
            f"export ASSAY_PRELOAD={shlex.quote(trial.preload)}",
            *attempts,
            ")",
        ]
    return "\n".join([*parts, f"echo '{END_MARK}'", ""])


def _begin(folder: str) -> str:
    return f"""\
here={shlex.quote(folder)}
cd "$here" || {{ echo "not shared: $(hostname) has no $here"; exit 1; }}
. ./probe.sh"""


def _build_words(trial: Trial, out: str) -> str:
    """Which build, by which compiler, of what."""
    return shlex.join([out, trial.compiler, "evidence", *["daemon"] * trial.helpers])


def _prepared(trial: Trial, out: str) -> str:
    """What prepares a trial's shell; what it prints goes to a file of the folder `out`."""
    return f"{{\n{trial.prologue or ':'}\n}} >{out}/prepare.out 2>&1 </dev/null"
