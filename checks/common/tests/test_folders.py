# SPDX-License-Identifier: Apache-2.0
"""Checks of a folder outside the tree: found, refused, planned and launched like our own; a mistake
in one is told by check, form, file and line."""

import json
import os
import re
from pathlib import Path

import pytest

from assay.tests.campaign_texts import SITE_FILE
from checks.common import registry
from checks.common.registry import CHECKS, FOLDERS, CheckError, add_folder, leaf_of, line_below
from checks.common.sources import FURTHER_CHECKS, build_files, launch_files
from records.errors import AssayError, ExitStatus
from records.run.plan import Plan

HELLO = '''
"""A sum over all ranks, timed."""

from checks.common.definition import RANK_ALLOWANCE_BYTES
from checks.common.messages import ManyRanksDefinition
from checks.common.parameters import Parameters, quantity

from .metrics import METRICS


class HelloParameters(Parameters):
    ranks: int = quantity("Ranks that take part.", "ranks", 2, ge=1, le=1000)
    ranks_per_node: int = quantity("Ranks on each node.", "ranks", 1, ge=1, le=8)
    sums: int = quantity("Sums.", "sums", 10, ge=1, le=1000)
    label: str = quantity("A word that the program prints.", "none", "plain")


class HelloDefinition(ManyRanksDefinition[HelloParameters]):
    name = "hello"
    title = "Hello"
    deciding = shown = "sum_time"
    parameters = HelloParameters
    metrics = METRICS
    samples = {"sum_time": "sums"}

    def memory_bytes_per_node(self, params, cores_per_node):
        return RANK_ALLOWANCE_BYTES

    def estimate_s(self, params, layout, site):
        return site.launch_overhead_s


CHECK = HelloDefinition()
'''
METRICS = """
from records.metric import MetricDefinition

METRICS = (MetricDefinition("sum_time", "s", "lower", "a sum over all ranks"),)
"""
CAMPAIGN = """
schema: 1
name: hello
question: how long does a sum take?
environments: [lam]
cases:
  - check: hello
"""


def write_check(folder: Path, name: str = "hello", definition: str = HELLO) -> Path:
    package = folder / name
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(definition)
    (package / "metrics.py").write_text(METRICS)
    return folder


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with the check hello; what a test adds is taken out again."""
    monkeypatch.setenv(FURTHER_CHECKS, "")
    ours = dict(CHECKS)
    yield write_check(tmp_path / "mine")
    for name in CHECKS.keys() - ours.keys():
        del registry._CHECKS[name]
    FOLDERS.clear()


def with_rate_in(unit: str) -> str:
    """The definition with a second metric."""
    own = "from records.metric import MetricDefinition as M\nMETRICS = "
    own += f'(M("sum_time", "s", "lower", ""), M("rate", "{unit}", "lower", ""))'
    return HELLO.replace("from .metrics import METRICS", own)


def with_member(line: str) -> str:
    return HELLO.replace("    parameters =", f"    {line}\n    parameters =")


def test_a_check_outside_the_tree_is_one_like_ours(folder):
    add_folder(folder)
    add_folder(f"{folder}/../mine")
    hello = CHECKS["hello"]
    assert (hello.folder, FOLDERS) == (folder / "hello", [folder])
    assert type(hello).__name__ == "HelloDefinition"
    assert os.environ[FURTHER_CHECKS] == str(folder)
    params = hello.parameters.model_validate({})
    assert hello.command(params, Path("/out")) == ["/out/hello", "--sums=10", "--label=plain"]
    assert [one.metric for one in hello.expected(params, [])] == ["sum_time"]


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ("CHECK = 3\n", "CHECK is 3; it must be a CheckDefinition"),
        ("", "holds no check"),
        (HELLO.replace('name = "hello"', 'name = "ring"'), "the check's name is 'ring'"),
        (HELLO.replace('title = "Hello"', ""), "CHECK has no title"),
        (HELLO.replace('shown = "sum_time"', 'shown = "sum"'), "is 'sum', none of its metrics"),
        (with_member("features = ['mpi']"), "features is ['mpi']; allowed is frozenset"),
        (with_member("points = ('bytes')"), "points is 'bytes'; allowed is tuple"),
        (with_member("swept = {'at': 'size'}"), "no parameter is 'size'; allowed are label,"),
        (HELLO.replace("= HelloParameters", "= dict"), "parameters is <class 'dict'>"),
        (with_rate_in("furlong"), "metric rate: unit 'furlong'; allowed is 's', "),
        (with_rate_in("s"), "metric rate is defined otherwise by another check"),
    ],
)
def test_a_faulty_check_is_refused_by_name_and_nothing_is_added(folder, tmp_path, changed, said):
    known = dict(CHECKS)
    other = write_check(tmp_path / "other", definition=changed)
    with pytest.raises(AssayError) as refused:
        add_folder(other)
    assert said in str(refused.value)
    assert str(other) in str(refused.value)
    assert (known, FOLDERS) == (CHECKS, [])


@pytest.mark.plugins("papers")
def test_a_name_that_is_taken_and_a_path_that_cannot_be_handed_on_are_refused(folder, tmp_path):
    add_folder(folder)
    (tmp_path / "a:b").mkdir()
    with pytest.raises(AssayError, match="cannot be handed on"):
        add_folder(tmp_path / "a:b")
    for name in ("hello", "ring"):
        again = write_check(tmp_path / f"of {name}", name, HELLO.replace('"hello"', f'"{name}"'))
        with pytest.raises(AssayError, match=f"of {name}/{name}: there is a check {name} in"):
            add_folder(again)


def test_commands_take_a_folder_and_say_what_is_wrong_with_it(folder, said):
    told = said(ExitStatus.BAD_INPUT, "schema", "--checks", f"{folder}/x")
    assert f"--checks {folder}/x: no such folder" in told
    schema = json.loads(said(ExitStatus.PASS, "schema", "--checks", str(folder)))
    assert "hello" in schema["$defs"]["CaseEntry"]["properties"]["check"]["enum"]


@pytest.fixture
def plan_it(folder, tmp_path, monkeypatch):
    """A command that plans hello on a site that brings it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MINE", str(folder))
    (tmp_path / "hello.yaml").write_text(CAMPAIGN)
    site = tmp_path / "site-config" / "here"
    site.mkdir(parents=True)
    (site / "site.yaml").write_text(f"{SITE_FILE}checks: [$MINE]\n")
    return "plan", "hello.yaml", "--site", "here"


def test_a_site_brings_its_own_checks_and_the_plan_names_their_folder(
    folder, plan_it, monkeypatch, said
):
    plan = Plan.from_json(said(ExitStatus.PASS, *plan_it, "--json"))
    assert [case.check for case in plan.cases] == ["hello"]
    assert plan.checks_folders == [str(folder)]
    assert plan.register.check_title("hello") == "Hello"
    monkeypatch.setenv("MINE", "/none")
    assert "site here: checks /none: no such folder" in said(ExitStatus.BAD_INPUT, *plan_it)


DEEP = "\n\ndef helper():\n    return {}['size']\n"
IMPORTED = "cannot be imported:"
VALIDATOR = """
    from pydantic import model_validator

    @model_validator(mode="after")
    def f(self):
        return self.none


class HelloDefinition"""


def estimate(body: str) -> str:
    return HELLO.replace("return site.launch_overhead_s", body)


#: What the definition is instead, what is said, and the line of the definition that is named.
MISTAKES = {
    "raises": (estimate("return 1 / 0"), "ZeroDivisionError: division by zero", "1 / 0"),
    "attribute": (estimate("return params.size"), "AttributeError", "params.size"),
    "deep": (estimate("return helper()") + DEEP, "KeyError: 'size'", "{}['size']"),
    "syntax": (HELLO.replace("CHECK =", "CHECK = = "), f"{IMPORTED} SyntaxError", "CHECK ="),
    "import": ("import nowhere\n" + HELLO, f"{IMPORTED} ModuleNotFoundError: No mod", "import no"),
    "exit": ("import sys\nsys.exit(1)\n" + HELLO, f"{IMPORTED} SystemExit", "sys.exit"),
    "validator": (
        HELLO.replace("class HelloDefinition", VALIDATOR),
        "AttributeError: .*has no attribute 'none'",
        "self.none",
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_told_without_a_traceback(folder, plan_it, said, name):
    definition, mistake, line = MISTAKES[name]
    file = folder / "hello" / "__init__.py"
    file.write_text(definition)
    told = said(ExitStatus.BAD_INPUT, *plan_it)
    assert re.search(mistake, told), told
    assert "hello" in told
    assert "Traceback" not in told
    numbers = [i for i, text in enumerate(definition.splitlines(), 1) if line in text]
    assert any(f"{file}:{number}:" in told for number in numbers), told


def test_a_syntax_error_elsewhere_is_none_of_the_check(tmp_path):
    with pytest.raises(SyntaxError) as raised:
        compile("1 +", str(tmp_path / "elsewhere.py"), "exec")
    assert line_below([tmp_path / "checks"], raised.value) is None
    assert line_below([tmp_path], raised.value) == f"{tmp_path}/elsewhere.py:1"


RUN = """
from checks.common.answer import Reading
from checks.common.base import MpiCheck


class Run(MpiCheck):
    def command(self):
        return ["hello"]

    def read(self, output, text):
        return Reading([])
"""


@pytest.mark.parametrize(
    ("run", "said"),
    [
        ("class Run:\n    pass\n", "Run is no subclass of checks.common.base.MpiCheck"),
        ("Walk = 3\n", "cannot be run: AttributeError: .*'Run'"),
        (RUN.replace("class Run(", "class Run[("), r"run.py:6: .*cannot be run: SyntaxError"),
        (RUN.replace("import Reading", "import R"), r"run.py:2: .*cannot be run: ImportError"),
        (RUN.replace("def command", "def commands"), "Run has no method command"),
    ],
)
def test_a_class_that_cannot_run_is_told_before_anything_is_started(folder, run, said):
    (folder / "hello" / "run.py").write_text(run)
    add_folder(folder)
    with pytest.raises(CheckError, match=said):
        leaf_of(CHECKS["hello"])


def test_files_of_a_check_are_all_but_hidden_ones_and_samples(tmp_path):
    names = ("a.c", "input.dat", "parts/b.inc", "run.py", ".git/x", "samples/s.txt", "tests/t.py")
    for name in names:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    found = [str(path.relative_to(tmp_path)) for path in launch_files(tmp_path)]
    assert found == ["a.c", "input.dat", "parts/b.inc", "run.py"]
    assert [path.name for path in build_files(tmp_path)] == ["a.c", "input.dat", "b.inc"]


def test_files_that_launches_cannot_take_are_refused(tmp_path):
    (tmp_path / "session.sh").touch()
    with pytest.raises(AssayError, match=r"session\.sh: a launch has a file of this name"):
        launch_files(tmp_path)
