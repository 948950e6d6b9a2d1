# SPDX-License-Identifier: Apache-2.0
"""Only regular files are opened; a folder in which all may rename is not used."""

import os
import socket
from pathlib import Path

import pytest

from records.errors import AssayError
from records.untrusted import RefusedFileError, open_regular, refuse_replaceable


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


def test_a_folder_in_which_everybody_may_rename_is_refused_and_no_other(folder):
    refuse_replaceable(folder / "not" / "there" / "yet")
    shared = folder / "deep"
    shared.chmod(0o777)
    for way in (shared / "mine", folder / "way" / "mine"):
        with pytest.raises(AssayError, match=f"chmod \\+t {shared}"):
            refuse_replaceable(way)
    shared.chmod(0o1777)
    refuse_replaceable(shared / "mine")


@pytest.mark.skipif(os.geteuid() != 0, reason="gives a folder to another: run with sudo")
def test_what_another_user_made_in_a_folder_open_to_all_is_refused(folder):
    theirs = folder / "deep" / "theirs"
    (theirs / "mine").mkdir(parents=True)
    os.chown(theirs, 65533, 65533)
    refuse_replaceable(theirs / "mine")  # a home that root works in
    (folder / "deep").chmod(0o1777)
    with pytest.raises(AssayError, match="belongs to uid 65533"):
        refuse_replaceable(theirs / "mine")
