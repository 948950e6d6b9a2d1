# SPDX-License-Identifier: Apache-2.0
"""A change passes what a newcomer types, and what a test starts runs as from a shell."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
OF_CALLERS = {
    "CI": "true",
    "MAKEFLAGS": "w",
    "MAKELEVEL": "4",
    "MFLAGS": "-w",
    "PYTEST_ADDOPTS": "--color=no",
}
#: What bash and make add.
ADDED = {"PWD", "OLDPWD", "SHLVL", "_", "MAKEFLAGS", "MAKELEVEL", "MFLAGS"}


class Repository:
    """README.md and CI of this one; its targets leave their names, folders and environments."""

    def __init__(self, folder: Path) -> None:
        self.folder, self._left = folder / "repository", folder / "left"
        for path in (self.folder / "setup", self._left):
            path.mkdir(parents=True)
        shutil.copytree(ROOT / ".ci", self.folder / ".ci")
        shutil.copy(ROOT / "README.md", self.folder)
        (self.folder / "setup/packages.sh").write_text("#!/bin/sh\nexit 4\n")
        (self.folder / "setup/packages.sh").chmod(0o755)
        targets = "check demo lint packages setup test test-other-processor test-site"
        recipe = f"{targets}:\n\t@echo $@ >>{self._left}.order\n"
        recipe += f"\t@pwd >{self._left}/$@; env >>{self._left}/$@\n"
        (self.folder / "Makefile").write_text(recipe + f".PHONY: {targets}\n")
        self.commit()

    def commit(self) -> None:
        """Commit all that is there."""
        mine = ["git", "-c", "user.name=a", "-c", "user.email=a@localhost"]
        for words in (["init", "-q"], ["add", "--all"], ["commit", "-q", "-m", "all"]):
            subprocess.run([*mine, *words], cwd=self.folder, check=True)

    def run(self, script: str, **variables: str) -> subprocess.CompletedProcess[str]:
        """A script of CI, called with variables of a caller."""
        return subprocess.run(
            [self.folder / ".ci" / script],
            env={"HOME": "/", "LANG": "C.UTF-8", "PATH": os.environ["PATH"], **variables},
            capture_output=True,
            text=True,
            check=False,
        )

    def ran(self) -> dict[str, tuple[Path, dict[str, str]]]:
        """Each target in the order in which they ran: folder and environment."""
        names = self._left.with_suffix(".order").read_text().split()
        told = {name: (self._left / name).read_text().splitlines() for name in names}
        return {
            name: (Path(folder), dict(line.split("=", 1) for line in lines))
            for name, (folder, *lines) in told.items()
        }


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return Repository(tmp_path)


def test_ci_has_no_way_to_the_tests_but_the_commands_of_readme(repository):
    done = repository.run("run", **OF_CALLERS)
    assert done.returncode == 0, done.stderr
    ran = repository.ran()
    assert [*ran] == ["demo", "test", "lint", "test-other-processor"]
    assert ran["demo"][0] == ran["test"][0] != repository.folder
    assert ran["lint"][0] == ran["test-other-processor"][0] == repository.folder
    assert "pytest" not in (ROOT / ".ci/run").read_text()


def test_a_newcomer_has_a_clean_clone_and_nothing_of_the_caller(repository):
    (repository.folder / "Makefile").write_text("demo test:\n\t@exit 1\n")  # not committed
    given = {"PIP_INDEX_URL": "https://packages.example", "https_proxy": "http://localhost:1"}
    done = repository.run("newcomer", **OF_CALLERS, **given, OPENBLAS_CORETYPE="Haswell", TZ="UTC")
    assert done.returncode == 0, done.stderr
    (line,) = (
        line for line in (ROOT / "README.md").read_text().splitlines() if "$ make test" in line
    )
    assert line in done.stdout.splitlines()
    ran = repository.ran()
    assert [*ran] == ["demo", "test"]
    for folder, environment in ran.values():
        assert environment.keys() - ADDED == {"HOME", "LANG", "PATH", *given}
        assert environment["MAKELEVEL"] == "1"
        assert not folder.exists()


def test_a_command_of_readme_that_fails_is_the_last(repository):
    (repository.folder / "Makefile").write_text("demo:\n\t@exit 1\n")
    repository.commit()
    done = repository.run("newcomer")
    assert done.returncode == 2, done.stdout
    assert "$ make test" not in done.stdout


def test_readme_has_two_commands(repository):
    page = repository.folder / "README.md"
    page.write_text(page.read_text().replace("$ make demo", "make demo"))
    done = repository.run("newcomer")
    assert done.returncode == 2
    assert 'README.md has 1 commands below "Two commands"' in done.stderr


def _seen_by_a_program() -> set[str]:
    told = subprocess.run(["env", "-0"], check=True, capture_output=True, text=True).stdout
    return {line.partition("=")[0] for line in told.split("\0")}


@pytest.fixture
def seen_from_a_fixture() -> set[str]:
    return _seen_by_a_program()


def test_what_a_test_starts_has_nothing_of_its_caller(seen_from_a_fixture):
    for seen in (seen_from_a_fixture, _seen_by_a_program()):
        assert not {name for name in seen if name in OF_CALLERS or name.startswith("PYTEST_")}


def test_what_a_test_starts_has_nothing_of_make_and_ci():
    one = f"{__file__}::{test_what_a_test_starts_has_nothing_of_its_caller.__name__}"
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", one],
        cwd=ROOT,
        env=os.environ | OF_CALLERS,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
