# SPDX-License-Identifier: Apache-2.0
"""Files of others: only regular ones are opened, huge ones cost nothing."""

from __future__ import annotations

import os
import socket
import tracemalloc
from pathlib import Path

import pytest

from records.errors import AssayError
from records.input_files import MOST_BYTES, RefusedFileError, open_regular, read_whole


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


def bind_socket(name):
    socket.socket(socket.AF_UNIX).bind(name)


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda made: Path(made).symlink_to("deep/file"), "is a link"),
        (os.mkfifo, "is a FIFO"),
        (os.mkdir, "is a folder"),
        (bind_socket, "is a socket"),
    ],
)
def test_what_is_no_regular_file_is_refused(folder, make, told):
    make("made")
    with pytest.raises(RefusedFileError, match=told):
        open_regular(folder, "made")


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
