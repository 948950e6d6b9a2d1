# SPDX-License-Identifier: Apache-2.0
"""Runs our C programs on this host with an MPI library's own launcher, for tests."""

import atexit
import json
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from checks.common.json_lines import Output, parse
from checks.common.registry import CHECKS
from checks.common.sources import LIBRARY

#: Seconds in which what is waited for comes.
PATIENCE_S = 120
COMPILERS = {"mpich": "mpicc.mpich", "openmpi": "mpicc.openmpi", "lam": "mpicc.lam"}
#: Parameters of a test of each library: the fast tests are of MPICH.
LIBRARIES = ["mpich", *(pytest.param(one, marks=pytest.mark.full) for one in ("openmpi", "lam"))]


def only(fast: Container[Any], cases: Iterable[Any]) -> list[Any]:
    """The cases as parameters of a test; those that are not `fast` are full."""
    return [one if one in fast else pytest.param(one, marks=pytest.mark.full) for one in cases]


def chosen(request: pytest.FixtureRequest, name: str) -> set[Any]:
    """The values of a parameter in the tests of a module that are run."""
    items = [item for item in request.session.items if item.path == request.path]
    calls = [item.callspec.params for item in items if hasattr(item, "callspec")]
    return {params[name] for params in calls if name in params}


@dataclass(frozen=True)
class ProgramRun:
    """Launch of a program: what it printed, read as the checks read it, and its exit status."""

    text: str
    status: int

    @property
    def output(self) -> Output:
        """The JSON lines, read for the check whose program printed them."""
        names = [line["name"].removeprefix("tcp_") for line in self.lines("program")]
        known = [CHECKS[name].metrics_by_name for name in names if name in CHECKS]
        return parse(self.text, known[0] if known else {})

    def lines(self, kind: str) -> list[dict[str, Any]]:
        """The JSON lines of one kind as they were printed."""
        own = [json.loads(text) for text in self.text.splitlines() if text.startswith('{"assay"')]
        return [line for line in own if line["assay"] == kind]


def command_of(check: str, **given: Any) -> tuple[str, Any]:
    """A command ("RANKS PROGRAM OPTION…") that asks a check's own program, and the parameters."""
    definition = CHECKS[check]
    params = definition.parameters.model_validate(given)
    words = [str(definition.ranks(params)), *definition.command(params, Path())]
    return " ".join(words), params


def require(*programs: str) -> None:
    """Skip the test where a program is missing, with the command that installs it."""
    if missing := [one for one in programs if shutil.which(one) is None]:
        pytest.skip(f"needs {', '.join(missing)}: make packages, as root")


def ran(
    command: Sequence[str | Path],
    more: Mapping[str, str] | None = None,
    check: bool = True,
    env: Mapping[str, str] = os.environ,
    **how: Any,
) -> subprocess.CompletedProcess[str]:
    """Run a command with `more` variables; its output is text, and it may fail if check=False."""
    env = {**env, **(more or {})}
    return subprocess.run(command, check=check, env=env, capture_output=True, text=True, **how)


def written_script(path: Path, body: str) -> Path:
    """A program of these lines of shell."""
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return path


def holds(condition: Callable[[], object]) -> bool:
    """True if a condition holds, at once, late on a loaded machine, or never."""
    end = time.monotonic() + PATIENCE_S
    while not (found := condition()) and time.monotonic() < end:
        time.sleep(0.02)
    return bool(found)


def built_alone(folder: Path, name: str) -> str:
    """The program of this name, which needs no library."""
    require("make", "cc")
    ran(["make", "-s", "-C", str(LIBRARY), "CC=cc", f"OUT={folder}", f"{folder}/{name}"])
    return f"{folder}/{name}"


def built_programs(library: str, programs: Sequence[str]) -> Path:
    """The folder with the programs, built with `library`; skips the test where it is missing."""
    out = build_folder(library)
    targets = [f"{out}/{program}" for program in programs]
    command = ["make", "-s", "-j2", "-C", str(LIBRARY), f"CC={COMPILERS[library]}", f"OUT={out}"]
    ran([*command, *targets])
    return out


@cache
def build_folder(library: str) -> Path:
    """The folder in which all tests of this process build with `library`; removed at its end."""
    require("make", "cc", COMPILERS[library])
    out = Path(tempfile.mkdtemp(prefix="assay-programs-", dir="/tmp"))
    atexit.register(shutil.rmtree, out, ignore_errors=True)
    # LAM refuses root, so its programs run as nobody, who must be able to read them.
    out.chmod(0o755)
    return out


def library_of(out: Path, source: Path, *options: str, compiler: str = "cc") -> Path:
    """The source as a library to be preloaded."""
    made = out / f"{source.stem}{''.join(options)}.so"
    words = [compiler, "-Wall", "-Wextra", "-Werror", "-fPIC", "-shared", *options]
    ran([*words, "-o", made, source, "-ldl"])
    return made


def run_each(
    library: str, out: Path, commands: Sequence[str], *preloaded: Path
) -> dict[str, ProgramRun]:
    """Run each of `commands` ("RANKS PROGRAM OPTION…"); what it did, by command."""
    answer = ran(
        [LIBRARY / "proof" / "launch_each.sh", COMPILERS[library], out, *preloaded],
        input="".join(f"{command}\n" for command in commands),
    )
    runs: list[ProgramRun] = []
    lines: list[str] = []
    for line in answer.stdout.splitlines():
        if line.startswith("@ "):
            runs.append(ProgramRun("\n".join(lines), int(line[2:])))
            lines = []
        else:
            lines.append(line)
    return dict(zip(commands, runs, strict=True))
