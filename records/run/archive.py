# SPDX-License-Identifier: Apache-2.0
"""Raw output of launches in archives: `raw/b<block>.zip`, a deflated member a file of a launch.

Members are appended and forced to disk before the record that names them. Any program for zip
opens an archive that was closed: its directory is written then. We read the members' own headers,
so that an archive whose writer was killed is read as well, and appended to where they end.
"""

from __future__ import annotations

import os
import struct
import time
import zlib
from collections.abc import Callable, Iterable, Sequence, Set
from contextlib import nullcontext
from io import BufferedReader, BytesIO
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile, ZipInfo

from records.errors import AssayError
from records.files import append_whole, force_to_disk
from records.flags import RAW_LIMIT_BYTES
from records.input_files import kind_at, opened, opened_below
from records.values import is_artifact

#: Greatest member: what is kept of a raw file, and the line that stands where it was cut.
MOST_BYTES = RAW_LIMIT_BYTES + 4096
_HEADER = struct.Struct("<4s5H3L2H")
_MEMBER, _END, _END_BYTES = b"PK\3\4", b"PK\5\6", 22


def archive_name(block: int) -> str:
    """The archive of a block, as records name it."""
    return f"b{block}.zip"


def archives(folder: Path) -> dict[int, Path]:
    """The archives of a folder, by block."""
    paths = [path for path in folder.glob("b*.zip") if path.stem[1:].isdecimal()]
    return {int(path.stem[1:]): path for path in sorted(paths)}


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
        self.data = buffer.getvalue()[: _end_of([self.info])]


class ArchiveWriter:
    """Appends members durably to an archive of one's own; closing it writes its directory.

    What follows the last member that `recorded` knows by its name is cut off: `cut` bytes, the
    output of a launch whose record was not written. Raises AssayError for an archive that lacks a
    member of `named`, and changes nothing in it; OSError where it cannot be written.
    """

    def __init__(
        self, path: Path, recorded: Callable[[str], bool], named: Set[str] = frozenset()
    ) -> None:
        self.path, members, closed = path, dict[str, ZipInfo](), False
        new = kind_at(path) is None
        if not new:
            with opened(path) as file:
                members, closed = members_of(file, path), is_closed(file)
        if lacking := named - members.keys():
            raise AssayError(
                f"{path}: {min(lacking)}, which a record names, and all behind it are missing;"
                " put back a whole copy, or move the archive away: assay verify names what it held"
            )
        flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        self._file = os.open(path, flags, 0o600)
        if new:
            force_to_disk(path.parent)
        self._members = [*members.values()]
        end = _end_of(self._members)
        while self._members and not recorded(self._members[-1].filename):
            self._members.pop()
        self._end = _end_of(self._members)
        size = os.fstat(self._file).st_size
        self.cut = 0 if closed and self._end == end else size - self._end
        os.ftruncate(self._file, self._end)

    def append(self, packed: Iterable[Packed]) -> None:
        """Write members and force them to disk; after an OSError the archive is as it was."""
        text, added = bytearray(), []
        for file in packed:
            file.info.header_offset = self._end + len(text)
            text += file.data
            added.append(file.info)
        append_whole(self._file, text)
        self._members += added
        self._end += len(text)

    def close(self) -> None:
        """Write the directory; without it the archive can be read by us alone. After an OSError the
        archive is as it was."""
        try:
            with os.fdopen(os.dup(self._file), "r+b") as file:
                file.seek(self._end)  # where the directory begins
                with ZipFile(file, "w") as made:
                    made.filelist += self._members
            os.fsync(self._file)
        except OSError:
            os.ftruncate(self._file, self._end)
            raise
        finally:
            os.close(self._file)


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

    def _archive(self, name: str) -> tuple[BufferedReader, dict[str, ZipInfo]]:
        if self._held is None or self._held[0] != name:
            self.close()
            file = opened_below(self._directory, name)
            try:
                self._held = name, file, members_of(file, self._directory / name)
            except AssayError:
                file.close()
                raise
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


def members_of(file: BufferedReader, path: Path) -> dict[str, ZipInfo]:
    """The whole members of an archive by name, in their order, read from their own headers up to
    what is none. Raises AssayError for a member that no Assay has written."""
    at, members, size = 0, dict[str, ZipInfo](), os.fstat(file.fileno()).st_size
    while at + _HEADER.size <= size:
        file.seek(at)
        mark, _, flags, method, time_, day, crc, packed, whole, name, more = _HEADER.unpack(
            file.read(_HEADER.size)
        )
        if mark != _MEMBER:
            break
        made = day // 512 + 1980, day // 32 % 16, day % 32, time_ // 2048, time_ // 32 % 64, 0
        info = ZipInfo(file.read(name).decode("ascii", "replace"), made)
        odd = flags or more or whole > MOST_BYTES or method not in (ZIP_DEFLATED, ZIP_STORED)
        if odd or info.filename in members or not is_artifact(f"raw/{info.filename}"):
            raise AssayError(
                f"{path}: its member at byte {at} is none that Assay writes (allowed: a raw file's"
                f" name that no other has, deflated or stored, not encrypted, at most {MOST_BYTES}"
                " bytes); put back a whole copy"
            )
        info.compress_type, info.external_attr, info.header_offset = method, 0o600 << 16, at
        info.CRC, info.compress_size, info.file_size = crc, packed, whole
        if (at := _end_of([info])) <= size:
            members[info.filename] = info
    return members


def is_closed(file: BufferedReader) -> bool:
    """Tell whether an archive ends with its directory."""
    file.seek(max(0, os.fstat(file.fileno()).st_size - _END_BYTES))
    end = file.read(_END_BYTES)
    return end.startswith(_END) and end.endswith(b"\0\0")


def _content(file: BufferedReader, info: ZipInfo, where: str) -> bytes:
    """The content of a member. Raises AssayError where that is damaged."""
    file.seek(_end_of([info]) - info.compress_size)
    data, whole = file.read(info.compress_size), True
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


def _end_of(members: Sequence[ZipInfo]) -> int:
    """The end of the last of these members."""
    if not members:
        return 0
    last = members[-1]
    return last.header_offset + _HEADER.size + len(last.filename) + last.compress_size
