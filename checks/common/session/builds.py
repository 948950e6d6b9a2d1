# SPDX-License-Identifier: Apache-2.0
"""Build fixtures: our C programs and HPL, compiled once a run for each environment."""

import os
import shlex
import shutil
import types
from pathlib import Path
from typing import Any

import reframe as rfm
import reframe.utility.sanity as sn
from reframe.core.builtins import run_after, run_before, sanity_function, variable
from reframe.core.runtime import runtime

from checks.common.command import CommandDefinition
from checks.common.definition import CheckDefinition
from checks.common.json_lines import read_printed
from checks.common.session.outcome import PROGRAMS, CompleteBuild, Outcome, send
from checks.common.slurm.scheduler import run_options
from checks.common.sources import LIBRARY, build_files, program_folders

#: Environment variable with the path of an archive with HPL's source: HPCC's, or netlib's.
HPL_ARCHIVE = "ASSAY_HPL_ARCHIVE"
#: Files that make compiles at a time: small machines have two cores.
MAKE_JOBS = 2
#: Longest time of a build in a job; one takes a minute.
BUILD_LIMIT_S = 1800
#: Bytes kept of a build's immense output.
KEPT_BYTES = 1 << 23


class MakeBuild(rfm.CompileOnlyRegressionTest):
    """`make TARGET CC=… OUT=out` in a copy of the C sources; results are in the stage's `out`."""

    #: Target of common/src/Makefile.
    target = variable(str, value="")

    build_system: Any = "Make"
    sourcesdir = str(LIBRARY)
    valid_systems = ["*"]
    valid_prog_environs = ["+mpi"]

    @property
    def chosen_target(self) -> str:
        """The target for this environment."""
        return str(self.target)

    @property
    def kept(self) -> Path | None:
        """Where this build stays for other sessions, None: there is no harness."""
        folder = os.environ.get(PROGRAMS)
        name = f"{type(self).__name__}-{self.current_environ.name}"
        return Path(folder, name) if folder else None

    @property
    def folder(self) -> Path:
        """The folder of the programs."""
        return self.kept or Path(self.stagedir, "out")

    @property
    def goal(self) -> str:
        """Target that is left to make: none where the build is there."""
        return "none" if self.kept and self.kept.is_dir() else self.chosen_target

    @run_after("init")
    def choose_place(self) -> None:
        """Compile where the site says: here, or in a job of the partition."""
        (partition,) = runtime().system.partitions
        self.build_locally = partition.extras["build_on"] == "login"

    @run_before("compile")
    def take_from_twin(self) -> None:
        """Copy what was built for an environment that compiles alike, e.g. for LAM's other mode."""
        if self.kept is None or self.kept.is_dir():
            return
        own, name = self.current_environ, type(self).__name__
        for other in self.current_partition.environs:
            twin = self.kept.with_name(f"{name}-{other.name}")
            if _compiles_as(other) == _compiles_as(own) and twin.is_dir():
                part = self.kept.with_name(f".{self.kept.name}")
                shutil.copytree(twin, part)
                part.rename(self.kept)
                send(Outcome(built=CompleteBuild(own.name, name)))
                return

    @run_before("compile")
    def set_up_make(self) -> None:
        """Limit the job of the build; copy the programs' folders into the stage, where ReFrame puts
        the library; choose target and compiler."""
        if not self.build_locally:
            extras, processor = self.current_partition.extras, self.current_partition.processor
            self.build_job.options = run_options()
            self.build_job.num_cpus_per_task = min(MAKE_JOBS, processor.num_cpus)
            longest_s = extras["longest_job_s"] or BUILD_LIMIT_S
            self.build_time_limit = f"{min(BUILD_LIMIT_S, longest_s)}s"
        for folder in program_folders():
            for source in build_files(folder):
                copy = Path(self.stagedir, "programs", folder.name, source.relative_to(folder))
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(source, copy)
        is_left = self.goal == self.chosen_target
        words = [f"CC={self.current_environ.cc}", f"FOLDERS={_copies(program_folders())}"]
        if self.ready and is_left:
            self.build_system.makefile = "ready.mk"
            words += [f"READY={self.ready}", f"OUTSIDE={_copies(program_folders(shipped=False))}"]
        if is_left:
            doing = f"building {type(self).__name__} for {self.current_environ.name}"
            send(Outcome(progress=doing))
        if blas := self.current_environ.extras["blas"]:
            libraries = [*blas["ldflags"], *(f"-l{name}" for name in blas["libraries"])]
            words += [f"BLAS={' '.join(libraries)}", f"BLAS_CFLAGS={' '.join(blas['cflags'])}"]
        self.build_system.options = ["OUT=out", *map(shlex.quote, words), self.goal]
        self.build_system.flags_from_environ = False
        self.build_system.max_concurrency = MAKE_JOBS

    @property
    def ready(self) -> str:
        """Folder of programs that were built beforehand for the environment (by Spack), or ""."""
        return str(self.current_environ.extras.get("ready_programs", ""))

    @run_after("compile")
    def hand_over(self) -> None:
        """Put what was built where launches run it, and tell the harness."""
        made = Path(self.stagedir, "out")
        if self.kept is None or self.kept.is_dir() or self.build_job.exitcode != 0:
            return
        made.mkdir(exist_ok=True)  # where nothing had to be made
        made.rename(self.kept)
        send(Outcome(built=CompleteBuild(self.current_environ.name, type(self).__name__)))

    @sanity_function
    def built(self) -> Any:
        """Passes if make succeeded."""
        return sn.assert_true(self.build_job.exitcode == 0)

    def output(self) -> str:
        """All that the build printed, its head and tail where it is immense."""
        job = self.build_job
        loss = getattr(job, "loss", None)
        if loss:
            return f"its job: {loss.reason}"
        names = [job.script_filename, job.stdout, job.stderr] if job else []
        texts = [read_printed(Path(self.stagedir, name), KEPT_BYTES) for name in names]
        pairs = zip(names, texts, strict=True)
        return "\n".join(f"==> {name} <==\n{one.text}{one.problem or ''}" for name, one in pairs)


def _compiles_as(environment: Any) -> tuple[Any, ...]:
    extras = environment.extras
    return environment.cc, environment.prepare_cmds, extras["blas"], extras["ready_programs"]


def _copies(folders: list[Path]) -> str:
    """Where `set_up_make` puts folders, as make reads them."""
    return " ".join(f"programs/{folder.name}" for folder in folders)


class Programs(MakeBuild):
    """Our own programs for the environment's library, MPI or PVM, and their helpers."""

    target = "programs"
    valid_prog_environs = ["+mpi", "+pvm"]

    @property
    def chosen_target(self) -> str:
        """An environment of PVM has no MPI, and a target of its own."""
        return "pvm" if "pvm" in self.current_environ.features else "programs"


class BlasPrograms(MakeBuild):
    """Programs of ours that are linked with a BLAS."""

    target = "blas-programs"


class Hpl(MakeBuild):
    """HPL of the archive named by HPL_ARCHIVE, unless the site has one."""

    @property
    def chosen_target(self) -> str:
        """An environment may bring an HPL of its own."""
        return "none" if "hpl" in self.current_environ.extras["programs"] else "hpl"

    @run_before("compile")
    def unpack(self) -> None:
        """Unpack the archive next to the sources."""
        if self.ready or self.goal == "none":
            return
        archive = os.environ.get(HPL_ARCHIVE, "")
        if not Path(archive).is_file():
            raise rfm.core.exceptions.BuildError(
                f"no HPL source: {HPL_ARCHIVE}={archive!r} is no file; name an archive as"
                " hpl_source in the site.yaml, or a ready-made program as programs.hpl of the"
                " environment"
            )
        self.prebuild_cmds = [
            "mkdir -p hpl-source",
            f"tar -xf {shlex.quote(archive)} -C hpl-source --strip-components=1",
        ]
        self.build_system.options += ["HPL_SOURCE=hpl-source"]


class Su3Rmd(MakeBuild):
    """The lattice program in both precisions."""

    target = "su3_rmd"


class CommandBuild(MakeBuild):
    """`build` of a command line of a campaign, in a folder with its files."""

    line: CommandDefinition
    target = "none"
    valid_prog_environs = ["*"]

    @run_before("compile")
    def prepare(self) -> None:
        """Have the build done before make, which has nothing to do."""
        if self.kept and self.kept.is_dir():
            return
        folder = Path(self.stagedir, "command")
        folder.mkdir()
        self.line.write_files(folder)
        self.prebuild_cmds = [
            f"export CC={shlex.quote(self.current_environ.cc)}",
            f"(cd command && sh -ec {shlex.quote(self.line.line.build)})",
            "mkdir -p out && find command -maxdepth 1 -type f -exec cp -p -t out {} +",
        ]


def build_of(definition: CheckDefinition[Any], name: str) -> type[MakeBuild]:
    """The build fixture of this name among `builds` of a definition."""
    kinds = {kind.__name__: kind for kind in (Programs, BlasPrograms, Hpl, Su3Rmd)}
    if name in kinds:
        return kinds[name]
    body = {"line": definition, "__module__": __name__}
    made: type[MakeBuild] = types.new_class(name, (CommandBuild,), {}, lambda s: s.update(body))
    return made
