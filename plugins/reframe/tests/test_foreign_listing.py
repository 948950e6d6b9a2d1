# SPDX-License-Identifier: Apache-2.0
"""Test files of ReFrame suites, listed by children: what is said of their classes."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from plugins.reframe.foreign.children import list_files
from plugins.reframe.foreign.lister import _folder_of
from plugins.reframe.foreign.listing import ListedReference, Listing, Surroundings

TEST = """
import reframe as rfm

@rfm.simple_test
class Plain(rfm.RunOnlyRegressionTest):
    valid_systems = ['*']
    valid_prog_environs = ['*']
    executable = 'true'
"""
RING = '''
import reframe as rfm
import reframe.utility.sanity as sn
from reframe.core.builtins import *


class build(rfm.CompileOnlyRegressionTest):
    sourcesdir = None


@rfm.simple_test
class Ring(rfm.RunOnlyRegressionTest):
    """Sends a token around.

    Further text."""
    valid_systems = ['+remote']
    valid_prog_environs = ['PrgEnv-gnu', '+mpi']
    executable = 'ring'
    laps = variable(int)
    label = variable(str, value='x')
    size = parameter([1, 2])
    program = fixture(build, scope='environment')
    tags = {'net', 'quick'}
    num_tasks = 0
    modules = ['ring/1.0']
    reference = {'daint:gpu': {'rate': (10.0, -0.1, None, 'MB/s')}}

    @run_after('init')
    def skip_large(self):
        self.skip_if(self.size == 2, 'too large')

    @performance_function('MB/s')
    def rate(self):
        return sn.extractsingle(r'(\\S+)', self.stdout, 1, float)
'''


def listed(folder: Path, text: str) -> Listing:
    file = folder / "suite_file.py"
    file.write_text(text)
    (found,) = list_files([file], Surroundings())
    return found


def test_a_class_is_described(tmp_path: Path) -> None:
    found = listed(tmp_path, RING)
    assert found.refused == ""
    (ring,) = found.classes
    assert (ring.name, ring.kind, ring.doc) == ("Ring", "run", "Sends a token around.")
    assert ring.tags == ["net", "quick"]
    assert [(p.name, p.values) for p in ring.parameters] == [("size", [1, 2])]
    variables = [(v.name, v.value, v.required) for v in ring.variables]
    assert variables == [("laps", None, True), ("label", "x", False)]
    (program,) = ring.fixtures
    assert (program.name, program.test_class, program.scope) == ("program", "build", "environment")
    first, second = ring.variants
    assert (first.valid_systems, first.valid_prog_environs) == (["+remote"], ["PrgEnv-gnu", "+mpi"])
    assert (first.num_tasks, first.modules) == (0, ["ring/1.0"])
    assert [(f.name, f.unit) for f in first.figures] == [("rate", "MB/s")]
    assert first.references == [ListedReference("daint:gpu", "rate", 10.0, -0.1, None, "MB/s")]
    assert second.refused == "skipped: too large"


def test_a_file_without_tests_is_none(tmp_path: Path) -> None:
    assert not listed(tmp_path, "x = 1\n").is_test


def test_a_folder_that_is_removed_while_modules_are_looked_for_has_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("gone", "there/wanted"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "there/wanted/__init__.py").touch()
    scan = os.scandir

    def scandir(path: Any) -> Any:
        if str(path).endswith("gone"):
            raise FileNotFoundError(path)
        return scan(path)

    monkeypatch.setattr(os, "scandir", scandir)
    file = str(tmp_path / "there/apps/hpl.py")
    assert _folder_of("wanted", file, str(tmp_path)) == str(tmp_path / "there")
