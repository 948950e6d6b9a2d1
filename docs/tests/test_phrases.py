# SPDX-License-Identifier: Apache-2.0
"""Messages, comments and pages are plain technical English: phrases that are gone stay gone, and a
class name means one thing in the whole tree.

Searched are docstrings, string constants and comments of product code, templates, shipped YAML and
pages. `FORBIDDEN` occurs nowhere; a word of `AT_MOST` occurs at most so often: lower its number
after you have removed some.
"""

import ast
import io
import re
import subprocess
import tokenize
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
#: Texts of others, quoted or transcribed.
QUOTED = ("plugins/papers/studies/",)
#: A pattern, and what to write instead.
FORBIDDEN = {
    r"worse than (it|they) may be|than they may be": "slower than allowed",
    r"\bmends\b|\bmended\b|\b(to|can|else|not) mend\b": "fixes; remedy",
    r"says what is asked|until what is asked|\bcannot give what is asked": "the question",
    r"as it comes and tuned": "out of the box and tuned",
    r"sets then beside now": "compares the published values with this run",
    r"\bwhoever\b": "the user who; a program that",
    r"(launches|launch) lies in, what": "on-disk layout",
    r"\bis told again\b|\bis told, with\b": "is reported again; is exported",
    r"\btuned a run\b": "tuned per run",
    r"who stops whenever|for whatever passes": "optional stopping; a temporary reason",
    r"\bnot heeded\b|\bheeds\b": "ignored; obeys",
    r"could not have found a change": "a change could not have been detected",
    r"use so many nodes|so many are asked": "maximum nodes, number of blocks",
    r"\btake the guesses\b": "accept detected defaults",
    r"\bas (it|they) should be\b": "intended; accepted",
    r"what it can be asked": "its parameters and metrics",
    r"see what hits all": "cannot detect a fault common to all",
    r"that whole is what is weighed|of the campaign only was": "the total is scored; only part was",
    r"as far as can be told|their own list is wrong": "silent if the list is invalid",
    r"whole and of today": "complete and current",
    r"laid before the program": "preloaded",
    r"nobody needs it who|what all kinds need": "optional unless requested; shared by",
    r"\bPVM's own words\b|\bmpirun's own words\b": "error text",
}
#: Words that have a plainer one, and how often they still occur.
AT_MOST = {
    r"\btold\b(?! apart)": 24,
    r"\bbeside\b": 77,
    r"\b(lies|stands)\b(?! out| for\b)": 39,
    r"\bwhatever\b": 20,
    r"\bnobody\b": 22,
}

#: Names that are defined more than once, and how often. Shrink it; add nothing.
TWICE = """Answer Attempt Axis Block CheckPart Claim Job Layout Line Link Luck Measured Neighbour
Point Printed Problem Row Scan Series Site State WorkFolderError"""
ALLOWED = {**dict.fromkeys(TWICE.split(), 2), "Launch": 3, "Section": 3}


def tracked(*patterns: str) -> list[str]:
    """The files of these names in the tree, without tests."""
    words = ["git", "ls-files", *patterns]
    listed = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return [n for n in listed.splitlines() if "tests/" not in n and (ROOT / n).exists()]


def texts_of_code(source: str) -> Iterator[tuple[int, str]]:
    """Line and text of each string constant, docstring and block of comments of a module."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.lineno, node.value
    block, last = "", 0
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type != tokenize.COMMENT:
            continue
        line, text = token.start[0], token.string.lstrip("#: ")
        if block and line != last + 1:
            yield last, block
            block = ""
        block, last = f"{block} {text}", line
    if block:
        yield last, block


@cache
def texts() -> list[tuple[str, str]]:
    """Place and text, blanks and line breaks made one blank, of all that is searched."""
    found = []
    for name in tracked("*.py", "*.md", "*.j2", "campaigns/*.yaml"):
        if name.startswith(QUOTED):
            continue
        content = (ROOT / name).read_text(encoding="utf-8")
        parts = texts_of_code(content) if name.endswith(".py") else [(1, content)]
        found += [(f"{name}:{line}", " ".join(text.split())) for line, text in parts]
    return found


def hits(pattern: str) -> list[str]:
    """Each occurrence of a pattern, with its place and surroundings."""
    return [
        f"{place}: …{text[max(0, hit.start() - 40) : hit.end() + 30]}…"
        for place, text in texts()
        for hit in re.finditer(pattern, text, re.IGNORECASE)
    ]


@pytest.mark.parametrize("pattern", [*FORBIDDEN, *AT_MOST])
def test_a_phrase_is_gone_and_a_word_does_not_come_back(pattern: str) -> None:
    found = hits(pattern)
    told = f"{len(found)} times; write: {FORBIDDEN.get(pattern, 'a plainer word')}\n"
    assert len(found) <= AT_MOST.get(pattern, 0), told + "\n".join(found)


def test_strings_docstrings_and_comments_are_read_and_names_are_not() -> None:
    source = '"""one"""\ntold = f"two {told}"  # three\n# told\n\n# four\n'
    read = " ".join(text for _, text in texts_of_code(source))
    assert all(word in read for word in ("one", "two", "three", "four"))
    assert read.count("told") == 1


def test_no_page_is_longer_than_400_lines() -> None:
    pages = ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", *tracked("docs/*.md")]
    assert not [name for name in pages if len((ROOT / name).read_text().splitlines()) > 400]


def test_a_class_name_has_one_definition() -> None:
    """The ReFrame class of a check is always `Run`; packages of Spack have names that Spack
    derives."""
    names = Counter(
        node.name
        for file in tracked("*.py")
        if not file.startswith("spack-env/")
        for node in ast.walk(ast.parse((ROOT / file).read_text(encoding="utf-8")))
        if isinstance(node, ast.ClassDef) and not (node.name == "Run" and "checks/" in file)
    )
    again = {name: n for name, n in names.items() if n > ALLOWED.get(name, 1)}
    assert not again, f"choose another name; a search must find one definition: {again}"
