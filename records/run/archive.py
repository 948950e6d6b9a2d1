# SPDX-License-Identifier: Apache-2.0
"""Raw output of launches in archives: `raw/b<block>.zip`, a deflated member a file of a launch.

Members are appended and forced to disk before the record that names them. Any program for zip
opens an archive that was closed: its directory is written then. We read the members' own headers
only, so that an archive whose writer was killed is read as well, and appended to where they end.
"""

from __future__ import annotations

import os
import re
import stat
import struct
import time
import zlib
from collections.abc import Callable, Iterable, Iterator, Set
from contextlib import nullcontext
from io import BufferedReader, BytesIO
from operator import attrgetter
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile, ZipInfo

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
_MEMBER, _DIRECTORY, _END = b"PK\3\4", b"PK\1\2", b"PK\5\6"
#: Bytes of the end of a directory, and of a member in it beside its name, below _LONG bytes.
_END_BYTES, _LISTED_BYTES, _LONG = 22, 46, 1 << 32
#: What a directory says of a member, without its time and mode.
_LISTED = attrgetter(
    *("filename", "header_offset", "compress_type", "flag_bits"),
    *("compress_size", "file_size", "CRC"),
)


def archive_name(block: int) -> str:
    """The archive of a block, as records name it."""
    return f"b{block}.zip"


def archives(folder: Path) -> dict[int, Path]:
    """The archives of a folder, by block."""
    found = sorted(folder.glob("b*.zip"))
    return {int(match[1]): path for path in found if (match := _ARCHIVE.fullmatch(path.name))}


def is_member(path: str) -> bool:
    """Whether an artifact is in an archive, as "raw/b1.zip/x.b1.a1.out"."""
    return path.rpartition("/")[0].endswith(".zip")


class Packed:
    """A file on its way into an archive, deflated as it comes."""

    def __init__(self, name: str, pieces: Iterable[bytes]) -> None:
        self.info = ZipInfo(name, time.gmtime()[:6])
        self.info.compress_type, self.info.external_attr = ZIP_DEFLATED, 0o600 << 16
        deflated, packer, crc = [], zlib.compressobj(wbits=-zlib.MAX_WBITS), 0
        for piece in pieces:
            crc = zlib.crc32(piece, crc)
            self.info.file_size += len(piece)
            deflated.append(packer.compress(piece))
        self.data = b"".join([*deflated, packer.flush()])
        self.info.CRC, self.info.compress_size = crc, len(self.data)


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
        self.path, members, sealed = path, list[ZipInfo](), False
        new = kind_at(path) is None
        if not new:
            with opened(path) as file:
                members, sealed = list(walk(file, path)), is_sealed(file)
        if lacking := named - {member.filename for member in members}:
            raise AssayError(
                f"{path}: {min(lacking)}, which a record names, and all behind it are missing;"
                " put back a whole copy, or move the archive away: assay verify names what it held"
            )
        flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        self._file = os.fdopen(os.open(path, flags, 0o600), "r+b")
        found = os.fstat(self._file.fileno())
        if not stat.S_ISREG(found.st_mode) or found.st_nlink > 1:
            self._file.close()
            raise AssayError(f"{path}: is no regular file with one name; move it away")
        if new:
            force_to_disk(path.parent)
        end = _end(members)
        while members and not recorded(members[-1].filename):
            members.pop()
        self._members, self._end = members, _end(members)
        self.cut = 0 if sealed and self._end == end else found.st_size - self._end
        os.ftruncate(self._file.fileno(), self._end)

    def append(self, packed: Iterable[Packed]) -> None:
        """Write members and force them to disk; after an OSError the archive is as it was."""
        text, added = bytearray(), []
        for one in packed:
            one.info.header_offset = self._end + len(text)
            text += one.info.FileHeader() + one.data
            added.append(one.info)
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
        #: The archive that was asked last, its members, and why there may be more.
        self._held: tuple[str, BufferedReader, dict[str, ZipInfo], str | None] | None = None

    def open(self, name: str) -> BufferedReader | BytesIO | None:
        """A raw file to be read, "raw/x.out" or a member, "raw/b1.zip/x.out"; None: is not there.
        Raises AssayError for links, damage, and names that lead out of the directory."""
        if not is_member(name):
            there = kind_at(self._directory / name)
            return opened_below(self._directory, name) if there else None
        archive, _, member = name.rpartition("/")
        if kind_at(self._directory / archive) is None:
            return None
        file, members, damage = self._archive(archive)
        if member in members:
            return BytesIO(content(file, members[member], f"{self._directory / archive}"))
        if damage:
            raise AssayError(damage)
        return None

    def read(self, name: str) -> bytes | None:
        """What a raw file holds; None: it is not there. Raises AssayError as `open` does."""
        with self.open(name) or nullcontext() as file:
            return None if file is None else file.read()

    def members(self, archive: str) -> list[str]:
        """The names of the members of an archive. Raises AssayError where it is damaged."""
        _, members, damage = self._archive(archive)
        if damage:
            raise AssayError(damage)
        return list(members)

    def behind(self, archive: str) -> int:
        """Bytes of an archive that are neither of its members nor of their directory."""
        file, members, _ = self._archive(archive)
        size = os.fstat(file.fileno()).st_size
        listed = _END_BYTES + sum(_LISTED_BYTES + len(name) for name in members)
        known = _end(list(members.values())) + (listed if is_sealed(file) else 0)
        return size - known if size < _LONG else 0  # a longer one has a longer directory

    def is_listed(self, archive: str) -> bool:
        """Whether the directory of an archive, if it has one, says of its members what they say
        themselves: by it other programs read them."""
        file, members, _ = self._archive(archive)
        if not is_sealed(file):
            return True
        try:
            with ZipFile(file) as directory:
                return [*map(_LISTED, directory.filelist)] == [*map(_LISTED, members.values())]
        except BadZipFile:
            return False

    def _archive(self, name: str) -> tuple[BufferedReader, dict[str, ZipInfo], str | None]:
        if self._held is None or self._held[0] != name:
            self.close()
            file = opened_below(self._directory, name)
            members: dict[str, ZipInfo] = {}
            damage = None
            try:
                members.update((one.filename, one) for one in walk(file, self._directory / name))
            except AssayError as error:
                damage = str(error)
            self._held = name, file, members, damage
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


def walk(file: BufferedReader, path: Path) -> Iterator[ZipInfo]:
    """The whole members of an archive in their order, read from their own headers. Raises
    AssayError for a member that no Assay has written, and where those of a closed archive do not
    reach to its directory."""
    at, end, names = 0, 0, set[str]()
    size, sealed = os.fstat(file.fileno()).st_size, is_sealed(file)
    while at + _HEADER.size <= size:
        file.seek(at)
        mark, _, flags, method, time_, day, crc, packed, whole, name, more = _HEADER.unpack(
            file.read(_HEADER.size)
        )
        if mark != _MEMBER:
            break
        made = day // 512 + 1980, day // 32 % 16, day % 32, time_ // 2048, time_ // 32 % 64, 0
        info = ZipInfo(file.read(name).decode("ascii", "replace"), made)
        odd = flags or more or method not in (ZIP_DEFLATED, ZIP_STORED)
        long = whole > MOST_BYTES or packed > MOST_PACKED
        if odd or long or not is_artifact(f"raw/{info.filename}"):
            raise AssayError(
                f"{path}: its member at byte {at} is none that Assay writes (allowed: a raw file's"
                f" name, deflated or stored, not encrypted, at most {MOST_BYTES} bytes); put back a"
                " whole copy"
            )
        info.compress_type, info.external_attr = method, 0o600 << 16
        info.CRC, info.compress_size, info.file_size = crc, packed, whole
        info.header_offset = at
        at = _end([info])
        if info.filename in names:
            raise AssayError(
                f"{path}: its member {info.filename} is there twice; put back a whole copy"
            )
        names.add(info.filename)
        if at <= size:
            end = at
            yield info
    if sealed and _bytes_at(file, end, 4) not in (_DIRECTORY, _END):
        raise AssayError(f"{path}: is damaged at byte {end}; put back a whole copy")


def content(file: BufferedReader, info: ZipInfo, where: str) -> bytes:
    """What a member holds. Raises AssayError where that is damaged."""
    file.seek(_end([info]) - info.compress_size)
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


def is_sealed(file: BufferedReader) -> bool:
    """Whether an archive ends with its directory: it was closed."""
    size = os.fstat(file.fileno()).st_size
    end = _bytes_at(file, size - _END_BYTES, _END_BYTES) if size >= _END_BYTES else b""
    return end.startswith(_END) and end.endswith(b"\0\0")


def _bytes_at(file: BufferedReader, at: int, count: int) -> bytes:
    file.seek(at)
    return file.read(count)


def _end(members: list[ZipInfo]) -> int:
    """Where the last of these members ends."""
    if not members:
        return 0
    last = members[-1]
    return last.header_offset + _HEADER.size + len(last.filename) + last.compress_size
