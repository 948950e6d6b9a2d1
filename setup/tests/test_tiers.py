# SPDX-License-Identifier: Apache-2.0
"""Tiers, shares and durations of the tests themselves."""

import csv
import os
import re
import shutil
import subprocess
import sys
import time
from io import StringIO
from pathlib import Path

import pytest

from checks.common.tests.program_runs import ran
from setup.tests.durations import main

ROOT = Path(__file__).resolve().parents[2]
HERE = {"PYTHONPATH": str(ROOT)}
MODULES = {
    "test_a.py": "def test_fast(): pass\ndef test_red(): assert 0\n",
    "test_b.py": "import pytest\n@pytest.mark.full\n@pytest.mark.cluster\ndef test_full(): pass\n"
    "@pytest.mark.cluster\ndef test_cluster(): pass\n",
    "test_g.py": "import pytest\n@pytest.mark.full(sample=2)\n"
    "@pytest.mark.parametrize('n', range(6))\ndef test_many(n): pass\n",
    **{
        f"test_{name}.py": f"import pytest\n@pytest.mark.full\ndef test_{name}(): pass\n"
        for name in "cdef"
    },
}
KEPT = {"test_b.py": 5, "test_c.py": 0.5, "test_d.py": 2, "test_e.py": 2, "test_f.py": 0}


@pytest.fixture
def tests(tmp_path):
    """Runs these modules with options: exit status, names of the tests, last line."""
    for name in ("conftest.py", "pyproject.toml"):
        shutil.copy(ROOT / name, tmp_path)
    for name, text in MODULES.items():
        (tmp_path / name).write_text(text)
    rows = "".join(f"{name},full,1,{seconds},1,x\n" for name, seconds in KEPT.items())
    (tmp_path / "docs").mkdir()
    head = "scope,tier,tests,seconds,slowest_s,slowest\n"
    (tmp_path / "docs/durations.csv").write_text(head + rows)

    def run(*options):
        words = ["-m", "pytest", "-v", "-p", "no:cacheprovider", "-o", "testpaths=."]
        done = ran([sys.executable, *words, *options], HERE, check=False, cwd=tmp_path)
        outcome = "(?:PASSED|FAILED|SKIPPED)"
        names = re.findall(rf"::(test_\S+) {outcome}|{outcome}.*::(test_\S+) $", done.stdout, re.M)
        return done.returncode, ["".join(one) for one in names], done.stdout.splitlines()[-1]

    run.folder = tmp_path
    return run


@pytest.mark.parametrize("workers", [(), pytest.param(("-n2",), marks=pytest.mark.full)])
def test_a_tier_has_its_tests_and_names_the_commands_of_the_others(tests, workers):
    status, ran, last = tests("--tier=fast", *workers)
    assert (status, sorted(ran)) == (1, ["test_fast", "test_many[0]", "test_many[3]", "test_red"])
    assert last == "3 passed; of other tiers 1 run by make test-cluster, 9 run by make test-all"
    with (tests.folder / "build/durations-fast.csv").open() as file:
        rows = [(row["tier"], row["test"].partition("::")[2]) for row in csv.DictReader(file)]
    assert sorted(rows) == [("fast", name) for name in sorted(ran)]
    assert tests("--tier=cluster")[1] == ["test_cluster"]
    assert len(tests("--tier=all")[1]) == len(tests()[1]) == 14


def test_shares_have_all_tests_of_a_tier_once_and_are_about_equally_long(tests):
    one, two = (tests("--tier=full", f"--share={number}/2")[1] for number in (1, 2))
    assert one[0] == "test_full"
    assert two[:2] == ["test_d", "test_e"]
    assert sorted(one + two) == sorted(tests("--tier=full")[1])


def test_the_longest_modules_begin_first(tests):
    kept = [f"test_{name}" for name in ("full", "d", "e", "c", "f")]
    assert tests("--tier=full")[1][:5] == kept


@pytest.mark.parametrize("workers", [(), pytest.param(("-n1",), marks=pytest.mark.full)])
def test_fixtures_are_taken_down_when_sigterm_ends_the_tests(tests, workers):
    held = tests.folder / "test_held.py"
    held.write_text(
        "import pathlib, pytest, time\n@pytest.fixture\ndef cluster():\n    yield\n"
        f"    time.sleep({7 if workers else 0})\n    pathlib.Path('down').touch()\n"
        "def test_held(cluster):\n    pathlib.Path('up').touch()\n    time.sleep(600)\n"
    )
    words = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *workers, held.name]
    ended = subprocess.Popen(words, cwd=tests.folder, env=os.environ | HERE)
    while not (tests.folder / "up").exists():
        assert ended.poll() is None
        time.sleep(0.05)
    for _ in range(2):
        ended.terminate()
    assert ended.wait() == pytest.ExitCode.INTERRUPTED
    assert (tests.folder / "down").exists()


def test_durations_are_folded_by_module_and_tier():
    head = "seconds,call_s,tier,scope,test"
    before = [head, "9.00,8.00,fast,a.py,a.py::test_x[1::2]", "1.00,1.00,full,a.py,a.py::test_y"]
    last = [head, "2.50,1.50,fast,a.py,a.py::test_x[1::2]", "1.25,1.25,fast,a.py,a.py::test_z"]
    main([before, last], written := StringIO())
    assert written.getvalue().splitlines()[1:] == [
        "a.py,fast,2,3.8,1.50,test_x[1::2]",
        "a.py,full,1,1.0,1.00,test_y",
    ]


def test_no_fast_test_and_no_fast_module_is_long():
    with (ROOT / "docs/durations.csv").open() as file:
        fast = [row for row in csv.DictReader(file) if row["tier"] == "fast"]
    assert fast
    long = {r["scope"] for r in fast if float(r["slowest_s"]) > 5 or float(r["seconds"]) > 30}
    # The walk on a virtual cluster is one test, and the only one.
    assert long <= {"assay/tests/test_smoke.py"}
