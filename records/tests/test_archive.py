# SPDX-License-Identifier: Apache-2.0
"""Archives of raw output: whole after every append, whatever kills their writer."""

import os
import tracemalloc
import zipfile
from pathlib import Path

import pytest

from records.errors import AssayError
from records.input_files import opened
from records.run.archive import MOST_BYTES, ArchiveWriter, Packed, RawFiles, is_closed, members_of
from records.tests.made import room_for

TEXTS = {f"ring-1a.b1.a{n}.out": b"line\n" * (n * 100) for n in range(1, 6)}


def known(_: str) -> bool:
    return True


def written(folder: Path, *, close: bool = True) -> Path:
    """The archive of a block with all TEXTS."""
    path = folder / "raw" / "b1.zip"
    path.parent.mkdir()
    writer = ArchiveWriter(path, known)
    for name, text in TEXTS.items():
        writer.append([Packed(name, [text[:7], text[7:]])])
    if close:
        writer.close()
    return path


def added(path: Path) -> ArchiveWriter:
    writer = ArchiveWriter(path, known)
    writer.append([Packed("more.out", [b"more"])])
    writer.close()
    return writer


def read(folder: Path) -> dict[str, bytes]:
    with opened(folder / "raw/b1.zip") as file:
        names = members_of(file, folder / "raw/b1.zip")
    with RawFiles(folder) as files:
        return {name: files.read(f"raw/b1.zip/{name}") or b"" for name in names}


def test_any_program_for_zip_reads_a_closed_archive(tmp_path: Path) -> None:
    with zipfile.ZipFile(written(tmp_path)) as archive:
        assert archive.testzip() is None
        assert {name: archive.read(name) for name in archive.namelist()} == TEXTS
    assert read(tmp_path) == TEXTS


def test_an_archive_that_was_not_closed_is_read_and_goes_on(tmp_path: Path) -> None:
    path = written(tmp_path, close=False)
    with opened(path) as file:
        assert not is_closed(file)
    assert read(tmp_path) == TEXTS
    assert added(path).cut == 0
    assert read(tmp_path) == {**TEXTS, "more.out": b"more"}
    with zipfile.ZipFile(path) as archive:
        assert archive.read("more.out") == b"more"


@pytest.mark.parametrize("kept", range(0, 400, 13))
def test_whatever_is_torn_off_the_members_before_are_kept(tmp_path: Path, kept: int) -> None:
    path = written(tmp_path, close=False)
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) * kept // 400])
    before = read(tmp_path)
    assert list(before) == list(TEXTS)[: len(before)]
    added(path)
    assert read(tmp_path) == {**before, "more.out": b"more"}


def test_what_has_no_record_is_cut_off_and_counted(tmp_path: Path) -> None:
    path = written(tmp_path, close=False)
    size = path.stat().st_size
    writer = ArchiveWriter(path, lambda name: not name.endswith("a5.out"))
    assert writer.cut == size - path.stat().st_size > 0
    writer.close()
    assert list(read(tmp_path)) == list(TEXTS)[:-1]
    with zipfile.ZipFile(path) as archive:
        assert archive.testzip() is None
        assert archive.namelist() == list(TEXTS)[:-1]
        assert archive.infolist()[0].header_offset == 0


@pytest.mark.parametrize("closed", [True, False])
def test_an_archive_that_is_damaged_before_its_end_is_not_cut(tmp_path: Path, closed: bool) -> None:
    path = written(tmp_path, close=closed)
    content = bytearray(path.read_bytes())
    content[content.index(b"PK\3\4", 10) + 1] = 0  # the header of the second member
    path.write_bytes(content)
    with pytest.raises(AssayError, match="which a record names, and all behind it are missing"):
        ArchiveWriter(path, known, {*TEXTS})
    assert path.read_bytes() == content
    assert list(read(tmp_path)) == list(TEXTS)[:1]
    path.unlink()
    with pytest.raises(AssayError, match="which a record names"):
        ArchiveWriter(path, known, {*TEXTS})
    assert not path.exists()


def test_a_full_disk_leaves_the_archive_as_it_was(tmp_path: Path) -> None:
    path = written(tmp_path, close=False)
    content = path.read_bytes()
    more = [Packed("more.out", [os.urandom(5000)])]
    with room_for(len(content) + 100), pytest.raises(OSError, match="File too large"):
        ArchiveWriter(path, known).append(more)
    assert path.read_bytes() == content
    ArchiveWriter(path, known).close()
    for room in range(1, path.stat().st_size - len(content), 9):
        path.write_bytes(content)
        with room_for(len(content) + room), pytest.raises(OSError, match="File too large"):
            ArchiveWriter(path, known).close()
        assert path.read_bytes() == content


@pytest.mark.parametrize(
    ("place", "put"),
    [(50, b"\xff\x00"), (6, b"\1"), (30, b"/../")],
    ids=["changed", "encrypted", "renamed"],
)
def test_damage_is_one_message(tmp_path: Path, place: int, put: bytes) -> None:
    path = written(tmp_path)
    content = bytearray(path.read_bytes())
    content[place : place + len(put)] = put
    path.write_bytes(content)
    with pytest.raises(AssayError, match=r"b1\.zip"):
        read(tmp_path)


def test_links_and_names_outside_are_refused(tmp_path: Path) -> None:
    path = written(tmp_path)
    path.rename(tmp_path / "elsewhere.zip")
    path.symlink_to(tmp_path / "elsewhere.zip")
    with RawFiles(tmp_path) as files, pytest.raises(AssayError, match="link"):
        files.open("raw/b1.zip/ring-1a.b1.a1.out")
    with pytest.raises((AssayError, OSError)):
        ArchiveWriter(path, known)
    with RawFiles(tmp_path) as files:
        assert files.read("raw/b2.zip/x.out") is None
        assert files.read("raw/x.out") is None


@pytest.mark.parametrize(
    ("says", "told"), [(1, "is damaged"), (2 * MOST_BYTES, "none that Assay writes")]
)
def test_a_bomb_is_refused_before_it_unpacks(tmp_path: Path, says: int, told: str) -> None:
    bomb = Packed("ring-1a.b1.a1.out", [bytes(1 << 20)])
    bomb.info.file_size = says
    (tmp_path / "raw").mkdir()
    packed = bomb.data[-bomb.info.compress_size :]
    (tmp_path / "raw" / "b1.zip").write_bytes(bomb.info.FileHeader() + packed)
    tracemalloc.start()
    with RawFiles(tmp_path) as files, pytest.raises(AssayError, match=told):
        files.read("raw/b1.zip/ring-1a.b1.a1.out")
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 1 << 19
