# SPDX-License-Identifier: Apache-2.0
"""SHA-256 of everything a document rests on: the files of all runs, and the code that made it.

The list of files has the form of sha256sum, so that anybody can check it without Assay. The digest
of code covers the modules that can have a part, found by their imports, without comments,
docstrings, descriptions and blank lines: an edited explanation changes no seal.
"""

from __future__ import annotations

import ast
import hashlib
import io
import os
import re
import tokenize
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import metadata
from pathlib import Path

from records.errors import AssayError
from records.input_files import opened, read_whole

#: Files and folders of a run directory that are derived or temporary.
NOT_EVIDENCE = frozenset({"acceptance", "report", "work", ".lock"})
_ROOT = Path(__file__).resolve().parents[2]
#: The module that seals a judgement, and the one that makes the page.
_JUDGING, _PAGE = "reports.acceptance.dossier", "reports.acceptance.document"
_METRICS = "records/schema_1.json"
_TEMPLATES = "reports/write/templates/*"


def digest(path: Path) -> str:
    """SHA-256 of a regular file in hexadecimal. Raises AssayError if it cannot be read."""
    with opened(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def manifest(run: Path, reruns: Sequence[Path]) -> dict[str, str]:
    """Name relative to `run` -> SHA-256, of every file of the run and its re-runs, sorted.

    Raises AssayError for a link or a FIFO in one of them.
    """
    names = []
    for folder in (run, *reruns):
        for place, folders, files in os.walk(folder):
            left_out = NOT_EVIDENCE if Path(place) == folder else frozenset[str]()
            folders[:] = [name for name in folders if name not in left_out]
            for name in folders:
                if Path(place, name).is_symlink():
                    raise AssayError(f"{Path(place, name)}: is a symbolic link; a run holds none")
            names += [
                os.path.relpath(Path(place, name), run) for name in files if name not in left_out
            ]
    return {name: digest(run / name) for name in sorted(names)}


def sums_text(sums: Mapping[str, str]) -> str:
    """The text of a sha256sum file; names with a line break are refused."""
    bad = [name for name in sums if "\n" in name or "\\" in name]
    if bad:
        raise AssayError(f"{bad[0]!r}: such a name cannot stand in a list of checksums; rename it")
    return "".join(f"{value}  {name}\n" for name, value in sums.items())


def read_sums(path: Path) -> dict[str, str]:
    """The checksums of a sha256sum file. Raises AssayError naming the line that is none."""
    sums: dict[str, str] = {}
    lines = read_whole(path).decode("utf-8", "replace").splitlines()
    for number, line in enumerate(lines, start=1):
        found = re.fullmatch(r"([0-9a-f]{64})  (.+)", line)
        if found is None:
            raise AssayError(f"{path}:{number}: is no line of a sha256sum file")
        sums[found[2]] = found[1]
    return sums


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
    texts = {file: code_of(file.read_text("utf-8")).encode() for file in _imported(root, module)}
    texts |= {file: file.read_bytes() for file in root.glob(data) if file.is_file()}
    found = hashlib.sha256()
    for file, text in sorted(texts.items()):
        found.update(f"{file.relative_to(root)}\0{hashlib.sha256(text).hexdigest()}\n".encode())
    return found.hexdigest()[:12]


def _imported(root: Path, module: str) -> set[Path]:
    """The files of a module and of all modules below `root` that it imports, however far.

    Imports inside functions count; a name from a module may be a module itself.
    """
    files: set[Path] = set()
    rest = [module]
    while rest:
        parts = rest.pop().split(".")
        for count in range(1, len(parts) + 1):
            path = root.joinpath(*parts[:count])
            file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
            if not file.is_file() or file in files:
                continue
            files.add(file)
            for node in ast.walk(ast.parse(file.read_text("utf-8"))):
                if isinstance(node, ast.Import):
                    rest += [alias.name for alias in node.names]
                elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                    rest += [f"{node.module}.{alias.name}" for alias in node.names]
    return files


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
