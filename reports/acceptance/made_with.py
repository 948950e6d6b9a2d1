# SPDX-License-Identifier: Apache-2.0
"""What verdicts and page are made with: versions, and a digest of the code that each comes from.

The digest covers the modules that can have a part, found by their imports, without comments,
docstrings, descriptions and blank lines: an edited explanation changes no seal.
"""

from __future__ import annotations

import ast
import hashlib
import io
import tokenize
from collections.abc import Iterator
from functools import cache
from importlib import metadata
from pathlib import Path

_ROOT = Path(__file__).resolve().parents[2]
#: What is judged and sealed begins here; what is drawn for people, there.
_JUDGING, _PAGE = "reports.acceptance.dossier", "reports.acceptance.document"
_METRICS = "records/schema_1.json"
_TEMPLATES = "reports/write/templates/*"


@cache
def made_with() -> str:
    """What a verdict depends on beside the records; stands in the sealed machine form."""
    return f"Assay {metadata.version('assay')} (code {code_digest(_ROOT, _JUDGING, _METRICS)})"


@cache
def page_made_with() -> str:
    """What the exact bytes of the page depend on besides; stands on the page."""
    return (
        f"page code {code_digest(_ROOT, _PAGE, _TEMPLATES)},"
        f" matplotlib {metadata.version('matplotlib')}"
    )


def code_digest(root: Path, module: str, data: str) -> str:
    """Twelve hexadecimal digits of a module below `root`, of all that it imports from there, and
    of the data files that match a pattern."""
    texts = {file: code_of(file.read_text("utf-8")).encode() for file in _closure(root, module)}
    texts |= {file: file.read_bytes() for file in root.glob(data) if file.is_file()}
    found = hashlib.sha256()
    for file, text in sorted(texts.items()):
        found.update(f"{file.relative_to(root)}\0{hashlib.sha256(text).hexdigest()}\n".encode())
    return found.hexdigest()[:12]


def _closure(root: Path, module: str) -> set[Path]:
    """The files of a module and of all modules below `root` that it imports, however far."""
    files: set[Path] = set()
    rest = [module]
    while rest:
        parts = rest.pop().split(".")
        for count in range(1, len(parts) + 1):
            path = root.joinpath(*parts[:count])
            file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
            if file.is_file() and file not in files:
                files.add(file)
                rest += _imported(ast.parse(file.read_text("utf-8")))
    return files


def _imported(tree: ast.Module) -> Iterator[str]:
    """Names that may be modules, of every import, those inside functions too."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def code_of(source: str) -> str:
    """A source without comments, docstrings, descriptions of keys and blank lines.

    They are cut out of the text itself: dumps of syntax trees differ between versions of Python.
    """
    plain = source.split("\n")
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            row, column = token.start
            plain[row - 1] = plain[row - 1][:column]
    lines = [line.encode() for line in plain]
    for node in ast.walk(ast.parse(source)):
        text = _explanation(node)
        if text is not None and text.end_lineno is not None:
            tail = lines[text.end_lineno - 1][text.end_col_offset :]
            lines[text.lineno - 1] = lines[text.lineno - 1][: text.col_offset] + tail
            for row in range(text.lineno, text.end_lineno):
                lines[row] = b""
    return "\n".join(line.decode().rstrip() for line in lines if line.strip())


def _explanation(node: ast.AST) -> ast.expr | None:
    """The docstring of a definition; the description that `records.sections.key` is given."""
    if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
        first = node.body[0] if node.body else None
        text = first.value if isinstance(first, ast.Expr) else None
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "key":
        text = node.args[0] if node.args else None
    else:
        return None
    return text if isinstance(text, ast.Constant) and isinstance(text.value, str) else None
