# SPDX-License-Identifier: Apache-2.0
"""assay build with a real Spack: what it resolves, and what it refuses."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from assay.build.builder import BuildRequest, Lock, archives_of, prepare
from assay.build.spack import SPACK_ENV, find_spack
from assay.sites import site_file
from assay.sites.site_file import facts_file, read_description
from records.errors import AssayError

SPACK = Path(os.environ.get("SPACK_ROOT", "/nonexistent")) / "bin" / "spack"
LOCK = SPACK_ENV / "environments" / "distribution-sources" / "debian12.lock"
pytestmark = [
    pytest.mark.skipif(
        not os.access(SPACK, os.X_OK),
        reason="needs Spack: set SPACK_ROOT, and ASSAY_SPACK_PACKAGES where there is no web",
    ),
    pytest.mark.skipif(
        not Path("/etc/debian_version").is_file() or os.uname().machine != "x86_64",
        reason="the platform of these environments is Debian 12 on x86_64",
    ),
]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """An empty Spack home; Spack's index of recipes, minutes of work, is shared if there is one."""
    folder = tmp_path_factory.mktemp("spack")
    known = site_file.spack_home() / "cache"
    if known.is_dir():
        (folder / "cache").symlink_to(known)
    return folder


@pytest.fixture
def home(made, monkeypatch):
    monkeypatch.setenv(site_file.HOME, str(made))
    return made


def assay(home: Path, *words: str) -> subprocess.CompletedProcess:
    command = [str(Path(sys.executable).with_name("assay")), *words]
    variables = {**os.environ, site_file.HOME: str(home)}
    return subprocess.run(command, env=variables, capture_output=True, text=True, check=False)


def test_an_empty_mirror_is_one_message_and_nothing_counts_as_built(home):
    answer = assay(home, "build", "--site", "virtual", "--offline", "--environments", "lam-spack")
    assert answer.returncode == 4
    (message,) = answer.stderr.strip().splitlines()
    assert "fetching sources: no source for" in message
    assert "assay build --mirror" in message
    assert not facts_file("virtual", "lam").exists()


def test_a_forged_archive_is_one_message_and_is_not_kept(home):
    for archive in archives_of(read_description("virtual").spack):
        forged = archive.path_in(home / "mirror")
        forged.parent.mkdir(parents=True, exist_ok=True)
        forged.write_bytes(b"forged")
    answer = assay(home, "build", "--site", "virtual", "--offline", "--environments", "lam-spack")
    assert answer.returncode == 4
    (message,) = answer.stderr.strip().splitlines()
    assert "has not the checksum that its recipe states; it was not used" in message
    assert not list((home / "sources").rglob("*.tar.gz"))
    assert not list(home.glob("stage/*/*"))
    assert not facts_file("virtual", "lam").exists()


def chosen_by(home: Path, name: str, packages: dict) -> Path:
    """Let Spack resolve NetPIPE on LAM, without any lock; gives the folder with its spack.lock."""
    request = BuildRequest("virtual", read_description("virtual").spack, offline=True)
    commands = prepare(find_spack(), request, print)
    commands.environment = home / name
    commands.environment.mkdir()
    spack = {"specs": ["netpipe ^lam"], "view": False, "packages": packages}
    (commands.environment / "spack.yaml").write_text(yaml.safe_dump({"spack": spack}))
    commands.run("choosing", "concretize")
    return commands.environment


def test_what_no_lock_holds_is_resolved(home):
    lock = Lock(chosen_by(home, "known", {}) / "spack.lock")
    facts = lock.packages(lock.roots_of("lam"))
    assert (facts["lam"]["version"], facts["lam"]["namespace"]) == ("7.1.4", "assay")
    assert facts["lam"]["target"] == "x86_64_v2"


def test_an_unknown_compiler_is_the_sites_fault(home):
    with pytest.raises(AssayError, match=r"Spack cannot resolve it: .*99") as caught:
        chosen_by(home, "unknown", {"c": {"require": ["gcc@99"]}})
    assert caught.value.status == 2
