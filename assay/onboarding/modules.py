# SPDX-License-Identifier: Apache-2.0
"""Modules that hold an MPI, and an MPI that is simply in PATH: found by loading and looking.

Names only say which modules to try first; what counts is whether a compiler wrapper appears.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from assay.commands import run_command
from checks.common.session.preparation import preparation

#: Names of modules that hold an MPI, at any place of a name such as compilers/openmpi/4.1.
_MPI_NAME = re.compile(
    r"(^|[/_-])(open-?mpi|ompi|mpich\d?|mvapich\d?|cray-mpich|impi|intel-?mpi|intel-oneapi-mpi"
    r"|oneapi-mpi|hpcx(-\w+)?|spectrum-mpi|psmpi|parastation-?mpi|mpt|bullxmpi|mpi)(?=$|[/_.-])",
    re.IGNORECASE,
)
#: Up to so many modules are all tried, of any name.
_FEW = 40
_MOST_TRIED = 60
_COMPILER = re.compile(
    r"(?:^|[/-])(gcc|gnu|intel|oneapi|aocc|nvhpc|pgi|clang|llvm|cce|arm)\b", re.I
)
#: Compiler wrappers in the order of preference, after Intel's own.
_WRAPPERS = ("mpiicx", "mpiicc", "mpicc", "mpicc.mpich", "mpicc.openmpi")
_LAUNCHERS = ("mpirun", "mpiexec", "mpiexec.hydra")
_LOOK = r"""
echo "@loaded=${LOADEDMODULES:-}"
for name in %s; do
    found=$(command -v "$name") && echo "@have $name=$found"
done
[ -z "${CRAY_MPICH_VERSION:-}" ] || echo "@have cc=$(command -v cc)"
for name in mpirun mpiexec mpirun.mpich mpirun.openmpi; do
    command -v "$name" >/dev/null && echo "@version $name=$($name --version 2>&1 </dev/null |
        head -n 4 | tr '\n' ' ')"
done
"""
#: Family → what its launcher says of itself.
_FAMILIES = (
    ("openmpi", re.compile(r"Open MPI\)? *v?([\d.]+)|OpenRTE\)? ([\d.]+)")),
    ("intelmpi", re.compile(r"Intel\(R\) MPI Library.*?Version ([\d.]+)")),
    ("mvapich", re.compile(r"MVAPICH\d?.*?([\d.]+)")),
    ("mpich", re.compile(r"HYDRA.*?Version: +([\d.]+)")),
)
Say = Callable[[str], None]


@dataclass(frozen=True)
class FoundMpi:
    """An MPI that the login node offers: the modules to load for it, its wrapper and launchers.

    `versions` is what its launcher says of itself; `compiler_family` what it is built with, by the
    names of modules.
    """

    family: str
    version: str
    modules: tuple[str, ...]
    wrapper: str
    launchers: tuple[str, ...]
    compiler_family: str

    @property
    def label(self) -> str:
        """For readers."""
        place = f"modules {', '.join(self.modules)}" if self.modules else "in PATH"
        return f"{self.family} {self.version} ({place}; {self.wrapper})"

    def order(self) -> tuple[object, ...]:
        """Newer versions are greater."""
        return (_natural(self.version), _natural(" ".join(self.modules)))


def modules_system() -> str:
    """ReFrame's name of the module system of a job's shell."""
    told = _in_shell("lmod", (), 'echo "lmod=${LMOD_VERSION:-}"; module --version 2>&1')
    if re.search(r"^lmod=\d", told, re.MULTILINE):
        return "lmod"
    release = re.search(r"Modules Release (\d+)|VERSION=(\d+)", told)
    if release is None:
        return "nomod"
    return "tmod4" if int(release[1] or release[2]) >= 4 else "tmod32"


def find_mpi(system: str, say: Say) -> list[FoundMpi]:
    """Every MPI of the login node: in PATH, then by modules; the newest of each kind first."""
    bare = _look("nomod", ())
    found = list(_of_look(bare, (), {}))
    if system != "nomod":
        candidates = _candidates(system)
        if candidates:
            say(f"looking into {len(candidates)} modules for an MPI")
        for modules in candidates:
            found += _of_look(_look(system, modules), modules, bare)
    return sorted(dict.fromkeys(found), key=FoundMpi.order, reverse=True)


def chosen(found: Iterable[FoundMpi]) -> dict[str, FoundMpi]:
    """The newest of each family and compiler, by the name of its environment."""
    newest: dict[tuple[str, str], FoundMpi] = {}
    for one in found:
        newest.setdefault((one.family, one.compiler_family), one)
    families = [family for family, _ in newest]
    names = {}
    for (family, compiler), one in newest.items():
        alone = families.count(family) == 1 or not compiler
        names[family if alone else f"{family}-{compiler}"] = one
    return dict(sorted(names.items()))


def _in_shell(system: str, modules: Iterable[str], text: str) -> str:
    site = {"modules_system": system, "module_init": None}
    names = list(modules)
    environment = {"prepare": [], "modules": names, "modules_folder": "", "variables": {}}
    lines = [*preparation(site, environment), text]
    answer = run_command(["bash", "-c", "\n".join(lines)], dict(os.environ))
    return f"{answer.stdout}\n{answer.stderr}"


def _look(system: str, modules: Iterable[str]) -> dict[str, str]:
    """What is there with these modules: wrappers and launchers by name, versions, loaded."""
    told = _in_shell(system, modules, _LOOK % " ".join((*_WRAPPERS, *_LAUNCHERS)))
    pairs = re.findall(r"^@((?:have |version |loaded)[\w.]*)=(.*)$", told, re.MULTILINE)
    return {name.strip(): value.strip() for name, value in pairs}


def _of_look(
    look: Mapping[str, str], modules: tuple[str, ...], bare: Mapping[str, str]
) -> Iterator[FoundMpi]:
    """The MPI that modules bring; without modules every wrapper of PATH."""
    for wrapper in (*_WRAPPERS, "cc"):
        path = look.get(f"have {wrapper}")
        if not path or (modules and bare.get(f"have {wrapper}") == path):
            continue
        suffix = wrapper.partition(".")[2]
        launchers = [f"{name}.{suffix}" for name in ("mpirun", "mpiexec")] if suffix else _LAUNCHERS
        version = look.get(f"version {launchers[0]}", look.get("version mpiexec", ""))
        family, number = _family(wrapper, version, modules)
        names = " ".join((*modules, look.get("loaded", "")))
        compiler = _COMPILER.search(names.replace(":", " /"))
        yield FoundMpi(
            family=family,
            version=number,
            modules=modules,
            wrapper=wrapper,
            launchers=tuple(name for name in launchers if suffix or look.get(f"have {name}")),
            compiler_family=compiler[1].lower() if compiler and modules else "",
        )
        if modules:
            return
        if not suffix and re.search(rf"{family}$", os.path.realpath(path)):
            return  # the wrapper without a suffix is a link to one of those with it


def _family(wrapper: str, version: str, modules: tuple[str, ...]) -> tuple[str, str]:
    if wrapper == "cc":
        return "craympich", os.environ.get("CRAY_MPICH_VERSION", "")
    for family, pattern in _FAMILIES:
        found = pattern.search(version)
        if found:
            return family, next(filter(None, found.groups()), "")
    # Environments are named by it: letters and digits.
    name = re.sub(r"[^a-z0-9]+", "", modules[-1].partition("/")[0].lower()) if modules else ""
    return name or "mpi", ""


def _candidates(system: str) -> list[tuple[str, ...]]:
    """Modules to try, the likely ones first, each with those that must be loaded before it."""
    available = _names(_in_shell(system, (), "module -t avail 2>&1 </dev/null"))
    likely = [name for name in available if _MPI_NAME.search(name)]
    others = [name for name in available if name not in likely] if len(available) <= _FEW else []
    tried: list[tuple[str, ...]] = [(name,) for name in likely]
    if system == "lmod":
        hidden = _names(_in_shell(system, (), "module -t spider 2>&1 </dev/null"))
        for name in hidden:
            if _MPI_NAME.search(name) and name not in available:
                spider = _in_shell(system, (), f"module spider {name} 2>&1 </dev/null")
                tried += [(*before, name) for before in needed_modules(spider)]
    return [*tried, *((name,) for name in others)][:_MOST_TRIED]


def _names(listing: str) -> list[str]:
    """The modules of a terse listing; a name without a version only where it has none."""
    lines = [line.strip() for line in listing.splitlines()]
    names = [
        re.sub(r"\((default|D|L|.*)\)$", "", line)
        for line in lines
        if re.fullmatch(r"[\w.+@/-]+(\([\w,:]+\))?", line) and not line.startswith("/")
    ]
    heads = {name.rpartition("/")[0] for name in names if "/" in name}
    whole = [name for name in names if not name.endswith("/") and name not in heads]
    return list(dict.fromkeys(whole))


def needed_modules(told: str) -> list[tuple[str, ...]]:
    """The ways in what `module spider NAME` says of a module in a hierarchy."""
    match = re.search(
        r"load all module\(s\) on any one of the lines below.*?\n\s*\n(.*)", told, re.S
    )
    ways = []
    for line in match[1].splitlines() if match else ():
        words = line.split()
        if not words or not all(re.fullmatch(r"[\w.+@/-]+", word) for word in words):
            break
        ways.append(tuple(words))
    return ways


def _natural(text: str) -> tuple[tuple[int, str], ...]:
    """4.10 is after 4.9."""
    parts = re.findall(r"\d+|[^\d]+", text)
    return tuple((int(part), "") if part.isdigit() else (-1, part) for part in parts)
