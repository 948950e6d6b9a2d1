# SPDX-License-Identifier: Apache-2.0
"""Names that another user may have made."""

import os
import socket

import pytest

from records.errors import AssayError
from records.untrusted import RefusedFileError, open_regular, refuse_replaceable

ROOT_ONLY = pytest.mark.skipif(os.geteuid() != 0, reason="gives folders to others: run with sudo")
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


def make_link(folder, made):
    made.symlink_to(folder.parent / "secret")


def make_hard_link(folder, made):
    made.hardlink_to(folder.parent / "secret")


def make_link_within(folder, made):
    made.symlink_to("deep/file")


def make_fifo(folder, made):
    os.mkfifo(made)


def make_folder(folder, made):
    made.mkdir()


def make_socket(folder, made):
    os.chdir(folder)  # a socket's path is short
    socket.socket(socket.AF_UNIX).bind(made.name)


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (make_link, "is a link"),
        (make_link_within, "is a link"),
        (make_hard_link, "has 2 hard links"),
        (make_fifo, "is a FIFO"),
        (make_folder, "is a folder"),
        (make_socket, "is a socket"),
    ],
)
def test_what_is_no_regular_file_of_one_name_is_refused(folder, monkeypatch, make, told):
    monkeypatch.chdir(folder)
    make(folder, folder / "made")
    with pytest.raises(RefusedFileError, match=told):
        content(folder, "made")


def test_a_folder_on_the_way_may_not_be_a_link(folder):
    (folder / "way").symlink_to("deep")
    with pytest.raises(RefusedFileError, match="lies behind a link"):
        content(folder, "way/file")


@pytest.mark.parametrize(
    "name", ["../secret", "deep/../deep/file", "/etc/passwd", "", "./x", "a//b"]
)
def test_a_name_that_leads_out_is_refused(folder, name):
    with pytest.raises(RefusedFileError, match="is no name below"):
        content(folder, name)


@pytest.mark.parametrize("name", ["a\0b", "\udc80" * 300, "\ud800", "x" * 5000])
def test_a_name_that_no_file_can_have_is_refused_without_a_traceback(folder, name):
    with pytest.raises(RefusedFileError):
        content(folder, name)


def test_the_owner_is_checked(folder):
    with pytest.raises(RefusedFileError, match=f"not to uid {OTHER}"):
        content(folder, "deep/file", owner=OTHER)


def test_a_file_that_is_not_there_is_told_apart(folder):
    for name in ("none", "none/file"):
        with pytest.raises(FileNotFoundError):
            content(folder, name)


def test_a_path_that_only_the_caller_can_change_is_taken(tmp_path):
    refuse_replaceable(tmp_path / "not" / "there" / "yet")
    (tmp_path / "link").symlink_to(tmp_path)
    refuse_replaceable(tmp_path / "link" / "x")


def test_a_folder_in_which_everybody_may_rename_is_refused(tmp_path):
    shared = tmp_path / "shared"
    (shared / "mine").mkdir(parents=True)
    shared.chmod(0o777)
    with pytest.raises(AssayError, match=f"chmod \\+t {shared}"):
        refuse_replaceable(shared / "mine")
    shared.chmod(0o1777)
    refuse_replaceable(shared / "mine")


@ROOT_ONLY
def test_what_another_user_made_in_a_shared_folder_is_refused(tmp_path):
    shared = tmp_path / "shared"
    (shared / "theirs" / "mine").mkdir(parents=True)
    shared.chmod(0o1777)
    os.chown(shared / "theirs", OTHER, OTHER)
    (shared / "link").symlink_to(tmp_path)
    os.chown(shared / "link", OTHER, OTHER, follow_symlinks=False)
    for name in ("theirs/mine", "link/x"):
        with pytest.raises(AssayError, match=f"belongs to uid {OTHER}"):
            refuse_replaceable(shared / name)


@ROOT_ONLY
def test_a_folder_of_the_jobs_user_is_refused_wherever_it_is(tmp_path):
    (tmp_path / "theirs" / "x").mkdir(parents=True)
    os.chown(tmp_path / "theirs", OTHER, OTHER)
    refuse_replaceable(tmp_path / "theirs" / "x")  # a home that root works in
    with pytest.raises(AssayError, match=f"belongs to uid {OTHER}"):
        refuse_replaceable(tmp_path / "theirs" / "x", [OTHER])


def test_links_in_a_circle_end(tmp_path):
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    with pytest.raises(AssayError, match="links on the way"):
        refuse_replaceable(tmp_path / "a")
