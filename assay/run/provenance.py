# SPDX-License-Identifier: Apache-2.0
"""Provenance: what ran where, with which software and settings, so that a number can be traced."""

import os
import platform
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cache
from importlib import metadata
from pathlib import Path

import msgspec
import yaml
from msgspec.structs import replace

from assay import IS_CLONE, ROOT
from assay.commands import output_of
from assay.probe.trials import TrialResult
from assay.sites.site import Site
from records.run.plan import Plan
from records.run.provenance import (
    EnvironmentAsRun,
    Harness,
    Host,
    Provenance,
    SiteAsRun,
    SpackBuild,
)
from records.site.node_facts import NodeFacts
from records.text.plain_text import without_secrets

#: Name and version of the packages named next.
_VERSIONS = ("dpkg-query", "-W", "-f=${Package} ${Version}\n")
#: What a run keeps of an environment as the site describes it.
_AS_DESCRIBED = (
    *("description", "source", "compiler", "launcher", "launcher_options", "launcher_command"),
    *("mpirun", "modules", "prepare", "variables", "variant_of"),
)
#: In place of the value of a variable that is not listed.
NOT_KEPT = "(set; value not kept)"
#: Such variables are named even where they are not listed.
_OF_A_LIBRARY = re.compile(
    r"(MPI|MPICH|MPIR|OMPI|PRTE|PMIX|PMI|UCX|LAM|FI|I_MPI|MV2|OPENBLAS|MKL|OMP|HYDRA|SLURM|PVM)_"
)


def only_here(given: Mapping[str, str]) -> list[str]:
    """Variables that matter to measurements and that the caller's shell has otherwise than `given`
    ones, by name; no PATH, and none that Slurm sets."""
    passed_over = ("PATH", "MODULEPATH", "SLURM_")
    return [
        name
        for name in variables_of(os.environ)
        if os.environ[name] != given.get(name) and not name.startswith(passed_over)
    ]


@cache
def listed_variables() -> dict[str, str]:
    """Names of variables that matter to measurements, separated by blanks, by who reads them."""
    names: dict[str, str] = yaml.safe_load(Path(__file__).with_name("variables.yaml").read_bytes())
    return names


def variables_of(environment: Mapping[str, str]) -> dict[str, str]:
    """The variables that a provenance keeps, by name in order: those that are listed, never those
    of a prefix; others of MPI libraries by their name alone, so that a reader sees that they were
    set."""
    kept = {name for names in listed_variables().values() for name in names.split()}
    return without_secrets(
        {
            name: value if name in kept else NOT_KEPT
            for name, value in sorted(environment.items())
            if name in kept or _OF_A_LIBRARY.match(name)
        }
    )


def harness() -> Harness:
    """Version, commit and ReFrame of this Assay."""
    # An installed one may be in the working tree of something else.
    commit, changed = (
        output_of(["git", *words], ROOT) if IS_CLONE else ""
        for words in (["rev-parse", "HEAD"], ["status", "--porcelain", "--untracked-files=no"])
    )
    return Harness(
        version=metadata.version("assay"),
        reframe=metadata.version("ReFrame-HPC"),
        git_commit=commit or None,
        git_dirty=bool(changed),
    )


def made_with() -> str:
    """Name of the Assay that makes a document, to the commit; two of one name give the same
    bytes."""
    here, changed = harness(), f"changed at {datetime.now(UTC).isoformat()}"
    parts = [f"commit {here.git_commit[:12]}" if here.git_commit else ""]
    parts += [changed if here.git_dirty else "", f"matplotlib {metadata.version('matplotlib')}"]
    return f"Assay {here.version} ({', '.join(filter(None, parts))})"


def gather(site: Site, asked: SiteAsRun, run_id: str, plan: Plan) -> Provenance:
    """The provenance of a run, as known when it begins, of the site as it was `asked` for."""
    glibc = site.slurm_output("getconf", "GNU_LIBC_VERSION").removeprefix("glibc ")
    model = re.search(r"^model name\s*:\s*(.+)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    return Provenance(
        run_id=run_id,
        started_at=datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z"),
        order_seed=plan.seed,
        harness=harness(),
        site=replace(asked, glibc=glibc or None),
        host=Host(
            cpu=model[1] if model else platform.processor(),
            cores=len(os.sched_getaffinity(0)),
            memory_bytes=os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"),
            kernel=platform.release(),
            nics=sorted(nic.name for nic in Path("/sys/class/net").glob("*") if nic.name != "lo"),
        ),
        slurm=site.scheduler().facts(),
        environments={name: environment_as_run(site, name) for name in plan.environments},
        variables=variables_of(site.variables()),
    ).without_secrets()


def with_facts(
    known: Provenance, nodes: Mapping[str, NodeFacts], trials: Mapping[str, TrialResult]
) -> Provenance:
    """The provenance with what jobs found of nodes and environments."""
    environments = dict(known.environments)
    for name in environments.keys() & trials.keys():
        environment, trial, right = environments[name], trials[name], trials[name].right
        evidence = right.evidence if right else None
        environments[name] = replace(
            environment,
            modules_loaded=trial.modules or environment.modules,
            job_variables={
                variable: value
                for variable, value in variables_of(trial.variables).items()
                if not variable.startswith("SLURM_")
            },
            # Where programs are compiled on a node, it knows the compiler.
            compiler_version=environment.compiler_version or trial.compiler_version,
            compiles_with=environment.compiles_with or trial.compiles_with,
            library=evidence and evidence.library,
            library_file=evidence and evidence.library_file,
            device=(evidence and evidence.device) or None,
            started_by=right.label if right else None,
        )
    return replace(known, nodes=dict(nodes), environments=environments).without_secrets()


def environment_as_run(site: Site, name: str) -> EnvironmentAsRun:
    """An environment with the settings in effect, and what Spack built it from."""
    described = site.description.environments[name]
    defaults = {name: setting.default for name, setting in described.settings.items()}
    # What the compiler wrapper calls, a NUL, and its version.
    compiler_facts = (
        f"shown=$({described.compiler} -show 2>/dev/null);"
        f' [ -n "$shown" ] || shown=$({described.compiler} -showme);'
        f" printf '%s\\0' \"$shown\"; {described.compiler} --version"
    )
    on_login = site.description.build_on == "login"  # else a job tells
    facts = site.output_in(name, compiler_facts) if on_login else ""
    compiles_with, _, compiler = facts.partition("\0")
    blas = described.blas or site.description.blas
    versions = site.slurm_output(*_VERSIONS, *described.packages) if described.packages else ""
    installed = dict(line.split() for line in versions.splitlines() if " " in line)
    return EnvironmentAsRun(
        **{name: getattr(described, name) for name in _AS_DESCRIBED},
        compiles_with=compiles_with.strip(),
        compiler_version=compiler.strip().split("\n")[0],
        blas=" ".join(blas.link_words()) if blas else None,
        settings={**defaults, **described.chosen},
        preload=described.preload or None,
        packages={name: installed.get(name) for name in described.packages},
        spack=msgspec.convert(site.spack_facts(name), SpackBuild | None),
    )
