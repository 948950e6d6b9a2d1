# SPDX-License-Identifier: Apache-2.0
"""Images: the programs that hosts of a virtual cluster see in place of this machine's.

An image is a tree of Debian packages below the caller's cache, for all clusters. Its lock file,
images/NAME.lock, has the path, size and SHA-256 of each package; its digest is that of these.
Packages are unpacked without their maintainer scripts: images/finish.sh does what matters of them.
A tree appears whole or not at all. This module runs before Assay is set up, so it needs the
standard library alone: `PYTHONPATH=. python3 -P virtual_cluster/images.py get`.
"""

import argparse
import fcntl
import gzip
import hashlib
import lzma
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib import metadata
from itertools import accumulate
from pathlib import Path
from tempfile import TemporaryDirectory

from records.errors import AssayError, ExitStatus, InfrastructureError

Progress = Callable[[str], None]

DEFAULT = "debian-13"
#: The image of this machine's own programs.
MACHINE = "/"
MIRROR, SNAPSHOTS = "ASSAY_DEBIAN_MIRROR", "ASSAY_DEBIAN_SNAPSHOTS"
_HERE = Path(__file__).resolve().parent / "images"
_ROOT = _HERE.parents[1]
_APT = Path("/etc/apt")
_PREVIEWS = ("debian-14",)
_AT_ONCE = 4
#: What nobody reads in a cluster.
_LEFT_OUT = ("doc", "doc-base", "info", "lintian", "locale", "man")
#: What a session of ReFrame imports, with what that needs.
_OF_SESSIONS = ("ReFrame-HPC", "msgspec", "numpy", "pydantic", "pyyaml")
#: Large, and needed by ReFrame where it stores results, which sessions do not.
_NOT_OF_SESSIONS = ("polars",)
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
    with _alone(lock.folder):
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
    with _folder_beside(lock.folder) as part, ThreadPoolExecutor(_AT_ONCE) as pool:
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


def session_packages(image: Image, say: Progress) -> Path | None:
    """The folder of Python packages that sessions import in the image, laid out by pip unless it is
    there, in the versions that Assay itself runs with; None for this machine's own Python."""
    if (version := image.python) is None:
        return None
    pins, lock = _pins(), _ROOT / "requirements.lock"
    text = "".join(_locked(pins, lock.read_text())) if lock.is_file() else "\n".join(pins)
    own = "" if "/" not in image.name else hashlib.sha256(image.name.encode()).hexdigest()[:12]
    above = images_folder() / f"folder-{own}" if own else image.tree.parent
    digest = hashlib.sha256(f"{version} {text}".encode()).hexdigest()[:12]
    folder = above / f"python-{digest}"
    with _alone(folder):
        if folder.is_dir():
            return folder
        say(f"image {image.name}: Python packages of sessions for its Python {version}")
        with _folder_beside(folder) as part:
            (part / "requirements.txt").write_text(text)
            words = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-compile"]
            words += ["--disable-pip-version-check", "--only-binary=:all:", "--target", str(part)]
            words += ["--python-version", version, "-r", str(part / "requirements.txt")]
            done = subprocess.run(words, capture_output=True, text=True, check=False)
            if done.returncode:
                raise InfrastructureError(
                    f"image {image.name}: pip could not lay out the Python packages of sessions:"
                    f" {done.stderr.strip()[-500:]}. On a machine without internet: assay image"
                    " load, with a file of assay image save"
                )
    return folder


def python_words(packages: str | None, module: str) -> list[str]:
    """The words that run a module of Assay in an image's Python with these `session_packages`, or
    in this one (None). What else is installed here follows, for what is Python alone."""
    if packages is None:
        return [sys.executable, "-P", "-m", module]
    library = sysconfig.get_path("stdlib")
    here = [path for path in sys.path if not path.startswith(library) and path[-4:] != ".zip"]
    ours = [str(_ROOT), *here]
    begin = f"import runpy, site, sys; sys.path[:0] = {[packages]}; [*map(site.addsitedir, {ours})]"
    run_it = "runpy.run_module(sys.argv.pop(1), None, '__main__', True)"
    cache = "-Xpycache_prefix=/tmp/pycache"  # where these are, hosts cannot write
    return ["/usr/bin/python3", "-P", cache, "-c", f"{begin}; {run_it}", module]


def _pins() -> list[str]:
    """NAME==VERSION of what sessions import and what that needs, as installed here."""
    seen, to_come = dict[str, str](), list(_OF_SESSIONS)
    while to_come:
        name = to_come.pop()
        with suppress(metadata.PackageNotFoundError):
            here = metadata.distribution(name)
            plain = re.sub(r"[-_.]+", "-", here.name).lower()
            if plain not in {*seen, *_NOT_OF_SESSIONS}:
                seen[plain] = here.version
                needed = (one for one in here.requires or () if "extra ==" not in one)
                to_come += [re.split(r"[^A-Za-z0-9._-]", one, maxsplit=1)[0] for one in needed]
    return [f"{name}=={version}" for name, version in sorted(seen.items())]


def _locked(pins: Sequence[str], lock: str) -> Iterator[str]:
    """The entries of these in a lock file of pip, with their hashes."""
    for entry in re.split(r"^(?=\S)", lock, flags=re.MULTILINE):
        if entry.partition(" ")[0].strip() in pins:
            yield entry


@contextmanager
def _folder_beside(path: Path) -> Iterator[Path]:
    """A folder beside `path` that takes its place at the end; it is removed after an error."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(prefix=f".{path.name}.", dir=path.parent) as above:
        part = Path(above, path.name)
        part.mkdir()
        yield part
        part.rename(path)


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    """Hold what makes this folder; remains of one that was killed are removed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.with_name(f".{path.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for left in path.parent.glob(f".{path.name}.*/"):
            shutil.rmtree(left, ignore_errors=True)
        yield


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
        with _alone(lock.folder):
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
