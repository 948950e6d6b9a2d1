# SPDX-License-Identifier: Apache-2.0
"""MPIs of the login node: wrappers in PATH, and modules whose name is an MPI's.

A way is a list of modules to load in this order. Ways begin with an MPI's module alone; a failure
that names further modules leads to ways with these before what failed. Modules that need others
and do not name them are found where the person has loaded them.
"""

from __future__ import annotations

import os
import re
import time
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from assay.onboarding import modules as module_system
from assay.onboarding.modules import Loaded, load, newest_first, unversioned
from assay.sites.login import login_environment, modules_of_caller
from assay.terminal import Say, said_meanwhile
from records.text.plain_text import natural
from reports.notation.labels import shortened

#: Names of modules that hold an MPI, at any place of a name such as compilers/openmpi/4.1.
_MPI_NAME = re.compile(
    r"(^|[/_-])(open-?mpi|ompi|mpich|mvapich|cray-mpich|impi|intel-?mpi|intel-oneapi-mpi"
    r"|oneapi-mpi|hpcx(-\w+)?|spectrum-mpi|psmpi|parastation-?mpi|mpt|bullxmpi|mpi)"
    r"\d*(?=$|[/_.-])",
    re.IGNORECASE,
)
_COMPILER = re.compile(
    r"(?:^|[/\s:-])(gcc|gnu|intel|oneapi|aocc|nvhpc|pgi|clang|llvm|cce|arm)(?![a-z])", re.I
)
#: Ways that are tried, seconds that it may take, modules of a way.
_MOST_TRIED, _LONGEST_S, _DEEPEST = 120, 300.0, 4
_SAID_AGAIN_S = 20.0
#: Lines of a message on what was tried, and characters of a reason.
_MOST_LINES, _REASON_LENGTH = 20, 200
#: Compiler wrappers in the order of preference, after Intel's own.
_WRAPPERS = ("mpiicx", "mpiicc", "mpicc", "mpicc.mpich", "mpicc.openmpi")
_LAUNCHERS = ("mpirun", "mpiexec", "mpiexec.hydra")
_LOOK = (
    f"for name in {' '.join((*_WRAPPERS, *_LAUNCHERS))}"
    + r"""; do
    found=$(command -v "$name") && echo "@have $name=$found"
done
[ -z "${CRAY_MPICH_VERSION:-}" ] || echo "@have cc=$(command -v cc)"
for name in mpirun mpiexec mpirun.mpich mpirun.openmpi; do
    command -v "$name" >/dev/null && echo "@version $name=$($name --version 2>&1 </dev/null |
        head -n 4 | tr '\n' ' ')"
done
echo "@loaded=${LOADEDMODULES:-}"
"""
)
#: Family → what its launcher says of itself.
_FAMILIES = (
    ("openmpi", re.compile(r"Open MPI\)? *v?([\d.]+)|OpenRTE\)? ([\d.]+)")),
    ("intelmpi", re.compile(r"Intel\(R\) MPI Library.*?Version ([\d.]+)")),
    ("mvapich", re.compile(r"MVAPICH\d?.*?([\d.]+)")),
    ("mpich", re.compile(r"HYDRA.*?Version: +([\d.]+)")),
)
Way = tuple[str, ...]


@dataclass(frozen=True)
class FoundMpi:
    """An MPI that the login node offers: the modules to load for it, its wrapper and launchers.

    `version` is what its launcher says of itself; `compiler_family` what it is built with, by the
    names of modules.
    """

    family: str
    version: str
    modules: Way
    wrapper: str
    launchers: tuple[str, ...]
    compiler_family: str

    @property
    def label(self) -> str:
        """For readers."""
        source = f"modules {', '.join(self.modules)}" if self.modules else "in PATH"
        return f"{self.family} {self.version} ({source}; {self.wrapper})"

    def order(self) -> tuple[object, ...]:
        """Newer versions are greater; of equal ones that with fewer modules."""
        return (natural(self.version), -len(self.modules), natural(" ".join(self.modules)))


def chosen(mpis: Iterable[FoundMpi]) -> dict[str, FoundMpi]:
    """The newest of each family and compiler, by the name of its environment."""
    newest: dict[tuple[str, str], FoundMpi] = {}
    for mpi in mpis:
        newest.setdefault((mpi.family, mpi.compiler_family), mpi)
    families = [family for family, _ in newest]
    names = {}
    for (family, compiler), mpi in newest.items():
        alone = families.count(family) == 1 or not compiler
        names[family if alone else f"{family}-{compiler}"] = mpi
    return dict(sorted(names.items()))


class MpiSearch:
    """Every MPI of the login node: in PATH, then by modules.

    `found` has the newest first, `tried` each way of modules that brings none, with the reason.
    """

    def __init__(self, system: str, say: Say) -> None:
        self._system = system
        self.tried: dict[Way, str] = {}
        self._bare = _look(load(system, (), _LOOK))
        self.found = list(_mpis_of(self._bare, (), {}))
        #: Module → names of the modules with which it loaded.
        self._enough: dict[str, list[set[str]]] = {}
        if system != "nomod":
            known = module_system.names(system)
            mpis = [(name,) for name in newest_first(known) if _MPI_NAME.search(name)]
            say(f"looking into {len(mpis)} modules for an MPI")
            with said_meanwhile(say, lambda: f"{len(self.tried)} ways without one", _SAID_AGAIN_S):
                left = self._search([tuple(modules_of_caller()), *mpis], known)
            if left:
                say(f"{left} ways of loading modules are not tried: too many")
        self.found = sorted(dict.fromkeys(self.found), key=FoundMpi.order, reverse=True)

    def not_loaded(self) -> list[str]:
        """A line for each MPI module of which no way brings a wrapper, with the first reason."""
        first = {way[-1]: why for way, why in reversed(self.tried.items())}
        return [f"{name}: {why}" for name, why in first.items() if name not in self._enough]

    def told(self) -> str:
        """The ways that were tried, with the reason of each failure."""
        lines = [
            f"  {' '.join(way)}: {shortened(why, _REASON_LENGTH)}"
            for way, why in self.tried.items()
        ]
        left = [f"  and {len(lines) - _MOST_LINES} more"] if len(lines) > _MOST_LINES else []
        return "\n".join([*lines[:_MOST_LINES], *left])

    def _search(self, ways: Sequence[Way], known: Sequence[str]) -> int:
        """Try the ways, and those to which their failures lead; gives how many are left."""
        queue, seen, begun = deque(filter(None, ways)), {*ways}, time.monotonic()
        for _ in range(_MOST_TRIED):
            if not queue or time.monotonic() - begun > _LONGEST_S:
                break
            way = queue.popleft()
            others = {unversioned(name) for name in way[:-1]}
            # Other versions of what was enough for it, and more, add nothing.
            if any(enough <= others for enough in self._enough.get(way[-1], ())):
                continue
            loaded = load(self._system, way, _LOOK)
            if not loaded.failed:
                self._after_loading(way, loaded)
                continue
            self.tried[way] = loaded.why
            for longer in self._longer(way, loaded, known):
                if longer not in seen and len(longer) <= _DEEPEST:
                    seen.add(longer)
                    queue.append(longer)
        return len(queue)

    def _longer(self, way: Way, loaded: Loaded, known: Sequence[str]) -> list[Way]:
        """The way with the modules before the one that failed which its message names."""
        if loaded.conflicts:
            return []
        needed: list[Way] = [(name,) for name in module_system.named_modules(loaded.why, known)]
        if "module spider" in loaded.why:
            needed = module_system.spider_ways(self._system, loaded.failed) or needed
        at = way.index(loaded.failed)
        return [(*way[:at], *more, *way[at:]) for more in needed if not {*more} & {*way}]

    def _after_loading(self, way: Way, loaded: Loaded) -> None:
        look = _look(loaded)
        left = look["loaded"].split(":")
        gone = [x for x in way[:-1] if not any(f"{name}/".startswith(f"{x}/") for name in left)]
        mpis = list(_mpis_of(look, way, self._bare))
        if gone:
            self.tried[way] = f"unloads {', '.join(gone)}"
        elif mpis:
            self.found += mpis
            self._enough.setdefault(way[-1], []).append({unversioned(name) for name in way[:-1]})
        else:
            self.tried[way] = "loads, and brings no compiler wrapper (mpicc)"


def _look(loaded: Loaded) -> dict[str, str]:
    """Wrappers and launchers that are there by name, versions, loaded modules."""
    pairs = re.findall(r"^@((?:have |version |loaded)[\w.]*)=(.*)$", loaded.printed, re.MULTILINE)
    return {name.strip(): value.strip() for name, value in pairs}


def _mpis_of(look: Mapping[str, str], modules: Way, bare: Mapping[str, str]) -> Iterator[FoundMpi]:
    """The MPI that modules bring; without modules every wrapper of PATH."""
    for wrapper in (*_WRAPPERS, "cc"):
        path = look.get(f"have {wrapper}")
        if not path or (modules and bare.get(f"have {wrapper}") == path):
            continue
        suffix = wrapper.partition(".")[2]
        launchers = [f"{name}.{suffix}" for name in ("mpirun", "mpiexec")] if suffix else _LAUNCHERS
        version = look.get(f"version {launchers[0]}", look.get("version mpiexec", ""))
        family, number = _family(wrapper, version, modules)
        compiler = _COMPILER.search(" ".join((*modules, look.get("loaded", ""))))
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


def _family(wrapper: str, version: str, modules: Way) -> tuple[str, str]:
    if wrapper == "cc":
        return "craympich", login_environment().get("CRAY_MPICH_VERSION", "")
    for family, pattern in _FAMILIES:
        if match := pattern.search(version):
            return family, next(filter(None, match.groups()), "")
    # Environments are named by it: letters and digits.
    name = re.sub(r"[^a-z0-9]+", "", modules[-1].partition("/")[0].lower()) if modules else ""
    return name or "mpi", ""
