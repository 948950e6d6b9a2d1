# SPDX-License-Identifier: Apache-2.0
"""Raw output of launches in archives: `raw/b<block>.zip`, a deflated member a file of a launch.

Members are appended and forced to disk before the record that names them. Any program for zip
opens an archive that was closed: its directory is written then. We read the members' own headers,
so that an archive whose writer was killed is read as well, and appended to where they end.
"""

from __future__ import annotations

import os
import re
import stat
import struct
import time
import zlib
from collections.abc import Callable, Iterable, Set
from contextlib import nullcontext
from io import BufferedReader, BytesIO
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile, ZipInfo

from records.errors import AssayError
from records.files import append_whole, force_to_disk
from records.flags import RAW_LIMIT_BYTES
from records.input_files import kind_at, opened, opened_below
from records.values import is_artifact

#: Greatest member: what is kept of a raw file, and the line that stands where it was cut. Deflated,
#: what cannot be made smaller is longer by 5 bytes in 16 kB.
MOST_BYTES = RAW_LIMIT_BYTES + 4096
MOST_PACKED = MOST_BYTES + MOST_BYTES // 1000
_ARCHIVE = re.compile(r"b([0-9]+)\.zip")
_HEADER = struct.Struct("<4s5H3L2H")
_MEMBER, _DIRECTORY, _END = b"PK\3\4", (b"PK\1\2", b"PK\5\6"), b"PK\5\6"
_END_BYTES = 22


def archive_name(block: int) -> str:
    """The archive of a block, as records name it."""
    return f"b{block}.zip"


def archives(folder: Path) -> dict[int, Path]:
    """The archives of a folder, by block."""
    paths = sorted(folder.glob("b*.zip"))
    return {int(match[1]): path for path in paths if (match := _ARCHIVE.fullmatch(path.name))}


def is_member(path: str) -> bool:
    """Tell whether an artifact is in an archive, as "raw/b1.zip/x.b1.a1.out"."""
    return path.rpartition("/")[0].endswith(".zip")


class Packed:
    """A file on its way into an archive, deflated as it comes: `data` has its header, too."""

    def __init__(self, name: str, pieces: Iterable[bytes]) -> None:
        self.info, buffer = ZipInfo(name, time.gmtime()[:6]), BytesIO()
        self.info.compress_type, self.info.external_attr = ZIP_DEFLATED, 0o600 << 16
        with ZipFile(buffer, "w") as made, made.open(self.info, "w") as member:
            member.writelines(pieces)
        self.data = buffer.getvalue()[: _end_of(self.info)]


class ArchiveWriter:
    """Appends members durably to an archive of one's own; closing it writes its directory.

    What follows the last member that `recorded` knows by its name is cut off: `cut` bytes, the
    output of a launch whose record was not written. Raises AssayError for an archive that is
    damaged before its end or lacks a member of `named`, and changes nothing in it; OSError where it
    cannot be written.
    """

    def __init__(
        self, path: Path, recorded: Callable[[str], bool], named: Set[str] = frozenset()
    ) -> None:
        self.path, members, closed = path, list[ZipInfo](), False
        new = kind_at(path) is None
        if not new:
            with opened(path) as file:
                members, closed = members_of(file, path), is_closed(file)
        if lacking := named - {member.filename for member in members}:
            raise AssayError(
                f"{path}: {min(lacking)}, which a record names, and all behind it are missing;"
                " put back a whole copy, or move the archive away: assay verify names what it held"
            )
        flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        self._file = os.fdopen(os.open(path, flags, 0o600), "r+b")
        state = os.fstat(self._file.fileno())
        if not stat.S_ISREG(state.st_mode) or state.st_nlink > 1:
            self._file.close()
            raise AssayError(f"{path}: is no regular file with one name; move it away")
        if new:
            force_to_disk(path.parent)
        end = _end_of(*members[-1:])
        while members and not recorded(members[-1].filename):
            members.pop()
        self._members, self._end = members, _end_of(*members[-1:])
        self.cut = 0 if closed and self._end == end else state.st_size - self._end
        os.ftruncate(self._file.fileno(), self._end)

    def append(self, packed: Iterable[Packed]) -> None:
        """Write members and force them to disk; after an OSError the archive is as it was."""
        text, added = bytearray(), []
        for file in packed:
            file.info.header_offset = self._end + len(text)
            text += file.data
            added.append(file.info)
        append_whole(self._file.fileno(), text)
        self._members += added
        self._end += len(text)

    def close(self) -> None:
        """Write the directory; without it the archive can be read by us alone. After an OSError the
        archive is as it was."""
        with os.fdopen(os.dup(self._file.fileno()), "r+b", buffering=0) as beside:
            try:
                with self._file:
                    self._file.seek(0, os.SEEK_END)
                    with ZipFile(self._file, "w") as directory:
                        directory.filelist += self._members
                    self._file.flush()
                    os.fsync(self._file.fileno())
            except OSError:
                # Only now: closing the file has tried again to write what was left of it.
                beside.truncate(self._end)
                raise


class RawFiles:
    """The raw files of a run directory, by the names that its records give them."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        #: The archive that was asked last, by its name.
        self._held: tuple[str, BufferedReader, dict[str, ZipInfo]] | None = None

    def open(self, name: str) -> BufferedReader | BytesIO | None:
        """A raw file to be read, "raw/x.out" or a member, "raw/b1.zip/x.out"; None: is not there.
        Raises AssayError for links, damage, and names that lead out of the directory."""
        archive, _, member = name.rpartition("/")
        if kind_at(self._directory / (archive if is_member(name) else name)) is None:
            return None
        if not is_member(name):
            return opened_below(self._directory, name)
        file, members = self._archive(archive)
        if member not in members:
            return None
        return BytesIO(_content(file, members[member], f"{self._directory / archive}"))

    def read(self, name: str) -> bytes | None:
        """The content of a raw file; None: it is not there. Raises AssayError as `open` does."""
        with self.open(name) or nullcontext() as file:
            return None if file is None else file.read()

    def members(self, archive: str) -> list[str]:
        """The names of the members of an archive. Raises AssayError where it is damaged."""
        return [*self._archive(archive)[1]]

    def _archive(self, name: str) -> tuple[BufferedReader, dict[str, ZipInfo]]:
        if self._held is None or self._held[0] != name:
            self.close()
            file = opened_below(self._directory, name)
            try:
                members = {one.filename: one for one in members_of(file, self._directory / name)}
            except AssayError:
                file.close()
                raise
            self._held = name, file, members
        return self._held[1:]

    def close(self) -> None:
        """Close what is open."""
        if self._held is not None:
            self._held[1].close()
            self._held = None

    def __enter__(self) -> RawFiles:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def members_of(file: BufferedReader, path: Path) -> list[ZipInfo]:
    """The whole members of an archive in their order, read from their own headers. Raises
    AssayError for a member that no Assay has written, and where those of a closed archive do not
    reach to its directory."""
    at, members, names, size = 0, list[ZipInfo](), set[str](), os.fstat(file.fileno()).st_size
    while at + _HEADER.size <= size:
        file.seek(at)
        mark, _, flags, method, time_, day, crc, packed, whole, name, more = _HEADER.unpack(
            file.read(_HEADER.size)
        )
        if mark != _MEMBER:
            break
        made = day // 512 + 1980, day // 32 % 16, day % 32, time_ // 2048, time_ // 32 % 64, 0
        info = ZipInfo(file.read(name).decode("ascii", "replace"), made)
        odd = flags or more or method not in (ZIP_DEFLATED, ZIP_STORED) or info.filename in names
        long = whole > MOST_BYTES or packed > MOST_PACKED
        if odd or long or not is_artifact(f"raw/{info.filename}"):
            raise AssayError(
                f"{path}: its member at byte {at} is none that Assay writes (allowed: a raw file's"
                f" name that no other has, deflated or stored, not encrypted, at most {MOST_BYTES}"
                " bytes); put back a whole copy"
            )
        info.compress_type, info.external_attr, info.header_offset = method, 0o600 << 16, at
        info.CRC, info.compress_size, info.file_size = crc, packed, whole
        if (at := _end_of(info)) <= size:
            members.append(info)
            names.add(info.filename)
    end = _end_of(*members[-1:])
    file.seek(end)
    if is_closed(file) and not _at(file, end, 4).startswith(_DIRECTORY):
        raise AssayError(f"{path}: is damaged at byte {end}; put back a whole copy")
    return members


def is_closed(file: BufferedReader) -> bool:
    """Tell whether an archive ends with its directory."""
    end = _at(file, os.fstat(file.fileno()).st_size - _END_BYTES, _END_BYTES)
    return end.startswith(_END) and end.endswith(b"\0\0")


def _content(file: BufferedReader, info: ZipInfo, where: str) -> bytes:
    """The content of a member. Raises AssayError where that is damaged."""
    data, whole = _at(file, _end_of(info) - info.compress_size, info.compress_size), True
    try:
        if info.compress_type == ZIP_DEFLATED:
            packed = zlib.decompressobj(-zlib.MAX_WBITS)
            data = packed.decompress(data, info.file_size + 1)
            whole = packed.eof and not packed.unused_data
    except zlib.error:
        whole = False
    if not whole or (len(data), zlib.crc32(data)) != (info.file_size, info.CRC):
        raise AssayError(f"{where}: its member {info.filename} is damaged")
    return data


def _at(file: BufferedReader, at: int, count: int) -> bytes:
    file.seek(max(at, 0))
    return file.read(count)


def _end_of(last: ZipInfo | None = None) -> int:
    """The end of a member, which is that of the members up to it; 0 for none."""
    if last is None:
        return 0
    return last.header_offset + _HEADER.size + len(last.filename) + last.compress_size
