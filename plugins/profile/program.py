# SPDX-License-Identifier: Apache-2.0
"""The program in a launcher's command, and the library that is preloaded into it."""

import hashlib
import os
import platform
import re
import shutil
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from assay import BASE
from assay.commands import run_command
from checks.common.sources import LIBRARY, c_sources
from records.errors import AssayError, InfrastructureError
from records.files import write_whole
from records.waiting import BUILD_S, scaled

#: The C sources of the profile.
SOURCES = Path(__file__).parent / "checks" / "mpiprofile"
#: A library of MPI's C functions, as the dynamic linker names it.
_MPI = re.compile(r"^\s*libmpi(?:ch)?(?:_[a-z0-9_]+)?\.so\S* => (\S+)", re.MULTILINE)
_BINDINGS = re.compile(r"mpifh|usempi|fort|cxx|java")
_INTERPRETERS = re.compile(r"(python|perl|julia|env|sh|bash|dash|zsh|ksh|Rscript|R)[.\d]*$")
#: Suffixes of compilers where several libraries are installed (Debian).
_SUFFIXES = ("", ".openmpi", ".mpich", ".lam")
_LOOK_BYTES = 1 << 28
_TRIAL = "int MPI_Initialized(int *); int main(void) { int up; return MPI_Initialized(&up); }\n"


def program_places(command: Sequence[str]) -> list[int]:
    """The place of the program among the words of a launcher's command; where the command has
    several parts (`:`), of the program of each. Raises AssayError as `_program_place` does."""
    ends = [*(place for place, word in enumerate(command) if word == ":"), len(command)]
    begins = [1, *(end + 1 for end in ends[:-1])]
    return [
        begin - 1 + _program_place([*command[:1], *command[begin:end]])
        for begin, end in zip(begins, ends, strict=True)
    ]


def _program_place(command: Sequence[str]) -> int:
    """The place of the program; 0 of a script that calls the launcher, or a program without one.

    Raises AssayError, with the remedy, for a program that is linked statically or without MPI. A
    script and an interpreter may start any program: of them nothing is known before they run.
    """
    found = [(place, path) for place, path in enumerate(map(shutil.which, command)) if path]
    if not command or not found or found[0][0] != 0:
        what = f"{command[0]}: no such program" if command else "no command"
        raise AssayError(f"profile: {what}; give it after --: assay profile -- mpirun -np 4 ./app")
    (_, first), *following = [(place, Path(path)) for place, path in found]
    linked = [place for place, path in following if mpi_libraries(path) or has_profile(path)]
    if linked:
        return linked[0]
    unclear = [place for place, path in following if _is_script(path)]
    for place, path in following:
        if place not in unclear and _holds(path, b"MPI_Init"):
            raise AssayError(
                f"profile: {path} is linked statically with MPI, so that nothing can be preloaded;"
                " link it dynamically, or build the profile in: `make -C"
                f" {SOURCES} CC=mpicc OUT=DIR` with its compiler for CC, add"
                " DIR/profile.o before the MPI library when linking, and give this command again"
            )
    calls_launcher = _INTERPRETERS.match(first.name) and first.name != "env"
    if calls_launcher or (not following and (_is_script(first) or mpi_libraries(first))):
        return 0
    if unclear:
        return unclear[0]
    programs = ", ".join(str(path) for _, path in following) or "it names no program"
    raise AssayError(
        f"profile: no program of {' '.join(command)!r} is linked with an MPI library ({programs});"
        " give the launcher and an MPI program: assay profile -- mpirun -np 4 ./app"
    )


def mpi_libraries(program: Path) -> set[str]:
    """Files of the MPI library that a program or library is linked with; empty: none."""
    printed = run_command(["ldd", str(program.absolute())], os.environ).stdout
    return {
        os.path.realpath(path)
        for path in _MPI.findall(printed)
        if not _BINDINGS.search(Path(path).name)
    }


def _is_script(path: Path) -> bool:
    """True if it is a script, or an interpreter: what it starts is not known."""
    with path.open("rb") as file:
        return file.read(2) == b"#!" or bool(_INTERPRETERS.match(path.name))


def has_profile(path: Path) -> bool:
    """True if the profile is linked into a program."""
    return _holds(path, b"ASSAY_PROFILE_FOLDER")


def _holds(path: Path, text: bytes) -> bool:
    with path.open("rb") as file:
        return text in file.read(_LOOK_BYTES)


def build_library(command: Sequence[str], place: int, compiler: str | None, folder: Path) -> Path:
    """The library to preload, made in `folder` by the compiler of the program's own MPI library.

    Raises AssayError where no compiler of that library is found.
    """
    path = shutil.which(command[place])
    wanted = mpi_libraries(Path(path)) if path else set()
    tried = []
    for name in [compiler] if compiler else dict.fromkeys(_compilers(command[0])):
        made = _linked_by(name, folder)
        if made is None:
            continue
        if not wanted or wanted & made:
            return _built(name, made, folder)
        tried.append(f"{name} (of {', '.join(sorted(made))})")
    raise AssayError(
        f"profile: no compiler of {', '.join(sorted(wanted)) or 'MPI'}, with which"
        f" {command[place]} is linked; tried: {', '.join(tried) or 'none found'}; give it: --mpicc"
    )


def _compilers(launcher: str) -> Iterator[str]:
    """Compilers that may belong to a launcher: next to it, then in PATH."""
    path = Path(shutil.which(launcher) or launcher)
    for one in (path, path.resolve()):
        suffix = one.suffix if one.suffix in _SUFFIXES else ""
        yield str(one.with_name(f"mpicc{suffix}"))
    yield from (f"mpicc{suffix}" for suffix in _SUFFIXES)


def _linked_by(compiler: str, folder: Path) -> set[str] | None:
    """The MPI library that a compiler links with; None if it makes no program."""
    if not shutil.which(compiler):
        return None
    source, program = folder / "trial.c", folder / "trial"
    source.write_text(_TRIAL)
    made = run_command([compiler, "-o", str(program), str(source)], os.environ)
    return mpi_libraries(program) if made.status == 0 else None


def _built(compiler: str, made: set[str], folder: Path) -> Path:
    """The library of a compiler and an MPI library; kept under build/ where that can be written."""
    sources = b"".join(
        path.read_bytes() for folder in (LIBRARY, SOURCES) for path in c_sources(folder)
    )
    named = "\0".join([shutil.which(compiler) or compiler, *sorted(made), platform.machine()])
    digest = hashlib.sha256(named.encode() + sources).hexdigest()[:16]
    kept = BASE / "build" / f"profile-{digest}" / "libassay_profile.so"
    library = folder / kept.name
    if kept.is_file():
        shutil.copyfile(kept, library)  # all nodes see this one
        return library
    words = ["make", "-s", "-j4", "-C", str(SOURCES), str(library)]
    words += [f"CC={compiler}", f"OUT={folder}", f"LIBRARY={LIBRARY}"]
    answer = run_command(words, os.environ, limit_s=scaled(BUILD_S))
    if answer.status != 0:
        raise InfrastructureError(f"profile: the library could not be made: {answer.said}")
    with suppress(OSError):  # a folder of another user
        kept.parent.mkdir(parents=True, exist_ok=True)
        write_whole(kept, library.read_bytes(), 0o755)
    return library
