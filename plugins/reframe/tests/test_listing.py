# SPDX-License-Identifier: Apache-2.0
"""Test files of ReFrame suites, listed by processes: what is said of their classes; a broken file
is listed or refused in a line, and the others go on."""

import os
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import astuple

from plugins.reframe.lister import _folder_of
from plugins.reframe.listing import Listing, Surroundings, end_of_output, list_files

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
from reframe.core.exceptions import ReframeFatalError


class fetch(rfm.RunOnlyRegressionTest):
    executable = 'true'

    @sanity_function
    def right(self):
        return True


class build(rfm.CompileOnlyRegressionTest):
    sources = fixture(fetch, scope='session')


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
    measures = parameter([('bw', 'bandwidth')])
    program = fixture(build, scope='environment')
    num_tasks = 0
    modules = ['ring/1.0']
    reference = {'daint:gpu': {'rate': (10.0, -0.1, None, 'MB/s')}}

    @run_after('init')
    def skip_large(self):
        self.skip_if(self.size == 2, 'too large')

    @performance_function('MB/s')
    def rate(self):
        return sn.extractsingle(r'(\\S+)', self.stdout, 1, float)


@rfm.simple_test
class Open(rfm.RunOnlyRegressionTest):
    binaries = fixture(build, scope='environment')
    num_tasks = required


@rfm.simple_test
class Fatal(Open):
    @run_after('init')
    def ends_reframe(self):
        raise ReframeFatalError('unfit')
'''
LEFT = ["sleep", f"{100_000 + os.getpid()}"]
#: What a file does while it is loaded → part of its reason; "" where it is listed as usual.
BROKEN = {
    "import threading, time; threading.Thread(target=time.sleep, args=(600,)).start()": "",
    f"import subprocess; subprocess.Popen({LEFT})": "",
    f"import os\nif os.fork() == 0: os.execvp('sleep', {LEFT})": "",
    "import tempfile; tempfile.NamedTemporaryFile().write(b'x')": "",
    "import sys; sys.stdout.write('\\x1b[2J{]' * 1000); sys.stdout.flush()": "",
    "while True: print('x' * 10**6)": "File too large",
    "import os; os.write(1, b'so far\\n'); os._exit(4)": "with status 4; it prints: so far",
    "import os; os._exit(0)": "ends the process that loads it, with status 0",
    "import sys; sys.exit(3)": "calls exit(3) while it is loaded",
    "import ctypes; ctypes.string_at(0)": "ended by SIGSEGV",
    "raise RuntimeError('a\\nb\\x1b[31m')": "RuntimeError: a b",
    "raise KeyboardInterrupt": "KeyboardInterrupt",
    "def": "SyntaxError",
    "input()": "EOFError",
    "import os; os.environ['ASSAY_NOTIFY']": "needs the environment variable ASSAY_NOTIFY"
    " while it is loaded (file_14.py:2); give it with --env ASSAY_NOTIFY=VALUE",
    "import time; time.sleep(600)": "does not end within 5 s",
}


def listed(folder: Path, *texts: str, limit_s: float = 60.0) -> list[Listing]:
    files = [folder / f"file_{number:02}.py" for number in range(len(texts))]
    for file, text in zip(files, texts, strict=True):
        file.write_text(text)
    return list_files(files, Surroundings(limit_s=limit_s))


def test_a_class_is_described(tmp_path: Path) -> None:
    (found,) = listed(tmp_path, RING)
    assert found.refused == ""
    ring, open_, fatal = found.classes
    assert (ring.name, ring.kind, ring.doc) == ("Ring", "run", "Sends a token around.")
    parameters = [(p.name, p.values) for p in ring.parameters]
    assert parameters == [("size", [1, 2]), ("measures", [["bw", "bandwidth"]])]
    variables = [(v.name, v.value, v.required) for v in ring.variables]
    assert variables == [("laps", None, True), ("label", "x", False)]
    assert [(one.name, one.test_class, one.kind, one.scope) for one in ring.fixtures] == [
        ("program", "build", "compile", "environment"),
        ("program.sources", "fetch", "run", "session"),
    ]
    first, second = ring.variants
    assert (first.valid_systems, first.valid_prog_environs) == (["+remote"], ["PrgEnv-gnu", "+mpi"])
    assert (first.num_tasks, first.modules) == (0, ["ring/1.0"])
    assert [(f.name, f.unit) for f in first.figures] == [("rate", "MB/s")]
    (reference,) = map(astuple, first.references)
    assert reference == ("daint:gpu", "rate", 10.0, -0.1, None, "MB/s")
    assert second.refused == "skipped: too large"
    assert second.parameters == {"size": 2, "measures": ["bw", "bandwidth"]}
    # A library class leaves systems and ranks to the campaign.
    assert [variable.name for variable in open_.variables if variable.required] == ["num_tasks"]
    (variant,) = open_.variants
    assert (variant.refused, variant.valid_systems, variant.valid_prog_environs) == ("", None, None)
    assert fatal.variants[0].refused.startswith("ReframeFatalError: unfit")


def test_a_file_without_tests_is_none(tmp_path: Path) -> None:
    assert not any(one.is_test for one in listed(tmp_path, "x = 1\n", "# reframe\n"))


def test_a_broken_file_is_listed_or_refused_in_a_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ASSAY_NOTIFY", "mailto://secret")
    texts = [f"import reframe\n{deed}\n{TEST}" for deed in (*BROKEN, "")]
    *found, last = listed(tmp_path, *texts, limit_s=5.0)
    assert [cls.name for cls in last.classes] == ["Plain"], last.refused
    for (deed, reason), listing in zip(BROKEN.items(), found, strict=True):
        assert (reason in listing.refused, bool(listing.refused)) == (True, bool(reason)), deed
        assert listing.refused.isprintable()
        assert len(listing.classes) == (0 if reason else 1), deed
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            assert (process / "cmdline").read_text().split("\0")[:2] != LEFT


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
    found = _folder_of("wanted", f"{tmp_path}/there/apps/hpl.py", str(tmp_path))
    assert found == f"{tmp_path}/there"


def test_a_line_that_only_ends_a_colour_is_no_last_line_of_an_output() -> None:
    assert end_of_output(["\x1b[31mERROR: no such file", "\x1b[0m", ""]) == "ERROR: no such file"
