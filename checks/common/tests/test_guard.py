# SPDX-License-Identifier: Apache-2.0
"""A mistake in a check outside the tree is told by check, method, form, file and line."""

from __future__ import annotations

import re

import pytest

from assay.cli.main import main
from assay.tests.campaign_texts import SITE_FILE
from checks.common.registry import CHECKS, CheckError, add_folder, leaf_of, line_below
from checks.common.sources import build_files, launch_files
from checks.common.tests.test_folders import CAMPAIGN, HELLO, folder
from records.errors import AssayError, ExitStatus

__all__ = ["folder"]

ESTIMATE = (
    "    def estimate_s(self, params, layout, site):\n        return site.launch_overhead_s\n"
)

DEEP = "\n\ndef helper():\n    return {}['size']\n"
IMPORTED = "cannot be imported:"
VALIDATOR = """
    @model_validator(mode="after")
    def f(self):
        return self.none


"""


def estimate(body: str) -> str:
    return HELLO.replace(
        ESTIMATE, f"    def estimate_s(self, params, layout, site):\n        {body}\n"
    )


def with_member(line: str, said: str) -> tuple[str, str, None]:
    definition = HELLO.replace("    parameters =", f"    {line}\n    parameters =")
    return definition, said, None


#: What the definition is instead, what is said, and the line of the definition that is named.
MISTAKES = {
    "raises": (estimate("return 1 / 0"), "ZeroDivisionError: division by zero", "1 / 0"),
    "attribute": (estimate("return params.size"), "AttributeError", "params.size"),
    "deep": (estimate("return helper()") + DEEP, "KeyError: 'size'", "{}['size']"),
    "features": with_member("features = ['mpi']", r"is \['mpi'\]; allowed is frozenset"),
    "points": with_member("points = ('bytes')", r"is 'bytes'; allowed is tuple"),
    "swept": with_member("swept = {'at': 'size'}", "no parameter is 'size'; allowed are label,"),
    "model": (HELLO.replace("= HelloParameters", "= dict"), "parameters is <class 'dict'>", None),
    "syntax": (HELLO.replace("CHECK =", "CHECK = = "), f"{IMPORTED} SyntaxError", "CHECK ="),
    "import": ("import nowhere\n" + HELLO, f"{IMPORTED} ModuleNotFoundError: No mod", "import no"),
    "exit": ("import sys\nsys.exit(1)\n" + HELLO, f"{IMPORTED} SystemExit", "sys.exit"),
    "validator": (
        HELLO.replace("class HelloDefinition", f"{VALIDATOR}class HelloDefinition").replace(
            "from .metrics", "from pydantic import model_validator\nfrom .metrics"
        ),
        "AttributeError: .*has no attribute 'none'",
        "self.none",
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_told_without_a_traceback(folder, tmp_path, capsys, monkeypatch, name):
    definition, said, line = MISTAKES[name]
    file = folder / "hello" / "__init__.py"
    file.write_text(definition)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "hello.yaml").write_text(CAMPAIGN)
    site = tmp_path / "site-config" / "here"
    site.mkdir(parents=True)
    site.joinpath("site.yaml").write_text(SITE_FILE)
    words = ["plan", "hello.yaml", "--site", "here", "--checks", str(folder)]
    assert main(words) == ExitStatus.BAD_INPUT
    told = capsys.readouterr().err
    assert re.search(said, told), told
    assert "hello" in told
    assert "Traceback" not in told
    if line is not None:
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
