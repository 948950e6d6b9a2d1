# SPDX-License-Identifier: Apache-2.0
"""The work folder of a run: what the harness writes for jobs is apart from what jobs write.

    W/           of the harness's user
      control/   of the harness's user; a session reads it
        programs/  what launches run, copied from what sessions have built
      session/   of the jobs' user: ReFrame's folders, stages, output of launches
      held/      of the jobs' user: what the job reads that holds the nodes of launches. It stays in
                 its place while sessions come and go: the job's script may begin at any time

On a site where jobs belong to the caller all of it is private to the caller. Each run directory has
a work folder of its own, so that a copy of a run shares nothing with it. What is there already is
never entered: it is renamed and removed. All is done relative to folders that are held open.
"""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import stat
import subprocess
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path, PurePosixPath
from typing import BinaryIO

from assay.sites.site import Site
from records.errors import InfrastructureError
from records.untrusted import FOLDER, RefusedFileError, open_regular, refuse_replaceable

#: The greatest build, all of its files.
MOST_BYTES = 1 << 28
_PIECE_BYTES = 1 << 20
_FILE = re.compile(r"[^./\x00-\x1f\x7f][^/\x00-\x1f\x7f]{0,200}")
#: Gives a descriptor of the file of this name.
Opener = Callable[[str], int]
_UNFIT = re.compile(r"[^A-Za-z0-9._-]")


class WorkFolder:
    """The work folder of one run directory on one site. Use as a context manager."""

    def __init__(self, site: Site, run: Path) -> None:
        self._site, self._run = site, run
        #: Tells this run directory from all others: marks its jobs, too.
        self.name = f"{_UNFIT.sub('_', run.name)[:100]}-{run.stat().st_ino:x}"
        path = site.work_dir(run, self.name)
        self.path = path.parent.resolve() / path.name
        self.control, self.session = self.path / "control", self.path / "session"
        self.programs, self.held = self.control / "programs", self.path / "held"
        self._held: list[int] = []
        self._session = -1

    def __enter__(self) -> WorkFolder:
        return self

    def __exit__(self, *_: object) -> None:
        while self._held:
            os.close(self._held.pop())
        self._close_session()

    def fresh_session(self) -> None:
        """Make `session` anew for the jobs' user; the first one makes the whole folder anew."""
        jobs_user = None
        try:
            if not self._held:
                self.path.parent.mkdir(parents=True, exist_ok=True)
                for used in (self._run, self.path.parent):
                    refuse_replaceable(used, jobs_user[:1] if jobs_user else ())
                self._parent = self._hold(os.open(self.path.parent, FOLDER))
                self._put_away(self._parent, self.path.name, self.path)
                entered, read = (0o711, 0o755) if jobs_user else (0o700, 0o700)
                self._folder = self._hold(self._made(self._parent, self.path.name, entered))
                self._control = self._hold(self._made(self._folder, "control", read))
                self._programs = self._hold(self._made(self._control, "programs", read))
                self._hold(self._made(self._folder, self.held.name, 0o700, jobs_user))
            self._close_session()
            self._put_away(self._folder, "session", self.session)
            self._session = self._made(self._folder, "session", 0o700, jobs_user)
        except OSError as error:
            raise self._failed(error) from error

    def write_control(self, name: str, content: str) -> Path:
        """Write a file that sessions read and no other user changes; gives its path."""
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
        try:
            with os.fdopen(os.open(name, flags, 0o644, dir_fd=self._control), "w") as file:
                os.fchmod(file.fileno(), 0o644)
                file.write(content)
        except OSError as error:
            raise self._failed(error) from error
        return self.control / name

    def add_programs(
        self,
        name: str,
        files: Iterable[str],
        opened: Opener,
        known: Mapping[str, str] | None = None,
    ) -> dict[str, str]:
        """Copy files to `programs/NAME`, which appears when all are there; gives their digests.
        Raises RefusedFileError for one that cannot be copied, has not the digest `known` of it, or
        is too much."""
        part, left, digests = f".{name}", MOST_BYTES, {}
        self._removed(self._programs, part)
        folder = self._made(self._programs, part, 0o700)
        try:
            for file in files:
                if not _FILE.fullmatch(file):
                    raise RefusedFileError(f"{file!r:.100} is no name of a program")
                with os.fdopen(opened(file), "rb") as source:
                    digests[file], size = self._copied(source, folder, file, left)
                left -= size
                if known is not None and digests[file] != known.get(file):
                    raise RefusedFileError(f"{file} was changed since")
            os.fchmod(folder, stat.S_IMODE(os.fstat(self._control).st_mode))
            os.rename(part, name, src_dir_fd=self._programs, dst_dir_fd=self._programs)
        finally:
            os.close(folder)
        return digests

    def _copied(self, source: BinaryIO, folder: int, name: str, most: int) -> tuple[str, int]:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        digest, size = hashlib.sha256(), 0
        with os.fdopen(os.open(name, flags, 0o700, dir_fd=folder), "wb") as target:
            while piece := source.read(_PIECE_BYTES):
                size += len(piece)
                if size > most:
                    raise RefusedFileError(f"there are more than {MOST_BYTES >> 20} MiB")
                digest.update(piece)
                target.write(piece)
            os.fchmod(target.fileno(), stat.S_IMODE(os.fstat(self._control).st_mode))
        return digest.hexdigest(), size

    def open(self, path: str) -> int:
        """Descriptor of a file that a job or the session wrote, named by its whole path. Raises
        RefusedFileError unless it is a regular file of the jobs' user below `session`,
        FileNotFoundError when there is nothing."""
        inside = PurePosixPath(path)
        if not inside.is_relative_to(self.session):
            raise RefusedFileError("is outside of the session's folder")
        name = str(inside.relative_to(self.session))
        return open_regular(self._session, name, os.fstat(self._session).st_uid)

    def remove(self) -> None:
        """Remove the folder, if it was made, as far as that is possible."""
        if self._held:
            self._removed(self._parent, self.path.name)

    def _put_away(self, above: int, name: str, path: Path) -> None:
        """Rename and remove what is there, if it is a folder that the harness has made."""
        try:
            found = os.stat(name, dir_fd=above, follow_symlinks=False)
        except FileNotFoundError:
            return
        ours = above != self._parent or found.st_uid == os.geteuid()
        if not stat.S_ISDIR(found.st_mode) or not ours:
            what = "a folder" if stat.S_ISDIR(found.st_mode) else "no folder"
            raise InfrastructureError(
                f"{path}: is {what} of uid {found.st_uid}; the work folder of this run must be"
                " made there, by you. Remove it, or choose another `work_dir` in the site.yaml"
            )
        aside = f".{name}.{secrets.token_hex(8)}"
        os.rename(name, aside, src_dir_fd=above, dst_dir_fd=above)
        self._removed(above, aside)

    @staticmethod
    def _removed(above: int, name: str) -> None:
        # rm follows no link, and needs no descriptor a level as shutil.rmtree does.
        command = ["rm", "-rf", "--", f"/proc/self/fd/{above}/{name}"]
        subprocess.run(command, pass_fds=(above,), capture_output=True, check=False)

    def _made(self, above: int, name: str, mode: int, owner: tuple[int, int] | None = None) -> int:
        """Descriptor of a new folder that no other user has entered; then it is the `owner`'s."""
        os.mkdir(name, 0o700, dir_fd=above)
        made = os.open(name, FOLDER, dir_fd=above)
        found = os.fstat(made)
        if found.st_uid != os.geteuid() or found.st_mode & 0o077 or any(os.scandir(made)):
            os.close(made)
            raise InfrastructureError(
                f"{self.path}: {name} was replaced while it was made; choose a `work_dir` in the"
                " site.yaml that only you can change"
            )
        os.fchmod(made, mode)
        if owner is not None:
            os.fchown(made, *owner)
        return made

    def _hold(self, descriptor: int) -> int:
        self._held.append(descriptor)
        return descriptor

    def _close_session(self) -> None:
        if self._session >= 0:
            os.close(self._session)
            self._session = -1

    def _failed(self, error: OSError) -> InfrastructureError:
        return InfrastructureError(
            f"{self.path}: the work folder cannot be used ({error.strerror})"
        )
