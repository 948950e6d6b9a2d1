# SPDX-License-Identifier: Apache-2.0
"""A command loads no slow library that it does not need; `assay --help` loads none at all."""

from __future__ import annotations

import signal
import subprocess
import sys
from importlib import import_module

import pytest

from assay.cli.parser import COMMANDS, make_parser

SLOW = {"matplotlib", "polars", "reframe", "scipy"}
#: Commands that draw or print pages; they load what they need for it.
WRITING = {"accept", "compare", "paper", "report", "verify"}


def loaded_by(commands: set[str]) -> set[str]:
    """The modules loaded when the arguments of these commands have been declared."""
    program = (
        "import sys; from assay.cli.parser import make_parser\n"
        f"make_parser({sorted(commands)!r}); print(*sys.modules)"
    )
    answer = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    return set(answer.stdout.decode().split())


def test_slow_libraries_are_loaded_by_commands_that_write_reports_only():
    assert not SLOW & loaded_by(set(COMMANDS) - WRITING)
    assert {"matplotlib", "polars"} <= loaded_by({"report"})


@pytest.mark.parametrize("words", [["nightly", "run"], ["history", "show"]])
def test_a_slow_command_is_loaded_when_it_is_run(words):
    module, _, function = make_parser(words).parse_args(words).run.partition(":")
    assert callable(getattr(import_module(module), function))


@pytest.mark.parametrize("commands", [set(), {"doctor"}, {"nightly"}])
def test_help_doctor_and_schedules_load_no_library(commands):
    assert not {*SLOW, "numpy", "pydantic", "yaml", "msgspec", "rich"} & loaded_by(commands)


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
