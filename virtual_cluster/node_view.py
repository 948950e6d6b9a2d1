# SPDX-License-Identifier: Apache-2.0
"""Folders of the machine shown to jobs in the nodes, at their own paths, read-only.

A node has a /tmp of its own, and a job may not enter private folders, so what is below these is
hidden. While a node starts, the machine's /tmp is bound aside, where only root comes; a private
folder on the way is bound aside, too, and covered by an empty one. What is shown is bound below
that. It stays for as long as the node has power, and is shown again when it is restored.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path

from records.errors import AssayError, InfrastructureError
from records.untrusted import refuse_replaceable
from virtual_cluster import host
from virtual_cluster.state import State, cluster_lock, folders, load_state
from virtual_cluster.view import may

#: What a node has of its own in place of the machine's.
_OWN = Path("/tmp")  # noqa: S108 the folder itself

#: `show COVER FOLDER`, in a node; $aside is where covered folders are bound. The user's jobs can
#: make names in /tmp, so each name on the way is looked at without following it (stat does not)
#: before anything is mounted or unmounted there. A folder of root in a sticky or root's folder
#: cannot be exchanged afterwards, and only root mounts in a node.
FUNCTION = """\
own() {
    mountpoint -q --nofollow "$1" && return 0
    mkdir -m 755 "$1" 2>/dev/null || :
    [ "$(stat -c '%F %u' -- "$1")" = "directory 0" ] && return 0
    echo "$1, which a job has made there, is in the way; remove it" >&2
    return 1
}
show() {
    if [ ! -d "$aside$1" ]; then
        mkdir -p "$aside$1"
        mount --rbind "$1" "$aside$1"
        mount -t tmpfs -o mode=0755,size=1m,nosuid,nodev tmpfs "$1"
    fi
    [ -d "$aside$2" ] || return 0
    path=$1 rest=${2#"$1"/}
    while [ -n "$rest" ]; do
        part=${rest%%/*}
        path=$path/$part
        own "$path" || return 1
        [ "$rest" = "$part" ] && rest= || rest=${rest#*/}
    done
    if mountpoint -q --nofollow "$2"; then
        [ ! "$aside$2" -ef "$2" ] || return 0
        umount -l "$2" && own "$2" || return 1  # an earlier folder of this name
    fi
    mount --rbind "$aside$2" "$2" && mount -o remount,bind,ro "$2"
}
"""
_SHOW_ALL = f"""\
aside=$1; shift
[ -d "$aside/tmp" ] || {{ echo "an earlier Assay started it; bring it up anew" >&2; exit 1; }}
{FUNCTION}
while [ $# -gt 1 ]; do show "$1" "$2" || exit 1; shift 2; done
"""


def show(
    state: State, wanted: Iterable[Path], first_process: Callable[[State, str], int | None]
) -> None:
    """Show folders in all nodes that have power; those that nodes see anyhow are left alone.

    `first_process` gives a node's, None where it has no power. Raises AssayError for a folder that
    another user could exchange, InfrastructureError where something is in the way.
    """
    asked = {}
    for path in wanted:
        folder = path.resolve()
        if folder.is_dir() and (cover := _cover(folder, state)) is not None:
            refuse_replaceable(path, [state.uid])
            asked[str(folder)] = [str(cover), _identity(folder)]
    if _outermost(_current(state) | asked) == state.shown:
        return
    with cluster_lock(state.spec.name):
        now = load_state(state.spec.name) or state
        now.shown = _outermost(_current(now) | asked)
        for node in now.spec.node_names():
            if (first := first_process(now, node)) is not None:
                _show_in(now, node, first)
        now.save()
    state.shown = now.shown


def _show_in(state: State, node: str, first: int) -> None:
    spaces = ["--mount", "--pid"] if state.spec.isolated else ["--mount"]
    words = [str(folders(state.spec.name).aside(node)), *shown_words(state)]
    enter = ["nsenter", f"--target={first}", *spaces, "--"]
    ended = host.run([*enter, "sh", "-c", _SHOW_ALL, "sh", *words], check=False)
    if ended.returncode != 0:
        said = ended.stderr.strip() or f"status {ended.returncode}"
        raise InfrastructureError(
            f"cluster {state.spec.name}: node {node} cannot show what jobs read: {said}"
        )


def shown_words(state: State) -> list[str]:
    """Cover and folder of all that the cluster's nodes show, one after the other."""
    return [word for folder, (cover, _) in _current(state).items() for word in (cover, folder)]


def _current(state: State) -> dict[str, list[str]]:
    """What is shown as it is now, without what is gone or what another user could exchange."""
    current = {}
    for name, (cover, _) in state.shown.items():
        folder = Path(name)
        with suppress(AssayError):
            refuse_replaceable(folder, [state.uid])
            if folder.is_dir() and folder.resolve() == folder:
                current[name] = [cover, _identity(folder)]
    return current


def _outermost(shown: dict[str, list[str]]) -> dict[str, list[str]]:
    """Without what is in another of them: that shows it, too."""
    return {
        name: how
        for name, how in sorted(shown.items())
        if not any(str(above) in shown for above in Path(name).parents)
    }


def _cover(folder: Path, state: State) -> Path | None:
    """What hides a folder in the nodes; None: nothing does, or it is hidden itself."""
    if folder.is_relative_to(_OWN):
        return _OWN if folder != _OWN else None
    above = reversed(folder.parents)
    return next((path for path in above if not may(path, state.uid, state.gid, 1)), None)


def _identity(folder: Path) -> str:
    """Tells a folder from a later one of the same path."""
    found = folder.stat()
    return f"{found.st_dev}:{found.st_ino}"
