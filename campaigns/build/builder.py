# SPDX-License-Identifier: Apache-2.0
"""Builds the views of a site with Spack, and notes what each was built from once it is whole."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from campaigns.build.commands import Say, SpackCommands
from campaigns.build.digest import PLACEHOLDER, sources_digest
from campaigns.build.facts import Lock
from campaigns.build.places import SPACK_ENV, Spack
from campaigns.build.scope import write_scope
from campaigns.errors import AssayError, InfrastructureError
from campaigns.run.directory import write_durably
from campaigns.site_builds import SUFFIX, SpackDescription, environment_folder, facts_file

#: Free disk that a build asks for before it begins: what the three libraries and their builds take.
NEEDED_BYTES = 2 * 10**9


@dataclass(frozen=True)
class BuildRequest:
    """What to build: a site's views (all, or those its environments `asked` need)."""

    site: str
    built: SpackDescription
    asked: Sequence[str] = ()
    offline: bool = False
    jobs: int = 0

    def views(self) -> list[str]:
        """Names of the views; raises AssayError for an environment that has none."""
        if not self.asked:
            return list(self.built.views)
        serving = {name: view for view, names in self.built.views.items() for name in names}
        known = ", ".join(f"{name}{SUFFIX}" for name in sorted(serving))
        views: dict[str, None] = {}
        for asked in self.asked:
            view = serving.get(asked.removesuffix(SUFFIX))
            if view is None:
                raise AssayError(
                    f"--environments {asked!r}: Spack builds no such environment for site"
                    f" {self.site}; allowed are {known}"
                )
            views[view] = None
        return list(views)


def build(spack: Spack, request: BuildRequest, say: Say) -> None:
    """Resolve, fetch, build, lay out the views, and note each view's facts.

    What is already installed is not built again, so that a build that failed goes on where it
    stopped. Raises AssayError and InfrastructureError.
    """
    views = request.views()
    commands = prepare(spack, request, say)
    resolve(commands)
    lock = Lock(commands.environment / "spack.lock")
    roots = {view: _roots(lock, view) for view in views}
    _forget_changed(request.built, roots)
    install(commands, sorted({root for some in roots.values() for root in some}), request.jobs)
    for view, some in roots.items():
        _note(request, lock, view, some)
        say(f"built: {', '.join(n + SUFFIX for n in request.built.views[view])}")


def prepare(spack: Spack, request: BuildRequest, say: Say) -> SpackCommands:
    """The Spack home with its configuration and the environment as the checkout has it now."""
    folder = environment_folder(request.built)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _need_room(spack.home)
        write_scope(spack, request.site, request.built, request.offline)
        _lay_environment(request.built.environment, folder)
    except OSError as error:
        raise InfrastructureError(
            f"{error.filename or folder}: {error.strerror}; make room or mend the rights, or name"
            " another place with ASSAY_SPACK_HOME"
        ) from error
    return SpackCommands(spack, folder, say, alone=request.offline)


def _need_room(home: Path) -> None:
    free = shutil.disk_usage(home).free
    if free < NEEDED_BYTES:
        raise InfrastructureError(
            f"{home}: {free / 1e9:.1f} GB free; building needs {NEEDED_BYTES / 1e9:.0f} GB. Make"
            " room, or name another place with ASSAY_SPACK_HOME"
        )


def _lay_environment(name: str, folder: Path) -> None:
    source = SPACK_ENV / "environments" / name
    if not (source / "spack.yaml").is_file():
        known = sorted(path.parent.name for path in SPACK_ENV.glob("environments/*/spack.yaml"))
        raise AssayError(f"spack.environment {name!r}: allowed is {', '.join(known)}")
    text = (source / "spack.yaml").read_text()
    wanted = text.replace(PLACEHOLDER, f"sources={sources_digest()}")
    target = folder / "spack.yaml"
    if not target.is_file() or target.read_text() != wanted:
        target.write_text(wanted)
    if (source / "spack.lock").is_file() and not (folder / "spack.lock").is_file():
        shutil.copyfile(source / "spack.lock", folder / "spack.lock")


def resolve(commands: SpackCommands) -> None:
    """Choose every version and variant; only roots that changed are resolved anew."""
    commands.run("choosing versions and variants", "concretize")


def install(commands: SpackCommands, roots: list[str], jobs: int) -> None:
    """Fetch and check all sources, build what is missing, lay out the views."""
    specs = [f"/{root}" for root in roots]
    number = str(jobs or len(os.sched_getaffinity(0)))
    commands.run("fetching sources", "fetch", "--missing", "--dependencies", *specs)
    commands.run("building", "install", "--only-concrete", "-j", number, *specs)
    commands.run("laying out the views", "env", "view", "regenerate")


def _roots(lock: Lock, view: str) -> list[str]:
    roots = lock.roots_of(view)
    if not roots:
        raise AssayError(
            f"view {view}: no root of the environment uses a package of this name; see the site's"
            " spack.views"
        )
    return roots


def _forget_changed(built: SpackDescription, roots: dict[str, list[str]]) -> None:
    """A view that is about to change is no longer whole."""
    for view, some in roots.items():
        path = facts_file(built, view)
        if path.is_file() and json.loads(path.read_bytes())["roots"] != sorted(some):
            path.unlink()


def _note(request: BuildRequest, lock: Lock, view: str, roots: list[str]) -> None:
    facts = {
        "environment": request.built.environment,
        "view": view,
        "sources": sources_digest(),
        "roots": sorted(roots),
        "packages": lock.packages(roots),
    }
    path = facts_file(request.built, view)
    path.parent.mkdir(exist_ok=True)
    write_durably(path, json.dumps(facts, indent=1).encode())
