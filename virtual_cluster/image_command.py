# SPDX-License-Identifier: Apache-2.0
"""The command `assay image`: images listed, fetched, carried in one file, removed."""

import argparse
import os
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path
from tempfile import TemporaryDirectory

from records.errors import AssayError, ExitStatus
from virtual_cluster.images import (
    DEFAULT,
    MIRROR,
    SNAPSHOTS,
    Progress,
    alone,
    found,
    get,
    images_folder,
    lock_of,
    names,
)
from virtual_cluster.session_python import session_packages

_PREVIEWS = ("debian-14",)


def save(name: str, file: Path, say: Progress) -> None:
    """Write an image with the packages of its sessions into one file."""
    image = found(name)
    if image is None or "/" in name:
        raise AssayError(f"image {name}: is not here; get it first: assay image get {name}")
    session_packages(image, say)
    folder = image.tree.parent
    part = file.with_name(f".{file.name}.part")
    try:
        with tarfile.open(part, "w:gz", compresslevel=1) as archive:
            archive.add(folder, folder.name)
        part.rename(file)
    finally:
        part.unlink(missing_ok=True)
    say(f"image {name}: {file.stat().st_size / 1e6:.0f} MB in {file}")


def load(file: Path, say: Progress) -> None:
    """Take the image of a file that `save` wrote. Raises AssayError for another file."""
    known = {lock.folder.name: lock for lock in map(lock_of, names())}
    images_folder().mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(prefix=".load.", dir=images_folder()) as part:
        words = ["tar", "-xzf", str(file.absolute()), "-C", part, "--no-same-owner"]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        inside = next(Path(part).iterdir(), Path())
        if done.returncode or inside.name not in known:
            why = done.stderr.strip()[-200:] or f"it has {inside.name or 'nothing'}"
            raise AssayError(
                f"{file}: is no image of this Assay ({why}); it takes files of `assay image save`"
                f" that have {' or '.join(known)}"
            )
        lock = known[inside.name]
        with alone(lock.folder):
            _delete(lock.folder)
            inside.rename(lock.folder)
    say(f"image {lock.name}: complete, in {lock.folder}")


def remove(name: str, say: Progress) -> None:
    """Remove all that is here of an image, of former lock files too."""
    lock_of(name)
    gone = [*images_folder().glob(f"{name}-*/")]
    for path in gone:
        _delete(path)
    for path in images_folder().glob(f".{name}-*.lock"):
        path.unlink()
    say(f"image {name}: {'removed' if gone else 'there is nothing to remove'}")


def _delete(folder: Path) -> None:
    """Remove an image; AssayError where a cluster has booted it."""
    above = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local/state"
    for state in Path(above, "assay").glob("*/cluster.json"):
        if f'"{folder}/tree"' in state.read_text():
            name = state.parent.name
            raise AssayError(f"{folder}: cluster {name} uses it; assay cluster down --name {name}")
    if folder.exists():
        shutil.rmtree(folder)


def listing() -> list[str]:
    """A line an image: name, date of its lock file, download, whether it is here."""
    lines = []
    for lock in map(lock_of, names()):
        date = f"{lock.made[:4]}-{lock.made[4:6]}-{lock.made[6:8]}"
        is_here = lock.folder.is_dir()
        here = f"here, {lock.folder}" if is_here else f"{lock.bytes / 1e6:.0f} MB to fetch"
        notes = ", a preview of the next release" * (lock.name in _PREVIEWS)
        notes += ", the default" * (lock.name == DEFAULT)
        lines.append(f"{lock.name}  Debian {lock.suite} of {date}{notes}: {here}")
    return lines


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the subcommands."""
    below = parser.add_subparsers(dest="image_command", required=True, metavar="COMMAND")
    for name, text in (
        ("list", "images, and whether they are here"),
        ("get", "fetch an image, check and unpack it"),
        ("save", "write an image into one file, for a machine without internet"),
        ("load", "take an image from such a file"),
        ("remove", "remove an image"),
    ):
        command = below.add_parser(name, help=text, description=text)
        command.set_defaults(run=run)
        if name in ("get", "save", "remove"):
            optional = "?" if name == "get" else None
            which = f"as {DEFAULT}: assay image list"
            command.add_argument("name", nargs=optional, default=DEFAULT, help=which)
        if name in ("save", "load"):
            command.add_argument("file", type=Path, help="the file")
        if name == "get":
            add_sources(command)


def add_sources(command: argparse.ArgumentParser) -> None:
    """Declare the options of where packages come from."""
    text = f"mirror of Debian, as http://HOST/debian (default: {MIRROR}, else that of apt here)"
    command.add_argument("--mirror", default="", metavar="URL", help=text)
    text = f"archive of snapshots for what the mirror no longer has (default: {SNAPSHOTS})"
    command.add_argument("--snapshots", default="", metavar="URL", help=text)


def run(args: argparse.Namespace) -> int:
    """Execute a parsed command; return its exit status. Raises AssayError."""
    match args.image_command:
        case "list":
            print(*listing(), sep="\n")
        case "get":
            image = get(args.name, _say, args.mirror, args.snapshots)
            _say(f"image {image.name}: {image.tree}")
        case "save":
            save(args.name, args.file, _say)
        case "load":
            load(args.file, _say)
        case "remove":
            remove(args.name, _say)
    return ExitStatus.PASS


def _say(line: str) -> None:
    print(line, flush=True)


def main() -> int:
    """`python3 virtual_cluster/images.py`: parse, run, and show an error as one message."""
    parser = argparse.ArgumentParser(prog="assay image")
    add_arguments(parser)
    args = parser.parse_args()
    try:
        return run(args)
    except AssayError as problem:
        print(f"assay image: {problem}", file=sys.stderr)
        return problem.status


if __name__ == "__main__":
    sys.exit(main())
