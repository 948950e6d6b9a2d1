# SPDX-License-Identifier: Apache-2.0
"""Test files of ReFrame suites, listed by children: what is said of their classes."""

from __future__ import annotations

from pathlib import Path

from checks.common.foreign.children import list_file, list_files
from checks.common.foreign.listing import ListedReference, Listing
from checks.common.tests.test_foreign_hostile import suite

__all__ = ["suite"]

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
    return list_file(file)


def test_a_class_is_described(suite: Path) -> None:
    found = listed(suite, RING)
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


def test_a_file_without_tests_is_none(suite: Path) -> None:
    assert not listed(suite, "x = 1\n").is_test


def test_the_order_of_files_is_kept(suite: Path) -> None:
    files = [suite / f"file_{number}.py" for number in range(5)]
    for number, file in enumerate(files):
        file.write_text(RING.replace("class Ring", f"class Ring{number}"))
    found = list_files(files)
    assert [one.classes[0].name for one in found] == [f"Ring{number}" for number in range(5)]
