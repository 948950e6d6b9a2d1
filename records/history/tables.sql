-- SPDX-License-Identifier: Apache-2.0
-- The tables of a history. Values in SI base units; lists and mappings as JSON text.
CREATE TABLE night (
  id INTEGER PRIMARY KEY, run_id TEXT NOT NULL UNIQUE, site TEXT NOT NULL, campaign TEXT NOT NULL,
  started_at TEXT NOT NULL, rerun_of INTEGER REFERENCES night(id),
  elsewhere INTEGER NOT NULL DEFAULT 0, context TEXT NOT NULL, nodes TEXT NOT NULL,
  statuses TEXT NOT NULL, failures TEXT NOT NULL, warnings TEXT NOT NULL,
  run_path TEXT NOT NULL, judged INTEGER NOT NULL DEFAULT 0,
  kinds TEXT NOT NULL DEFAULT '{}', finds REAL NOT NULL DEFAULT 0.1,
  imported INTEGER NOT NULL DEFAULT 0
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
  launches INTEGER NOT NULL, median REAL NOT NULL, launch_values TEXT NOT NULL,
  unexplained INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (series, night)
) STRICT, WITHOUT ROWID;
CREATE TABLE change (
  id INTEGER PRIMARY KEY, series INTEGER NOT NULL REFERENCES series(id), kind TEXT NOT NULL,
  stage TEXT NOT NULL, since INTEGER NOT NULL REFERENCES night(id),
  found INTEGER NOT NULL REFERENCES night(id), before REAL NOT NULL, after REAL NOT NULL,
  n_before INTEGER NOT NULL, closed INTEGER REFERENCES night(id),
  author TEXT, reason TEXT, accepted_at TEXT
) STRICT;
CREATE TABLE missed (
  id INTEGER PRIMARY KEY, site TEXT NOT NULL, campaign TEXT NOT NULL, at TEXT NOT NULL,
  reason TEXT NOT NULL
) STRICT;
-- Launches that were imported, each once: `key` tells it from all others. One whose time is that of its
-- session alone has the session's begin in `since`. References are in their own unit.
CREATE TABLE launch (
  id INTEGER PRIMARY KEY, key INTEGER NOT NULL, at REAL NOT NULL, since REAL,
  night INTEGER NOT NULL REFERENCES night(id), test TEXT NOT NULL, name TEXT NOT NULL,
  result TEXT NOT NULL, nodes TEXT NOT NULL,
  figures TEXT NOT NULL, retry INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE TABLE reference (
  series INTEGER PRIMARY KEY REFERENCES series(id), at REAL NOT NULL, unit TEXT NOT NULL,
  value REAL NOT NULL, lower REAL, upper REAL
) STRICT;
