# SPDX-License-Identifier: Apache-2.0
"""Builds the views of a site with Spack, and notes the origins of each when complete."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from assay.build import sources
from assay.build.spack import SPACK_ENV, Spack, SpackCommands, packages_files, write_scope
from assay.sites.builds import environment_folder, facts_file, view_folder
from assay.sites.description import SPACK_SUFFIX, SpackDescription
from assay.sites.site_file import read_description
from assay.terminal import Say
from records.errors import AssayError, InfrastructureError
from records.files import write_whole

#: Parameters of a spec that say nothing about this build.
_NO_VARIANTS = {"build_system", "cflags", "cppflags", "cxxflags", "fflags", "ldflags", "ldlibs"}
#: Dependencies that are there when a program runs; others were needed to build it only.
_STAYING = frozenset({"link", "run"})


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
    again = sorted(there & lock.hashes_of(sources.OUR_PACKAGES, roots))
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
            "sources": sources.sources_digest(),
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
