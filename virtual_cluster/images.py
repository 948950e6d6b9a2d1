# SPDX-License-Identifier: Apache-2.0
"""Images: the programs that hosts of a virtual cluster see in place of this machine's.

An image is a tree of Debian packages below the caller's cache, for all clusters. Its lock file,
images/NAME.lock, has the path, size and SHA-256 of each package; its digest is that of these.
Packages are unpacked without their maintainer scripts: images/finish.sh does what matters of them.
A tree appears whole or not at all. This module and its command run before Assay is set up, so they
need the standard library alone: `PYTHONPATH=. python3 -P virtual_cluster/image_command.py get`.
"""

import fcntl
import gzip
import hashlib
import lzma
import os
import re
import shutil
import subprocess
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from tempfile import TemporaryDirectory

from records.errors import AssayError, InfrastructureError

Progress = Callable[[str], None]

DEFAULT = "debian-13"
#: The image of this machine's own programs.
MACHINE = "/"
MIRROR, SNAPSHOTS = "ASSAY_DEBIAN_MIRROR", "ASSAY_DEBIAN_SNAPSHOTS"
_HERE = Path(__file__).resolve().parent / "images"
ROOT = _HERE.parents[1]
_APT = Path("/etc/apt")
_AT_ONCE = 4
#: What nobody reads in a cluster.
_LEFT_OUT = ("doc", "doc-base", "info", "lintian", "locale", "man")
_LEAST_PYTHON = (3, 11)


@dataclass(frozen=True)
class Package:
    """A file of a Debian archive: its path below the mirror, bytes, SHA-256."""

    path: str
    size: int
    sha256: str


@dataclass(frozen=True)
class LockFile:
    """A lock file: the image's name, its suite and the time (UTC) of that, its files."""

    name: str
    suite: str
    made: str
    packages: tuple[Package, ...]
    digest: str

    @property
    def folder(self) -> Path:
        """Where its image is, once it is whole."""
        return images_folder() / f"{self.name}-{self.digest[:12]}"

    @property
    def bytes(self) -> int:
        """Bytes to download."""
        return sum(one.size for one in self.packages)


@dataclass(frozen=True)
class Image:
    """The tree that hosts see as their root; `digest` tells it from others of its name."""

    name: str
    digest: str
    tree: Path

    @property
    def python(self) -> str | None:
        """Version of its Python, as 3.13; None of this machine's, which Assay itself runs in.

        Raises AssayError where it has none that Assay runs in.
        """
        if self.name == MACHINE:
            return None
        link = self.tree / "usr/bin/python3"
        found = re.fullmatch(r"python(3)\.(\d+)", link.readlink().name if link.is_symlink() else "")
        if not found or (int(found[1]), int(found[2])) < _LEAST_PYTHON:
            raise AssayError(
                f"image {self.name}: {link} is no link to a Python 3.11 or later, in which ReFrame"
                " runs; install python3 in it, or choose another --image"
            )
        return f"{found[1]}.{found[2]}"


#: The image of the programs of this machine; a run names their packages.
OF_MACHINE = Image(MACHINE, "", Path(MACHINE))


def images_folder() -> Path:
    """The folder of images: below XDG_CACHE_HOME, or ~/.cache."""
    above = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(above, "assay", "images").resolve()


def names() -> list[str]:
    """Names of the images that have a lock file."""
    return sorted(path.stem for path in _HERE.glob("*.lock"))


def lock_of(name: str) -> LockFile:
    """The lock file of an image; AssayError for an unknown name."""
    path = _HERE / f"{name}.lock"
    if name not in names():
        raise AssayError(
            f"--image {name!r}: allowed are {', '.join(names())}, the path of a folder with a root"
            " file system, and / for the programs of this machine"
        )
    head, *lines = path.read_text().splitlines()
    found = re.match(r"# Image \S+: Debian (\w+), amd64, (\d{8}T\d{6}Z)\.", head)
    words = [line.split() for line in lines]
    assert found, f"{path}:1: is not what images/lock.sh writes"
    packages = tuple(Package(at, int(size), sha256) for at, size, sha256 in words)
    digest = hashlib.sha256("\n".join(lines).encode()).hexdigest()
    return LockFile(name, found[1], found[2], packages, digest)


def found(name: str) -> Image | None:
    """The image of this name, if it is here: a folder and this machine's programs always are."""
    if name != MACHINE and "/" not in name:
        lock = lock_of(name)
        return Image(name, lock.digest, lock.folder / "tree") if lock.folder.is_dir() else None
    if (tree := Path(name).resolve()) == OF_MACHINE.tree:
        return OF_MACHINE
    if not (tree / "usr/bin").is_dir():
        raise AssayError(f"--image {name}: {tree}/usr/bin is no folder; name a root file system")
    status = tree / "var/lib/dpkg/status"
    digest = hashlib.sha256(status.read_bytes()).hexdigest() if status.is_file() else ""
    return Image(str(tree), digest, tree)


def get(name: str, say: Progress, mirror: str = "", snapshots: str = "") -> Image:
    """The image of this name, fetched, checked and unpacked unless it is here.

    Raises AssayError for an unknown name or where no mirror is named, InfrastructureError where a
    package cannot be had.
    """
    if (here := found(name)) is not None:
        return here
    lock = lock_of(name)
    with alone(lock.folder):
        if not lock.folder.is_dir():
            sources = _sources(lock, mirror, snapshots)
            _make(lock, sources, say)
    return Image(name, lock.digest, lock.folder / "tree")


def apt_mirror() -> str:
    """The mirror of Debian that this machine's apt uses, "" where it uses none."""
    texts = [one.read_text(errors="replace") for one in _apt_files()]
    uris = re.findall(r"https?://[^\s\]]+/debian(?=/?\s)", "\n".join([*texts, ""]))
    return str(uris[0]) if uris else ""


def _apt_files() -> Iterator[Path]:
    for pattern in ("sources.list", "sources.list.d/*.sources", "sources.list.d/*.list"):
        yield from sorted(_APT.glob(pattern))


def _sources(lock: LockFile, mirror: str, snapshots: str) -> list[str]:
    """Addresses below which the paths of a lock file lie."""
    mirror = mirror or os.environ.get(MIRROR, "") or apt_mirror()
    snapshots = snapshots or os.environ.get(SNAPSHOTS, "")
    if not mirror and not snapshots:
        raise AssayError(
            f"image {lock.name}: no mirror of Debian is known here. Name one near you with --mirror"
            f" URL or the variable {MIRROR}, as http://HOST/debian; Debian lists them at"
            " https://www.debian.org/mirror/list. On a machine without internet: assay image load"
        )
    dated = f"{snapshots.rstrip('/')}/archive/debian/{lock.made}"
    return [mirror.rstrip("/")] * bool(mirror) + [dated] * bool(snapshots)


def _make(lock: LockFile, sources: Sequence[str], say: Progress) -> None:
    """Fetch the packages, unpack and finish them; the folder appears when it is whole."""
    kept, megabytes = images_folder() / "packages", lock.bytes / 1e6
    _run_inside(Path(MACHINE), "true", f"image {lock.name}: nothing is fetched")
    kept.mkdir(parents=True, exist_ok=True)
    say(f"image {lock.name}: fetching {megabytes:.0f} MB from {sources[0]}")
    with folder_beside(lock.folder) as part, ThreadPoolExecutor(_AT_ONCE) as pool:
        try:
            files = pool.map(lambda one: _fetched(one, kept, sources), lock.packages)
            paths = list(_told(lock, files, say))
        except OSError as error:
            raise InfrastructureError(f"image {lock.name}: {_unreachable(error)}") from error
        finally:
            pool.shutdown(cancel_futures=True)  # after an error, or Ctrl-C
        say(f"image {lock.name}: unpacking {len(paths)} packages")
        tree = part / "tree"
        _lay_out(tree, paths)
        _finish(tree)
        for path in paths:
            path.unlink(missing_ok=True)
    say(f"image {lock.name}: complete, in {lock.folder}")


def _told(lock: LockFile, files: Iterator[Path], say: Progress) -> Iterator[Path]:
    """The files as they come, each fifth of the bytes told."""
    fifths = 1
    done = accumulate(one.size for one in lock.packages)
    for path, bytes_done in zip(files, done, strict=True):
        yield path
        if bytes_done * 5 >= fifths * lock.bytes and fifths < 5:
            say(f"image {lock.name}: {bytes_done / 1e6:.0f} MB")
            fifths = bytes_done * 5 // lock.bytes + 1


def _unreachable(error: OSError) -> str:
    said = str(getattr(error, "reason", error))
    if isinstance(error, urllib.error.HTTPError):
        said = f"{error.url}: {said}"
    if getattr(error, "code", None) in (403, 404, 410):
        return (
            f"{said}; Debian has replaced this version since. Name an archive of snapshots with"
            f" --snapshots URL or {SNAPSHOTS}, or resolve the lock file anew with"
            " `make image-locks`; what was fetched is kept"
        )
    return (
        f"{said}; what was fetched is kept: correct that and run the command again, or name another"
        " mirror: --mirror URL"
    )


def _fetched(package: Package, folder: Path, sources: Sequence[str]) -> Path:
    """The file of a package, from the first source that has it; a part that is there is kept."""
    path, (source, *others) = folder / package.sha256, sources
    try:
        for _ in range(2):  # once more from the start where a kept part was damaged
            _download(f"{source}/{package.path}", path, package.size)
            if path.stat().st_size == package.size and _sha256(path) == package.sha256:
                return path
            path.unlink()
    except urllib.error.HTTPError:
        if not others:
            raise
    if others:
        return _fetched(package, folder, others)
    raise InfrastructureError(
        f"{source}/{package.path}: has not the SHA-256 of the lock file; name another --mirror"
    )


def _download(address: str, path: Path, size: int) -> None:
    """Fetch a file, from where its part ends. Raises urllib.error.URLError."""
    have = path.stat().st_size if path.exists() else 0
    if have >= size:
        return
    wanted = urllib.request.Request(address, headers={"Range": f"bytes={have}-"})  # noqa: S310
    with urllib.request.urlopen(wanted, timeout=60) as answer:  # noqa: S310
        mode = "ab" if answer.status == 206 else "wb"
        try:
            with path.open(mode) as out:
                shutil.copyfileobj(answer, out)
        except OSError as error:
            raise urllib.error.URLError(f"{address}: {error}") from error
    if path.stat().st_size < size:
        raise urllib.error.URLError(f"{address}: the connection ended early")


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _lay_out(tree: Path, paths: Sequence[Path]) -> None:
    """Unpack packages, and note them as dpkg does; an archive of sources comes to usr/src."""
    for name in ("bin", "sbin", "lib", "lib64"):
        (tree / "usr" / name).mkdir(parents=True)
        (tree / name).symlink_to(f"usr/{name}")
    info = tree / "var/lib/dpkg/info"
    info.mkdir(parents=True)
    (tree / "usr/src").mkdir()
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        noted = list(pool.map(lambda path: _unpacked(path, tree), paths))
    (tree / "var/lib/dpkg/status").write_text("".join(control for control, _ in noted))
    for control, listed in noted:
        if control:
            package = control.partition("\n")[0].removeprefix("Package: ")
            (info / f"{package}.list").write_text(listed)


def _unpacked(path: Path, tree: Path) -> tuple[str, str]:
    """Unpack one package; its entry for dpkg's status, and its files."""
    parts = dict(_members(path))
    if not parts:
        shutil.copy(path, tree / "usr/src/hpcc_1.5.0.orig.tar.gz")
        return "", ""
    options = ["--keep-directory-symlink", "--no-same-owner", "--no-same-permissions"]
    options += [f"--exclude=./usr/share/{name}/*" for name in _LEFT_OUT]
    words = ["tar", "-x", "-v", "-C", str(tree), *options]
    done = subprocess.run(words, input=parts["data.tar"], capture_output=True, check=False)
    if done.returncode:
        raise InfrastructureError(f"{tree}: {done.stderr.decode(errors='replace').strip()[-300:]}")
    paths = (line[1:].rstrip("/") or "/." for line in done.stdout.decode().splitlines())
    listed = "".join(f"{path}\n" for path in paths)
    words = ["tar", "-x", "-O", "./control"]
    control = subprocess.run(words, input=parts["control.tar"], capture_output=True, check=True)
    text = control.stdout.decode().rstrip("\n").replace("\n", "\nStatus: install ok installed\n", 1)
    return f"{text}\n\n", listed


def _members(path: Path) -> Iterator[tuple[str, bytes]]:
    """The parts of a Debian package, an ar archive, unpacked; none of a file of another kind."""
    with path.open("rb") as file:
        if file.read(8) != b"!<arch>\n":
            return
        while head := file.read(60):
            name, size = head[:16].decode().strip(" /"), int(head[48:58])
            content = file.read(size + size % 2)[:size]
            stem, tar, kind = name.partition(".tar")
            unpack = {".gz": gzip.decompress, ".xz": lzma.decompress}.get(kind, bytes)
            if tar:
                yield stem + tar, unpack(content)


def _finish(tree: Path) -> None:
    """Do what matters of maintainer scripts, as root of a user namespace in the tree."""
    (tree / "dev/null").touch()
    script, links = (_HERE / "finish.sh").read_text(), (_HERE / "alternatives.txt").read_text()
    _run_inside(tree, script, f"{tree}: could not be finished", links)


def _run_inside(tree: Path, script: str, otherwise: str, given: str = "") -> None:
    """Run a script as root of a user namespace in a tree; InfrastructureError where it fails."""
    inside = 'PATH=$PATH:/usr/sbin:/sbin; mount --bind /dev/null "$0/dev/null"\n'
    inside += 'exec chroot "$0" /bin/sh -c "$1"'
    words = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-ec", inside, str(tree)]
    done = subprocess.run(
        [*words, script], input=given, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise InfrastructureError(
            f"{otherwise} ({done.stderr.strip()[-300:]}); what a cluster needs of this machine and"
            " what helps: assay doctor"
        )


@contextmanager
def folder_beside(path: Path) -> Iterator[Path]:
    """A folder beside `path` that takes its place at the end; it is removed after an error."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(prefix=f".{path.name}.", dir=path.parent) as above:
        part = Path(above, path.name)
        part.mkdir()
        yield part
        part.rename(path)


@contextmanager
def alone(path: Path) -> Iterator[None]:
    """Hold what makes this folder; remains of one that was killed are removed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.with_name(f".{path.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for left in path.parent.glob(f".{path.name}.*/"):
            shutil.rmtree(left, ignore_errors=True)
        yield
