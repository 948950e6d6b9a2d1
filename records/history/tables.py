# SPDX-License-Identifier: Apache-2.0
"""The tables of a history. Values in SI base units; lists and mappings as JSON text."""

import sqlite3

from records.history import USUAL_FINDS

#: The schema of today, and the earliest that can be upgraded to it.
SCHEMA, OLDEST = 7, 2
APPLICATION_ID = 0x41535359

_MISSED = """
CREATE TABLE missed (
  id INTEGER PRIMARY KEY, site TEXT NOT NULL, campaign TEXT NOT NULL, at TEXT NOT NULL,
  reason TEXT NOT NULL
) STRICT
"""
_KINDS = "kinds TEXT NOT NULL DEFAULT '{}'"
_FINDS = f"finds REAL NOT NULL DEFAULT {USUAL_FINDS}"
_UNEXPLAINED = "unexplained INTEGER NOT NULL DEFAULT 0"
_IMPORTED = "imported INTEGER NOT NULL DEFAULT 0"
_RETRY = "retry INTEGER NOT NULL DEFAULT 0"
#: Launches that were imported, each once: `key` tells it from all others; one whose time is that of
#: its session alone has the session's begin in `since`. References are in their own unit.
_LAUNCH = f"""
CREATE TABLE launch (
  id INTEGER PRIMARY KEY, key INTEGER NOT NULL, at REAL NOT NULL, since REAL,
  night INTEGER NOT NULL REFERENCES night(id), test TEXT NOT NULL, name TEXT NOT NULL,
  result TEXT NOT NULL, nodes TEXT NOT NULL,
  figures TEXT NOT NULL, {_RETRY}
) STRICT
"""
_REFERENCE = """
CREATE TABLE reference (
  series INTEGER PRIMARY KEY REFERENCES series(id), at REAL NOT NULL, unit TEXT NOT NULL,
  value REAL NOT NULL, lower REAL, upper REAL
) STRICT
"""
TABLES = f"""
BEGIN;
CREATE TABLE night (
  id INTEGER PRIMARY KEY, run_id TEXT NOT NULL UNIQUE, site TEXT NOT NULL, campaign TEXT NOT NULL,
  started_at TEXT NOT NULL, rerun_of INTEGER REFERENCES night(id),
  elsewhere INTEGER NOT NULL DEFAULT 0, context TEXT NOT NULL, nodes TEXT NOT NULL,
  statuses TEXT NOT NULL, failures TEXT NOT NULL, warnings TEXT NOT NULL,
  run_path TEXT NOT NULL, judged INTEGER NOT NULL DEFAULT 0, {_KINDS}, {_FINDS},
  {_IMPORTED}
) STRICT;
CREATE INDEX night_of_campaign ON night (site, campaign, started_at);
CREATE TABLE series (
  id INTEGER PRIMARY KEY, site TEXT NOT NULL, campaign TEXT NOT NULL, case_id TEXT NOT NULL,
  check_name TEXT NOT NULL, environment TEXT NOT NULL, params TEXT NOT NULL, metric TEXT NOT NULL,
  unit TEXT NOT NULL, better TEXT NOT NULL, at TEXT NOT NULL,
  title TEXT NOT NULL, check_title TEXT NOT NULL,
  UNIQUE (site, campaign, case_id, metric, at)
) STRICT;
CREATE TABLE value (
  series INTEGER NOT NULL REFERENCES series(id), night INTEGER NOT NULL REFERENCES night(id),
  launches INTEGER NOT NULL, median REAL NOT NULL, launch_values TEXT NOT NULL, {_UNEXPLAINED},
  PRIMARY KEY (series, night)
) STRICT, WITHOUT ROWID;
CREATE TABLE change (
  id INTEGER PRIMARY KEY, series INTEGER NOT NULL REFERENCES series(id), kind TEXT NOT NULL,
  stage TEXT NOT NULL, since INTEGER NOT NULL REFERENCES night(id),
  found INTEGER NOT NULL REFERENCES night(id), before REAL NOT NULL, after REAL NOT NULL,
  n_before INTEGER NOT NULL, closed INTEGER REFERENCES night(id),
  author TEXT, reason TEXT, accepted_at TEXT
) STRICT;
{_MISSED};
{_LAUNCH};
{_REFERENCE};
PRAGMA application_id={APPLICATION_ID};
PRAGMA user_version={SCHEMA};
COMMIT;
"""


def upgrade(database: sqlite3.Connection) -> None:
    """Make the tables of schema 2 or later those of today; the caller begins the transaction.

    Schema 3 added the titles, which a series without gets from the next night; schema 4 the nights
    that could not run; schema 5 kinds of nodes, `finds` and `unexplained`; schema 6 what is
    imported; schema 7 which of it is a retry.
    """
    version: int = database.execute("PRAGMA user_version").fetchone()[0]
    if version < 3:
        for column, name in (("title", "metric"), ("check_title", "check_name")):
            database.execute(f"ALTER TABLE series ADD COLUMN {column} TEXT NOT NULL DEFAULT ''")
            database.execute(f"UPDATE series SET {column}=replace({name}, '_', ' ')")  # noqa: S608
    if version < 4:
        database.execute(_MISSED)
    if version < 5:
        for table, column in (("night", _KINDS), ("night", _FINDS), ("value", _UNEXPLAINED)):
            database.execute(f"ALTER TABLE {table} ADD COLUMN {column}")
    if version < 6:
        database.execute(f"ALTER TABLE night ADD COLUMN {_IMPORTED}")
        database.execute(_LAUNCH)
        database.execute(_REFERENCE)
    elif version < 7:
        database.execute(f"ALTER TABLE launch ADD COLUMN {_RETRY}")
    database.execute(f"PRAGMA user_version={SCHEMA}")
