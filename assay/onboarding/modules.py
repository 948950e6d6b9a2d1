# SPDX-License-Identifier: Apache-2.0
"""The module system of the login node: its name, its modules, its messages on loading."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from assay.commands import run_command
from assay.sites.login import login_environment
from checks.common.session.launch_commands import NO_MODULE, preparation
from checks.common.slurm.commands import Answer
from records.errors import InfrastructureError
from records.text.plain_text import natural

#: Lmod, and Environment Modules 3 to 5, on a module that excludes one that is loaded.
_CONFLICT = re.compile(
    r"conflict|these module\(s\) are loaded|only have one|\bunload\b", re.IGNORECASE
)
#: Environment Modules 3.2 ends with status 0 all the same.
_ERROR_OF_3 = re.compile(r":ERROR:\d+:")
#: What Lmod says after the reason.
_ADVICE = re.compile(r"While processing the following|Please check the spelling")
_LOADING_FAILED = re.compile(r"^assay: module load (\S+) failed", re.MULTILINE)
_WORD = re.compile(r"(?<![\w./-])\w[\w.+-]*(?:[/@][\w.+-]+)*")


@dataclass(frozen=True)
class Loaded:
    """A shell in which modules were loaded.

    `printed`: what it printed after that; `failed`: the module that could not be loaded, and `why`,
    in the module system's words.
    """

    printed: str = ""
    failed: str = ""
    why: str = field(default="", repr=False)

    @property
    def conflicts(self) -> bool:
        """True if the module excludes one that is loaded."""
        return _CONFLICT.search(self.why) is not None


def modules_system() -> str:
    """ReFrame's name of the module system of a job's shell."""
    told = load("lmod", (), 'echo "lmod=${LMOD_VERSION:-}"; module --version 2>&1').printed
    if re.search(r"^lmod=\d", told, re.MULTILINE):
        return "lmod"
    release = re.search(r"Modules Release (\d+)|VERSION=(\d+)", told)
    if release is None:
        return "nomod"
    return "tmod4" if int(release[1] or release[2]) >= 4 else "tmod32"


def load(system: str, modules: Sequence[str], script: str) -> Loaded:
    """Run shell lines after loading modules in this order, as a job does."""
    site = {"modules_system": system, "module_init": None}
    environment = {"prepare": [], "modules": modules, "modules_folder": "", "variables": {}}
    lines = [*preparation(site, environment), script]
    argv = ["bash", "-c", "\n".join(lines)]
    try:
        answer = run_command(argv, login_environment(), called="module load")
    except InfrastructureError as error:
        answer = Answer(NO_MODULE, "", str(error))
    if answer.status != NO_MODULE and not _ERROR_OF_3.search(answer.stderr):
        return Loaded(f"{answer.stdout}\n{answer.stderr}")
    found = _LOADING_FAILED.search(answer.stderr) or re.search(r"^(\S+?)\(\d+\):", answer.stderr)
    failed = found[1] if found and found[1] in modules else "".join(modules[-1:])
    return Loaded(failed=failed, why=_reason(answer.stderr))


def _reason(said: str) -> str:
    """Reason that the module system gives for a module that it does not load, on one line."""
    text = _ADVICE.split(_LOADING_FAILED.split(said)[0])[0]
    text = re.sub(r"Lmod has detected the following error:|^Loading \S+$", "", text, flags=re.M)
    return re.sub(r"\s+", " ", text).strip() or "the module system gives no reason"


def named_modules(why: str, known: Iterable[str]) -> list[str]:
    """Modules that a reason for not loading names: known ones, and words such as gcc/12.

    A name without a version, and one with a range of versions (gcc@12:), is all known ones of that
    name. Environment Modules, Lmod, and what modules print themselves name those that must be
    loaded before; so no wording is looked for.
    """
    sorts: dict[str, list[str]] = {}
    for name in newest_first(known):
        parts = name.split("/")
        for end in range(1, len(parts) + 1):
            sorts.setdefault("/".join(parts[:end]), []).append(name)
    found: list[str] = []
    for match in _WORD.finditer(why):
        word = match[0].rstrip(".-")
        found += sorts.get(word.partition("@")[0], [word] if "/" in word else [])
    return list(dict.fromkeys(found))


def spider_ways(system: str, module: str) -> list[tuple[str, ...]]:
    """Modules to load before one of a hierarchy, as Lmod's `module spider` lists the ways."""
    return needed_modules(load(system, (), f"module spider {module} 2>&1 </dev/null").printed)


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


def unversioned(name: str) -> str:
    """A module's name without version: gcc of gcc/12.3.0, compiler/gcc of compiler/gcc-12."""
    return re.split(r"[/-]v?\d", name)[0]


def newest_first(names: Iterable[str]) -> list[str]:
    """Modules by descending version."""
    return sorted(names, key=natural, reverse=True)
