# SPDX-License-Identifier: Apache-2.0
"""A change passes what a newcomer types, and what a test starts runs as from a shell."""

import os
import re
import shutil
from pathlib import Path

import pytest

from checks.common.tests.program_runs import ran, written_script
from setup.tests.needs import needs

ROOT = Path(__file__).resolve().parents[2]
pytestmark = needs("git", "make")
OF_CALLERS = {"CI": "true", "MAKEFLAGS": "w", "MAKELEVEL": "4", "MFLAGS": "-w"}
OF_CALLERS |= {"PYTEST_ADDOPTS": "--color=no"}
#: What bash and make add.
ADDED = {"PWD", "OLDPWD", "SHLVL", "_", "MAKEFLAGS", "MAKELEVEL", "MFLAGS"}


class Repository:
    """README.md and CI of this one; its targets leave their names, folders and environments."""

    def __init__(self, folder: Path) -> None:
        self.folder, self._left = folder / "repository", folder / "left"
        self._left.mkdir()
        shutil.copytree(ROOT / ".ci", self.folder / ".ci")
        written_script(self.folder / ".ci/ordinary-user", 'exec "$@"')
        shutil.copy(ROOT / "README.md", self.folder)
        written_script(self.folder / "setup/packages.sh", "exit 4")
        targets = "demo lint test test-cluster test-image test-other-processor test-share"
        recipe = f"{targets}:\n\t@echo $@ >>{self._left}.order; mkdir -p build\n"
        recipe += f"\t@pwd >{self._left}/$@; env >>{self._left}/$@\n"
        recipe += "\t@echo 1.50,1.50,fast,slow >build/durations-fast.csv\n"
        recipe += "\t@cp build/durations-fast.csv build/durations-cluster.csv\n"
        (self.folder / "Makefile").write_text(recipe + f".PHONY: {targets}\n")
        self.commit()

    def commit(self) -> str:
        """Commit all that is there; the commit's digits."""
        mine = ["git", "-c", "user.name=a", "-c", "user.email=a@localhost"]
        for words in (["init", "-q"], ["add", "--all"], ["commit", "-q", "-m", "all"]):
            ran([*mine, *words], cwd=self.folder)
        head = self.folder / ".git" / (self.folder / ".git/HEAD").read_text().split()[1]
        return head.read_text()

    def run(self, script, **variables):
        """A script of CI, called with variables of a caller."""
        found = {"HOME": "/", "LANG": "C.UTF-8", "PATH": os.environ["PATH"]}
        return ran([self.folder / ".ci" / script], variables, check=False, env=found)

    def order(self) -> list[str]:
        """The targets in the order in which they ran."""
        return self._left.with_suffix(".order").read_text().split()

    def ran(self) -> dict[str, tuple[Path, dict[str, str]]]:
        """Of each target, as it ran last: folder and environment."""
        found = {}
        for name in self.order():
            folder, *lines = (self._left / name).read_text().splitlines()
            found[name] = Path(folder), dict(line.split("=", 1) for line in lines)
        return found


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return Repository(tmp_path)


def test_ci_has_no_way_to_the_tests_but_the_commands_of_readme(repository):
    done = repository.run("run", **OF_CALLERS)
    assert done.returncode == 0, done.stderr
    ran = repository.ran()
    always = ["demo", "test", "test-image", "test-cluster", "lint", "test-image", "test-image"]
    assert repository.order()[: len(always) + 1] == [*always, "test-cluster"]
    assert {*ran} <= {*always, "test-share", "test-other-processor"}
    assert ran["demo"][0] == ran["test"][0] != repository.folder
    assert {ran[one][0] for one in {*ran} - {"demo", "test"}} == {repository.folder}
    assert "of what is left; to run it again: " in done.stdout
    assert done.stdout.count("1.50,1.50,fast,slow") == 2
    assert "pytest" not in (ROOT / ".ci/run").read_text()


@pytest.mark.parametrize("number", range(6))
def test_a_part_of_the_rest_is_drawn_by_the_commit_and_told_where_it_fails(repository, number):
    text = "test-share test-other-processor:\n\t@exit 1\ndemo test lint test-cluster test-image:\n"
    text += "\t@mkdir -p build; touch build/durations-fast.csv build/durations-cluster.csv\n"
    (repository.folder / "Makefile").write_text(f"{text}# {number}\n")
    commit = repository.commit()
    part = int(commit[:8], 16) % 26 + 1
    done = repository.run("run")
    if part == 26:  # the packages of a foreign cluster cannot be had here
        assert (done.returncode, "part 26 of 26" in done.stdout) == (0, True), done.stderr
        return
    again = f"make test-share SHARE={part}/24" if part < 25 else "make test-other-processor"
    assert done.returncode == 1
    assert f"part {part} failed; to run it again: {again}\n" in done.stderr


def test_a_newcomer_has_a_clean_clone_and_nothing_of_the_caller(repository):
    (repository.folder / "Makefile").write_text("demo test:\n\t@exit 1\n")  # not committed
    given = {"PIP_INDEX_URL": "https://packages.example", "https_proxy": "http://localhost:1"}
    done = repository.run("newcomer", **OF_CALLERS, **given, OPENBLAS_CORETYPE="Haswell", TZ="UTC")
    assert done.returncode == 0, done.stderr
    (line,) = re.findall(r"^.*\$ make test.*$", (ROOT / "README.md").read_text(), re.MULTILINE)
    assert line in done.stdout.splitlines()
    ran = repository.ran()
    assert [*ran] == ["demo", "test"]
    for folder, environment in ran.values():
        assert environment.keys() - ADDED == {"HOME", "LANG", "PATH", *given}
        assert environment["MAKELEVEL"] == "1"
        assert not folder.exists()


def test_a_command_of_readme_that_fails_is_the_last_and_there_are_two(repository):
    (repository.folder / "Makefile").write_text("demo:\n\t@exit 1\n")
    repository.commit()
    done = repository.run("newcomer")
    assert done.returncode == 2, done.stdout
    assert "$ make test" not in done.stdout
    page = repository.folder / "README.md"
    page.write_text(page.read_text().replace("$ make demo", "make demo"))
    done = repository.run("newcomer")
    assert done.returncode == 2
    assert 'README.md has 1 commands below "Two commands"' in done.stderr


def _seen_by_a_program():
    return {line.partition("=")[0] for line in ran(["env", "-0"]).stdout.split("\0")}


@pytest.fixture
def seen_from_a_fixture():
    return _seen_by_a_program()


def test_what_a_test_starts_has_nothing_of_its_caller(seen_from_a_fixture):
    for seen in (seen_from_a_fixture, _seen_by_a_program()):
        assert not {name for name in seen if name in OF_CALLERS or name.startswith("PYTEST_")}
