# SPDX-License-Identifier: Apache-2.0
"""`make setup` makes the environment and nothing else: no root, no Debian, no internet needed."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from setup.tests.needs import needs
from setup.tests.repacked import repack

ROOT = Path(__file__).resolve().parents[2]
pytestmark = needs("make")
NOBODY = 65534
NEEDS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="only root can take that away")
#: As an ordinary user of a site has it.
ENVIRONMENT = {"PATH": "/usr/local/bin:/usr/bin:/bin", "PIP_NO_COMPILE": "1", "LANG": "C.UTF-8"}
#: A host without Debian's tools, and without network.
_NO_DEBIAN = 'for tool; do mount --bind /dev/null "$tool"; done; exec setpriv --reuid=65534'
_NO_DEBIAN += ' --regid=65534 --clear-groups --no-new-privs -- "${command[@]}"'


@pytest.fixture
def checkout() -> Iterator[Path]:
    """What set-up reads, with a lock of two packages, in a folder of an ordinary user."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        for part in ("setup", "Makefile", "pyproject.toml"):
            copy = shutil.copytree if (ROOT / part).is_dir() else shutil.copy
            copy(ROOT / part, folder / part)
        (folder / "assay").mkdir()
        (folder / "assay" / "__init__.py").touch()
        (folder / "wheels").mkdir()
        lines = [repack(package, folder / "wheels") for package in ("PyYAML", "setuptools")]
        (folder / "requirements.lock").write_text("".join(lines))
        if os.geteuid() == 0:
            subprocess.run(["chown", "-R", f"{NOBODY}:{NOBODY}", name], check=True)
        yield folder


def run(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """A command in the checkout: of root, as an ordinary user on a host that is not Debian."""
    command = ["env", "-i", f"HOME={folder}", *(f"{k}={v}" for k, v in ENVIRONMENT.items()), *words]
    if os.geteuid() == 0:
        tools = [t for n in ("dpkg", "dpkg-query", "apt-get") if (t := shutil.which(n)) is not None]
        script = f'command=("${{@:1:{len(command)}}}"); shift {len(command)}; {_NO_DEBIAN}'
        spaces = ["unshare", "--mount", "--net", "--propagation", "private"]
        command = [*spaces, "bash", "-c", script, "bash", *command, *tools]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


@pytest.mark.full
def test_set_up_needs_no_root_no_debian_and_no_internet(checkout):
    done = run(checkout, "make", "setup", "WHEELS=wheels")
    assert done.returncode == 0, done.stderr
    tried = run(checkout, ".venv/bin/python", "-c", "import yaml, setuptools, assay")
    assert tried.returncode == 0, tried.stderr
    again = run(checkout, "make", "setup")
    assert (again.returncode, again.stdout, again.stderr) == (0, "", "")


@pytest.mark.full
def test_set_up_compiles_what_a_vetting_measures_with_for_all_users(tmp_path):
    names = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True)
    copy = ["xargs", "-0", "cp", "--parents", f"--target-directory={tmp_path}"]
    subprocess.run(copy, cwd=ROOT, check=True, input=names.stdout)
    (tmp_path / ".venv").symlink_to(ROOT / ".venv")
    for _ in ("missing", "older than its sources"):
        done = subprocess.run(["make", "setup"], cwd=tmp_path, check=False, capture_output=True)
        assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
        (program,) = tmp_path.glob("build/vet-*/vet")
        assert program.stat().st_mode & 0o777 == 0o755
        assert program.stat().st_size > 0
        program.write_bytes(b"")
        os.utime(program, (0, 0))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("make setup PYTHON=/bin/false", ["/bin/false is no Python 3.11 or newer"]),
        ("make setup WHEELS=/nowhere", ["WHEELS=/nowhere is no folder"]),
        ("make wheels", ["make wheels WHEELS=FOLDER"]),
        ("make hpl-source HPL=Makefile", ["Makefile has not the checksum"]),
        pytest.param(*("make demo", ["has no dpkg", "`make setup` is enough"]), marks=NEEDS_ROOT),
        pytest.param(
            *("env PIP_RETRIES=0 make setup", ["make setup WHEELS=FOLDER"]),
            marks=[pytest.mark.full, NEEDS_ROOT],
        ),
    ],
)
def test_what_cannot_be_used_or_is_not_there_is_said(checkout, words, said):
    done = run(checkout, *words.split())
    assert done.returncode != 0
    assert [part for part in said if part not in done.stderr] == []
    assert not (checkout / "build").exists()
