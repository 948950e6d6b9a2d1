# SPDX-License-Identifier: Apache-2.0
"""`assay doctor --site SITE`: what a site needs and lacks, as the jobs' user, in its modules."""

from __future__ import annotations

import argparse
import re
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path

from assay.cli.doctor import tell
from assay.doctor import Finding, everywhere_findings, virtual_findings
from assay.onboarding.slurm_text import fields_of
from assay.probe.commands import ask
from assay.sites.description import EnvironmentDescription
from assay.sites.loading import load_site
from assay.sites.site import Site
from assay.sites.site_file import read_site_file, site_file
from assay.sites.slurm import SlurmSite
from assay.sites.values import expanded, unset_fault
from checks.common.session.launch_commands import LAUNCHERS
from checks.common.session.preparation import NO_MODULE
from checks.common.slurm.text import seconds_of
from records.errors import AssayError

#: Seconds of the job that Slurm is asked about where the site states no longest one.
_ASKED_S = 600
_LOOK = """
printf 'compiler=%%s\\n' "$(command -v %(compiler)s)"
printf 'launcher=%%s\\n' "$(command -v %(launcher)s)"
"""
_LINK = "echo 'int main(void) { return 0; }' | %s -x c - -o /dev/null %s"
#: What is linked where the site names no BLAS.
_BLAS = "-lopenblas"


def run(arguments: argparse.Namespace) -> int:
    """Print the findings; gives the exit status."""
    findings = [*everywhere_findings(), *site_findings(arguments.site)]
    return tell(findings, as_json=arguments.json)


def site_findings(site_name: str) -> Iterator[Finding]:
    """Whether the site is there, and what it needs."""
    folder = site_name.partition(":")[0]
    try:
        virtual = bool(read_site_file(folder).virtual_cluster)
    except AssayError as error:
        yield Finding(f"site {site_name}", False, str(error), "mend that; docs/sites.md")
        return
    if virtual:
        yield from virtual_findings()
    try:
        site = load_site(site_name)
    except AssayError as error:
        remedy = "assay cluster up" if virtual else f"mend {site_file(folder)}; docs/sites.md"
        yield Finding(f"site {site_name}", False, str(error), remedy)
        return
    yield Finding(f"site {site_name}", True, f"{site.description.nodes} nodes", "")
    if isinstance(site, SlurmSite):
        yield from _slurm_findings(site)
        yield from _work_dir_findings(site)
        for name, environment in site.description.environments.items():
            yield from _environment_findings(site, name, environment)
        yield from _hpl_findings(site)
    else:
        yield from _packaged_findings(site)


def _slurm_findings(site: Site) -> Iterator[Finding]:
    """Slurm answers, the partition is there and up, and jobs with the site's options are taken."""
    described, file = site.description, site_file(site.name)
    answer = ask(site, ["scontrol", "show", "partition", "-o", described.slurm_partition])
    if answer.status == 127 or "PartitionName" not in answer.stdout:
        remedy = (
            "use a login node of the cluster, or load Slurm's module"
            if answer.status == 127
            else f"sinfo names the partitions; mend `partitions` in {file}"
        )
        yield Finding(f"partition {described.slurm_partition}", False, answer.said, remedy)
        return
    told = fields_of(answer.stdout.splitlines()[0])
    state, longest = told.get("State", "unknown"), told.get("MaxTime", "UNLIMITED")
    yield Finding(
        f"partition {described.slurm_partition}",
        state == "UP",
        f"{state}, {told.get('TotalNodes', '?')} nodes, jobs up to {longest}",
        "wait until it is up, or name another: --site NAME:PARTITION",
    )
    limit, stated = seconds_of(longest), described.longest_job_s
    if limit is not None and stated is not None and stated > limit:
        remedy = f"longest_job_s: {limit} in {file}"
        yield Finding("longest_job_s", False, f"{stated} s, the partition has {limit} s", remedy)
    minutes = max(1, min(stated or _ASKED_S, limit or _ASKED_S) // 60)
    words = [f"--nodes={max(1, min(2, described.nodes))}", f"--time={minutes}", "--wrap=true"]
    test = ask(site, ["sbatch", "--test-only", *described.access, *words])
    options = " ".join(described.access)
    remedy = f"mend `access` in {file}; sacctmgr show assoc user=$USER names your accounts"
    yield Finding(f"jobs with {options}", test.status == 0, test.said, remedy)


def _work_dir_findings(site: Site) -> Iterator[Finding]:
    stated = site.description.work_dir
    if stated is None:
        seen = "the run directory, which nodes must see"
        yield Finding("work folder", True, seen, "")
        return
    remedy = f"export the variable, or name another folder as work_dir in {site_file(site.name)}"
    if fault := unset_fault(stated):
        yield Finding("work folder", False, f"{stated}: {fault}", remedy)
        return
    folder = expanded(stated)
    made = ask(site, ["mkdir", "-p", "--", folder])
    right = made.status == 0 and ask(site, ["test", "-w", folder]).status == 0
    yield Finding("work folder", right, folder if right else made.said, remedy)


def _environment_findings(
    site: Site, name: str, environment: EnvironmentDescription
) -> Iterator[Finding]:
    """Its modules load, and compiler and launcher are there in them."""
    file = site_file(site.name)
    how = LAUNCHERS[environment.launcher]
    launcher = environment.mpirun or how.mpirun or (environment.launcher_command or "true")
    words = {"compiler": environment.compiler.split()[0], "launcher": launcher.split()[0]}
    text = "\n".join([*site.preparation(name), _LOOK % words])
    answer = ask(site, ["bash", "-c", text])
    what = f"environment {name}"
    if environment.spack_view and answer.status != 0:
        seen = f"not built by Spack; assay build --site {site.name} does it"
        yield Finding(what, True, seen, "")
        return
    if answer.status == NO_MODULE or (answer.status != 0 and environment.modules):
        modules = ", ".join(environment.modules)
        error = re.sub(r"\s+", " ", answer.stderr)[:300].strip()
        remedy = f"module avail (or module spider) names those there are; mend modules in {file}"
        yield Finding(f"{what}: modules {modules}", False, error, remedy)
        return
    if answer.status != 0:
        yield Finding(f"{what}: prepare", False, answer.said, f"mend its prepare lines in {file}")
        return
    there = dict(line.split("=", 1) for line in answer.stdout.splitlines() if "=" in line)
    missing = [f"{key} {word}" for key, word in words.items() if not there.get(key)]
    seen = ", ".join(filter(None, (there.get("compiler"), there.get("launcher"))))
    if environment.spack_view and missing:
        seen, missing = f"not built by Spack; assay build --site {site.name} does it", []
    remedy = f"name the module that has it in {file}, or run assay site init"
    if missing:
        yield Finding(f"{what}: {missing[0]}", False, "", remedy)
        return
    yield Finding(what, True, seen, "")
    blas = environment.blas or site.description.blas
    link = shlex.join(blas.link_words()) if blas else _BLAS
    text = "\n".join([*site.preparation(name), _LINK % (environment.compiler, link)])
    linked = ask(site, ["bash", "-c", text])
    remedy = f"name a BLAS as `blas` in {file}, or the module that holds it"
    seen = linked.said if linked.status else ""
    yield Finding(f"{what}: BLAS {link}", linked.status == 0, seen, remedy)


def _hpl_findings(site: Site) -> Iterator[Finding]:
    """HPL is optional: without it the check hpl is left out."""
    ready = [name for name, one in site.description.environments.items() if "hpl" in one.programs]
    source = site.hpl_source()
    seen = f"ready-made for {', '.join(ready)}" if ready else source
    found = bool(ready) or Path(source).is_file()
    remedy = "make hpl-source, or hpl_source: ARCHIVE, or programs: {hpl: PATH} of an environment"
    yield Finding(
        "HPL", found, seen if found else "the check hpl is left out", remedy, needed=False
    )


def _packaged_findings(site: Site) -> Iterator[Finding]:
    """The compiler of each environment of a virtual cluster."""
    for name, environment in site.description.environments.items():
        where = shutil.which(environment.compiler)
        if environment.spack_view and where is None:
            # Optional unless requested: not missing on this machine.
            seen = f"not built by Spack; assay build --site {site.name} does it"
            yield Finding(f"environment {name}", True, seen, "")
            continue
        packages = " ".join(environment.packages)
        remedy = f"apt-get install {packages}" if packages else "see the site's site.yaml"
        yield Finding(f"environment {name}", where is not None, where or "", remedy)
