# SPDX-License-Identifier: Apache-2.0
"""Images: lock files, mirrors, downloads that are cut or damaged, one file for other machines."""

import gzip
import hashlib
import io
import json
import lzma
import subprocess
import sys
import tarfile
import warnings
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest

from records.errors import AssayError, InfrastructureError
from virtual_cluster import image_command, images

APT = {
    "sources.list.d/debian.sources": "URIs: https://near.example/debian/\nSuites: trixie\n",
    "sources.list": "deb [arch=amd64] http://old.example/debian bookworm main\n",
    "sources.list.d/ubuntu.list": "deb http://archive.example/ubuntu noble main\n",
    "sources.list.d/other.sources": "URIs: https://packages.example/debian-tools\n",
}


@pytest.mark.parametrize("name", images.names())
def test_a_lock_file_is_whole_and_its_age_is_told(name):
    lock = images.lock_of(name)
    made = datetime.strptime(lock.made, "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)
    age = (datetime.now(UTC) - made).days
    if age > 60:
        warnings.warn(f"{name}.lock is {age} days old: make image-locks", stacklevel=1)
    assert made.year >= 2026
    assert all(one.path.startswith("pool/") and one.size > 0 for one in lock.packages)
    assert all(len(bytes.fromhex(one.sha256)) == 32 for one in lock.packages)
    packages = {one.path.rpartition("/")[2].partition("_")[0] for one in lock.packages}
    needed = {"slurmd", "munge", "mpich", "openmpi-bin", "lam-runtime", "libc6", "python3", "hpcc"}
    assert needed <= packages
    assert ("pvm" in packages) == (name == "debian-12")


@pytest.mark.parametrize(
    ("files", "mirror"),
    [
        (["sources.list.d/debian.sources"], "https://near.example/debian"),
        (["sources.list", "sources.list.d/debian.sources"], "http://old.example/debian"),
        (["sources.list.d/ubuntu.list", "sources.list.d/other.sources"], ""),
        ([], ""),
    ],
)
def test_the_mirror_of_this_machine_is_that_of_apt(tmp_path, monkeypatch, files, mirror):
    (tmp_path / "sources.list.d").mkdir()
    for name in files:
        (tmp_path / name).write_text(APT[name])
    monkeypatch.setattr(images, "_APT", tmp_path)
    assert images.apt_mirror() == mirror


class Mirror(ThreadingHTTPServer):
    """Files by path, of which some are cut after so many bytes the first time."""

    def __init__(self, files):
        self.files, self.cut, self.asked = files, {}, []
        super().__init__(("127.0.0.1", 0), Handler)

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_port}"


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        begin = int(self.headers["Range"].removeprefix("bytes=").removesuffix("-"))
        self.server.asked.append((self.path, begin))
        content = self.server.files.get(self.path)
        if content is None:
            self.send_error(404)
            return
        self.send_response(206)
        self.send_header("Content-Length", str(len(content) - begin))
        self.end_headers()
        self.wfile.write(content[begin : self.server.cut.pop(self.path, None)])

    def log_message(self, *_):
        pass


def tar_of(files):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for name, content in files.items():
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(content), 0o755
            archive.addfile(entry, io.BytesIO(content))
    return out.getvalue()


def package(name, files):
    control = tar_of({"./control": f"Package: {name}\nVersion: 1.0\n".encode()})
    kind, pack = ("gz", gzip.compress) if name == "b" else ("xz", lzma.compress)
    parts = {"debian-binary": b"2.0\n", f"control.tar.{kind}": pack(control)}
    data = tar_of({f"./{path}": text for path, text in files.items()})
    parts["data.tar.xz"] = lzma.compress(data)
    text = b"!<arch>\n"
    for part, content in parts.items():
        head = f"{part:16}{0:<12}{0:<6}{0:<6}{100644:<8}{len(content):<10}`\n".encode()
        text += head + content + b"\n" * (len(content) % 2)
    return text


@pytest.fixture
def mirror(tmp_path, monkeypatch):
    """Of two packages and an archive of sources, which are image debian-13."""
    files = {
        "/pool/a.deb": package("a", {"bin/a": b"#!/bin/sh\n", "usr/share/doc/a/README": b"long\n"}),
        "/pool/b.deb": package("b", {"usr/bin/b": b"b" * 5000}),
        "/pool/hpcc.tar.gz": b"sources",
    }
    lines = ["# Image debian-13: Debian trixie, amd64, 20261201T000000Z. Path"]
    for path, text in files.items():
        lines.append(f"{path[1:]} {len(text)} {hashlib.sha256(text).hexdigest()}")
    (tmp_path / "debian-13.lock").write_text("\n".join([*lines, ""]))
    monkeypatch.setattr(images, "_HERE", tmp_path)
    monkeypatch.setattr(images, "_APT", tmp_path / "apt")
    monkeypatch.setattr(images, "_finish", lambda _: None)  # there is no shell in it
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    for name in (images.MIRROR, images.SNAPSHOTS):
        monkeypatch.delenv(name, raising=False)
    with Mirror(files) as made:
        thread = Thread(target=made.serve_forever)
        thread.start()
        yield made
        made.shutdown()
        thread.join()


def get(mirror="", snapshots=""):
    said: list[str] = []
    return images.get("debian-13", said.append, mirror, snapshots), said


def test_packages_are_checked_unpacked_and_noted(mirror):
    image, said = get(f"{mirror.url}/")
    assert said[0].startswith("image debian-13: fetching ")
    assert (image.tree / "usr/bin/a").read_text() == "#!/bin/sh\n"
    assert (image.tree / "bin").is_symlink()
    assert not (image.tree / "usr/share/doc/a/README").exists()
    assert (image.tree / "usr/src/hpcc_1.5.0.orig.tar.gz").read_text() == "sources"
    status = (image.tree / "var/lib/dpkg/status").read_text()
    assert status.startswith(
        "Package: a\nStatus: install ok installed\nVersion: 1.0\n\nPackage: b\n"
    )
    assert "/usr/bin/b\n" in (image.tree / "var/lib/dpkg/info/b.list").read_text()
    assert [*(images.images_folder() / "packages").iterdir()] == []
    asked = len(mirror.asked)
    assert get(mirror.url) == (image, [])
    assert len(mirror.asked) == asked


def test_a_download_that_was_cut_goes_on_and_a_damaged_part_is_fetched_anew(mirror):
    mirror.cut["/pool/b.deb"] = 100
    with pytest.raises(InfrastructureError, match="what was fetched is kept: correct that"):
        get(mirror.url)
    assert not images.lock_of("debian-13").folder.exists()
    (part,) = (images.images_folder() / "packages").glob(
        hashlib.sha256(mirror.files["/pool/b.deb"]).hexdigest()
    )
    assert part.stat().st_size == 100
    get(mirror.url)
    assert mirror.asked[-1] == ("/pool/b.deb", 100)
    image_command.remove("debian-13", lambda _: None)
    part.write_bytes(b"damaged")
    image, _ = get(mirror.url)
    assert (image.tree / "usr/bin/b").stat().st_size == 5000


def test_what_a_mirror_has_dropped_comes_from_snapshots_and_else_is_explained(mirror):
    lost = mirror.files.pop("/pool/b.deb")
    gone = r"b\.deb: Not Found; .*--snapshots URL.*image-locks"
    with pytest.raises(InfrastructureError, match=gone):
        get(mirror.url)
    mirror.files["/archive/debian/20261201T000000Z/pool/b.deb"] = lost
    assert get(mirror.url, mirror.url)[0].tree.is_dir()


def test_a_wrong_file_is_never_used_and_no_mirror_is_no_traceback(mirror):
    mirror.files["/pool/a.deb"] = mirror.files["/pool/a.deb"].replace(b"!<arch>", b"!<ARCH>")
    with pytest.raises(InfrastructureError, match=r"a\.deb: has not the SHA-256"):
        get(mirror.url)
    with pytest.raises(AssayError, match=r"--mirror URL or the variable ASSAY_DEBIAN_MIRROR"):
        get()
    with pytest.raises(AssayError, match=r"--image 'debian-9': allowed are debian-13, the path"):
        images.get("debian-9", lambda _: None)


def test_one_file_carries_an_image_to_a_machine_without_network(mirror, tmp_path, monkeypatch):
    monkeypatch.setattr(image_command, "session_packages", lambda *_: None)
    image, _ = get(mirror.url)
    file, said = tmp_path / "image.tar.gz", list[str]()
    image_command.save("debian-13", file, said.append)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    (tmp_path / "assay/mine").mkdir(parents=True)
    state = tmp_path / "assay/mine/cluster.json"
    state.write_text(json.dumps({"tree": str(image.tree)}))
    with pytest.raises(AssayError, match="cluster mine uses it; assay cluster down --name mine"):
        image_command.remove("debian-13", said.append)
    state.unlink()
    image_command.remove("debian-13", said.append)
    assert images.found("debian-13") is None
    image_command.load(file, said.append)
    assert images.found("debian-13") == image
    assert (image.tree / "usr/bin/a").stat().st_mode & 0o111
    file.write_bytes(file.read_bytes()[:200])
    with pytest.raises(AssayError, match=r"is no image of this Assay"):
        image_command.load(file, said.append)
    assert images.found("debian-13") == image


def test_the_command_runs_before_a_set_up_with_no_package_installed():
    words = [
        sys.executable,
        "-S",
        "-P",
        str(images.ROOT / "virtual_cluster/image_command.py"),
        "list",
    ]
    done = subprocess.run(
        words, env={"PYTHONPATH": str(images.ROOT)}, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout.count("Debian")) == (0, 3), done.stderr


@pytest.mark.parametrize(
    ("link", "version"), [("python3.13", "3.13"), ("python3.9", None), ("python", None), ("", None)]
)
def test_a_folder_needs_a_python_that_assay_runs_in(tmp_path, link, version):
    (tmp_path / "usr/bin").mkdir(parents=True)
    if link:
        (tmp_path / "usr/bin/python3").symlink_to(link)
    image = images.found(str(tmp_path))
    if version:
        assert image.python == version
    else:
        with pytest.raises(AssayError, match=r"Python 3\.11 or later"):
            image.python  # noqa: B018
