# SPDX-License-Identifier: Apache-2.0
"""An MPI in PATH, and modules that bring one: found by loading and looking.

One search: a way is a list of modules to load in this order. Names only say which ways to try
first; what a module system says on a failure leads to further ways.
"""

from __future__ import annotations

import heapq
import os
import re
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from assay.onboarding.modules import (
    Loaded,
    load,
    named_modules,
    names_of,
    newest_first,
    spider_ways,
    unversioned,
)
from assay.sites.login import login_environment, modules_of_caller
from assay.terminal import Say
from records.text.natural import natural
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
#: Up to so many modules are all tried, of any name.
_FEW = 40
#: Ways that are tried, seconds that it may take, modules of a way.
_MOST_TRIED = 120
_LONGEST_S = 300.0
_DEEPEST = 6
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
echo "@available"
"""
)
_LIST = "module -t avail 2>&1 </dev/null"
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
        place = f"modules {', '.join(self.modules)}" if self.modules else "in PATH"
        return f"{self.family} {self.version} ({place}; {self.wrapper})"

    def order(self) -> tuple[object, ...]:
        """Newer versions are greater; of equal ones that with fewer modules."""
        return (natural(self.version), -len(self.modules), natural(" ".join(self.modules)))


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


class MpiSearch:
    """Every MPI of the login node: in PATH, then by modules.

    `found` has the newest first, `tried` each way of modules that brings none, with the reason.
    """

    def __init__(self, system: str, say: Say) -> None:
        self._system, self._say = system, say
        self.tried: dict[Way, str] = {}
        self._ways: list[tuple[int, int, int, int, Way]] = []
        self._seen: set[Way] = set()
        self._known: set[str] = set()
        #: What is visible once a way is loaded.
        self._openers: dict[Way, set[str]] = {}
        #: Ways that name no module on failure or bring nothing, with the place of that module.
        self._stuck: list[tuple[Way, int]] = []
        self._guessed: set[Way] = set()
        #: Module → names of the modules with which it loaded.
        self._enough: dict[str, list[set[str]]] = {}
        bare = load(system, (), _LOOK + (_LIST if system != "nomod" else ""))
        self._bare, visible = _look(bare)
        self.found = list(_of_look(self._bare, (), {}))
        if system != "nomod":
            self._search_modules(visible)
        self.found = sorted(dict.fromkeys(self.found), key=FoundMpi.order, reverse=True)

    def not_loaded(self) -> list[str]:
        """A line for each MPI module of which no way brings a wrapper, with the first reason."""
        first = {way[-1]: why for way, why in reversed(self.tried.items()) if not _rank(way[-1])}
        return [f"{name}: {why}" for name, why in first.items() if name not in self._enough]

    def told(self) -> str:
        """What was tried, MPI modules first, with the reason of each failure."""
        alike: dict[tuple[str, str], list[Way]] = {}
        for way in sorted(self.tried, key=lambda way: _rank(way[-1])):
            target = "" if _rank(way[-1]) else way[-1]
            alike.setdefault((target, self.tried[way]), []).append(way)
        lines = [
            f"  {' '.join(ways[0])}{f' and {more} more' if (more := len(ways) - 1) else ''}:"
            f" {shortened(why, _REASON_LENGTH)}"
            for (_, why), ways in alike.items()
        ]
        left = [f"  and {len(lines) - _MOST_LINES} more"] if len(lines) > _MOST_LINES else []
        return "\n".join([*lines[:_MOST_LINES], *left])

    def _search_modules(self, visible: Sequence[str]) -> None:
        self._openers[()] = set(visible)
        self._offer((), visible)
        if self._system == "lmod":
            hidden = names_of(load("lmod", (), "module -t spider 2>&1 </dev/null").printed)
            self._offer((), [name for name in hidden if _MPI_NAME.search(name)])
        # What the person has loaded.
        self._add(tuple(modules_of_caller()), rank=0)
        self._say(f"looking into {len(self._ways)} modules for an MPI")
        begun = said = time.monotonic()
        for count in range(1, _MOST_TRIED + 1):
            if (way := self._next()) is None:
                return
            loaded = load(self._system, way, _LOOK + ("" if _rank(way[-1]) == 0 else _LIST))
            if loaded.failed:
                self._after_failure(way, loaded)
            else:
                self._after_loading(way, loaded)
            if time.monotonic() - said > _SAID_AGAIN_S:
                said = time.monotonic()
                self._say(f"{count} ways of loading modules tried, {len(self._ways)} left")
                if said - begun > _LONGEST_S:
                    break
        if self._ways:
            self._say(f"{len(self._ways)} ways of loading modules are not tried: too many")

    def _offer(self, before: Way, names: Iterable[str]) -> None:
        """Modules that are visible once others are loaded, newest versions first."""
        self._known.update(names)
        few, counts = len(self._known) <= _FEW, dict[str, int]()
        for name in newest_first(names):
            counts[unversioned(name)] = newer = counts.get(unversioned(name), -1) + 1
            if few or _rank(name) < 2:
                self._add((*before, name), newer)

    def _add(self, way: Way, newer: int = 0, rank: int | None = None) -> None:
        if way and way not in self._seen and (rank == 0 or len(way) <= _DEEPEST):
            self._seen.add(way)
            rank = _rank(way[-1]) if rank is None else rank
            heapq.heappush(self._ways, (rank, len(way), newer, len(self._seen), way))

    def _next(self) -> Way | None:
        """The way to try next; when none is left, each module that opens before what is stuck."""
        for refill in (False, True):
            if refill:
                openers = [way for way in self._openers if way]
                if self.found:
                    openers = [way for way in openers if _rank(way[-1]) < 2]
                for opener in sorted(openers, key=lambda way: _rank(way[-1])):
                    for way, at in self._stuck:
                        if way[-1] not in self._enough:
                            longer = (*way[:at], *opener, *way[at:])
                            self._guessed.add(longer)
                            self._add(longer)
            while self._ways:
                way = heapq.heappop(self._ways)[-1]
                others = {unversioned(name) for name in way[:-1]}
                # Other versions of what was enough for it, and more, add nothing.
                if not any(enough <= others for enough in self._enough.get(way[-1], ())):
                    return way
        return None

    def _after_failure(self, way: Way, loaded: Loaded) -> None:
        self.tried[way] = loaded.why
        if loaded.conflicts:
            return
        at = way.index(loaded.failed)
        before: list[Way] = [(name,) for name in named_modules(loaded.why, self._known)]
        if "module spider" in loaded.why:
            before = spider_ways(self._system, loaded.failed) or before
        ways = [(*way[:at], *more, *way[at:]) for more in before if not {*more} & {*way}]
        for newer, longer in enumerate(ways):
            self._add(longer, newer)
        if not ways:
            self._note_stuck(way, at)

    def _note_stuck(self, way: Way, at: int) -> None:
        if _rank(way[-1]) == 0 and way not in self._guessed:
            self._stuck.append((way, at))

    def _after_loading(self, way: Way, loaded: Loaded) -> None:
        look, visible = _look(loaded)
        left = look["loaded"].split(":")
        if gone := [
            name for name in way[:-1] if not any(f"{x}/".startswith(f"{name}/") for x in left)
        ]:
            self.tried[way] = f"unloads {', '.join(gone)}"
            return
        found = list(_of_look(look, way, self._bare))
        if not found:
            self.tried[way] = "loads, and brings no compiler wrapper (mpicc)"
            self._note_stuck(way, len(way) - 1)
        if found or _rank(way[-1]):
            self._enough.setdefault(way[-1], []).append({unversioned(name) for name in way[:-1]})
        if _rank(way[-1]):
            self._openers[way] = set(visible)
            parent = self._openers.get(way[:-1], self._openers[()])
            self._offer(way, [name for name in visible if name not in parent])
        self.found += found


def _rank(name: str) -> int:
    """MPIs are tried first, then compilers."""
    return 0 if _MPI_NAME.search(name) else 1 if _COMPILER.search(name) else 2


def _look(loaded: Loaded) -> tuple[dict[str, str], list[str]]:
    """What is there: wrappers and launchers by name, versions, loaded; and the modules listed."""
    told, _, listing = loaded.printed.partition("@available\n")
    pairs = re.findall(r"^@((?:have |version |loaded)[\w.]*)=(.*)$", told, re.MULTILINE)
    return {name.strip(): value.strip() for name, value in pairs}, names_of(listing)


def _of_look(look: Mapping[str, str], modules: Way, bare: Mapping[str, str]) -> Iterator[FoundMpi]:
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
        compiler = _COMPILER.search(names)
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
        found = pattern.search(version)
        if found:
            return family, next(filter(None, found.groups()), "")
    # Environments are named by it: letters and digits.
    name = re.sub(r"[^a-z0-9]+", "", modules[-1].partition("/")[0].lower()) if modules else ""
    return name or "mpi", ""
