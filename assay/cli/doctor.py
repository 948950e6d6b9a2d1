# SPDX-License-Identifier: Apache-2.0
"""`assay doctor`: requirements of Assay on a machine and of a site, looked at without a job: found
or missing, with the command that installs or corrects each.
"""

import argparse
import os
import re
import shlex
import shutil
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import Annotated

from assay.cli.arguments import JSON, argument, declared
from assay.sites.description import EnvironmentDescription
from assay.sites.loading import SlurmSite, load_site
from assay.sites.site import Site
from assay.sites.site_file import read_site_file, site_file
from assay.terminal import say
from checks.common.session.launch_commands import LAUNCHERS, NO_MODULE
from records.errors import AssayError, ExitStatus
from records.forms import Form, Part, as_text, key
from virtual_cluster import images, namespaces
from virtual_cluster.host import MACHINE_PROGRAMS

#: Programs that every site needs where Assay is called → what has them.
_EVERYWHERE = {
    "make": "make",
    "bash": "bash",
    "tar": "tar",
    "setpriv": "util-linux 2.24 or later",
}
_LEAST_PYTHON = (3, 11)
#: What the command of a missing package begins with.
_INSTALL = "apt-get install "

_LOOK = """
printf 'compiler=%%s\\n' "$(command -v %(compiler)s)"
printf 'launcher=%%s\\n' "$(command -v %(launcher)s)"
"""
_LINK = "echo 'int main(void) { return 0; }' | %s -x c - -o /dev/null %s"
#: What is linked where the site names no BLAS.
_BLAS = "-lopenblas"


class Requirement(Part):
    """Requirement on a machine, found or missing."""

    what: Annotated[str, key("Name of the requirement.")]
    found: Annotated[bool, key("True if it is there.")]
    seen: Annotated[str, key("Evidence that was seen of it.")]
    remedy: Annotated[str, key("The command that fixes it.")]
    needed: Annotated[
        bool, key("False: only some use needs it, and its absence fails nothing.")
    ] = True


class DoctorForm(Form, kw_only=True):
    """`assay doctor`: requirements, found or missing."""

    findings: Annotated[list[Requirement], key("Every requirement.")]


def site_machine() -> Iterator[Requirement]:
    """Requirements on this machine at any site."""
    version = ".".join(map(str, sys.version_info[:3]))
    right = sys.version_info >= _LEAST_PYTHON
    yield Requirement("Python", right, version, "make setup PYTHON=… with Python 3.11 or later")
    for program, source in _EVERYWHERE.items():
        yield _program(program, f"ask the site for {source}, or install it")


def cluster_machine(*, needed: bool = True) -> Iterator[Requirement]:
    """Requirements on this machine to host a virtual cluster, besides those at any site."""
    for program, package in MACHINE_PROGRAMS.items():
        yield _program(program, f"{_INSTALL}{package}", needed=needed)
    image = images.found(images.DEFAULT)
    tree, what = str(image.tree) if image else "", f"image {images.DEFAULT}"
    remedy = "assay image get (assay cluster up does it too)"
    yield Requirement(what, image is not None, tree, remedy, needed=False)
    refusal = (
        namespaces.refusal(tree or images.MACHINE)
        if _path_of("unshare")
        else f"{_INSTALL}util-linux"
    )
    yield Requirement("namespaces for a virtual cluster", not refusal, "tried", refusal, needed)


def _program(program: str, remedy: str, *, needed: bool = True) -> Requirement:
    where = _path_of(program)
    return Requirement(program, where is not None, where or "", remedy, needed)


def _path_of(program: str) -> str | None:
    """Path of a program, if there is one; administrators' folders are often missing in PATH."""
    return shutil.which(program, path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")


def site_requirements(site_name: str) -> Iterator[Requirement]:
    """The site, and what it needs."""
    folder, what = site_name.partition(":")[0], f"site {site_name}"
    remedy = "correct that; docs/sites.md"
    try:
        if read_site_file(folder).virtual_cluster:
            yield from cluster_machine()
            remedy = "assay cluster up"
        else:
            remedy = f"correct {site_file(folder)}; docs/sites.md"
        site = load_site(site_name)
    except AssayError as error:
        yield Requirement(what, False, str(error), remedy)
        return
    yield Requirement(what, True, f"{site.description.nodes} nodes", "")
    environments = site.description.environments.items()
    if not isinstance(site, SlurmSite):
        for name, environment in environments:
            where = site.slurm_output("sh", "-c", 'command -v "$0"', environment.compiler)
            remedy = "see the site's site.yaml, or bring up a cluster with another --image"
            if environment.spack_view and not where:
                yield _not_built(site, name)
            else:
                # No image has all of them: PVM is in debian-12 alone.
                yield Requirement(f"environment {name}", bool(where), where, remedy, needed=False)
        return
    yield _scheduler(site)
    for name, environment in environments:
        yield from _environment(site, name, environment)


def _scheduler(site: Site) -> Requirement:
    """The scheduler takes the site's jobs."""
    what, refused = site.scheduler().refusal()
    remedy = f"call it on a login node; correct `partitions` in {site_file(site.name)} (sinfo names"
    remedy += " partitions, sacctmgr show assoc user=$USER your accounts)"
    return Requirement(what, not refused, refused or "would be taken", remedy)


def _not_built(site: Site, name: str) -> Requirement:
    # Optional unless requested: not missing on this machine.
    seen = f"not built by Spack; assay build --site {site.name} does it"
    return Requirement(f"environment {name}", True, seen, "")


def _environment(
    site: Site, name: str, environment: EnvironmentDescription
) -> Iterator[Requirement]:
    """Its modules load, compiler and launcher are there in them, and a program links with BLAS."""
    file, what = site_file(site.name), f"environment {name}"
    how = LAUNCHERS[environment.launcher]
    launcher = environment.mpirun or how.mpirun or (environment.launcher_command or "true")
    words = {"compiler": environment.compiler.split()[0], "launcher": launcher.split()[0]}
    prepared = site.preparation(name)
    answer = site.ask(["bash", "-c", "\n".join([*prepared, _LOOK % words])])
    there = dict(line.split("=", 1) for line in answer.stdout.splitlines() if "=" in line)
    missing = [f"{key} {word}" for key, word in words.items() if not there.get(key)]
    if environment.spack_view and (answer.status or missing):
        yield _not_built(site, name)
    elif answer.status == NO_MODULE or (answer.status and environment.modules):
        error = re.sub(r"\s+", " ", answer.stderr)[:300].strip()
        remedy = f"module avail (or module spider) lists them; correct modules in {file}"
        modules = ", ".join(environment.modules)
        yield Requirement(f"{what}: modules {modules}", False, error, remedy)
    elif answer.status:
        remedy = f"correct its prepare lines in {file}"
        yield Requirement(f"{what}: prepare", False, answer.said, remedy)
    elif missing:
        remedy = f"name the module that has it in {file}, or run assay site init"
        yield Requirement(f"{what}: {missing[0]}", False, "", remedy)
    else:
        yield Requirement(what, True, f"{there['compiler']}, {there['launcher']}", "")
        blas = environment.blas or site.description.blas
        link = shlex.join(blas.link_words()) if blas else _BLAS
        text = "\n".join([*prepared, _LINK % (environment.compiler, link)])
        linked = site.ask(["bash", "-c", text])
        remedy = f"name a BLAS as `blas` in {file}, or the module that holds it"
        seen = linked.said if linked.status else ""
        yield Requirement(f"{what}: BLAS {link}", linked.status == 0, seen, remedy)


def doctor_command(arguments: argparse.Namespace) -> int:
    """`assay doctor`."""
    if arguments.site:
        found = [*site_machine(), *site_requirements(arguments.site)]
        return tell(found, as_json=arguments.json)
    found = [*site_machine(), *cluster_machine(needed=False)]
    use = "needed by a virtual cluster only"
    return tell(found, as_json=arguments.json, optional=use)


def tell(
    requirements: Iterable[Requirement], *, as_json: bool = False, optional: str = "optional"
) -> int:
    """Print the requirements and a summary; `optional`: the use of those that are not needed.
    Gives the exit status."""
    found = list(requirements)
    if as_json:
        print(as_text(DoctorForm(findings=found)), end="")
    else:
        for one in found:
            detail = f" ({one.seen})" if one.seen else ""
            word = "MISSING" if one.needed else "absent "
            line = f"{word}  {one.what}{detail}: {one.remedy}"
            say(f"found    {one.what}: {one.seen}" if one.found else line, hang=len("MISSING  "))
        say(_summary(found, optional))
    missing = any(not one.found for one in found if one.needed)
    return ExitStatus.INFRASTRUCTURE if missing else ExitStatus.PASS


def _summary(found: Sequence[Requirement], optional: str) -> str:
    """Line with what is missing, and the command to run first."""
    gone = [one for one in found if not one.found]
    if not gone:
        return "all there"
    missing = [one for one in gone if one.needed]
    remedies = list(dict.fromkeys(one.remedy for one in missing or gone))
    packages = [one.removeprefix(_INSTALL) for one in remedies if one.startswith(_INSTALL)]
    first = _INSTALL + " ".join(packages) if packages else remedies[0]
    again = "; then assay doctor again" if len(remedies) > max(1, len(packages)) else ""
    count = f"{len(missing)} missing"
    if not missing:
        count = f"all there that a Slurm site needs; {len(gone)} absent, {optional}"
    return f"{count}: {first}{again}"


declare = declared(
    doctor_command,
    argument("--site SITE", "check what this site needs"),
    JSON,
)
