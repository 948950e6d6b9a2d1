# SPDX-License-Identifier: Apache-2.0
"""Builds the views of a site with Spack, and notes the origins of each when complete; fills the
source mirror.

The mirror has every archive that a build needs, named by its checksum. It is filled from the
distribution's source packages, or by Spack from the recipes' own places; then its folder can be
carried to a machine that reaches neither.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import msgspec
import yaml

from assay import ROOT
from assay.build.spack import MIRROR, SPACK_ENV, Spack, SpackCommands, packages_files, write_scope
from assay.sites.description import SPACK_SUFFIX, SpackDescription
from assay.sites.site import Site
from assay.sites.site_file import environment_folder, facts_file, read_description, view_folder
from assay.terminal import Say
from checks.common.sources import c_sources, shipped_folders
from records.errors import AssayError, InfrastructureError
from records.files import write_whole

#: Parameters of a spec that say nothing about this build.
_NO_VARIANTS = {"build_system", "cflags", "cppflags", "cxxflags", "fflags", "ldflags", "ldlibs"}
#: Dependencies that are there when a program runs; others were needed to build it only.
_STAYING = frozenset({"link", "run"})
#: Packages that are built from the checkout's C sources.
OUR_PACKAGES = ("assay-benchmarks", "assay-hpl", "su3-rmd")


@dataclass(frozen=True)
class BuildRequest:
    """The views of a site to build: all, or those its environments `asked` need."""

    site: str
    built: SpackDescription
    asked: Sequence[str] = ()
    offline: bool = False

    def views(self) -> list[str]:
        """Names of the views; raises AssayError for an environment that has none."""
        serving = {name: view for view, names in self.built.views.items() for name in names}
        names = {asked: asked.removesuffix(SPACK_SUFFIX) for asked in self.asked}
        unknown = next((asked for asked, name in names.items() if name not in serving), None)
        if unknown is not None:
            known = ", ".join(self.built.name_of(name) for name in sorted(serving))
            raise AssayError(
                f"--environments {unknown!r}: Spack builds no such environment for site"
                f" {self.site}; allowed are {known}"
            )
        views = [serving[name] for name in names.values()] if names else self.built.views
        return list(dict.fromkeys(views))


def spack_section(site: str) -> SpackDescription:
    """The section `spack` of a site. Raises AssayError when its site.yaml has none."""
    built = read_description(site).spack
    if built is None:
        raise AssayError(
            f"site {site}: its site.yaml has no section `spack`, so nothing is built there; see"
            " site-config/virtual/site.yaml for one"
        )
    return built


def build(spack: Spack, request: BuildRequest, say: Say) -> None:
    """Fetch sources, build, lay out the views, and note each view's facts. What is installed
    already is not built again, so a build that failed continues where it stopped, and one that is
    complete only says so. Raises AssayError and InfrastructureError."""
    commands = prepare(spack, request, say)
    lock = Lock(commands.environment / "spack.lock")
    facts = _facts(request, lock, commands.environment)
    files = {view: facts_file(request.site, view) for view in facts}
    complete = True
    for view, path in files.items():
        # A view that is about to change is no longer complete.
        if path.is_file() and json.loads(path.read_bytes()) != facts[view]:
            path.unlink()
        complete &= path.is_file() and view_folder(request.site, view).is_dir()
    roots = sorted({root for known in facts.values() for root in known["roots"]})
    there = set(commands.run("looking at what is built", "find", "--format", "{hash}").split())
    if complete and there.issuperset(roots):
        say(f"nothing has changed since these were built: {', '.join(facts)}")
        return
    # Spack's hash does not tell from which of our sources a package was built.
    again = sorted(there & lock.hashes_of(OUR_PACKAGES, roots))
    specs, changed = ([f"/{one}" for one in hashes] for hashes in (roots, again))
    words = ["install", "--only-concrete", "-j", str(len(os.sched_getaffinity(0)))]
    commands.run("fetching sources", "fetch", "--missing", "--dependencies", *specs)
    if changed:
        commands.run("building what has changed", *words, "--overwrite", "-y", *changed)
    commands.run("building", *words, *specs)
    commands.run("laying out the views", "env", "view", "regenerate")
    for view, path in files.items():
        path.parent.mkdir(exist_ok=True)
        write_whole(path, json.dumps(facts[view], indent=1).encode())
        say(f"built: {', '.join(map(request.built.name_of, request.built.views[view]))}")


def _facts(request: BuildRequest, lock: Lock, environment: Path) -> dict[str, dict[str, Any]]:
    """The origins of each view: its roots are those that use the library it selects first."""
    stated = yaml.safe_load((environment / "spack.yaml").read_text())["spack"]["view"]
    facts = {}
    for view in request.views():
        roots = lock.roots_of(stated[view]["select"][0]) if view in stated else []
        if not roots:
            raise AssayError(
                f"view {view}: the environment has no such view, or no root that uses its library;"
                " see the site's spack.views"
            )
        facts[view] = {
            "environment": request.built.environment,
            "view": view,
            "sources": sources_digest(),
            "roots": sorted(roots),
            "packages": lock.packages(roots),
        }
    return facts


def prepare(spack: Spack, request: BuildRequest, say: Say) -> SpackCommands:
    """Write the Spack home's configuration and the environment as the checkout has it, and choose
    every version and variant that its lock does not hold."""
    folder = environment_folder(request.site)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        write_scope(spack, request.site, request.built, request.offline)
        _lay_environment(request.built, folder, packages_files(request.site, request.built))
    except OSError as error:
        raise InfrastructureError(
            f"{error.filename or folder}: {error.strerror}; make room or correct the rights, or"
            " name another place with ASSAY_SPACK_HOME"
        ) from error
    commands = SpackCommands(spack, folder, say)
    commands.run("choosing versions and variants", "concretize")
    return commands


def _lay_environment(built: SpackDescription, folder: Path, packages: list[Path]) -> None:
    """Copy the environment, with its kept lock unless the site has a packages.yaml of its own.
    `packages`: the packages.yaml files, the platform's last. A lock that follows from other files
    is removed."""
    source = SPACK_ENV / "environments" / built.environment
    if not (source / "spack.yaml").is_file():
        known = sorted(path.parent.name for path in SPACK_ENV.glob("environments/*/spack.yaml"))
        raise AssayError(f"spack.environment {built.environment!r}: allowed is {', '.join(known)}")
    lock = source / f"{built.platform}.lock"
    kept = [lock] if lock.is_file() and len(packages) == 1 else []
    parts = [path.read_bytes() for path in (source / "spack.yaml", *packages, *kept)]
    digest = hashlib.sha256(b"\0".join(parts)).hexdigest()
    noted = folder / "chosen-from.sha256"
    if noted.is_file() and noted.read_text() == digest:
        return
    noted.unlink(missing_ok=True)
    (folder / "spack.lock").unlink(missing_ok=True)
    shutil.copyfile(source / "spack.yaml", folder / "spack.yaml")
    if kept:
        shutil.copyfile(lock, folder / "spack.lock")
    noted.write_text(digest)


class Lock:
    """A spack.lock: its root specs and all specs by hash."""

    def __init__(self, path: Path) -> None:
        content = json.loads(path.read_bytes())
        self.roots: dict[str, str] = {root["hash"]: root["spec"] for root in content["roots"]}
        self.specs: dict[str, dict[str, Any]] = content["concrete_specs"]

    def roots_of(self, library: str) -> list[str]:
        """Hashes of the roots that use (or are) `library`: name[@version] [variant=value…]."""
        return [h for h in self.roots if any(self._is(x, library) for x in self._below([h]))]

    def _is(self, spec_hash: str, library: str) -> bool:
        head, *variants = library.split()
        name, _, version = head.partition("@")
        spec = self.specs[spec_hash]
        wanted = (word.split("=", 1) for word in variants)
        return (
            spec["name"] == name
            and f"{spec['version']}.".startswith(f"{version}." if version else "")
            and all(spec["parameters"].get(key) == value for key, value in wanted)
        )

    def _below(self, roots: Iterable[str], kinds: frozenset[str] = frozenset()) -> set[str]:
        """Hashes of `roots` and of all they depend on; `kinds`: by these kinds of dependency."""
        seen, rest = set[str](), list(roots)
        while rest:
            current = rest.pop()
            if current not in seen:
                seen.add(current)
                rest += (
                    one["hash"]
                    for one in self.specs[current].get("dependencies", ())
                    if not kinds or kinds & set(one["parameters"].get("deptypes", ()))
                )
        return seen

    def packages(self, roots: list[str]) -> dict[str, dict[str, Any]]:
        """Facts of each package below `roots` that is linked or run, by name."""
        packages = {}
        for spec_hash in self._below(roots, _STAYING):
            spec = self.specs[spec_hash]
            target = spec["arch"]["target"]
            compilers = (
                self.specs[dependency["hash"]]
                for dependency in spec.get("dependencies", ())
                if "c" in dependency.get("parameters", {}).get("virtuals", ())
            )
            packages[spec["name"]] = {
                "version": spec["version"],
                "variants": _variants(spec.get("parameters", {})),
                "compiler": next((f"{c['name']}@{c['version']}" for c in compilers), None),
                "target": target if isinstance(target, str) else target["name"],
                "os": spec["arch"]["platform_os"],
                "hash": spec_hash,
                "external": (spec.get("external") or {}).get("path"),
                "namespace": spec["namespace"],
            }
        return dict(sorted(packages.items()))

    def hashes_of(self, names: Collection[str], roots: list[str]) -> set[str]:
        """Hashes of the packages of these names that `roots` need."""
        return {h for h in self._below(roots, _STAYING) if self.specs[h]["name"] in names}


def _variants(parameters: dict[str, Any]) -> str:
    words = []
    for name, value in sorted(parameters.items()):
        if isinstance(value, bool):
            words.append(f"{'+' if value else '~'}{name}")
        elif name not in _NO_VARIANTS:
            words.append(
                f"{name}={','.join(map(str, value)) if isinstance(value, list) else value}"
            )
    return " ".join(words)


def sources_digest(*folders: Path, files: Callable[[Path], list[Path]] = c_sources) -> str:
    """Twelve hexadecimal digits of the names and contents of `files` below folders: all C sources
    and makefiles, by default of the checks that come with Assay."""
    digest = hashlib.sha256()
    for folder in folders or shipped_folders():
        for path in files(folder):
            digest.update(f"{path.relative_to(folder)}\0{path.stat().st_size}\0".encode())
            digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


def refuse_stale_builds(site: Site, environments: Iterable[str]) -> None:
    """Raise InfrastructureError unless each environment of Spack's is complete and current."""
    facts = {name: site.spack_facts(name) for name in environments}
    digest = sources_digest() if any(facts.values()) else ""
    stale = sorted(name for name, known in facts.items() if known and known["sources"] != digest)
    if stale:
        raise InfrastructureError(
            f"site {site.name}: Spack built {', '.join(stale)} from other C sources than the"
            f" checkout has now. Run: assay build --site {site.name}"
        )


class SourceArchive(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An original archive in a source package of the distribution, in `suite` or its own;
    `environment`: the only one that needs it."""

    package: str
    archive: str
    sha256: Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{64}$")]
    suite: str | None = None
    environment: str | None = None

    def path_in(self, mirror: Path) -> Path:
        """Its place in Spack's layout: _source-cache/archive/<first two digits>/<all>.<ending>."""
        ending = self.archive.split(".orig.")[-1]
        return mirror / "_source-cache" / "archive" / self.sha256[:2] / f"{self.sha256}.{ending}"


def archives_of(built: SpackDescription) -> list[SourceArchive]:
    """The archives of the platform's sources.yaml that `built`'s environment needs. Raises
    AssayError when the platform has none."""
    path = SPACK_ENV / "platforms" / built.platform / "sources.yaml"
    if not path.is_file():
        raise AssayError(
            f"platform {built.platform}: no {path.name} there, so no source packages are known; use"
            " --mirror web where the web can be reached"
        )
    stated = msgspec.convert(yaml.safe_load(path.read_text()), list[SourceArchive])
    return [archive for archive in stated if archive.environment in (None, built.environment)]


def fill_from_distribution(home: Path, built: SpackDescription, say: Say) -> None:
    """Put the archives of the platform's sources.yaml into the mirror.

    Those which only another environment needs are left.

    Raises AssayError when the platform names none, InfrastructureError when they cannot be fetched
    or one has a wrong checksum: that one is not taken.
    """
    mirror = home / MIRROR
    archives = [a for a in archives_of(built) if not _is_right(a.path_in(mirror), a.sha256)]
    if not archives:
        say(f"mirror {mirror}: all archives are there, checksums right")
        return
    try:
        mirror.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=mirror) as scratch:
            # What is asked of the distribution: package, or package/suite.
            asked = ["/".join(filter(None, (a.package, a.suite))) for a in archives]
            _fetch(asked, scratch)
            for archive in archives:
                _take(archive, Path(scratch), mirror, say)
    except OSError as error:
        raise InfrastructureError(f"mirror {mirror}: {error.strerror}; make room") from error


def _fetch(packages: list[str], folder: str) -> None:
    script = ROOT / "setup" / "distribution-sources.sh"
    answer = subprocess.run(
        [str(script), folder, *packages], capture_output=True, text=True, check=False
    )
    if answer.returncode != 0:
        lines = answer.stderr.strip().splitlines()
        reasons = [line[3:] for line in lines if line.startswith(("E: ", "W: "))]
        raise InfrastructureError(
            f"the distribution's source packages {' '.join(packages)} could not be fetched:"
            f" {(reasons or lines or ['no reason given'])[0]}. Is its package archive reachable"
            " from here? Else carry a filled mirror here"
        )


def _take(archive: SourceArchive, folder: Path, mirror: Path, say: Say) -> None:
    fetched = folder / archive.archive
    if not fetched.is_file():
        raise InfrastructureError(
            f"source package {archive.package}: it brought no {archive.archive}; this distribution"
            " has another version. See the platform's sources.yaml"
        )
    if not _is_right(fetched, archive.sha256):
        raise InfrastructureError(
            f"{archive.archive}: its checksum is {_sha256(fetched)}, the recipe states"
            f" {archive.sha256}; not taken"
        )
    target = archive.path_in(mirror)
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.move(fetched, target)
    say(f"mirror: {archive.archive}")


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _is_right(path: Path, sha256: str) -> bool:
    return path.is_file() and _sha256(path) == sha256


def fill_from_web(commands: SpackCommands) -> None:
    """Let Spack fetch every source of the environment into the mirror, checksums verified."""
    folder = str(commands.spack.home / MIRROR)
    commands.run("filling the mirror", "mirror", "create", "--directory", folder, "--all")
