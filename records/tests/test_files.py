# SPDX-License-Identifier: Apache-2.0
"""A file is written whole or not at all; of others only regular ones are opened."""

import os
import signal
import subprocess
import sys
import tracemalloc
from contextlib import ExitStack
from pathlib import Path

import pytest

from records.errors import AssayError
from records.files import replacing, write_whole
from records.input_files import MOST_BYTES, RefusedFileError, open_regular, read_whole
from records.tests.made import room_for


def test_a_file_takes_the_place_of_the_earlier_one_which_stays_without_room(tmp_path):
    for content in (b"first", b"second"):
        write_whole(tmp_path / "plan.json", content)
        assert (tmp_path / "plan.json").read_bytes() == content
    with room_for(1000), pytest.raises(OSError, match="File too large"):
        write_whole(tmp_path / "plan.json", bytes(5000))
    assert (tmp_path / "plan.json").read_bytes() == b"second"
    assert [file.name for file in tmp_path.iterdir()] == ["plan.json"]


def test_a_folder_is_no_place_for_a_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for folder in (Path(), tmp_path):
        with pytest.raises(OSError, match=r"directory|busy"):
            write_whole(folder, b"text")
    assert not [*tmp_path.iterdir()]


def test_several_files_take_their_places_together(tmp_path):
    names = ("index.html", "report.md")
    for name in names:
        write_whole(tmp_path / name, b"old")

    def write(*contents):
        with ExitStack() as places:
            for name, content in zip(names, contents, strict=True):
                places.enter_context(replacing(tmp_path / name)).write_bytes(content)
                assert (tmp_path / name).read_bytes() == b"old"

    with room_for(1000), pytest.raises(OSError, match="File too large"):
        write(b"new", bytes(5000))
    assert [(tmp_path / name).read_bytes() for name in names] == [b"old", b"old"]
    write(b"new", b"newer")
    assert [(tmp_path / name).read_bytes() for name in names] == [b"new", b"newer"]
    assert {file.name for file in tmp_path.iterdir()} == {*names}


def test_a_writer_that_is_killed_leaves_the_earlier_file(tmp_path):
    write_whole(tmp_path / "plan.json", b"first")
    program = (
        "import os, pathlib, records.files, sys\n"
        "with records.files.replacing(pathlib.Path(sys.argv[1])) as file:\n"
        "    file.write_bytes(b'half')\n"
        "    os.kill(os.getpid(), 9)\n"
    )
    argv = [sys.executable, "-c", program, str(tmp_path / "plan.json")]
    assert subprocess.run(argv, check=False).returncode == -signal.SIGKILL
    assert (tmp_path / "plan.json").read_bytes() == b"first"


def test_a_huge_file_is_refused_before_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    path.touch()
    os.truncate(path, MOST_BYTES + 1)
    tracemalloc.start()
    with pytest.raises(AssayError, match="is larger than"):
        read_whole(path)
    assert tracemalloc.get_traced_memory()[1] < 1 << 20
    tracemalloc.stop()


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The current folder, with a file in a folder and a link to that."""
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "file").write_text("text")
    (tmp_path / "way").symlink_to("deep")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("names", "told"),
    [
        (["way/file"], "is behind a link"),
        (["../secret", "deep/../deep/file", "/etc/passwd", "", "./x", "a//b"], "is no name below"),
        (["a\0b", "\udc80" * 300, "\ud800", "x" * 5000], None),
    ],
    ids=["behind a link", "leads out", "no file can have it"],
)
def test_other_names_are_refused(folder, names, told):
    for name in names:
        with pytest.raises(RefusedFileError, match=told):
            open_regular(folder, name)


def test_a_file_is_opened_and_one_that_is_not_there_is_told_apart(folder):
    with open_regular(folder, "deep/file") as file:
        assert file.read() == b"text"
    for name in ("none", "none/file"):
        with pytest.raises(FileNotFoundError):
            open_regular(folder, name)
