# SPDX-License-Identifier: Apache-2.0
"""How each launcher starts ranks: the words of its command inside an allocation. Without ReFrame,
for site files are validated by it and probe jobs start their ranks by it too."""

from __future__ import annotations

import shlex
import string
from collections.abc import Callable
from dataclasses import dataclass

from checks.common.json_lines import PROGRAM_SECRET

#: Variables that every rank gets, on other nodes too.
FORWARDED = ("ASSAY_LAUNCHED_AT", "ASSAY_LAUNCH_HOST", PROGRAM_SECRET)
#: What stands for a value in a `launcher_command`.
PLACEHOLDERS = ("ranks", "ranks_per_node", "nodes", "cpus_per_task", "variables")


@dataclass(frozen=True)
class Start:
    """What is to be started; `template` is the environment's `launcher_command`."""

    ranks: int
    ranks_per_node: int
    mpirun: str = ""
    cpus_per_task: int | None = None
    template: str = ""


@dataclass(frozen=True)
class Launcher:
    """One way to start ranks.

    `daemons` are those that the session boots and halts: none, lam, prte, pvm; `mpirun` is its
    program unless the environment names one.
    """

    meaning: str
    words: Callable[[Start], list[str]]
    mpirun: str = ""
    daemons: str = "none"


def _srun(start: Start) -> list[str]:
    words = ["-n", str(start.ranks), f"--ntasks-per-node={start.ranks_per_node}"]
    # Since Slurm 22.05 a step does not inherit it from its job.
    cpus = [f"--cpus-per-task={start.cpus_per_task}"] if start.cpus_per_task else []
    return [start.mpirun, *words, *cpus]


def _openmpi(start: Start) -> list[str]:
    mapped = f"ppr:{start.ranks_per_node}:node"
    if start.cpus_per_task:
        mapped += f":pe={start.cpus_per_task}"
    return [start.mpirun, "-np", str(start.ranks), "--map-by", mapped, "-x", PROGRAM_SECRET]


def _hydra(start: Start) -> list[str]:
    # Hydra finds the allocation by itself and forwards all variables.
    return [start.mpirun, "-n", str(start.ranks), "-ppn", str(start.ranks_per_node)]


def _lam(start: Start) -> list[str]:
    # -O: nodes of one kind. The option C of the environment: a rank on every processor of the
    # boot schema.
    return [start.mpirun, "-O", "-x", ",".join(FORWARDED)]


def _prte(start: Start) -> list[str]:
    # Options are PRRTE's: Open MPI's are variables, by -x.
    forwarded = [word for name in FORWARDED for word in ("-x", name)]
    ranks = ["--np", str(start.ranks), "--map-by", f"ppr:{start.ranks_per_node}:node"]
    return [start.mpirun, "--dvm-uri", "file:prte.uri", *forwarded, *ranks]


def _pvm(start: Start) -> list[str]:
    del start  # the program starts its other tasks itself
    return []


def _template(start: Start) -> list[str]:
    values = {
        "ranks": start.ranks,
        "ranks_per_node": start.ranks_per_node,
        "nodes": -(-start.ranks // start.ranks_per_node),
        "cpus_per_task": start.cpus_per_task or 1,
        "variables": ",".join(FORWARDED),
    }
    return [word.format(**values) for word in shlex.split(start.template)]


LAUNCHERS = {
    "assay-srun": Launcher(
        "srun; launcher_options choose the PMI, e.g. [--mpi=pmi2]", _srun, "srun"
    ),
    "assay-openmpi": Launcher("Open MPI's mpirun or mpiexec", _openmpi, "mpirun"),
    "assay-hydra": Launcher(
        "mpiexec.hydra of MPICH, Intel MPI or MVAPICH; over srun, or with launcher_options"
        " [-launcher, ssh] over a remote shell to each node",
        _hydra,
        "mpiexec.hydra",
    ),
    "assay-prte": Launcher("PRRTE's prun on daemons of its own", _prte, "prun", "prte"),
    "assay-lam": Launcher("LAM's mpirun on its daemons", _lam, "mpirun", "lam"),
    "assay-pvm": Launcher("PVM: the program starts its other tasks", _pvm, daemons="pvm"),
    "assay-template": Launcher("the environment's launcher_command", _template),
}


def launch_words(launcher: str, start: Start) -> list[str]:
    """The launch command, without options of the environment; words for no shell."""
    how = LAUNCHERS[launcher]
    mpirun = start.mpirun or how.mpirun
    return how.words(
        Start(start.ranks, start.ranks_per_node, mpirun, start.cpus_per_task, start.template)
    )


def template_fault(text: str) -> str | None:
    """What is wrong with a `launcher_command`; None for a right one."""
    known = ", ".join(f"{{{name}}}" for name in PLACEHOLDERS)
    try:
        names = [
            (name, spec, conversion)
            for word in shlex.split(text)
            for _, name, spec, conversion in string.Formatter().parse(word)
            if name is not None
        ]
    except ValueError as error:
        return f"cannot be read ({error}); close quotes, and write {{{{ and }}}} for braces"
    for name, spec, conversion in names:
        if name not in PLACEHOLDERS or spec or conversion:
            return f"holds {{{name}}}; allowed are {known}"
    if "ranks" not in {name for name, *_ in names}:
        return f"lacks {{ranks}}, the number of ranks to start; allowed are {known}"
    return None
