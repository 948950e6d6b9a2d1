# SPDX-License-Identifier: Apache-2.0
"""The pages tell the truth: commands run and print what is shown, links lead somewhere; commands of
the examples of continuous integration are Assay's.

A fenced block's info string says what it is:

- `console`: lines after `$ ` are commands (`> ` continues one), the others what they print. Each
  runs in a bash of its own, all of a page in one folder, and must succeed and print what the page
  shows, if it shows anything. `exit=N` allows another status of the block's last command, `cluster`
  says that a virtual cluster is needed, `skip="REASON"` that the block is not run. `quiet`: on a
  machine that others use, a command may also end with status 3 if it names that reason.
- any language with `file=PATH`: that file, to be written.
- any other language: to be read only; a shell's are refused.

In expected output `…` stands for any text, alone on a line for any lines; a word with a digit
stands for any word with a digit, HOST for this machine's name; the number of blanks does not count.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import socket
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from assay.cli.main import make_parser
from assay.run.provenance import only_here

ROOT = Path(__file__).resolve().parents[2]
INDEX = ROOT / "docs/README.md"
LINK = re.compile(r"\[[^\]]*\]\((?!https?:)([^)#\s]*)(?:#([^)\s]+))?\)")
#: The name of the cluster of all pages, where it stands.
OF_CLUSTER = re.compile(
    r"(?<=--name )docs\b|(?<=virtual[:-])docs\b|(?<=assay[-/])docs\b|(?<=^cluster )docs\b", re.M
)
#: Seconds for a command: many, for the machine may be loaded.
LIMIT_S = 1800

#: The no-break space inside a number, too.
_BLANK = r"[^\S\n]"
_FENCE = re.compile(r"^```(.*)$")


@dataclass(frozen=True)
class Block:
    """A fenced block: where it stands, the words of its info string, its text."""

    page: Path
    line: int
    language: str
    options: dict[str, str]
    text: str

    @property
    def place(self) -> str:
        """Page and line of the opening fence."""
        return f"{self.page.relative_to(ROOT)}:{self.line}"

    def commands(self) -> Iterator[tuple[str, str]]:
        """Each command with the output that the page shows of it."""
        for part in re.split(r"^\$ ", self.text, flags=re.MULTILINE)[1:]:
            lines = part.splitlines()
            more = next((n for n, line in enumerate(lines[1:], 1) if line[:2] != "> "), len(lines))
            command = "\n".join([lines[0], *(line[2:] for line in lines[1:more])])
            yield command, "\n".join(lines[more:])

    def named(self, cluster: str) -> Block:
        """The block with another name of the cluster that pages call `docs`."""
        return replace(self, text=OF_CLUSTER.sub(cluster, self.text))

    def follow(self, folder: Path) -> None:
        """Do what the block says, in `folder`; an AssertionError tells what came out otherwise."""
        if "file" in self.options:
            target = folder / self.options["file"]
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(self.text)
            return
        commands = list(self.commands())
        for number, (command, shown) in enumerate(commands, 1):
            allowed = int(self.options.get("exit", 0)) if number == len(commands) else 0
            done = _run(command, folder)
            told = f"{self.place}: $ {command}\nexit status {done.returncode}\n{done.stdout}"
            if "quiet" in self.options and done.returncode == 3:
                assert "disturbed by other programs" in " ".join(done.stdout.split()), told
                continue
            assert done.returncode == allowed, told
            if shown.strip():
                assert re.search(pattern(shown), done.stdout), f"{told}\nthe page shows:\n{shown}"


def _run(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}:/usr/sbin:/sbin"
    named_by_runs = only_here({})  # pages show a shell that has none
    kept = {name: value for name, value in os.environ.items() if name not in named_by_runs}
    return subprocess.run(
        ["bash", "-euo", "pipefail", "-c", command],
        cwd=folder,
        env={**kept, "PATH": path, "COLUMNS": "120"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )


def pattern(shown: str) -> str:
    """Expected output as a regular expression for the whole output."""
    lines = [line.split() for line in shown.splitlines() if line.strip()]
    return r"\A\s*" + "".join(_line(words) for words in lines) + r"\Z"


def _line(words: list[str]) -> str:
    if words == ["…"]:
        return r"(?:.*\n)*?"
    return rf"{_BLANK}*" + rf"{_BLANK}+".join(map(_word, words)) + rf"{_BLANK}*\n\s*"


def _word(word: str) -> str:
    if word == "HOST":
        return re.escape(socket.gethostname().partition(".")[0])
    if "…" in word:
        return ".*".join(map(re.escape, word.split("…")))
    return r"\S*\d\S*" if re.search(r"\d", word) else re.escape(word)


def blocks(page: Path) -> list[Block]:
    """The fenced blocks of a page, in order."""
    found, lines, start = [], page.read_text().splitlines(), None
    for number, line in enumerate(lines, 1):
        if not (fence := _FENCE.match(line)):
            continue
        if start is None:
            start = number
            language, *words = shlex.split(fence[1]) or [""]
            options = {name: value for name, _, value in (word.partition("=") for word in words)}
            continue
        text = "".join(f"{line}\n" for line in lines[start : number - 1])
        found.append(Block(page, start, language, options, text))
        start = None
    assert start is None, f"{page}: the block of line {start} has no end"
    return found


def pages() -> list[Path]:
    """The pages that have commands, in the order in which the index names them."""
    linked = [(INDEX.parent / found[1]).resolve() for found in LINK.finditer(INDEX.read_text())]
    of_docs = [path for path in dict.fromkeys(linked) if path.parent.name == "docs"]
    return [ROOT / "README.md", ROOT / "CONTRIBUTING.md", INDEX, *of_docs]


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(), flags=re.MULTILINE)
    plain = (re.sub(r"[^\w\- ]", "", heading.lower()) for heading in headings)
    return {heading.replace(" ", "-") for heading in plain}


PAGES = pages()


#: Pages whose commands take longer than those of all others.
LONG = {"acceptance-contract", "campaign-file", "from-reframe", "profile", "programs", "vetting"}


def to_follow(page: Path, *, with_cluster: bool) -> list[Block]:
    """The blocks of a page that a test follows."""
    hidden = {"skip"} if with_cluster else {"skip", "cluster"}
    shown = [block for block in blocks(page) if not hidden & block.options.keys()]
    return [block for block in shown if block.language == "console" or "file" in block.options]


def needs_cluster(page: Path) -> bool:
    """Whether some command of the page needs a virtual cluster."""
    return any("cluster" in block.options for block in blocks(page))


@contextmanager
def own_folder() -> Iterator[Path]:
    """A folder for what the commands of pages make."""
    with tempfile.TemporaryDirectory(prefix="assay-docs-") as name:
        yield Path(name)


@pytest.mark.parametrize(
    "page",
    [pytest.param(p, marks=[pytest.mark.full] if p.stem in LONG else []) for p in PAGES],
    ids=[page.name for page in PAGES],
)
def test_commands_run_as_shown(page, request):
    if page.name == "vetting.md":
        request.getfixturevalue("vets_alone")
    with own_folder() as folder:
        for block in to_follow(page, with_cluster=False):
            block.follow(folder)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_no_command_hides_or_is_skipped_without_a_reason_and_links_lead_somewhere(page):
    for block in blocks(page):
        assert block.language not in {"sh", "bash", "shell"}, f"{block.place}: use console"
        assert block.options.keys() <= {"file", "cluster", "exit", "quiet", "skip"}, block.place
        if block.language != "console":
            assert not re.search(r"^\$ ", block.text, re.MULTILINE), block.place
        if "skip" in block.options:
            assert block.options["skip"].strip() and [*block.commands()], block.place
    for found in LINK.finditer(page.read_text()):
        target = (page.parent / found[1]).resolve() if found[1] else page
        assert target.exists(), f"{page.name}: {found[0]}"
        if found[2]:
            assert found[2] in anchors(target), f"{page.name}: {found[0]}"


def test_the_index_names_every_page_and_some_commands_are_not_run():
    assert any("skip" in block.options for page in PAGES for block in blocks(page))
    there = [*INDEX.parent.glob("*.md"), *ROOT.glob("plugins/*/docs/*.md")]
    assert {path.name for path in there} <= {path.name for path in PAGES}


@pytest.mark.parametrize(
    ("shown", "printed", "alike"),
    [
        *(("up after 0.4 s", "up after 1.2 s\n", True), ("20 ok", "some ok\n", False)),
        ("…\nlast", "first\nsecond\nlast\n", True),
        ("…\nlast", "first\nlast\nmore\n", False),
        *(("run …, done", "run of three, done\n", True), ("a  b", " a b\n", True)),
        ("n1 idle", "n1 down\n", False),
    ],
)
def test_output_is_compared_by_words(shown, printed, alike):
    assert bool(re.search(pattern(shown), printed)) is alike


def test_citation_names_the_version_of_the_package():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert citation["version"] == project["version"]
    assert citation["license"] == project["license"]
    assert {"cff-version", "message", "title", "authors"} <= citation.keys()


@pytest.mark.skipif(
    shutil.which("chromium") is None, reason="no Chromium: apt-get install chromium"
)
def test_a_picture_is_made_of_a_report(tmp_path):
    page = tmp_path / "run/report/index.html"
    page.parent.mkdir(parents=True)
    page.write_text("<!doctype html><title>report</title><h1>A report</h1>")
    picture = tmp_path / "picture.png"
    command = [ROOT / "docs/picture.sh", tmp_path / "run", picture]
    subprocess.run(command, check=True, capture_output=True)
    assert picture.read_bytes().startswith(b"\x89PNG")


EXAMPLES = ROOT / "docs/examples"
PIPELINES = sorted(EXAMPLES.glob("*.yml"))
#: The examples of continuous integration, and the keys below which commands stand.
SHELL_KEYS = ("script", "before_script", "after_script", "run")


def shell_lines(node: Any) -> list[str]:
    """Every line of shell of a pipeline."""
    if isinstance(node, list):
        return [line for one in node for line in shell_lines(one)]
    found: list[str] = []
    for key, value in node.items() if isinstance(node, dict) else ():
        if key in SHELL_KEYS:
            texts = value if isinstance(value, list) else [value]
            found += "\n".join(texts).splitlines()
        else:
            found += shell_lines(value)
    return found


@pytest.mark.parametrize("file", PIPELINES, ids=lambda file: file.name)
def test_every_command_is_one_of_assay(file: Path) -> None:
    lines = shell_lines(yaml.safe_load(file.read_text()))
    ours = [line for line in lines if re.match(r"(\S*/)?assay ", line)]
    assert {shlex.split(line)[1] for line in ours} >= {"run", "report", "nightly", "export"}
    for line in ours:
        words = shlex.split(line.partition(" || ")[0])[1:]
        arguments = make_parser([words[0]]).parse_args(words)
        assert arguments.command == words[0]
    others = {shlex.split(line)[0] for line in lines if line not in ours}
    assert others <= {"make", "export", "cat", "[", "}"}


def test_the_readme_names_every_example() -> None:
    text = (EXAMPLES / "README.md").read_text()
    assert len(PIPELINES) == 2
    assert set(re.findall(r"`([\w.-]+\.(?:yml|json))`", text)) == {
        file.name for file in EXAMPLES.iterdir() if file.suffix in (".yml", ".json")
    }
