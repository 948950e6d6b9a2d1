# SPDX-License-Identifier: Apache-2.0
"""Campaign files, criteria files and documents in a run: each damage is one message."""

import os
import shutil
from pathlib import Path

import pytest

from assay.cli import main
from assay.documents import acceptance_files as store
from assay.tests.campaign_texts import CRITERIA, GOOD
from assay.tests.test_damaged_runs import CONTENTS, KINDS, Capsys, content, no_longer_than
from reports.tests import acceptance_runs as runs

pytestmark = pytest.mark.usefixtures("believed")

#: Damages of one that is read as JSON, and of a YAML file.
OF_JSON = {**KINDS, **{name: content(text) for name, text in CONTENTS.items()}}
TEXTS = {
    "aliases": b"a: &a [1]\nb: *a\n",
    "tag": b"!!python/object/apply:os.system ['true']\n",
    "deep flow": b"a: " + b"{a: " * 5000,
    "great float": b"schema: 1e999\n",
    "control": b'name: "\x1b[31m"\n',
    "escape": b'name: "\\e[31m"\n',
    "bidi": 'name: "\u202ex"\n'.encode(),
    "list key": b"? [1]\n: 2\n",
}
OF_YAML = {**OF_JSON, **{name: content(text) for name, text in TEXTS.items()}}


@pytest.fixture
def place(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(store, "find_browser", lambda: None)
    runs.write_run(folder / "run", checks=("node",), blocks=3)
    (folder / "file.yaml").write_text(CRITERIA)
    return folder


def told_by(words: list[str], capsys: Capsys) -> tuple[int, list[str]]:
    """Exit status and lines on standard error of a command that must not hang."""
    capsys.readouterr()
    with no_longer_than(120):
        status = main(words)
    text = capsys.readouterr().err
    assert all(line.isprintable() for line in text.splitlines())
    return status, text.splitlines()


@pytest.mark.parametrize(
    "words",
    [
        ["plan", "file.yaml", "--site", "virtual"],
        ["run", "file.yaml", "--site", "virtual"],
        ["accept", "run", "--criteria", "file.yaml"],
        ["nightly", "schedule", "--campaign", "file.yaml", "--with", "cron"],
    ],
    ids=" ".join,
)
def test_a_damaged_file_is_one_message(place: Path, capsys: Capsys, words: list[str]) -> None:
    wrong = []
    for name, change in OF_YAML.items():
        if name in ("link", "device"):  # the caller's own word
            continue
        os.chdir(place)
        path = place / "file.yaml"
        shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
        path.write_text(CRITERIA if words[0] == "accept" else GOOD)
        change(path)
        os.chdir(place)
        status, told = told_by(words, capsys)
        if status != 2 or not told or not all("file.yaml" in line for line in told):
            wrong.append(f"{name}: {status} {told}"[:300])
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("name", ["report", "acceptance", "raw"])
@pytest.mark.parametrize("kind", ["link", "file", "FIFO"])
def test_no_folder_is_written_through(place: Path, capsys: Capsys, name: str, kind: str) -> None:
    elsewhere = place / "elsewhere"
    elsewhere.mkdir()
    path = place / "run" / name
    shutil.rmtree(path, ignore_errors=True)
    made = {"link": lambda: path.symlink_to(elsewhere), "file": path.touch}
    (made | {"FIFO": lambda: os.mkfifo(path)})[kind]()
    words = {
        "report": ["report", "run", "--format", "csv"],
        "acceptance": ["accept", "run", "--criteria", "file.yaml"],
        "raw": ["verify", "run"],
    }[name]
    status, told = told_by(words, capsys)
    assert status in ((1, 2) if name == "raw" else (2,)), told
    assert len(told) == (status == 2)
    if kind == "link" and name != "raw":
        assert f"run/{name} is a link, and nothing is written through links" in told[0]
    assert list(elsewhere.iterdir()) == []


@pytest.mark.parametrize("name", ["raw/x.out", "raw/node-545ea538.b1.a1.out", "new.txt"])
@pytest.mark.parametrize("kind", KINDS)
def test_nothing_odd_enters_a_document(place: Path, capsys: Capsys, name: str, kind: str) -> None:
    path = place / "run" / name
    path.write_text("x")
    KINDS[kind](path)
    os.chdir(place)
    status, told = told_by(["accept", "run", "--criteria", "file.yaml"], capsys)
    assert (status, len(told)) == ((0, 0) if kind == "folder" else (2, 1)), told
    assert kind == "folder" or f"run/{name}: is " in told[0]
