# SPDX-License-Identifier: Apache-2.0
"""The tree stays easy to take up: floors, folders, thin modules, long and one-use functions."""

import ast
import re
from collections import Counter, defaultdict
from functools import cache
from pathlib import Path

import pytest

from records.plugins import plugins
from records.tests.test_rooms import ROOT, imports_of, modules_of

MODULES_IN_A_FOLDER = 20
#: Fewer lines than these are no module of their own for a single importer.
LEAST_LINES = 60
#: A function of Python is rarely longer, one of C never.
LINES_OF_PYTHON, LINES_OF_C = 40, 80
LONG_FUNCTIONS = 15
FLOORS = 6
#: The share of all functions that are private and used once.
USED_ONCE = 0.112
#: Lines of a room without tests; a change that adds some takes others away, and lowers its cap.
#: Images of virtual clusters raised those of virtual_cluster, reports, assay and records by 650,
#: 120, 30 and 10; the seam for schedulers and site `local` assay, checks and reports by
#: 410, 130 and 17; ReFrame's command line and papers' claims checks and plugins by 200 and 160.
LINES = {
    "assay": 12_917,
    "bench": 430,
    "checks": 9_041,
    "plugins": 18_431,
    "records": 5_018,
    "reports": 15_388,
    "virtual_cluster": 2_620,
}
#: Words with which a docstring begins where it should name the thing or say what is done.
VAGUE = re.compile(r"(What|One|Whether|How|The one|Which|Those|The same)\b")
MOST_VAGUE = 3


def product() -> dict[str, Path]:
    """The modules without tests."""
    found = modules_of(ROOT).items()
    return {name: file for name, file in found if "tests" not in name.split(".")}


@cache
def floors() -> dict[str, int]:
    """The floor of each room of `reports`: one above the highest that it imports."""
    below: dict[str, set[str]] = defaultdict(set)
    for item in imports_of(ROOT):
        rooms = [".".join(name.split(".")[:2]) for name in (item.module, item.target)]
        if not item.in_test and all(room.startswith("reports.") for room in rooms):
            below[rooms[0]] |= {rooms[1]} - {rooms[0]}

    @cache
    def floor(room: str) -> int:
        return 1 + max(map(floor, below.get(room, ())), default=0)

    return {room: floor(room) for room in below}


@cache
def functions() -> list[tuple[str, str, int]]:
    """Module, name and length of the product's functions; trees are not kept: they are slow to
    collect."""
    return [
        (name, node.name, (node.end_lineno or 0) - node.lineno + 1)
        for name, file in product().items()
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]


def test_reports_is_few_floors_deep() -> None:
    assert max(floors().values()) <= FLOORS, sorted(floors().items(), key=lambda item: item[1])


def test_no_folder_is_a_corridor_of_modules() -> None:
    files = (file for file in product().values() if file.name != "__init__.py")
    counts = Counter(file.parent.relative_to(ROOT) for file in files)
    assert {place: n for place, n in counts.items() if n > MODULES_IN_A_FOLDER} == {}


@pytest.mark.plugins("contract", "papers", "predict", "profile", "reframe", "vetting")
def test_a_thin_module_has_several_importers() -> None:
    """Apart from what is loaded by name, commands and hooks, and a format of a result, a file
    each."""
    importers = defaultdict(set)
    for item in imports_of(ROOT):
        if not item.in_test and item.target != item.module:
            importers[item.target].add(item.module)
    hooked = {
        target.partition(":")[0]
        for plugin in plugins().values()
        for target in plugin.hooks.values()
    }
    thin = {
        name: next(iter(importers[name]))
        for name, file in product().items()
        if len(importers[name]) == 1 and file.name != "__init__.py"
        if not name.startswith(("assay.cli.", "reports.render.")) and name not in hooked
        if len(file.read_text().splitlines()) < LEAST_LINES
    }
    assert thin == {}


def test_no_room_grows() -> None:
    lines: Counter[str] = Counter()
    for name, file in product().items():
        lines[name.split(".")[0]] += len(file.read_text().splitlines())
    assert {room: lines[room] for room, most in LINES.items() if lines[room] > most} == {}


def test_docstrings_begin_with_a_verb_or_with_what_they_name() -> None:
    trees = {name: ast.parse(file.read_text()) for name, file in product().items()}
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    vague = [
        f"{name}: {text.splitlines()[0]}"
        for name, tree in trees.items()
        for node in ast.walk(tree)
        if isinstance(node, kinds) and VAGUE.match(text := ast.get_docstring(node) or "")
    ]
    assert len(vague) <= MOST_VAGUE, vague


def test_few_functions_are_long() -> None:
    long = [f"{where}.{name}" for where, name, lines in functions() if lines > LINES_OF_PYTHON]
    assert len(long) <= LONG_FUNCTIONS, long


@pytest.mark.plugins("contract", "papers", "predict", "profile", "reframe", "vetting")
def test_few_functions_are_shards_used_once() -> None:
    texts = (file.read_text() for file in product().values())
    words = Counter(word for text in texts for word in re.findall(r"\b_[a-z]\w*", text))
    names = [name for _, name, _ in functions()]
    once = {n for n in names if re.match(r"_[^_]", n) and words[n] <= 2}
    assert len(once) / len(names) <= USED_ONCE, f"{len(once)} of {len(names)}"


def test_no_function_of_c_is_long() -> None:
    files = sorted([*ROOT.glob("checks/**/*.[ch]"), *ROOT.glob("plugins/**/*.[ch]")])
    assert files
    function = re.compile(r"^\w[^;{}]*\{\n((?:[^}\n].*)?\n)*\}$", re.MULTILINE)
    lines = {
        f"{file.relative_to(ROOT)}: {found[0].splitlines()[0]}": found[0].count("\n") + 1
        for file in files
        for found in function.finditer(file.read_text())
    }
    assert len(lines) > len(files)
    assert {place for place, count in lines.items() if count > LINES_OF_C} == set()
