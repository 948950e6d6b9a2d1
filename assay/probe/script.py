# SPDX-License-Identifier: Apache-2.0
"""The shell text of a probe: how an environment is prepared, built and tried, and what is printed.

Everything is printed in sections, `== NAME` before them; what programs print has `| ` before each
line, so that nothing of it is taken for a section.
"""

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


def build_text(trial: Trial, out: str) -> str:
    """Shell lines that compile the placement program of a trial below `out`, in the folder.

    What a job left there that was cut off in the middle is made anew.
    """
    cc = shlex.quote(trial.compiler)
    targets = "evidence daemon" if trial.helpers else "evidence"
    return f"""\
if ! [ -x {out}/placement ]; then
    mkdir -p {out}
    {{
        make -B -C src --no-print-directory OUT="$here"/{out} CC={cc} FOLDERS= {targets} &&
            {trial.compiler} -std=c11 -O1 -Isrc -o {out}/placement.part src/placement/placement.c \\
                src/assay/host_name.c src/assay/hosts.c src/assay/texts.c {out}/evidence.o \\
                -lm -ldl &&
            mv {out}/placement.part {out}/placement
    }} >{out}/build.out 2>&1
    echo "$?" >{out}/build.status
fi"""


def login_build_script(folder: str, trials: Sequence[Trial], outs: Sequence[str]) -> str:
    """What compiles all trials on the login node, each in a shell of its own."""
    parts = [_begin(folder)]
    parts += [
        f"(\n{_prepared(trial, out)}\n{build_text(trial, out)}\n)"
        for trial, out in zip(trials, outs, strict=True)
    ]
    return "\n".join(parts)


def job_script(
    folder: str, trials: Sequence[Trial], outs: Sequence[str], ranks: int, nodes: int
) -> str:
    """The whole job: facts of its nodes, then each trial."""
    parts = [
        "#!/bin/bash",
        _begin(folder),
        """\
section job
echo "nodes=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | tr '\\n' ' ')"
mkdir -p "nodes.$SLURM_JOB_ID"
srun --mpi=none --overlap --nodes="$SLURM_NNODES" --ntasks="$SLURM_NNODES" --ntasks-per-node=1 \\
    sh "$here/facts.sh" "$here" </dev/null 2>&1
section token
cat token
for file in "nodes.$SLURM_JOB_ID"/*; do
    [ ! -e "$file" ] || { section "node/${file##*/}" && sed 's/^== /=== /' "$file"; }
done""",
    ]
    parts += [
        _trial_text(number, trial, out, ranks, nodes)
        for number, (trial, out) in enumerate(zip(trials, outs, strict=True))
    ]
    return "\n".join([*parts, f"echo '{END_MARK}'", ""])


def _begin(folder: str) -> str:
    return f"""\
here={shlex.quote(folder)}
cd "$here" || {{ echo "not shared: $(hostname) has no $here"; exit 1; }}
section() {{ printf '\\n== %s\\n' "$1"; }}
quoted() {{ [ ! -e "$1" ] || sed 's/^/| /' "$1"; }}"""


def _prepared(trial: Trial, out: str) -> str:
    """What prepares a trial's shell; what it prints goes to a file of the folder `out`."""
    lines = trial.prologue or ":"
    return f"mkdir -p {out}\n{{\n{lines}\n}} >{out}/prepare.out 2>&1 </dev/null"


def _trial_text(number: int, trial: Trial, out: str, ranks: int, nodes: int) -> str:
    """One trial, in a shell of its own; attempts in turn until one starts ranks right."""
    compiler = trial.compiler
    go_on = "" if trial.every else '[ "$status" != 0 ] || exit 0\n'
    attempts = "".join(
        _attempt_text(*one, ranks, nodes) + go_on for one in enumerate(trial.attempts)
    )
    return f"""\
(
ours=trial/{number}
work=$here/t{number}.$SLURM_JOB_ID
exec 3>&1
trap '{{ status=$?; section "$ours/prepare"; echo "ready=$ready status=$status"
    quoted "$work/prepare.out"; }} >&3' EXIT
{_prepared(trial, '"$work"')}
ready=yes
section "$ours/modules"
echo "loaded=${{LOADEDMODULES:-}}"
section "$ours/compiler"
echo "path=$(command -v {compiler.split()[0]})"
echo "version=$({compiler} --version </dev/null 2>&1 | head -n 1)"
echo "shows=$({{ {compiler} -show || {compiler} -showme; }} </dev/null 2>/dev/null | head -n 1)"
{build_text(trial, out)}
section "$ours/build"
cat {out}/build.status
quoted {out}/build.out
[ -x {out}/placement ] || exit 0
for file in {out}/placement {out}/stepkeeper {out}/lib*.so launch/*; do
    [ ! -e "$file" ] || cp "$file" "$work"/
done
cd "$work" || exit 0
export ASSAY_PRELOAD={shlex.quote(trial.preload)}
{attempts})"""


def _attempt_text(index: int, attempt: Attempt, ranks: int, nodes: int) -> str:
    return f"""\
read -r begun _ </proc/uptime
{attempt.line} ./placement {ranks} {nodes} >{index}.out 2>{index}.err </dev/null
status=$?
section "$ours/attempt/{index}"
read -r ended _ </proc/uptime
echo "status=$status begun=$begun ended=$ended"
section "$ours/out/{index}"
quoted {index}.out
section "$ours/err/{index}"
quoted {index}.err
"""
