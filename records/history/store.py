# SPDX-License-Identifier: Apache-2.0
"""The history on disk: one SQLite file, grown by whole nights, each written entirely or not at all.

SQLite's write-ahead log with full synchronisation keeps it whole through a kill, a power cut and a
full disk. It is open to any SQL: tables night, series, value, change.
"""

from __future__ import annotations

import json
import os
import re
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, fields
from functools import lru_cache
from itertools import chain
from pathlib import Path
from statistics import median
from typing import Any

import msgspec

from records.errors import AssayError, InfrastructureError
from records.history import MOST_FINDS, USUAL_FINDS
from records.history.model import Acceptance, Change, Missed, Night, NightValues, SeriesKey
from records.input_files import kind_at
from records.text.plain_text import masked
from records.values import ALLOWED, Count, odd_word

#: The schema of today, and the earliest that can be upgraded to it.
SCHEMA, OLDEST = 7, 2
APPLICATION_ID = 0x41535359

_TABLES = Path(__file__).with_name("tables.sql").read_text()


def upgrade(database: sqlite3.Connection) -> None:
    """Make the tables of an earlier schema those of today: tables and columns that are missing are
    added; a series without titles gets them from the next night. The caller begins the
    transaction."""
    for statement, table in re.findall(r"(CREATE TABLE (\w+) [^;]*)", _TABLES):
        there = {row[1] for row in database.execute(f"PRAGMA table_info({table})")}
        if not there:
            database.execute(statement)
        for column, kind in re.findall(r"\b(\w+) (\w+ NOT NULL DEFAULT [^,\n)]+)", statement):
            if there and column not in there:
                database.execute(f"ALTER TABLE {table} ADD COLUMN {column} {kind}")
        if table == "series" and "title" not in there:
            for title, name in (("title", "metric"), ("check_title", "check_name")):
                database.execute(f"ALTER TABLE series ADD COLUMN {title} TEXT NOT NULL DEFAULT ''")
                database.execute(f"UPDATE series SET {title}=replace({name}, '_', ' ')")  # noqa: S608
    database.execute(f"PRAGMA user_version={SCHEMA}")


_SETTINGS = ("trusted_schema=OFF", "journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON")
#: What a field that is not as it was written raises.
_DAMAGED = (msgspec.MsgspecError, ValueError, TypeError, KeyError, OverflowError, RecursionError)
#: Error codes of SQLite that say that the file is damaged.
_OF_THE_FILE = (sqlite3.SQLITE_ERROR, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
_TEXTS = msgspec.json.Decoder(dict[str, str])
_NAMES = msgspec.json.Decoder(tuple[str, ...])
#: Fields of a night that are JSON text in its row, beside its context.
_LISTS: dict[str, msgspec.json.Decoder[Any]] = {
    "nodes": _NAMES,
    "statuses": msgspec.json.Decoder(dict[str, Count]),
    "failures": _NAMES,
    "warnings": _NAMES,
    "kinds": _TEXTS,
}
#: Fields of a night that its row has as they are.
_PLAIN = ("run_id", "site", "campaign", "started_at", "run_path")


class Store:
    """An open history; use it as a context manager."""

    def __init__(self, path: Path, *, create: bool = False) -> None:
        self.path = path
        kind = kind_at(Path(os.path.realpath(path)))
        if kind is None and not create:
            raise AssayError(
                f"{path}: there is no history yet; begin one with: assay nightly add RUN"
            )
        if kind not in (None, "a file"):
            raise AssayError(f"{path}: is no regular file; give another with --history")
        with self.explained("opened"):
            path.parent.mkdir(parents=True, exist_ok=True)
            self.database = sqlite3.connect(path, timeout=60, isolation_level=None)
            self.database.row_factory = sqlite3.Row
            for setting in _SETTINGS:
                self.database.execute(f"PRAGMA {setting}")
            application, version = (
                self.database.execute(f"PRAGMA {name}").fetchone()[0]
                for name in ("application_id", "user_version")
            )
            if not self.database.execute("SELECT 1 FROM sqlite_master").fetchone():
                self.database.executescript(
                    f"BEGIN;{_TABLES}PRAGMA application_id={APPLICATION_ID};"
                    f"PRAGMA user_version={SCHEMA};COMMIT;"
                )
            elif application != APPLICATION_ID:
                raise AssayError(f"{path}: is a database, but no history of Assay; give another")
            elif OLDEST <= version < SCHEMA:
                with self.transaction("opened") as database:
                    upgrade(database)
            elif version != SCHEMA:
                raise AssayError(
                    f"{path}: is a history of schema {version}; this Assay reads schema {SCHEMA}."
                    " Use the Assay that wrote it."
                )

    @contextmanager
    def explained(self, what: str) -> Iterator[None]:
        """Turns what goes wrong while the file is read or written into one message."""
        try:
            yield
        except (sqlite3.DatabaseError, OSError, *_DAMAGED) as error:
            code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
            if code in _OF_THE_FILE and not isinstance(error, OSError):
                raise AssayError(
                    f"{self.path}: is damaged or no history ({error}); put back a copy, or move it"
                    " away and add the runs again"
                ) from error
            raise InfrastructureError(
                f"{self.path}: could not be {what} ({error}); what it held before is safe. Make"
                " room or wait for the other process, then do it again."
            ) from error

    @contextmanager
    def transaction(self, what: str = "written") -> Iterator[sqlite3.Connection]:
        """All that is written inside is kept, or nothing."""
        with self.explained(what):
            self.database.execute("BEGIN IMMEDIATE")
            try:
                yield self.database
                self.database.execute("COMMIT")
            except BaseException:
                if self.database.in_transaction:
                    self.database.execute("ROLLBACK")
                raise

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.database.close()

    def add(
        self,
        night: Night,
        values: Sequence[NightValues],
        rerun_of: int | None = None,
        *,
        elsewhere: bool = False,
    ) -> Night:
        """Add a run: a night, or the re-run of one, `elsewhere` if it was kept off the night's
        nodes. Raises AssayError for one that is there."""
        with self.transaction() as database:
            if database.execute("SELECT 1 FROM night WHERE run_id=?", (night.run_id,)).fetchone():
                raise AssayError(f"run {night.run_id} is already in {self.path}; nothing was added")
            place = self.insert_night(night, rerun_of=rerun_of, elsewhere=int(elsewhere))
            for value in values:
                number = self.series_id(night.site, night.campaign, value.series)
                count, middle = len(value.launches), median(value.launches)
                database.execute(
                    "INSERT INTO value (series, night, launches, median, launch_values)"
                    " VALUES (?,?,?,?,?)",
                    (number, place, count, middle, json.dumps(value.launches)),
                )
            if rerun_of is not None:
                database.execute("UPDATE night SET judged=0 WHERE id=?", (rerun_of,))
        return self.night(place)

    def insert_night(self, night: Night, **further: int | None) -> int:
        """Insert a night without values, inside a transaction; gives its id. Raises AssayError
        where the group's nights are imported ones and this is not, or the other way round."""
        site, campaign = night.site, night.campaign
        found = self.database.execute(
            "SELECT imported FROM night WHERE site=? AND campaign=? LIMIT 1", (site, campaign)
        ).fetchone()
        if found is not None and bool(found[0]) != night.imported:
            raise AssayError(
                f"{self.path}: the nights of {campaign} on {site} are"
                f" {'' if found[0] else 'not '}imported, and imported launches are not mixed with"
                " proven ones. Nothing was added; give another file with --history"
            )
        row = {name: getattr(night, name) for name in _PLAIN}
        row |= {name: json.dumps(getattr(night, name)) for name in _LISTS}
        row["context"] = json.dumps(night.context, sort_keys=True)
        row |= {"imported": int(night.imported), **further}
        number = self.database.execute(insert("night", row), row).lastrowid
        assert number is not None
        return number

    def tuples(self, query: str, values: Sequence[object]) -> sqlite3.Cursor:
        """The rows of a query as tuples, where there are many of them."""
        cursor = self.database.cursor()
        cursor.row_factory = None
        return cursor.execute(query, values)

    def add_missed(self, missed: Missed) -> None:
        """Keep that a night could not run."""
        row = asdict(missed)
        with self.transaction() as database:
            database.execute(insert("missed", row), row)

    def missed(self, site: str | None, campaign: str | None) -> list[Missed]:
        """The nights that could not run, in order of time, with secrets in their reasons withheld;
        None: of all sites, or campaigns."""
        with self.explained("read"):
            rows = self.database.execute(
                "SELECT site, campaign, at, reason FROM missed WHERE site=COALESCE(?, site)"
                " AND campaign=COALESCE(?, campaign) ORDER BY id",
                (site, campaign),
            )
            return [Missed(one[0], one[1], one[2], masked(one[3])) for one in rows]

    def series_id(self, site: str, campaign: str, key: SeriesKey) -> int:
        """The series of the night's value, new or known; a known one takes the newest titles."""
        row = {item.name: getattr(key, item.name) for item in fields(key)}
        row |= {"site": site, "campaign": campaign, "check_name": row.pop("check")}
        row |= {name: json.dumps(row[name], sort_keys=True) for name in ("params", "at")}
        number: int
        number, unit, better = self.database.execute(
            insert("series", row) + " ON CONFLICT (site, campaign, case_id, metric, at)"
            " DO UPDATE SET title=excluded.title, check_title=excluded.check_title"
            " RETURNING id, unit, better",
            row,
        ).fetchone()
        if (unit, better) != (key.unit, key.better):
            raise AssayError(
                f"{self.path}: holds {key.metric} of case {key.case_id} in {unit}, {better} is"
                f" better; the new run has it in {key.unit}, {key.better} is better. Nothing was"
                " added; give the metric of another meaning another name."
            )
        return number

    def night(self, number: int) -> Night:
        """The night with this id."""
        return self._nights("id=?", (number,))[0]

    def find(self, run: str) -> Night:
        """The night of a run, by run id. Raises AssayError when it is not in the history."""
        found = self._nights("run_id=?", (run,))
        if not found:
            raise AssayError(f"run {run!r} is not in {self.path}; see: assay nightly show")
        return found[0]

    def groups(
        self, site: str | None = None, campaign: str | None = None
    ) -> list[tuple[str, str, int]]:
        """Site, campaign and number of nights of each history in the file, newest last; None: of
        all sites, or campaigns."""
        with self.explained("read"):
            rows = self.database.execute(
                "SELECT site, campaign, count(*) FROM night WHERE rerun_of IS NULL"
                " AND site=COALESCE(?, site) AND campaign=COALESCE(?, campaign)"
                " GROUP BY site, campaign ORDER BY max(started_at)",
                (site, campaign),
            )
            return [(row[0], row[1], row[2]) for row in rows]

    def nights(self, site: str, campaign: str) -> list[Night]:
        """All nights of a campaign on a site in order of time, without re-runs."""
        return self._nights(
            "site=? AND campaign=? AND rerun_of IS NULL ORDER BY started_at, id", (site, campaign)
        )

    def other_nodes(self) -> dict[int, tuple[str, ...]]:
        """For each night that was run again elsewhere the nodes of that, by the night's id."""
        with self.explained("read"):
            rows = self.database.execute(
                "SELECT rerun_of, nodes FROM night WHERE elsewhere=1 ORDER BY id"
            ).fetchall()
            found = {row[0]: _NAMES.decode(row[1]) for row in rows}
            refuse_odd("a node", *chain.from_iterable(found.values()))
            return found

    def _nights(self, where: str, values: tuple[Any, ...]) -> list[Night]:
        columns = ", ".join(("id", "context", "judged", "imported", "finds", *_PLAIN, *_LISTS))
        query = f"SELECT {columns} FROM night WHERE {where}"  # noqa: S608 own names
        nights = []
        context = lru_cache(_TEXTS.decode)  # equal ones share an object
        with self.explained("read"):
            for row in map(dict, self.database.execute(query, values)):
                refuse_odd(f"night {row['id']}", *(row[n] for n in ("run_id", "site", "campaign")))
                if not 0 < row["finds"] <= MOST_FINDS:
                    raise ValueError(f"night {row['id']} was to find a change of {row['finds']}")
                row |= {name: decoder.decode(row[name]) for name, decoder in _LISTS.items()}
                refuse_odd("a node", *row["nodes"])
                row |= {name: bool(row[name]) for name in ("judged", "imported")}
                nights.append(Night(**row | {"context": context(row["context"])}))
        return nights

    def keep_judgement(
        self,
        night: Night,
        changes: Sequence[tuple[int, Change]],
        unexplained: Sequence[int] = (),
        finds: float = USUAL_FINDS,
    ) -> None:
        """Store what a night's judgement found; pairs of the series' id and the change, and the ids
        of series whose value nothing explains. `finds`: what it was to find, as `Night` has it.

        Changes that this night found before and that nobody accepted are replaced.
        """
        with self.transaction() as database:
            database.execute("DELETE FROM change WHERE found=? AND author IS NULL", (night.id,))
            for series, change in changes:
                row = asdict(change) | {"series": series}
                if change.id:
                    database.execute(
                        "UPDATE change SET stage=:stage, since=:since, before=:before,"
                        " after=:after, closed=:closed WHERE id=:id",
                        row,
                    )
                else:
                    del row["id"], row["accepted"]
                    database.execute(insert("change", row), row)
            database.execute("UPDATE value SET unexplained=0 WHERE night=?", (night.id,))
            database.executemany(
                "UPDATE value SET unexplained=1 WHERE night=? AND series=?",
                [(night.id, series) for series in unexplained],
            )
            database.execute("UPDATE night SET judged=1, finds=? WHERE id=?", (finds, night.id))

    def accept(self, numbers: Sequence[int], acceptance: Acceptance) -> int:
        """Accept changes by their ids; gives how many. Raises AssayError for an unknown one."""
        known = {row[0] for row in self.database.execute("SELECT id FROM change")}
        unknown = sorted(set(numbers) - known)
        if unknown:
            raise AssayError(
                f"there is no change {unknown[0]} in {self.path}; see: assay nightly show --changes"
            )
        with self.transaction() as database:
            database.executemany(
                "UPDATE change SET author=?, reason=?, accepted_at=? WHERE id=?",
                [(acceptance.author, acceptance.reason, acceptance.at, n) for n in numbers],
            )
        return len(set(numbers))


def no_nights(path: Path) -> AssayError:
    """The error where a history has no nights of the site and campaign that are meant."""
    return AssayError(f"{path} holds no nights of this; see: assay nightly show")


def refuse_odd(what: str, *names: str) -> None:
    """Raise ValueError for a name that none may have."""
    if (odd := odd_word(names)) is not None:
        raise ValueError(f"{what} has the name {odd!r}; {ALLOWED}")


def insert(table: str, row: Mapping[str, object]) -> str:
    """The statement that inserts a row, column → value, into a table."""
    marks = ", ".join(f":{name}" for name in row)
    return f"INSERT INTO {table} ({', '.join(row)}) VALUES ({marks})"  # noqa: S608 own names
