# SPDX-License-Identifier: Apache-2.0
"""Takes files of ReFrame into a history, and surveys it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import tzinfo
from pathlib import Path
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from plugins.reframe.importer import Importer
from plugins.reframe.reframe_files import files_below, read_file
from plugins.reframe.survey.forms import ImportForm, UnreadPart
from plugins.reframe.survey.survey import Survey, survey
from records.errors import AssayError
from records.history import DEFAULT_HISTORY, IMPORTED_HISTORY
from records.history.store import Store, no_nights

#: Parts that could not be read and are listed.
_MOST_UNREAD = 100


def import_files(history: Path, paths: Sequence[Path], zone: str | None) -> ImportForm:
    """Take the launches of all files into the history, all or none; those that are there already
    stay as they are. `zone` is that of local times without one. Raises AssayError for a path that
    is not there, an unknown zone, and where no file has a launch."""
    whose, files, unread, first = _zone(zone), set[Path](), 0, list[UnreadPart]()
    found = dict(files_below(paths))

    def refuse(file: Path, line: int, reason: str) -> None:
        nonlocal unread
        unread += 1
        files.add(file)
        if len(first) < _MOST_UNREAD:
            first.append(UnreadPart(str(file), line, reason[:200]))

    with Store(history, create=True) as store, store.transaction():
        importer = Importer(store)
        for file, named in found.items():
            if importer.take(read_file(file, whose, refuse, named=named)):
                files.add(file)
        importer.finish()
        if not importer.added + importer.known:
            why = f"; {first[0].file}, line {first[0].line}: {first[0].reason}" if first else ""
            raise AssayError(
                f"{', '.join(map(str, paths))}: no launch of ReFrame in {len(found)} files{why};"
                " give performance logs, run reports or the database of ReFrame"
            )
    return ImportForm(
        history=str(history),
        files=len(files),
        added=importer.added,
        known=importer.known,
        nights=len(importer.nights),
        series=len(importer.series),
        not_numbers=importer.not_numbers,
        unread=unread,
        unread_parts=first,
    )


def _zone(name: str | None) -> tzinfo | None:
    try:
        return ZoneInfo(name) if name else None
    except (ZoneInfoNotFoundError, ValueError) as error:
        raise AssayError(
            f"--zone: found {name!r:.60}, allowed is a time zone such as Europe/Zurich"
        ) from error


def surveyed_history(history: Path | None) -> Path:
    """The history that is meant: the one given, else the imported one, else that of the nights."""
    if history is not None:
        return history
    return IMPORTED_HISTORY if IMPORTED_HISTORY.exists() else DEFAULT_HISTORY


def surveys_of(history: Path, site: str | None, campaign: str | None) -> list[Survey]:
    """Surveys of all campaigns and systems of a history that are meant."""
    with Store(history) as store:
        if not (groups := store.groups(site, campaign)):
            raise no_nights(history)
        return [survey(store, *whose) for *whose, _ in groups]
