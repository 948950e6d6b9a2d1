# SPDX-License-Identifier: Apache-2.0
"""MPIs of the login node: wrappers in PATH, and modules whose name is an MPI's.

A module that does not load alone is loaded behind those that Lmod's `module spider` or its own
message names. Modules that need others and do not name them are found where the person has loaded
them.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from assay.commands import login_environment, modules_of_caller, run_command
from assay.terminal import Say
from checks.common.session.launch_commands import NO_MODULE, preparation
from checks.common.slurm.commands import Answer
from records.errors import InfrastructureError
from records.text.plain_text import natural
from reports.notation.labels import shortened

#: Names of modules that hold an MPI, at any place of a name such as compilers/openmpi/4.1.
_MPI_NAME = re.compile(
    r"(^|[/_-])(open-?mpi|ompi|mpich|mvapich|cray-mpich|impi|intel-?mpi|intel-oneapi-mpi"
    r"|oneapi-mpi|hpcx(-\w+)?|spectrum-mpi|psmpi|parastation-?mpi|mpt|bullxmpi|mpi)"
    r"\d*(?=$|[/_.-])",
    re.IGNORECASE,
)
#: Modules that are tried of each name, from the newest; ways to each; modules of a way.
_MOST_VERSIONS, _MOST_WAYS, _DEEPEST = 4, 6, 4
#: Characters of a reason.
_REASON_LENGTH = 200
#: Compiler wrappers in the order of preference, after Intel's own.
_WRAPPERS = ("mpiicx", "mpiicc", "mpicc")
_LAUNCHERS = ("mpirun", "mpiexec", "mpiexec.hydra")
#: What Debian adds to the names of an MPI's commands, since several MPIs share a PATH.
_SUFFIXES = ("", ".mpich", ".openmpi")
_LOOK = (
    f"for name in {' '.join(name + end for name in _WRAPPERS + _LAUNCHERS for end in _SUFFIXES)}"
    + r"""; do
    found=$(command -v "$name") && echo "@have $name=$found"
done
[ -z "${CRAY_MPICH_VERSION:-}" ] || echo "@have cc=$(command -v cc)"
for name in mpiexec mpirun mpirun.mpich mpirun.openmpi; do
    command -v "$name" >/dev/null && echo "@version${name#mpi[er]*[cn]}=$($name --version 2>&1 \
        </dev/null | head -n 4 | tr '\n' ' ')"
done
"""
)
#: Family → what its launcher says of itself.
_FAMILIES = (
    ("openmpi", re.compile(r"Open MPI\)? *v?([\d.]+)|OpenRTE\)? ([\d.]+)")),
    ("intelmpi", re.compile(r"Intel\(R\) MPI Library.*?Version ([\d.]+)")),
    ("mvapich", re.compile(r"MVAPICH\d?.*?([\d.]+)")),
    ("mpich", re.compile(r"HYDRA.*?Version: +([\d.]+)")),
)
#: What Lmod says after the reason.
_ADVICE = re.compile(r"While processing the following|Please check the spelling")
_LOADING_FAILED = re.compile(r"^assay: module load (\S+) failed", re.MULTILINE)
_WORD = re.compile(r"(?<![\w./-])\w[\w.+-]*(?:[/@][\w.+-]+)*")
Way = tuple[str, ...]


@dataclass(frozen=True)
class FoundMpi:
    """An MPI that the login node offers: the modules to load for it, its wrapper and launchers.

    `version` is what its launcher says of itself.
    """

    family: str
    version: str
    modules: Way
    wrapper: str
    launchers: tuple[str, ...]

    @property
    def label(self) -> str:
        """For readers."""
        source = "a wheel of PyPI" if "/" in self.wrapper else "in PATH"
        source = f"modules {', '.join(self.modules)}" if self.modules else source
        return f"{self.family} {self.version} ({source}; {Path(self.wrapper).name})"


@dataclass(frozen=True)
class Loaded:
    """A shell in which modules were loaded.

    `printed`: what it printed after that; `failed`: the module that could not be loaded, and `why`,
    in the module system's words.
    """

    printed: str = ""
    failed: str = ""
    why: str = ""


def find_mpis(system: str, say: Say) -> tuple[dict[str, FoundMpi], dict[str, str]]:
    """An MPI of each family on the login node: that of the person's own modules, else the newest in
    PATH or by the newest module of each MPI's name that brings one; and for each module that brings
    none the reason."""
    bare = _look(load(system, (), _LOOK))
    mpis = [_mpi_of(bare, (), suffix) for suffix in reversed(_SUFFIXES)]
    failed: dict[str, str] = {}
    if system != "nomod":
        known, mine = names(system), tuple(modules_of_caller())
        versions: dict[str, list[str]] = {}
        for name in sorted(filter(_MPI_NAME.search, known), key=natural, reverse=True):
            versions.setdefault(re.split(r"[/-]v?\d", name)[0], []).append(name)
        say(f"looking for an MPI into modules {', '.join(versions) or 'of no name of one'}")
        for modules in versions.values():
            for module in modules[:_MOST_VERSIONS]:
                mpi, why = _brought_by(system, module, known, bare)
                mpis.append(mpi)
                if mpi is not None:
                    break
                failed[module] = shortened(why, _REASON_LENGTH)
        mpis.sort(key=lambda mpi: natural(mpi.version if mpi else ""))
        if mine:
            mpis.append(_brought(system, mine, known, bare)[0])
    chosen = {mpi.family: mpi for mpi in mpis if mpi is not None}
    return dict(sorted(chosen.items())), failed


def _brought_by(
    system: str, module: str, known: Sequence[str], bare: Mapping[str, str]
) -> tuple[FoundMpi | None, str]:
    """The MPI that a module brings, in a hierarchy of Lmod by the first way there that works."""
    ways: list[Way] = []
    if system == "lmod":
        listing = load(system, (), f"module spider {module} 2>&1 </dev/null").printed
        ways = needed_modules(listing)[:_MOST_WAYS]
    mpi, why = None, ""
    for before in ways or [()]:
        mpi, why = _brought(system, (*before, module), known, bare)
        if mpi is not None:
            break
    return mpi, why


def _brought(
    system: str, way: Way, known: Sequence[str], bare: Mapping[str, str]
) -> tuple[FoundMpi | None, str]:
    """The MPI that modules bring, or why they bring none. A module that another one names by not
    loading is loaded before that."""
    loaded = load(system, way, _LOOK)
    while loaded.failed and len(way) < _DEEPEST:
        others = (name for name in known if not _MPI_NAME.search(name))
        needed = [name for name in named_modules(loaded.why, others) if name not in way]
        if not needed:
            break
        at = way.index(loaded.failed)
        way = (*way[:at], needed[0], *way[at:])
        loaded = load(system, way, _LOOK)
    if loaded.failed:
        return None, f"{' '.join(way)}: {loaded.why}"
    look = _look(loaded)
    unchanged = {name for name, value in look.items() if bare.get(name) == value}
    brought = {name: value for name, value in look.items() if name not in unchanged}
    return _mpi_of(brought, way), "loads, and brings no compiler wrapper (mpicc)"


def _look(loaded: Loaded) -> dict[str, str]:
    """Wrappers and launchers that are there by name, and what the launcher says of its version."""
    pairs = re.findall(r"^@(have [\w.]+|version[\w.]*)=(.*)$", loaded.printed, re.MULTILINE)
    return {name: value.strip() for name, value in pairs}


def _mpi_of(look: Mapping[str, str], modules: Way, suffix: str = "") -> FoundMpi | None:
    """The MPI whose wrapper, of names that end so, is there."""
    wrappers = [f"{name}{suffix}" for name in _WRAPPERS] + ([] if suffix else ["cc"])
    wrapper = next((name for name in wrappers if look.get(f"have {name}")), None)
    if wrapper is None:
        return None
    family, version = _family(wrapper, look.get(f"version{suffix}", ""), modules)
    names = (f"{name}{suffix}" for name in _LAUNCHERS)
    launchers = tuple(name for name in names if look.get(f"have {name}"))
    return FoundMpi(family, version, modules, wrapper, launchers)


def _family(wrapper: str, version: str, modules: Way) -> tuple[str, str]:
    if wrapper == "cc":
        return "craympich", login_environment().get("CRAY_MPICH_VERSION", "")
    for family, pattern in _FAMILIES:
        if match := pattern.search(version):
            return family, next(filter(None, match.groups()), "")
    # Environments are named by it: letters and digits.
    name = re.sub(r"[^a-z0-9]+", "", modules[-1].partition("/")[0].lower()) if modules else ""
    return name or "mpi", ""


def modules_system() -> str:
    """ReFrame's name of the module system of a job's shell."""
    printed = load("lmod", (), 'echo "lmod=${LMOD_VERSION:-}"; module --version 2>&1').printed
    if re.search(r"^lmod=\d", printed, re.MULTILINE):
        return "lmod"
    return "tmod4" if "Modules Release" in printed else "nomod"


def load(system: str, modules: Sequence[str], script: str) -> Loaded:
    """Run shell lines after loading modules in this order, as a job does."""
    site = {"modules_system": system, "module_init": None}
    environment = {"prepare": [], "modules": modules, "variables": {}}
    lines = [*preparation(site, environment), script]
    argv = ["bash", "-c", "\n".join(lines)]
    try:
        answer = run_command(argv, login_environment(), called="module load")
    except InfrastructureError as error:
        answer = Answer(NO_MODULE, "", str(error))
    if answer.status != NO_MODULE:
        return Loaded(f"{answer.stdout}\n{answer.stderr}")
    named = _LOADING_FAILED.search(answer.stderr)
    failed = named[1] if named and named[1] in modules else "".join(modules[-1:])
    text = _ADVICE.split(_LOADING_FAILED.split(answer.stderr)[0])[0]
    text = re.sub(r"Lmod has detected the following error:|^Loading \S+$", "", text, flags=re.M)
    why = re.sub(r"\s+", " ", text).strip() or "the module system gives no reason"
    return Loaded(failed=failed, why=why)


def named_modules(why: str, known: Iterable[str]) -> list[str]:
    """Known modules that a reason for not loading names, the newest of a name without a version and
    of one with a range of versions (gcc@12:).

    Environment Modules, Lmod, and what modules print themselves name those that must be loaded
    before; so no wording is looked for.
    """
    newest: dict[str, str] = {}
    for name in sorted(known, key=natural, reverse=True):
        parts = name.split("/")
        for end in range(1, len(parts) + 1):
            newest.setdefault("/".join(parts[:end]), name)
    words = (match[0].rstrip(".-").partition("@")[0] for match in _WORD.finditer(why))
    return list(dict.fromkeys(newest[word] for word in words if word in newest))


def needed_modules(listing: str) -> list[tuple[str, ...]]:
    """The ways that `module spider NAME` lists to a module in a hierarchy."""
    match = re.search(
        r"load all module\(s\) on any one of the lines below.*?\n\s*\n(.*)", listing, re.S
    )
    ways = []
    for words in (tuple(line.split()) for line in match[1].splitlines()) if match else ():
        if not words or not all(re.fullmatch(r"[\w.+@/-]+", word) for word in words):
            break
        ways.append(words)
    return ways


def names(system: str) -> list[str]:
    """The modules that a job's shell sees; of a hierarchy of Lmod also those that are hidden."""
    kinds = ("avail", "spider") if system == "lmod" else ("avail",)
    listings = (load(system, (), f"module -t {kind} 2>&1 </dev/null").printed for kind in kinds)
    return list(dict.fromkeys(name for listing in listings for name in names_of(listing)))


def names_of(listing: str) -> list[str]:
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
