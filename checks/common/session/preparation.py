# SPDX-License-Identifier: Apache-2.0
"""Shell lines that make a job's shell ready for an environment: its modules and variables.

Builds, launches and probes begin with the same lines, so that each sees what the others see. They
work where the shell has no function `module` yet, as in jobs that cron submits.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from typing import Any

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
    lines += [_loaded(load, module) for module in environment["modules"]]
    variables = sorted(environment["variables"].items())
    return [*lines, *(f"export {name}={in_shell(value)}" for name, value in variables)]


def _loaded(load: str, module: str) -> str:
    told = f"assay: {load} {module} failed on $(hostname)"
    return f'{load} {shlex.quote(module)} || {{ echo "{told}" >&2; exit {NO_MODULE}; }}'


def in_shell(value: str) -> str:
    """A value in quotes for a shell, which replaces $NAME in it and nothing else."""
    parts = [
        part if index % 2 else re.sub(r'([\\"`$])', r"\\\1", part)
        for index, part in enumerate(_VARIABLE.split(value))
    ]
    return f'"{"".join(parts)}"'
