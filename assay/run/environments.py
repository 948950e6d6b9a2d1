# SPDX-License-Identifier: Apache-2.0
"""Environments of a run: proven by one short job before the first launch, and their programs.

The job is in the run's own work folder and runs as launches do. What is broken is said before
anything is recorded, and is a matter of the set-up, not of a library.

Builds are kept for later runs in the caller's cache, each under a hash of what it was made of: the
cluster, the C sources, HPL's archive, and all that is known of the environment: compiler and its
version, library, packages, modules, variables. Where the compiler's version is not known, only the
same run finds its builds again.
"""

import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from pathlib import Path
from typing import Any

import msgspec

from assay.build.builder import sources_digest
from assay.probe.probe import Probes
from assay.probe.trials import ProbeResult, Trial, TrialResult, faults_of, trial_of
from assay.run.provenance import environment_as_run, variables_of
from assay.run.session import WorkFolder
from assay.sites.site import Site
from checks.common.session.outcome import CompleteBuild
from checks.common.sources import build_files, program_folders
from records.errors import AssayError, InfrastructureError
from records.input_files import opened
from records.run.plan import Plan
from records.run.record_lines import Entry
from records.run.run_directory import RunDirectory
from records.site.node_facts import NodeFacts
from records.waiting import scaled

#: What is built for an environment: the build fixtures of `checks.common.session.builds`.
PROGRAMS = ("Programs", "BlasPrograms", "Hpl", "Su3Rmd")
#: Builds that are kept, the last used ones.
MOST_KEPT = 64
#: Bytes of the greatest program whose digest is taken.
MOST_BYTES = 1 << 28
#: Seconds of the job: for itself, and for each environment.
_JOB_S, _ENVIRONMENT_S = 60, 60
#: Seconds that a good launch of a run proves its environment to a driver that resumes it.
_PROVED_S = 3600.0
#: How often an environment is tried before it counts as broken: a start may fail by chance.
_TRIES = 2
#: States in which Slurm, not the environment, has ended the job.
_LOST = {"BOOT_FAIL", "CANCELLED", "NODE_FAIL", "PREEMPTED", "DEADLINE"}


def kept_folder() -> Path:
    """The folder of kept builds: below XDG_CACHE_HOME, or ~/.cache."""
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(cache, "assay", "builds")


class KeptBuilds:
    """The programs of a run: what its sessions built, and copies of those kept of other runs."""

    def __init__(
        self, site: Site, run: RunDirectory, work: WorkFolder, names: Collection[str]
    ) -> None:
        self._work, self._folder, self._here = work, kept_folder(), site.here
        #: The digest of each program when it was made, by path.
        self._made: dict[str, str] = {}
        common = _digest(
            site.identity(),
            sources_digest(),
            *(sources_digest(each, files=build_files) for each in program_folders(shipped=False)),
            *(str(site.name), str(site.description.partition), site.description.build_on),
            variables_of(site.variables()),
        )
        known = run.provenance().environments
        self._keys: dict[tuple[str, str], str] = {}
        for name in names:
            now, then = environment_as_run(site, name), known.get(name)
            version = now.compiler_version or (then.compiler_version if then else "")
            described = site.session_data()["environments"][name]
            made_of = [common, described, msgspec.to_builtins(now), version, then and then.library]
            made_of += [] if version else [run.run_id]
            for program in PROGRAMS:
                source = _digest_now(site.hpl_source()) if program == "Hpl" else ""
                self._keys[name, program] = _digest(*made_of, program, source)

    def lay_out(self) -> None:
        """Copy what is kept to the work folder, unless it is there. A session builds what is not,
        and what cannot be copied."""
        for (environment, program), key in self._keys.items():
            folder, kept = self._work.programs / f"{program}-{environment}", self._folder / key
            if folder.exists() or not kept.exists():
                continue
            with suppress(OSError):
                shutil.copytree(kept, folder.with_name(key), dirs_exist_ok=True)
                folder.with_name(key).rename(folder)  # whole or not at all
                self._made |= _digests_of(folder)
                os.utime(kept)

    def take_in(self, built: CompleteBuild) -> None:
        """Take the digests of what a session has built, and keep it if it can be kept."""
        folder = self._work.programs / f"{built.program}-{built.environment}"
        key = self._keys.get((built.environment, built.program))
        with suppress(OSError):
            digests = _digests_of(folder)
            self._made |= digests
            if key is not None:
                self._keep(digests, key)

    def _keep(self, files: Collection[str], key: str) -> None:
        """Keep a build for later runs, and of all only those used last."""
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".", dir=self._folder) as part:
            whole = Path(part, key)
            whole.mkdir()
            for file in files:
                shutil.copy(file, whole)
            _remove(self._folder / key)
            whole.rename(self._folder / key)
        kept = sorted(self._folder.iterdir(), key=lambda path: path.lstat().st_mtime)
        for path in kept[:-MOST_KEPT]:
            _remove(path)

    def executed(self, paths: Collection[str]) -> tuple[dict[str, str | None], str | None]:
        """The digest of each program, None where it cannot be read here, and what is wrong: one
        that was built must be what it was when it was made."""
        digests: dict[str, str | None] = {}
        for path in paths:
            # Jobs find the name of a command by themselves.
            digest = _digest_now(str(self._here(path))) if Path(path).is_absolute() else ""
            if digest != self._made.get(path, digest):
                return digests, f"program {path} is not what was built"
            digests[Path(path).name] = digest or None
        return digests, None


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _digest(*parts: Any) -> str:
    return hashlib.sha256(json.dumps(parts, sort_keys=True, default=str).encode()).hexdigest()


def _digests_of(folder: Path) -> dict[str, str]:
    """Digests of a build's programs, by path; what is in folders, or begins with a dot, is none."""
    files = (file for file in folder.iterdir() if file.is_file() and file.name[0] != ".")
    return {str(file): _digest_now(str(file)) for file in files}


def _digest_now(path: str) -> str:
    """The digest of a program, "" where it cannot be read; it is read again once its number, size
    or times change."""
    with suppress(OSError):
        status = Path(path).stat()
        stamp = status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns
        return _file_digest(path, stamp)
    return ""


@lru_cache(maxsize=1024)
def _file_digest(path: str, _stamp: tuple[int, ...]) -> str:
    """Of a regular file of no more than MOST_BYTES; "" for anything else."""
    with suppress(AssayError, OSError), opened(Path(os.path.realpath(path))) as file:
        if os.fstat(file.fileno()).st_size <= MOST_BYTES:
            return hashlib.file_digest(file, "sha256").hexdigest()
    return ""


@dataclass
class Proof:
    """Faults of environments by name; an environment without one is right. What jobs found of nodes
    and environments, for the provenance."""

    faults: dict[str, str] = field(default_factory=dict)
    nodes: dict[str, NodeFacts] = field(default_factory=dict)
    trials: dict[str, TrialResult] = field(default_factory=dict)

    def take_in(self, result: ProbeResult) -> ProbeResult:
        """Take in what a job found."""
        self.nodes |= result.nodes
        self.trials |= result.trials
        return result


def prove(probes: Probes, site: Site, names: Sequence[str], nodes: int, *, run: str) -> Proof:
    """The proof of environments. Tried are two nodes; of as many as launches have the facts are
    kept. `run` names the run's work folder.

    Raises AssayError where nodes do not see the work folder, InfrastructureError where a job did
    not come to its end.
    """
    widest = max(1, min(nodes, site.description.nodes or nodes))
    tried, proof = min(2, widest), Proof()
    left = [
        trial_of(site, name, ranks=tried, ranks_per_node=1)
        for name in names
        if "mpi" in site.description.environments[name].features
    ]
    options = [f"--comment=assay-{run}", "--no-requeue"]
    if site.description.build_on == "login":
        probes.build_on_login(left)
    for _ in range(_TRIES):
        if left:
            limit_s = int(_JOB_S + scaled(_ENVIRONMENT_S) * len(left))
            result = probes.submit("preflight", tried, 1, left, limit_s=limit_s, options=options)
            proof.faults = _faults(site, left, proof.take_in(result()))
            left = [trial for trial in left if trial.name in proof.faults]
    if widest > tried and not proof.faults:
        result = probes.submit("facts", widest, 1, [], limit_s=_JOB_S, options=options)
        proof.take_in(result())
    return proof


def _faults(site: Site, trials: Sequence[Trial], result: ProbeResult) -> dict[str, str]:
    """Faults that one job found in these environments."""
    if result.state in _LOST:
        raise InfrastructureError(
            f"the job that proves the environments ended {result.state} on"
            f" {', '.join(result.allocated) or 'no node'}"
        )
    faults = {}
    for name in (trial.name for trial in trials):
        trial = result.trials[name]
        if not trial.ready and not trial.prepared:
            raise InfrastructureError(
                f"the job that proves the environments reported nothing of {name}: it ended, or"
                " the work folder was full, before or in its `modules` and `prepare` lines"
            )
        if found := faults_of(site, name, result, ranks_per_node=1):
            faults[name] = "; ".join(found)
    return faults


def lately_right(records: Iterable[Entry]) -> set[str]:
    """Environments with a good launch of which no hour has passed: they need no further proof."""
    since = (datetime.now(UTC) - timedelta(seconds=_PROVED_S)).isoformat()
    return {
        record.environment
        for record in records
        if record.status == "ok" and since < (record.ended_at or "")
    }


def broken_message(broken: Mapping[str, str], plan: Plan, run: Path) -> str:
    """The message for broken environments, and how to go on without them."""
    faults = "\n".join(f"environment {name}: {fault}" for name, fault in broken.items())
    rest = ",".join(name for name in plan.environments if name not in broken)
    anew = f" Or begin anew without: assay run {plan.campaign} --environments {rest}"
    return (
        f"{faults}\nNothing is recorded of {', '.join(broken)}. Correct the site's site.yaml or its"
        f" modules, then go on with: assay run --resume {run}.{anew if rest else ''}"
    )
