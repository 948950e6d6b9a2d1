# SPDX-License-Identifier: Apache-2.0
"""Launches that another harness ran, taken into a history as nights marked `imported`.

A launch enters once, from whichever file it comes: system, partition, environment, test, job and
second of its end tell it from all others. Its nights are those of the campaign `reframe` on the
system; no night of Assay's own launches is in such a group.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from hashlib import blake2b
from statistics import median
from typing import Any, NamedTuple

import msgspec

from records.history.model import Night, SeriesKey
from records.history.store import Store
from records.site.node_lists import names_in
from records.unit_texts import better_of, si_of
from records.values import WORD

#: The campaign of imported nights.
CAMPAIGN = "reframe"
_ROWS = 20_000
#: By how much the end of a launch may lie outside its session, s: clocks and rounding.
_SLACK_S = 2.0
_REPEAT = re.compile(r"\s*%[.$]?repeat_no=\d+")
_FIGURES = msgspec.json.Decoder(list[tuple[int, float]])
#: What ReFrame calls a result, and the status of a launch; a failure with all its figures missed a
#: reference only.
_STATUS = {"pass": "ok", "xfail": "ok", "xpass": "ok", "skip": "skipped"}


class ImportedFigure(NamedTuple):
    """A value of a launch with its reference, in `unit` as written; None: not given. The limits are
    fractions of the reference."""

    name: str
    value: float | None
    unit: str
    reference: float | None = None
    lower: float | None = None
    upper: float | None = None


class ImportedLaunch(NamedTuple):
    """A test case that ran. `test` is its name with parameters, `unique` also tells its repeats
    apart; `at` is its end in s since 1970, or that of its session, which then began at `since`;
    `night` is what its launches of one night have in common: a session, or a day. `copy` counts
    launches of one file that nothing else tells apart."""

    system: str
    partition: str
    environ: str
    test: str
    unique: str
    job: str
    at: float
    result: str
    nodes: str
    figures: tuple[ImportedFigure, ...]
    night: str
    since: float | None = None
    copy: int = 0

    @property
    def status(self) -> str:
        """ok, failed, wrong or skipped; a missed reference is ok."""
        values = [one.value for one in self.figures if one.value is not None]
        if not all(map(math.isfinite, values)):
            return "wrong"
        missed = self.result == "fail" and len(values) == len(self.figures) > 0
        return "ok" if missed else _STATUS.get(self.result, "failed")


#: A launch of the history: id of its night, test, nodes with blanks between them, and its finite
#: values in SI units by the ids of their series.
StoredLaunch = tuple[int, str, str, list[tuple[int, float]]]


class ImportedReference(NamedTuple):
    """The newest reference of a series in `unit`, 0: none; `factor` makes it SI; limits are
    fractions."""

    unit: str
    factor: float
    value: float
    lower: float | None
    upper: float | None


@lru_cache(maxsize=100_000)
def without_repeat(test: str) -> str:
    """The name of a test without the number of its repeat."""
    return _REPEAT.sub("", test)


@lru_cache(maxsize=100_000)
def word(text: str) -> str:
    """A text as a name of a history; what differs stays different."""
    if WORD.fullmatch(text):
        return text
    clean = re.sub(r"[^A-Za-z0-9_.-]+", "-", text).strip("-_.")[:100] or "x"
    return f"{clean}-{blake2b(text.encode(), digest_size=2).hexdigest()}"


class _Added:
    """What an import adds to one night."""

    def __init__(self, number: int, *, new: bool) -> None:
        self.number, self.new = number, new
        self.begun = math.inf
        self.nodes: set[str] = set()
        self.statuses: Counter[str] = Counter()


class Importer:
    """Takes launches into an open history, inside a transaction of it: `add` each, then `finish`.

    `added` and `known` count launches, `nights` are those that grew, `series` those with a value.
    """

    def __init__(self, store: Store) -> None:
        self.store = store
        self.added = self.known = 0
        self.nights: dict[tuple[str, str], _Added] = {}
        self.series: dict[tuple[str, str, str, str, str, str], tuple[int, float]] = {}
        self._values: dict[tuple[int, int], list[float]] = {}
        self._references: dict[int, tuple[float, ImportedFigure]] = {}
        self._rows: list[tuple[object, ...]] = []
        self._seen: set[int] = set()
        self._vague: dict[int, list[tuple[float, float]]] = {}
        self._times: dict[int, list[float]] | None = None
        for key, at, since in store.tuples("SELECT key, at, since FROM launch", ()):
            self._note(hash((key, int(at))), key, at, since)

    def _note(self, mark: int, key: int, at: float, since: float | None) -> None:
        self._seen.add(mark)
        if self._times is not None:
            self._times.setdefault(key, []).append(at)
        if since is not None:
            self._vague.setdefault(key, []).append((since, at))

    def add(self, launch: ImportedLaunch) -> None:
        """Take a launch in that is not there already."""
        texts = launch.system, launch.partition, launch.environ, launch.unique, launch.job
        digest = blake2b("\0".join((*texts, str(launch.copy))).encode(), digest_size=8).digest()
        key = int.from_bytes(digest, "big", signed=True)
        mark = hash((key, int(launch.at)))
        if mark in self._seen or self._is_known(key, launch):
            self.known += 1
            return
        self._note(mark, key, launch.at, launch.since)
        night = self._night(launch)
        night.begun = min(night.begun, launch.at if launch.since is None else launch.since)
        night.statuses[launch.status] += 1
        nodes = nodes_of(launch.nodes)
        night.nodes.update(nodes)
        figures = []
        for one in launch.figures:
            series, factor = self._series(launch, one)
            if one.value is not None and math.isfinite(one.value):
                value = one.value * factor
                figures.append((series, value))
                self._values.setdefault((series, night.number), []).append(value)
        test = f"{launch.test} @{launch.partition}+{launch.environ}"
        told = (night.number, test, launch.unique, launch.result, " ".join(nodes))
        self._rows.append((key, launch.at, launch.since, *told, _text(figures)))
        if len(self._rows) >= _ROWS:
            self._flush()
        self.added += 1

    def _is_known(self, key: int, launch: ImportedLaunch) -> bool:
        """Whether the launch is there with another time: only the session tells that of either."""
        if launch.since is None:
            if key not in self._vague:
                return False
            spans = self._vague[key]
            return any(low - _SLACK_S <= launch.at <= high + _SLACK_S for low, high in spans)
        if self._times is None:
            self._flush()
            self._times = {}
            for number, at in self.store.tuples("SELECT key, at FROM launch", ()):
                self._times.setdefault(number, []).append(at)
        low, high = launch.since - _SLACK_S, launch.at + _SLACK_S
        return any(low <= at <= high for at in self._times.get(key, ()))

    def _flush(self) -> None:
        self.store.database.executemany(
            "INSERT INTO launch (key, at, since, night, test, name, result, nodes, figures)"
            " VALUES (?,?,?,?,?,?,?,?,?)",
            self._rows,
        )
        self._rows.clear()

    def _night(self, launch: ImportedLaunch) -> _Added:
        whose = launch.system, launch.night
        if (found := self.nights.get(whose)) is not None:
            return found
        run = word(f"{launch.system}-{launch.night}")
        query = "SELECT id FROM night WHERE run_id=? AND imported=1"
        known = self.store.database.execute(query, (run,)).fetchone()
        if known is None:
            night = Night(run, word(launch.system), CAMPAIGN, "", {}, (), {}, imported=True)
            found = _Added(self.store.insert_night(night), new=True)
        else:
            found = _Added(known[0], new=False)
        self.nights[whose] = found
        return found

    def _series(self, launch: ImportedLaunch, figure: ImportedFigure) -> tuple[int, float]:
        """Id and factor to SI of a figure's series; keeps the newest reference."""
        whose = launch.system, launch.partition, launch.environ, launch.test
        place = *whose, figure.name, figure.unit
        found = self.series.get(place)
        if found is None:
            unit, factor = si_of(figure.unit)
            limits = (figure.lower, figure.upper) if figure.reference else ()  # 0 says nothing
            better = better_of(unit, *limits) or "unknown"
            found = self._series_id(launch, figure.name, unit, better), factor
            self.series[place] = found
        newest = self._references.get(found[0])
        if newest is None or newest[0] <= launch.at:
            self._references[found[0]] = launch.at, figure
        return found

    def _series_id(self, launch: ImportedLaunch, metric: str, unit: str, better: str) -> int:
        """The series of a figure in a unit; one in another unit is another series."""
        basis, *params = launch.test.split(" %")
        pairs = dict(one.partition("=")[::2] for one in params)
        texts = "\0".join((launch.partition, launch.environ, launch.test)).encode()
        key = SeriesKey(
            case_id=blake2b(texts, digest_size=6).hexdigest(),
            check=word(basis),
            environment=word(launch.environ),
            params={"partition": launch.partition, **pairs},
            metric=word(metric),
            unit=unit,
            better=better,  # type: ignore[arg-type]
            at={},
            title=metric,
            check_title=basis,
        )
        site, database = word(launch.system), self.store.database
        where = "site=? AND campaign=? AND case_id=? AND metric=? AND at='{}'"
        known = database.execute(
            f"SELECT id, unit, better FROM series WHERE {where}",  # noqa: S608 own text
            (site, CAMPAIGN, key.case_id, key.metric),
        ).fetchone()
        if known and known[1] != unit:
            return self._series_id(launch, f"{metric} in {unit}", unit, better)
        if known:
            if known[2] == "unknown" != better:
                database.execute("UPDATE series SET better=? WHERE id=?", (better, known[0]))
            number: int = known[0]
            return number
        return self.store.series_id(site, CAMPAIGN, key)

    def finish(self) -> None:
        """Write what the nights have now; those from the first that grew on are judged anew."""
        self._flush()
        database = self.store.database
        old = {one.number for one in self.nights.values() if not one.new}
        rows = []
        query = "SELECT launch_values FROM value WHERE series=? AND night=?"
        for (series, night), values in self._values.items():
            if night in old and (row := database.execute(query, (series, night)).fetchone()):
                values[:0] = json.loads(row[0])
            rows.append((series, night, len(values), median(values), _text(values)))
        columns = "(series, night, launches, median, launch_values)"
        insertion = f"INSERT OR REPLACE INTO value {columns} VALUES (?,?,?,?,?)"  # noqa: S608 own text
        database.executemany(insertion, rows)
        for series, (at, one) in self._references.items():
            known = one.reference is not None and math.isfinite(one.reference)
            told = at, one.unit, one.reference if known else 0.0, one.lower, one.upper
            database.execute(
                "INSERT INTO reference VALUES (?,?,?,?,?,?) ON CONFLICT (series) DO UPDATE SET"
                " at=excluded.at, unit=excluded.unit, value=excluded.value, lower=excluded.lower,"
                " upper=excluded.upper WHERE excluded.at >= at",
                (series, *told),
            )
        first: dict[str, str] = {}
        for (system, _), added in self.nights.items():
            begun = self._close(added)
            first[word(system)] = min(begun, first.get(word(system), begun))
        where = "SELECT id FROM night WHERE site=? AND started_at>=? AND imported AND judged"
        for changed in (
            "DELETE FROM change WHERE author IS NULL AND found",
            "UPDATE change SET closed=NULL WHERE closed",
            "UPDATE night SET judged=0 WHERE id",
        ):
            database.executemany(f"{changed} IN ({where})", first.items())

    def _close(self, added: _Added) -> str:
        """Write a night's begin, nodes and statuses; gives its begin."""
        begun = f"{datetime.fromtimestamp(added.begun, UTC):%Y-%m-%dT%H:%M:%SZ}"
        if not added.new:
            night = self.store.night(added.number)
            added.nodes.update(night.nodes)
            added.statuses.update(night.statuses)
            begun = min(begun, night.started_at)
        told = begun, json.dumps(sorted(added.nodes)), json.dumps(added.statuses), added.number
        query = "UPDATE night SET started_at=?, nodes=?, statuses=? WHERE id=?"
        self.store.database.execute(query, told)
        return begun


def _text(values: list[Any]) -> str:
    return msgspec.json.encode(values).decode()


@lru_cache(maxsize=100_000)
def nodes_of(text: str) -> tuple[str, ...]:
    """The nodes of a list, "null" where there is none; 100,000 at most."""
    return tuple(word(one) for one in names_in(text) if one not in ("null", "None"))


def stored_launches(store: Store, site: str, campaign: str) -> Iterator[StoredLaunch]:
    """The imported launches of a group, in no order."""
    with store.explained("read"):
        for night, test, nodes, figures in store.tuples(
            "SELECT l.night, l.test, l.nodes, l.figures FROM launch l JOIN night n ON n.id=l.night"
            " WHERE n.site=? AND n.campaign=?",
            (site, campaign),
        ):
            yield night, test, nodes, _FIGURES.decode(figures)


def references_of(store: Store, series: Sequence[int]) -> dict[int, ImportedReference]:
    """The newest references by the ids of series."""
    with store.explained("read"):
        rows: Iterable[tuple[int, str, float, float | None, float | None]] = store.database.execute(
            "SELECT series, unit, value, lower, upper FROM reference"
        )
        wanted = {*series}
        return {
            number: ImportedReference(unit, si_of(unit)[1], value, lower, upper)
            for number, unit, value, lower, upper in rows
            if number in wanted
        }
