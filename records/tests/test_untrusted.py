# SPDX-License-Identifier: Apache-2.0
"""Names that another user may have made."""

import os
import socket

import pytest

from records.errors import AssayError
from records.untrusted import RefusedFileError, open_regular, refuse_replaceable

OTHER = 65533


@pytest.fixture
def folder(tmp_path):
    inside = tmp_path / "folder"
    (inside / "deep").mkdir(parents=True)
    (inside / "deep" / "file").write_text("text")
    (tmp_path / "secret").write_text("secret")
    return inside


def content(folder, name, owner=None):
    held = os.open(folder, os.O_RDONLY)
    try:
        descriptor = open_regular(held, name, os.geteuid() if owner is None else owner)
        with os.fdopen(descriptor) as file:
            return file.read()
    finally:
        os.close(held)


def test_a_regular_file_is_read(folder):
    assert content(folder, "deep/file") == "text"


def bind_socket(made):
    socket.socket(socket.AF_UNIX).bind(made.name)  # a socket's path is short


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda made: made.symlink_to(made.parents[1] / "secret"), "is a link"),
        (lambda made: made.symlink_to("deep/file"), "is a link"),
        (lambda made: made.hardlink_to(made.parents[1] / "secret"), "has 2 hard links"),
        (os.mkfifo, "is a FIFO"),
        (os.mkdir, "is a folder"),
        (bind_socket, "is a socket"),
    ],
)
def test_what_is_no_regular_file_of_one_name_is_refused(folder, monkeypatch, make, told):
    monkeypatch.chdir(folder)
    make(folder / "made")
    with pytest.raises(RefusedFileError, match=told):
        content(folder, "made")


@pytest.mark.parametrize(
    ("names", "told"),
    [
        (["way/file"], "lies behind a link"),
        (["../secret", "deep/../deep/file", "/etc/passwd", "", "./x", "a//b"], "is no name below"),
        (["a\0b", "\udc80" * 300, "\ud800", "x" * 5000], None),
    ],
    ids=["behind a link", "leads out", "no file can have it"],
)
def test_other_names_are_refused(folder, names, told):
    (folder / "way").symlink_to("deep")
    for name in names:
        with pytest.raises(RefusedFileError, match=told):
            content(folder, name)


def test_the_owner_is_checked(folder):
    with pytest.raises(RefusedFileError, match=f"not to uid {OTHER}"):
        content(folder, "deep/file", owner=OTHER)


def test_a_file_that_is_not_there_is_told_apart(folder):
    for name in ("none", "none/file"):
        with pytest.raises(FileNotFoundError):
            content(folder, name)


def test_a_folder_in_which_everybody_may_rename_is_refused_and_no_other(tmp_path):
    refuse_replaceable(tmp_path / "not" / "there" / "yet")
    (tmp_path / "link").symlink_to(tmp_path)
    refuse_replaceable(tmp_path / "link" / "x")
    shared = tmp_path / "shared"
    (shared / "mine").mkdir(parents=True)
    shared.chmod(0o777)
    with pytest.raises(AssayError, match=f"chmod \\+t {shared}"):
        refuse_replaceable(shared / "mine")
    shared.chmod(0o1777)
    refuse_replaceable(shared / "mine")


@pytest.mark.skipif(os.geteuid() != 0, reason="gives folders to others: run with sudo")
def test_what_another_user_made_is_refused(tmp_path):
    shared = tmp_path / "shared"
    (shared / "theirs" / "mine").mkdir(parents=True)
    shared.chmod(0o1777)
    os.chown(shared / "theirs", OTHER, OTHER)
    (shared / "link").symlink_to(tmp_path)
    os.chown(shared / "link", OTHER, OTHER, follow_symlinks=False)
    (tmp_path / "theirs" / "x").mkdir(parents=True)
    os.chown(tmp_path / "theirs", OTHER, OTHER)
    refuse_replaceable(tmp_path / "theirs" / "x")  # a home that root works in
    users = [OTHER]  # the jobs' user is refused wherever its folder is
    for path, given in (("shared/theirs/mine", []), ("shared/link/x", []), ("theirs/x", users)):
        with pytest.raises(AssayError, match=f"belongs to uid {OTHER}"):
            refuse_replaceable(tmp_path / path, given)


def test_links_in_a_circle_end(tmp_path):
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    with pytest.raises(AssayError, match="links on the way"):
        refuse_replaceable(tmp_path / "a")
