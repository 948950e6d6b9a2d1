# SPDX-License-Identifier: Apache-2.0
"""The work folder of a run: what the harness writes for jobs is apart from what jobs write.

    W/           private to the caller
      control/   what sessions read
        programs/  what launches run: what sessions have built
      session/   ReFrame's folders, stages, output of launches; new for each session

Each run directory has a work folder of its own, so that a copy of a run shares nothing with it.
"""

from __future__ import annotations

import re
import secrets
import subprocess
from contextlib import suppress
from io import BufferedReader
from pathlib import Path, PurePosixPath

from assay.sites.site import Site
from records.errors import InfrastructureError
from records.input_files import RefusedFileError, open_regular

_UNFIT = re.compile(r"[^A-Za-z0-9._-]")


class WorkFolder:
    """The work folder of one run directory on one site."""

    def __init__(self, site: Site, run: Path) -> None:
        self._is_made = False
        #: Tells this run directory from all others: marks its jobs, too.
        self.name = f"{_UNFIT.sub('_', run.name)[:100]}-{run.stat().st_ino:x}"
        path = site.work_dir(run, self.name)
        self.path = path.parent.resolve() / path.name
        self.control, self.session = self.path / "control", self.path / "session"
        self.programs = self.control / "programs"

    def fresh_session(self) -> None:
        """Make `session` anew; the first one makes the whole folder anew."""
        try:
            if not self._is_made:
                self.path.parent.mkdir(parents=True, exist_ok=True)
                _put_away(self.path)
                for folder in (self.path, self.control, self.programs):
                    folder.mkdir(mode=0o700)
                self._is_made = True
            _put_away(self.session)
            self.session.mkdir(mode=0o700)
        except OSError as error:
            raise self._failed(error) from error

    def write_control(self, name: str, content: str) -> Path:
        """Write a file that sessions read; gives its path."""
        try:
            (self.control / name).write_text(content)
        except OSError as error:
            raise self._failed(error) from error
        return self.control / name

    def open(self, path: str) -> BufferedReader:
        """A file that a job or the session wrote, named by its whole path, open for reading. Raises
        RefusedFileError unless it is a regular file below `session`, FileNotFoundError when there
        is nothing."""
        inside = PurePosixPath(path)
        if not inside.is_relative_to(self.session):
            raise RefusedFileError("is outside of the session's folder")
        return open_regular(self.session, str(inside.relative_to(self.session)))

    def remove(self) -> None:
        """Remove the folder, if it was made, as far as that is possible."""
        if self._is_made:
            _remove(self.path)

    def _failed(self, error: OSError) -> InfrastructureError:
        return InfrastructureError(
            f"{self.path}: the work folder cannot be used ({error.strerror})"
        )


def _put_away(path: Path) -> None:
    """Rename and remove what is there: a process may still write to it."""
    aside = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    with suppress(FileNotFoundError):
        path.rename(aside)
        _remove(aside)


def _remove(path: Path) -> None:
    # rm needs no descriptor a level, as shutil.rmtree does.
    subprocess.run(["rm", "-rf", "--", path], capture_output=True, check=False)
