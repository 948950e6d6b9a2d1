# SPDX-License-Identifier: Apache-2.0
"""`make setup` makes the environment and nothing else: no root, no Debian, no internet needed;
`setup/packages.sh` asks for what is missing and the release of Debian has."""

import os
import shutil
import tempfile
from pathlib import Path

import pytest

from checks.common.tests.program_runs import ran, written_script
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
def checkout():
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
            ran(["chown", "-R", f"{NOBODY}:{NOBODY}", name])
        yield folder


def run(folder, *words):
    """A command in the checkout: of root, as an ordinary user on a host that is not Debian."""
    command = ["env", "-i", f"HOME={folder}", *(f"{k}={v}" for k, v in ENVIRONMENT.items()), *words]
    if os.geteuid() == 0:
        tools = [t for n in ("dpkg", "dpkg-query", "apt-get") if (t := shutil.which(n)) is not None]
        script = f'command=("${{@:1:{len(command)}}}"); shift {len(command)}; {_NO_DEBIAN}'
        spaces = ["unshare", "--mount", "--net", "--propagation", "private"]
        command = [*spaces, "bash", "-c", script, "bash", *command, *tools]
    return ran(command, check=False, cwd=folder)


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
    names = ran(["git", "ls-files", "-z"], cwd=ROOT).stdout
    copy = ["xargs", "-0", "cp", "--parents", f"--target-directory={tmp_path}"]
    ran(copy, cwd=ROOT, input=names)
    (tmp_path / ".venv").symlink_to(ROOT / ".venv")
    for _ in ("missing", "older than its sources"):
        done = ran(["make", "setup"], check=False, cwd=tmp_path)
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
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
        pytest.param(
            *("make packages", ["has no dpkg", "`make setup` is enough"]), marks=NEEDS_ROOT
        ),
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


LIST = "gcc  # the compiler\nmpich\npvm?\npvm-dev?\n"
PROGRAMS = {
    "dpkg-query": """[ "$1" = --version ] || [[ " $INSTALLED " != *" $3 "* ]] ||
        printf %s "install ok installed" """,
    "apt-cache": '[[ " $IN_RELEASE " != *" $2 "* ]] || echo "$2 | 3.4 | here"',
    "id": "echo 1000",
}


@pytest.fixture
def told(tmp_path):
    """Status and words of an ordinary user's packages.sh, who can install nothing."""
    written_script(tmp_path / "setup/hpl-source.sh", "")
    shutil.copy(ROOT / "setup/packages.sh", tmp_path / "setup")
    for name, text in PROGRAMS.items():
        (tmp_path / name).write_text(f"#!/bin/bash\n{text}\n")
        (tmp_path / name).chmod(0o755)
    (tmp_path / "setup/packages-tests.txt").write_text(LIST)

    def run(installed, in_release):
        given = {"INSTALLED": installed, "IN_RELEASE": in_release}
        path = {"PATH": f"{tmp_path}:/usr/bin:/bin"}
        done = ran([tmp_path / "setup/packages.sh"], given, check=False, env=path)
        return done.returncode, done.stdout, done.stderr

    return run


def test_what_a_release_has_not_is_left_out_where_it_is_optional(told):
    status, out, error = told("gcc", "gcc mpich")
    assert status == 4
    assert "apt-get install mpich. For" in error
    assert out == "setup: left out, as this release of Debian has none: pvm pvm-dev\n"
    assert "apt-get install mpich pvm pvm-dev. For" in told("gcc", "gcc mpich pvm pvm-dev")[2]
    assert "apt-get install mpich. For" in told("gcc pvm pvm-dev", "gcc")[2]


def test_nothing_is_asked_for_where_only_what_the_release_lacks_is_missing(told):
    status, out, error = told("gcc mpich", "gcc mpich")
    assert (status, error) == (0, "")
    assert out.endswith(": pvm pvm-dev\n")
    assert told("gcc mpich pvm pvm-dev", "") == (0, "", "")
