# SPDX-License-Identifier: Apache-2.0
"""The digest of the judging code changes with the code, and with nothing that only explains it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from reports.acceptance.digests import code_digest, code_of

ROOT = Path(__file__).resolve().parents[2]
JUDGING = ("reports.acceptance.dossier", "records/schema_1.json")
PAGE = ("reports.acceptance.document", "reports/write/templates/*")

SOURCE = '''\
"""What it is.

More of it.
"""
LIMIT = 3  # of launches


#: a note
class Judge:
    """A judge."""

    def say(self) -> str:
        """Say it."""
        return f"#{LIMIT} # no comment"

    limit: int = key("Größtes of all" " limits.", default=3)
'''


def test_only_code_is_left_of_a_source() -> None:
    assert code_of(SOURCE) == (
        "LIMIT = 3\nclass Judge:\n    def say(self) -> str:\n"
        '        return f"#{LIMIT} # no comment"\n    limit: int = key(, default=3)'
    )


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for package in ("records", "reports"):
        ignored = shutil.ignore_patterns("tests", "__pycache__")
        shutil.copytree(ROOT / package, tmp_path / package, ignore=ignored)
    return tmp_path


def edit(file: Path, old: str, new: str) -> None:
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new, 1))


def test_the_same_code_elsewhere_has_the_same_digest(tree: Path) -> None:
    assert code_digest(tree, *JUDGING) == code_digest(ROOT, *JUDGING)


def test_what_only_explains_or_has_no_part_changes_no_digest(tree: Path) -> None:
    before = code_digest(tree, *JUDGING), code_digest(tree, *PAGE)
    edit(tree / "reports/acceptance/bounds.py", '"""One-sided bounds', '"""The bounds')
    edit(tree / "reports/acceptance/bounds.py", "#: From best to worst", "#: From good to bad")
    edit(tree / "records/record.py", "SCHEMA = 2\n", "SCHEMA = 2  # the second\n\n\n")
    edit(tree / "records/criteria.py", 'key(\n        "', 'key(\n        "Better said: ')
    edit(tree / "reports/write/pdf.py", "PRINT_LIMIT_S = 120.0", "PRINT_LIMIT_S = 60.0")
    (tree / "reports/acceptance/idle.py").write_text("NEW = 1\n")
    assert (code_digest(tree, *JUDGING), code_digest(tree, *PAGE)) == before


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        ("reports/acceptance/bounds.py", 'return "FAIL", ""', 'return "PASS", ""'),
        ("reports/statistics/descriptive.py", "import", "import os\nimport"),
        ("records/record.py", "SCHEMA = 2\n", "SCHEMA = 3\n"),
        ("records/schema_1.json", '"higher"', '"lower"'),
    ],
)
def test_judging_code_changes_the_digest(tree: Path, file: str, old: str, new: str) -> None:
    edit(tree / file, old, new)
    assert code_digest(tree, *JUDGING) != code_digest(ROOT, *JUDGING)


def test_the_pages_code_changes_the_pages_digest_alone(tree: Path) -> None:
    before = code_digest(tree, *PAGE)
    edit(tree / "reports/write/templates/acceptance.html.j2", "What is signed", "Signed is")
    edit(tree / "reports/acceptance/document.py", "import", "import os\nimport")
    assert code_digest(tree, *PAGE) != before
    assert code_digest(tree, *JUDGING) == code_digest(ROOT, *JUDGING)
