# SPDX-License-Identifier: Apache-2.0
"""Launchers, and how each starts ranks: the words of its command inside an allocation. Without
ReFrame, for site files are validated by it and probe jobs start their ranks by it too."""

import re
import shlex
import string
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from checks.common.json_lines import TOKEN

#: Variables that every rank gets, on other nodes too.
FORWARDED = ("ASSAY_LAUNCHED_AT", "ASSAY_LAUNCH_HOST", TOKEN)
#: Placeholders of values in a `launcher_command`.
PLACEHOLDERS = ("ranks", "ranks_per_node", "nodes", "cpus_per_task", "variables")


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
    "assay-alone": Launcher(
        "srun without MPI",
        "srun",
        "-n {ranks} --ntasks-per-node={ranks_per_node} {cpus} --mpi=none",
        cpus="--cpus-per-task={cpus_per_task}",
    ),
    "assay-none": Launcher("nothing: the program runs once, by itself"),
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


def launch_words(
    launcher: str,
    ranks: int,
    ranks_per_node: int,
    *,
    mpirun: str = "",
    cpus_per_task: int | None = None,
    template: str = "",
) -> list[str]:
    """The launch command, without options of the environment; words for no shell. `template` is the
    environment's `launcher_command`."""
    how = LAUNCHERS[launcher]
    values = {
        "ranks": ranks,
        "ranks_per_node": ranks_per_node,
        "nodes": -(-ranks // ranks_per_node),
        "cpus_per_task": cpus_per_task or 1,
        "variables": ",".join(FORWARDED),
    }
    if launcher == "assay-template":
        return [word.format(**values) for word in shlex.split(template)]
    cpus = how.cpus.format(**values) if cpus_per_task else ""
    options = how.options.format(**values, cpus=cpus).split()
    return [mpirun or how.mpirun, *options] if how.mpirun else []


def fields_of(command: str) -> list[list[tuple[str, str]]]:
    """The placeholders in each word of a command, with what follows their names. Raises ValueError
    for a command that cannot be read."""
    try:
        parsed = [[*string.Formatter().parse(word)] for word in shlex.split(command)]
    except ValueError as error:
        raise ValueError(
            f"cannot be read ({error}); close quotes, and write {{{{ and }}}} for braces"
        ) from None
    return [
        [(name, spec or form or "") for _, name, spec, form in parts if name is not None]
        for parts in parsed
    ]


def template_fault(text: str) -> str | None:
    """Fault of a `launcher_command`; None for a right one."""
    known = ", ".join(f"{{{name}}}" for name in PLACEHOLDERS)
    try:
        fields = [field for word in fields_of(text) for field in word]
    except ValueError as error:
        return str(error)
    for name, form in fields:
        if name not in PLACEHOLDERS or form:
            return f"holds {{{name}}}; allowed are {known}"
    if "ranks" not in dict(fields):
        return f"lacks {{ranks}}, the number of ranks to start; allowed are {known}"
    return None


#: Exit status of a job whose modules could not be loaded.
NO_MODULE = 78

_VARIABLE = re.compile(r"(\$(?:[A-Za-z_]\w*|\{[A-Za-z_]\w*\}))")
#: Defines `module` in a shell that lacks it: by what the caller's shell says of Lmod, as login
#: shells do, or by the files of Lmod and Environment Modules where sites keep them. The `|| :` keep
#: a trap on errors from heeding what these files do.
_FIND_MODULE = """\
if ! type module >/dev/null 2>&1; then
    [ ! -r "${LMOD_PKG:-}/init/bash" ] || . "$LMOD_PKG/init/bash" >/dev/null || :
    for init in /etc/profile.d/*mod*.sh; do
        [ -n "${LMOD_PKG:-}" ] || [ ! -r "$init" ] || . "$init" >/dev/null || :
    done
    for init in /usr/share/lmod/lmod/init/bash /usr/share/lmod/*/init/bash \
        "${MODULESHOME:-}/init/bash" /usr/share/[mM]odules/init/bash \
        /opt/cray/pe/lmod/lmod/init/bash /opt/cray/pe/modules/default/init/bash; do
        type module >/dev/null 2>&1 || [ ! -r "$init" ] || . "$init" >/dev/null || :
    done
fi"""


def preparation(site: Mapping[str, Any], environment: Mapping[str, Any]) -> list[str]:
    """The lines for one environment of a described site, in the order of their work.

    Both are the descriptions as plain data. A module that cannot be loaded ends the job with
    status NO_MODULE and a message on stderr.
    """
    lines, system, init = [], site["modules_system"], site["module_init"]
    if system not in ("nomod", "spack") and init is None:
        lines.append(_FIND_MODULE)
    elif system != "nomod":
        function = "spack" if system == "spack" else "module"
        file = shlex.quote(init) if init else '"${SPACK_ROOT:-}/share/spack/setup-env.sh"'
        lines.append(f"type {function} >/dev/null 2>&1 || . {file} >/dev/null || :")
    load = "spack load" if system == "spack" else "module load"
    lines += environment["prepare"]
    for module in environment["modules"]:
        told = f"assay: {load} {module} failed on $(hostname)"
        failed = f'{{ echo "{told}" >&2; exit {NO_MODULE}; }}'
        lines.append(f"{load} {shlex.quote(module)} || {failed}")
    variables = sorted(environment["variables"].items())
    return [*lines, *(f"export {name}={in_shell(value)}" for name, value in variables)]


def in_shell(value: str) -> str:
    """A value in quotes for a shell, which replaces $NAME in it and nothing else."""
    parts = [
        part if index % 2 else re.sub(r'([\\"`$])', r"\\\1", part)
        for index, part in enumerate(_VARIABLE.split(value))
    ]
    return f'"{"".join(parts)}"'
