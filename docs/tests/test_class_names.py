# SPDX-License-Identifier: Apache-2.0
"""A class name means one thing in the whole tree: a search finds one definition."""

from __future__ import annotations

import ast
import subprocess
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[2]
#: Names that are defined more than once, and how often. Shrink it; add nothing.
ALLOWED = {
    "Answer": 2,
    "Attempt": 2,
    "Axis": 2,
    "Block": 2,
    "CheckPart": 2,
    "Claim": 2,
    "Job": 2,
    "Launch": 3,
    "Layout": 2,
    "Line": 2,
    "Link": 2,
    "Luck": 2,
    "Measured": 2,
    "Neighbour": 2,
    "Point": 2,
    "Printed": 2,
    "Problem": 2,
    "Row": 2,
    "Scan": 2,
    "Section": 3,
    "Series": 2,
    "Site": 2,
    "State": 2,
    "WorkFolderError": 2,
}


def class_names() -> Counter[str]:
    """How often each class name is defined in product code.

    The ReFrame class of a check is always `Run`; packages of Spack have names that Spack derives.
    """
    listed = subprocess.run(
        ["git", "ls-files", "*.py"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.splitlines()
    found: Counter[str] = Counter()
    for name in listed:
        if "tests/" in name or name.startswith("spack-env/") or not (ROOT / name).exists():
            continue
        found.update(
            node.name
            for node in ast.walk(ast.parse((ROOT / name).read_text(encoding="utf-8")))
            if isinstance(node, ast.ClassDef)
            and not (node.name == "Run" and name.startswith("checks/"))
        )
    return found


def test_a_class_name_has_one_definition() -> None:
    again = {name: n for name, n in class_names().items() if n > ALLOWED.get(name, 1)}
    assert not again, f"choose another name; a search must find one definition: {again}"
