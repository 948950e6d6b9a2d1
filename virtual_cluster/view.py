# SPDX-License-Identifier: Apache-2.0
"""Folders of root shown to a command of the ordinary user, also below folders that are private.

In a mount namespace of the command alone, each private folder on the way is covered by an empty
one, in which the shown folders are bound at their own paths, read-only. Nothing else below a
private folder appears, and no right to read is given: files keep their owner and mode.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from records.errors import InfrastructureError

#: ASIDE SOURCE… -- COVER… -- TARGET… -- COMMAND…: sources are bound aside before covers hide them.
_SHOW = """\
set -e
aside=$1; shift
mount -t tmpfs -o mode=0700,size=1m tmpfs "$aside"
n=0
while [ "$1" != -- ]; do
    n=$((n+1)); mkdir "$aside/$n"; mount --rbind "$1" "$aside/$n"; shift
done; shift
while [ "$1" != -- ]; do mount -t tmpfs -o mode=0755,size=1m tmpfs "$1"; shift; done; shift
n=0
while [ "$1" != -- ]; do
    n=$((n+1)); (umask 022; mkdir -p "$1")
    mount --move "$aside/$n" "$1"; mount -o remount,bind,ro "$1"; shift
done; shift
umount "$aside"
exec "$@"
"""
#: Deeper files have the mode of those above them, unless somebody chose otherwise.
_DEPTH = 4
#: Its folder is a run's: what it keeps private is written, and not read.
_WRITTEN = "plan.json"
_SUFFIXES = frozenset({".c", ".gz", ".h", ".json", ".mk", ".py", ".sh", ".so"})


def command(reads: Sequence[Path], uid: int, gid: int, aside: Path) -> list[str]:
    """The words before a command of root that show it these folders; none where nothing is hidden.

    `aside` is an empty folder of root. Raises InfrastructureError for a folder or file in them
    that the user may not read.
    """
    sources: list[Path] = []
    targets: list[Path] = []
    covers: set[Path] = set()
    for folder in sorted({path for read in reads for path in (read.absolute(), read.resolve())}):
        if not folder.is_dir():
            continue
        for path in _unreadable(folder, uid, gid):
            raise InfrastructureError(
                f"{path}: cannot be read by the jobs' user (uid {uid}), whose ReFrame session needs"
                f" what is in {folder}; say: chmod -R go+rX {folder}"
            )
        cover = next(
            (above for above in reversed(folder.parents) if not may(above, uid, gid, 1)), None
        )
        if cover is not None:
            covers.add(cover.resolve())
            sources.append(folder.resolve())
            targets.append(cover.resolve() / folder.relative_to(cover))
    if not covers:
        return []
    aside.mkdir(mode=0o755, exist_ok=True)
    words = [aside, *sources, "--", *sorted(covers), "--", *targets, "--"]
    unshare = ["unshare", "--mount", "--propagation", "private", "--"]
    return [*unshare, "sh", "-c", _SHOW, "sh", *map(str, words)]


def _unreadable(folder: Path, uid: int, gid: int, depth: int = _DEPTH) -> Iterator[Path]:
    """Folders and sources, down to a depth, that the user could not read if it came so far."""
    if not may(folder, uid, gid, 5):
        yield folder
        return
    if (folder / _WRITTEN).exists():
        return
    entries: list[os.DirEntry[str]] = []
    with suppress(FileNotFoundError):  # another program has removed the folder
        entries += os.scandir(folder)
    for entry in entries:
        if entry.is_dir(follow_symlinks=False):
            if depth and not entry.name.startswith("."):
                yield from _unreadable(Path(entry.path), uid, gid, depth - 1)
        elif Path(entry.name).suffix in _SUFFIXES and not may(Path(entry.path), uid, gid, 4):
            yield Path(entry.path)


def may(path: Path, uid: int, gid: int, rights: int) -> bool:
    """Whether the modes let the user read (4) and enter (1)."""
    try:
        found = path.stat()
    except OSError:  # a link to nothing
        return True
    shift = 6 if found.st_uid == uid else 3 if found.st_gid == gid else 0
    return stat.S_IMODE(found.st_mode) >> shift & rights == rights
