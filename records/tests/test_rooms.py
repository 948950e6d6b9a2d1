# SPDX-License-Identifier: Apache-2.0
"""The packages import each other along the arrows only, in no circle, and at module top.

Every import is read from the source: absolute and relative ones, those inside functions, and
`import_module("…")`. Tests may import any package; the rule for functions holds for them too.
"""

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
#: Package → the other packages, or modules, that it may import.
ARROWS: dict[str, tuple[str, ...]] = {
    "records": (),
    "virtual_cluster": (*("records.errors", "records.files", "records.waiting"),),
    "setup": ("records.errors", "virtual_cluster"),
    "checks": ("records",),
    "reports": ("records",),
    "assay": ("records", "virtual_cluster", "checks", "reports"),
    "plugins": ("records", "virtual_cluster", "checks", "reports", "assay"),
    "bench": ("records", "virtual_cluster", "checks", "reports", "assay", "plugins"),
}
#: Packages whose sub-packages import each other in no circle, either.
LAYERED = ("records", "checks", "reports", "assay")
#: What a check may import of its package, besides its own folder.
SHARED = "checks.common"
#: Rooms that make results, and the room that shows them: neither knows the other.
AWAY = [("reports.verdicts.", "reports.render."), ("reports.render.", "reports.verdicts.")]
#: Folders that hold only what people write: no Python.
WRITTEN_BY_PEOPLE = ("campaigns", "site-config")
#: What a comment beside an import inside a function must say, before what it is.
REASONS = ("optional:", "slow:")


@dataclass(frozen=True)
class Import:
    """An import, and whether the comment beside it says why it is there."""

    module: str
    place: str
    target: str
    in_function: bool
    reason: bool

    @property
    def in_test(self) -> bool:
        """Whether a test imports; tests may import any package."""
        return ".tests." in f"{self.module}."


def modules_of(root: Path) -> dict[str, Path]:
    """The modules of all packages below `root`: dotted name → file."""
    files = (file for package in ARROWS for file in sorted(root.glob(f"{package}/**/*.py")))
    names = {file: file.relative_to(root).with_suffix("").parts for file in files}
    return {".".join(n[:-1] if n[-1] == "__init__" else n): file for file, n in names.items()}


@cache
def imports_of(root: Path) -> list[Import]:
    """Every import in the packages below `root`, of our modules and of others."""
    modules = modules_of(root)
    found = []
    for name, file in modules.items():
        package = name if file.name == "__init__.py" else name.rpartition(".")[0]
        lines = file.read_text().splitlines()
        for node, in_function in nodes_of(ast.parse("\n".join(lines))):
            for target in targets_of(node, package, modules):
                assert isinstance(node, ast.stmt | ast.expr)
                beside = lines[max(0, node.lineno - 2) : node.end_lineno]
                reason = any(word in line.partition("#")[2] for word in REASONS for line in beside)
                place = f"{file.relative_to(root)}:{node.lineno}"
                found.append(Import(name, place, target, in_function, reason))
    return found


def nodes_of(tree: ast.AST) -> Iterator[tuple[ast.AST, bool]]:
    """A node and all below it, each with whether it is inside a function."""
    left = [(tree, False)]
    for node, in_function in left:
        yield node, in_function
        inside = in_function or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        left += [(child, inside) for child in ast.iter_child_nodes(node)]


def targets_of(node: ast.AST, package: str, modules: Iterable[str]) -> set[str]:
    """The modules that a statement or call in `package` imports, by full name."""
    match node:
        case ast.Import():
            return {alias.name for alias in node.names}
        case ast.ImportFrom():
            above = package.split(".")
            parts = above[: len(above) - node.level + 1] if node.level else []
            base = ".".join([*parts, *filter(None, [node.module])])
            named = {f"{base}.{alias.name}" for alias in node.names}
            return {full if full in modules else base for full in named}
        case ast.Call(args=[ast.Constant(value=str(name)), *_]):
            called = getattr(node.func, "attr", getattr(node.func, "id", ""))
            return {name} if called in ("import_module", "__import__") else set()
    return set()


def circle(pairs: Iterable[tuple[str, str]]) -> list[str]:
    """One circle among (importing, imported), if there is any, from its least name on."""
    graph: dict[str, set[str]] = {}
    for importing, imported in pairs:
        if importing != imported:
            graph.setdefault(importing, set()).add(imported)
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        names: list[str] = error.args[1][1:]
        start = names.index(min(names))
        return [f"circle: {' <- '.join([*names[start:], *names[: start + 1]])}"]
    return []


def faults(root: Path) -> list[str]:
    """What is wrong with the imports below `root`, one line each with its place."""
    found = [
        f"{file.relative_to(root)}: Python where only people write"
        for folder in WRITTEN_BY_PEOPLE
        for file in sorted(root.glob(f"{folder}/**/*.py"))
    ]
    own: list[tuple[str, str]] = []
    for item in imports_of(root):
        importing, imported = item.module.split(".")[0], item.target.split(".")[0]
        if item.in_function and not item.reason:
            found.append(f"{item.place}: import of {item.target} in a function without a reason")
        if imported == "plugins" and importing not in ("plugins", "bench"):
            found.append(f"{item.place}: {importing} imports {item.target}, which can be deleted")
        if imported not in ARROWS or item.in_test:
            continue
        own.append((item.module, item.target))
        if any(item.module.startswith(a) and item.target.startswith(b) for a, b in AWAY):
            found.append(f"{item.place}: {item.module} imports {item.target}")
        # In `checks` and `plugins` each folder is a room of its own.
        parts = 2 if importing in ("checks", "plugins") else 1
        room = ".".join(item.module.split(".")[:parts])
        allowed = (room, *ARROWS[importing], *([SHARED] if importing == "checks" else []))
        if not any(f"{item.target}.".startswith(f"{name}.") for name in allowed):
            found.append(f"{item.place}: {room} imports {item.target}")
    found += circle((a.split(".")[0], b.split(".")[0]) for a, b in own)
    for package in ARROWS:
        within = [(a, b) for a, b in own if a.split(".")[0] == b.split(".")[0] == package]
        found += circle(within)
        if package in LAYERED:
            found += circle(
                (".".join(a.split(".")[:2]), ".".join(b.split(".")[:2])) for a, b in within
            )
    return found


@pytest.mark.plugins("contract", "papers", "predict", "profile", "reframe", "vetting")
def test_plugins_import_the_published_modules_of_the_core_and_each_other_never() -> None:
    """`plugins/published.txt` lists them; whoever changes one keeps what plugins use of it."""
    published = (ROOT / "plugins" / "published.txt").read_text().split()
    used = {
        item.target
        for item in imports_of(ROOT)
        if item.module.startswith("plugins.") and not item.in_test
        if item.target.split(".")[0] in ARROWS and not item.target.startswith("plugins")
    }
    assert sorted(used) == published


def test_the_project_has_no_fault() -> None:
    assert faults(ROOT) == []
    assert {"records.run.plan", "assay.cli.main", "bench.costs"} <= set(modules_of(ROOT))


CIRCLE = "circle: assay.run <- assay.sites <- assay.run"
CLEAN = {
    "records/plan.py": "import json\n",
    "checks/ring/__init__.py": "from records import plan\nfrom . import run\n",
    "checks/ring/run.py": "from records.plan import x\n",
    "checks/ring/tests/test_ring.py": "from assay.plan import x\n",
    "assay/plan.py": "def f():\n    import checks.ring  # slow: ReFrame\n",
    "assay/sites/b.py": "import assay.run.c",
    "assay/run/c.py": "import records",
    "assay/run/__init__.py": "def f():\n    # optional: for a bar\n    from rich import x\n",
    "virtual_cluster/api.py": "from records.errors import x\n",
    "campaigns/quick.yaml": "",
}


@pytest.mark.parametrize(
    ("file", "source", "fault"),
    [
        ("records/a.py", "import checks.ring", "a.py:1: records imports checks.ring"),
        ("checks/a/b.py", "from reports import show", "b.py:1: checks.a imports reports"),
        ("checks/hpl/a.py", "from checks import ring", "a.py:1: checks.hpl imports checks.ring"),
        ("checks/common/a.py", "import checks.ring", "a.py:1: checks.common imports checks.ring"),
        ("checks/hpl/a.py", "from checks.common import b, c", None),
        ("checks/hpl/tests/a.py", "from checks import ring", None),
        ("reports/a.py", "from checks.ring import x", "a.py:1: reports imports checks.ring"),
        ("reports/a.py", "import os\nif os:\n import assay", "a.py:3: reports imports assay"),
        ("virtual_cluster/a.py", "import records.plan", "virtual_cluster imports records.plan"),
        ("records/a.py", "def f():\n  # slow: x\n  import bench", "a.py:3: records imports bench"),
        ("records/b.py", "import_module('assay.run')", "b.py:1: records imports assay.run"),
        ("records/b.py", "from ..assay import run", "b.py:1: records imports assay.run"),
        ("records/plan.py", "from checks import ring", "circle: checks <- records <- checks"),
        ("checks/ring/run.py", "from . import x", "circle: checks.ring"),
        ("checks/ring/run.py", "def f():\n from .. import ring # slow: x", "circle: checks.ring"),
        ("assay/run/a.py", "import assay.sites.b", CIRCLE),
        ("reports/verdicts/a.py", "import reports.render.b", "verdicts.a imports reports.render.b"),
        ("reports/render/b.py", "import reports.verdicts.a", "render.b imports reports.verdicts.a"),
        ("campaigns/a/b.py", "", "campaigns/a/b.py: Python where only people write"),
        ("site-config/a.py", "", "site-config/a.py: Python where only people write"),
        ("bench/a.py", "def f():\n import json", "a.py:2: import of json in a function"),
        ("bench/a.py", "async def f():\n from json import x # y", "a.py:2: import of json"),
        ("bench/tests/a.py", "def f():\n import_module('json')", "a.py:2: import of json"),
        ("bench/a.py", "class A:\n import json", None),
        ("plugins/a/b.py", "import plugins.b", "b.py:1: plugins.a imports plugins.b"),
        ("records/tests/a.py", "import plugins.b.c", "a.py:1: records imports plugins.b.c"),
    ],
)
def test_each_kind_of_fault_is_named(
    tmp_path: Path, file: str, source: str, fault: str | None
) -> None:
    for name, text in {**CLEAN, file: source}.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    found = faults(tmp_path)
    assert any(fault in line for line in found) if fault else found == []
