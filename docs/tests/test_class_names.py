# SPDX-License-Identifier: Apache-2.0
"""A class name means one thing in the whole tree: a search finds one definition."""

import ast
from collections import Counter

from docs.tests.test_phrases import ROOT, tracked

#: Names that are defined more than once, and how often. Shrink it; add nothing.
TWICE = """Answer Attempt Axis Block Claim Job Layout Line Link Luck Measured Neighbour
Point Printed Problem Row Scan Series Site State WorkFolderError"""
ALLOWED = {**dict.fromkeys(TWICE.split(), 2), "Launch": 3, "Section": 3}


def class_names() -> Counter[str]:
    """How often each class name is defined in product code.

    The ReFrame class of a check is always `Run`; packages of Spack have names that Spack derives.
    """
    found: Counter[str] = Counter()
    for name in tracked("*.py"):
        if name.startswith("spack-env/"):
            continue
        found.update(
            node.name
            for node in ast.walk(ast.parse((ROOT / name).read_text(encoding="utf-8")))
            if isinstance(node, ast.ClassDef) and not (node.name == "Run" and "checks/" in name)
        )
    return found


def test_a_class_name_has_one_definition() -> None:
    again = {name: n for name, n in class_names().items() if n > ALLOWED.get(name, 1)}
    assert not again, f"choose another name; a search must find one definition: {again}"
