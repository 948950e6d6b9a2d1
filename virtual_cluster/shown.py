# SPDX-License-Identifier: Apache-2.0
"""Folders of the machine that all hosts of a cluster show, at their own paths, read-only.

What the holder binds in the view appears in every host. Hosts have a /tmp of their own: what is
below it is bound at another place of the view, and from there in each host, also in a node that is
started later.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path

from records.errors import AssayError
from virtual_cluster import host, namespaces
from virtual_cluster.state import State, folders, locked_state

#: What hosts see of the machine anyhow.
_SEEN = ("/usr", "/opt", "/etc", "/bin", "/sbin", "/lib", "/lib64", "/proc", "/sys", "/dev")
#: In the holder: ASIDE SOURCE TARGET. A folder is read-only in hosts if it is so when it is bound.
_BIND = """\
. "$1"
aside=$2 source=$3 target=$4
! mountpoint -q "$target" || umount -l "$target"
mkdir -p "$target"
bind_read_only "$source" "$aside"
mount --rbind "$aside" "$target"
umount -l "$aside"
"""
_BIND_AGAIN = """\
! mountpoint -q "$2" || umount -l "$2"
mkdir -p "$2"
mount --rbind "/run/shown/$1" "$2"
"""


def show(state: State, wanted: Iterable[Path]) -> None:
    """Show folders, also under the paths of links to them; those that are not there are left out.

    Raises AssayError for a folder that holds the cluster's own.
    """
    paths = {path for one in wanted for path in (one.absolute(), one.resolve()) if one.is_dir()}
    asked = {str(path): _entry(path) for path in sorted(paths) if _is_hidden(path, paths)}
    if asked.items() <= state.shown.items():
        return
    above = folders(state.spec.name).root
    for path in asked:
        if above.is_relative_to(path):
            raise AssayError(
                f"{path} cannot be shown to jobs: the cluster {state.spec.name} lies in it; move"
                " what they read to a folder of its own"
            )
    with locked_state(state.spec.name) as now:
        for path, entry in asked.items():
            if now.shown.get(path) != entry:
                now.shown[path] = entry
                _show(now, path, entry[0])
        now.save()


def _show(state: State, path: str, place: str) -> None:
    where, holder = folders(state.spec.name), namespaces.enter(state, "holder")
    target = f"{where.view}/run/shown/{place}" if place else f"{where.view}{path}"
    words = [namespaces.FUNCTIONS, where.root / "aside", path, target]
    host.run([*holder, "sh", "-e", "-c", _BIND, "sh", *map(str, words)])
    for name in ("login", *state.spec.node_names()):
        if place and state.runs(name):
            enter = namespaces.enter(state, name)
            host.run([*enter, "sh", "-e", "-c", _BIND_AGAIN, "sh", place, path])


def _is_hidden(path: Path, paths: Iterable[Path]) -> bool:
    """True if hosts do not see a folder, nor by another one of these."""
    return not any(path.is_relative_to(seen) for seen in _SEEN) and not any(
        above in paths for above in path.parents
    )


def _entry(path: Path) -> tuple[str, str]:
    """Its name below /run/shown where hosts have a folder of their own above it, and what tells it
    from a later one of the same path."""
    found, own = path.stat(), any(path.is_relative_to(one) for one in namespaces.OWN)
    place = hashlib.sha256(str(path).encode()).hexdigest()[:16] if own else ""
    return place, f"{found.st_dev}:{found.st_ino}"
