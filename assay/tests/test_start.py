# SPDX-License-Identifier: Apache-2.0
"""A command loads no slow library that it does not need; `assay --help` loads none at all."""

from __future__ import annotations

import argparse
import re
import signal
import subprocess
import sys
from collections.abc import Iterable, Iterator

import pytest

from assay.cli.main import COMMANDS, make_parser, plugin_commands

#: Libraries that take longer to load than all of ours.
SLOW = {"matplotlib", "msgspec", "numpy", "polars", "pydantic", "reframe", "rich", "scipy", "yaml"}


def loaded_by(statement: str) -> set[str]:
    """The modules that are loaded after a statement."""
    program = f"import sys; {statement}; print('loaded:', *sys.modules)"
    answer = subprocess.run([sys.executable, "-P", "-c", program], capture_output=True, check=True)
    return set(answer.stdout.decode().rpartition("loaded:")[2].split())


def declaring(commands: Iterable[str]) -> str:
    return f"from assay.cli.main import make_parser; make_parser({sorted(commands)!r})"


def test_no_slow_library_is_loaded_to_list_the_commands():
    assert not SLOW & loaded_by(declaring([]))
    assert SLOW - {"reframe"} <= loaded_by("import assay.cli.report")


@pytest.mark.parametrize("module", ["status", "doctor"])
def test_quick_commands_load_no_analysis(module):
    slow = {"matplotlib", "polars", "reframe", "scipy"}
    assert not slow & loaded_by(f"import assay.cli.{module}")


#: What only foreign tests and commands of campaigns need.
FOREIGN = re.compile(
    r"checks\.common\.command\.|assay\.schema\.command|assay\.screens\.try_output"
    r"|plugins\.reframe\.(?!plugin|suites)"
)
PLAN = "from assay.cli.main import main; main(['plan', 'quick', '--site', 'virtual'])"
NIGHT = "import assay.cli.nightly, assay.cli.campaign, assay.run.start, assay.run.session"
SESSION = "import checks.common.session.command_line, checks.common.session.launches"


@pytest.mark.parametrize("code", [PLAN, NIGHT, SESSION, "import assay.cli.checks"])
def test_what_only_suites_need_is_not_loaded_without_them(code):
    found = loaded_by(code)
    assert "checks.common.registry" in found
    assert not [name for name in found if FOREIGN.match(name)]


def works(parser: argparse.ArgumentParser) -> Iterator[str]:
    """What the commands of a parser, and those below them, name as their work."""
    below = [a for a in parser._actions if isinstance(a, argparse._SubParsersAction)]
    for action in below:
        for command in action.choices.values():
            yield from works(command)
    if not below:
        yield parser.get_default("run")


def test_the_work_of_each_command_is_found():
    every = {*COMMANDS, *plugin_commands()}
    named = [*works(make_parser(every))]
    assert len(named) > len(every)
    assert all(callable(run) for run in named)


@pytest.mark.parametrize("module", ["assay.cli.main", "assay.cli.report", "polars"])
def test_ctrl_c_while_a_command_is_loaded_ends_it_without_a_traceback(module):
    program = f"""
import os, signal, sys
class Press:
    def find_spec(self, name, *_):
        if name == {module!r}:
            os.kill(os.getpid(), signal.SIGINT)
signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job would ignore it
sys.meta_path.insert(0, Press())
sys.argv = ["assay", "report"]
from assay.entry import main
main()
"""
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, check=False)
    assert (ended.returncode, ended.stdout, ended.stderr) == (-signal.SIGINT, b"", b"")
