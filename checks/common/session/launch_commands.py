# SPDX-License-Identifier: Apache-2.0
"""Launchers, and how each starts ranks: the words of its command inside an allocation. Without
ReFrame, for site files are validated by it and probe jobs start their ranks by it too."""

from __future__ import annotations

import shlex
import string
from dataclasses import dataclass

from checks.common.json_lines import TOKEN

#: Variables that every rank gets, on other nodes too.
FORWARDED = ("ASSAY_LAUNCHED_AT", "ASSAY_LAUNCH_HOST", TOKEN)
#: Placeholders of values in a `launcher_command`.
PLACEHOLDERS = ("ranks", "ranks_per_node", "nodes", "cpus_per_task", "variables")


@dataclass(frozen=True)
class Start:
    """Ranks to be started; `template` is the environment's `launcher_command`."""

    ranks: int
    ranks_per_node: int
    mpirun: str = ""
    cpus_per_task: int | None = None
    template: str = ""


@dataclass(frozen=True)
class Launcher:
    """Way to start ranks, by a program `mpirun` unless the environment names one.

    `options` have the form of a `launcher_command`, with {cpus} for `cpus` where a rank gets more
    than one; `daemons` are those that the session boots and halts: none, lam, prte, pvm.
    """

    meaning: str
    mpirun: str = ""
    options: str = ""
    cpus: str = ""
    daemons: str = "none"


LAUNCHERS = {
    "assay-srun": Launcher(
        "srun; launcher_options choose the PMI, e.g. [--mpi=pmi2]",
        "srun",
        "-n {ranks} --ntasks-per-node={ranks_per_node} {cpus}",
        # Since Slurm 22.05 a step does not inherit it from its job.
        cpus="--cpus-per-task={cpus_per_task}",
    ),
    "assay-openmpi": Launcher(
        "Open MPI's mpirun or mpiexec",
        "mpirun",
        f"-np {{ranks}} --map-by ppr:{{ranks_per_node}}:node{{cpus}} -x {TOKEN}",
        cpus=":pe={cpus_per_task}",
    ),
    "assay-hydra": Launcher(
        "mpiexec.hydra of MPICH, Intel MPI or MVAPICH; over srun, or with launcher_options"
        " [-launcher, ssh] over a remote shell to each node",
        "mpiexec.hydra",
        # Hydra finds the allocation by itself and forwards all variables.
        "-n {ranks} -ppn {ranks_per_node}",
    ),
    "assay-prte": Launcher(
        "PRRTE's prun on daemons of its own",
        "prun",
        # Options are PRRTE's: Open MPI's are variables, by -x.
        f"--dvm-uri file:prte.uri {' '.join(f'-x {name}' for name in FORWARDED)} --np {{ranks}}"
        " --map-by ppr:{ranks_per_node}:node",
        daemons="prte",
    ),
    "assay-lam": Launcher(
        "LAM's mpirun on its daemons",
        "mpirun",
        # -O: nodes of one kind. The option C of the environment: a rank on every processor of the
        # boot schema.
        "-O -x {variables}",
        daemons="lam",
    ),
    "assay-pvm": Launcher("PVM: the program starts its other tasks", daemons="pvm"),
    "assay-template": Launcher("the environment's launcher_command"),
}


def launch_words(launcher: str, start: Start) -> list[str]:
    """The launch command, without options of the environment; words for no shell."""
    how = LAUNCHERS[launcher]
    values = {
        "ranks": start.ranks,
        "ranks_per_node": start.ranks_per_node,
        "nodes": -(-start.ranks // start.ranks_per_node),
        "cpus_per_task": start.cpus_per_task or 1,
        "variables": ",".join(FORWARDED),
    }
    if launcher == "assay-template":
        return [word.format(**values) for word in shlex.split(start.template)]
    cpus = how.cpus.format(**values) if start.cpus_per_task else ""
    options = how.options.format(**values, cpus=cpus).split()
    return [start.mpirun or how.mpirun, *options] if how.mpirun else []


def template_fault(text: str) -> str | None:
    """Fault of a `launcher_command`; None for a right one."""
    known = ", ".join(f"{{{name}}}" for name in PLACEHOLDERS)
    try:
        fields = [
            (name, spec or conversion)
            for word in shlex.split(text)
            for _, name, spec, conversion in string.Formatter().parse(word)
            if name is not None
        ]
    except ValueError as error:
        return f"cannot be read ({error}); close quotes, and write {{{{ and }}}} for braces"
    for name, form in fields:
        if name not in PLACEHOLDERS or form:
            return f"holds {{{name}}}; allowed are {known}"
    if "ranks" not in dict(fields):
        return f"lacks {{ranks}}, the number of ranks to start; allowed are {known}"
    return None
