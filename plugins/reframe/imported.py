# SPDX-License-Identifier: Apache-2.0
"""Launches that another harness ran, taken into a history as nights marked `imported`, each with
its night, series and reference.

A launch enters once, from whichever file it comes: system, partition, environment, test, job and
second of its end tell it from all others. Its nights are those of the campaign `reframe` on the
system; no night of Assay's own launches is in such a group.
"""

import json
import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from functools import lru_cache
from hashlib import blake2b
from statistics import median
from typing import Any, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from records.history.model import Night, SeriesKey
from records.history.store import Store
from records.site.node_facts import names_in
from records.units import better_of, si_of
from records.values import WORD

#: The campaign of imported nights.
CAMPAIGN = "reframe"
#: What ReFrame writes where there is nothing.
NOTHING = {"", "null", "None", None}
#: Launches that are read or written at once.
_ROWS = 20_000
_REPEAT = re.compile(r"\s*%[.$]?repeat_no=\d+")
_NUMBERS = msgspec.json.Decoder(list[float])
_NO_BRACKETS = {ord("["): None, ord("]"): None}
#: What ReFrame calls a result, and the status of a launch; a failure with all its figures missed a
#: reference only.
_STATUS = {"pass": "ok", "xfail": "ok", "xpass": "ok", "skip": "skipped"}


class ImportedCase(NamedTuple):
    """Case that is launched: `test` is its name with parameters, `unique` also tells its repeats
    apart."""

    system: str
    partition: str
    environ: str
    test: str
    unique: str


class ImportedFigure(NamedTuple):
    """A figure of a launch with its reference, in `unit` as written; None: not given. The limits
    are fractions of the reference."""

    name: str
    unit: str
    reference: float | None = None
    lower: float | None = None
    upper: float | None = None


class ImportedLaunch(NamedTuple):
    """A test case that ran. `at` is its end in s since 1970, of one without a job that of its
    session; `night` is what its launches of one night have in common: a session, or a day.
    `values` are those of `figures`; None: not given. `retry` numbers the tries of a session after
    the first, where ReFrame tells it; else 0."""

    case: ImportedCase
    job: str
    at: float
    result: str
    nodes: str
    figures: tuple[ImportedFigure, ...]
    values: tuple[float | None, ...]
    night: str
    retry: int = 0

    @property
    def status(self) -> str:
        """ok, failed, wrong or skipped; a missed reference is ok."""
        known = [one for one in self.values if one is not None]
        if not all(map(math.isfinite, known)):
            return "wrong"
        missed = self.result == "fail" and len(known) == len(self.values) > 0
        return "ok" if missed else _STATUS.get(self.result, "failed")


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


@lru_cache(maxsize=100_000)
def nodes_of(text: str) -> str:
    """The nodes of a list with blanks between them, "" where there is none; 100,000 at most."""
    return " ".join(word(one) for one in names_in(text) if one not in NOTHING)


#: Some launches of a history, a column each: ids of their nights, retries, tests, results, nodes
#: with blanks between them, numbers of finite values; and of all these values, shape (values, 2),
#: the id of the series and the value in SI units.
Texts = tuple[str, ...]
Integers = tuple[int, ...]
StoredLaunches = tuple[Integers, Integers, Texts, Texts, Texts, list[int], NDArray[np.float64]]


def stored_launches(store: Store, site: str, campaign: str) -> Iterator[StoredLaunches]:
    """The imported launches of a group in parts, in no order."""
    with store.explained("read"):
        rows = store.tuples(
            "SELECT l.night, l.retry, l.test, l.result, l.nodes, l.figures FROM launch l"
            " JOIN night n ON n.id=l.night WHERE n.site=? AND n.campaign=?",
            (site, campaign),
        )
        while part := rows.fetchmany(_ROWS):
            nights, retries, tests, results, nodes, figures = zip(*part, strict=True)
            counts = [text.count("[") - 1 for text in figures]
            # All at once: a list for each launch takes several times as long.
            text = ",".join(filter("[]".__ne__, figures)).translate(_NO_BRACKETS)
            values = np.array(_NUMBERS.decode(f"[{text}]"), dtype=np.float64).reshape(-1, 2)
            yield nights, retries, tests, results, nodes, counts, values


def references_of(store: Store) -> dict[int, ImportedReference]:
    """The newest references by the ids of series."""
    with store.explained("read"):
        rows: Iterable[tuple[int, str, float, float | None, float | None]] = store.tuples(
            "SELECT series, unit, value, lower, upper FROM reference", ()
        )
        return {
            number: ImportedReference(unit, si_of(unit)[1], value, lower, upper)
            for number, unit, value, lower, upper in rows
        }


class _Night:
    """Additions of an import to one night: values by the ids of their series."""

    def __init__(self, number: int, *, new: bool) -> None:
        self.number, self.new = number, new
        self.begun = math.inf
        self.nodes: set[str] = set()
        self.statuses: Counter[str] = Counter()
        self.values: defaultdict[int, list[float]] = defaultdict(list)


class _Series:
    """The series of a figure, the factor to its unit, and the end of its newest launch."""

    def __init__(self, number: int, factor: float) -> None:
        self.number, self.factor, self.at = number, factor, -math.inf


class _Case:
    """A case with the series of its figures; `begin` begins what is hashed of a launch."""

    def __init__(self, case: ImportedCase) -> None:
        places = case.system, case.partition, case.environ, case.unique, ""
        self.begin = "\0".join(places).encode()
        self.test = f"{case.test} @{case.partition}+{case.environ}"
        self.series: dict[ImportedFigure, _Series] = {}


class Importer:
    """Takes launches into an open history, inside a transaction of it: `take` those of each file,
    then `finish`.

    `added` and `known` count launches, `not_numbers` figures of those added that are NaN or
    infinite, `nights` are those that grew.
    """

    def __init__(self, store: Store) -> None:
        self.store = store
        self.added = self.known = self.not_numbers = 0
        self.nights: dict[tuple[str, str], _Night] = {}
        self._cases: dict[ImportedCase, _Case] = {}
        self._rows: list[tuple[object, ...]] = []
        self._retries: list[tuple[int, int, int]] = []
        # Of all launches the key, changed by the second of the end.
        self._seen = {key ^ int(at) for key, at in store.tuples("SELECT key, at FROM launch", ())}

    @property
    def series(self) -> set[int]:
        """The series that the files have."""
        return {one.number for case in self._cases.values() for one in case.series.values()}

    def take(self, launches: Iterable[ImportedLaunch]) -> bool:
        """Take in the launches of a file that are not there already; gives whether it has any.
        Those that name no job and are alike are counted: nothing else tells them apart."""
        copies: Counter[tuple[ImportedCase, int]] = Counter()
        before = self.added + self.known
        for launch in launches:
            case = self._cases.get(launch.case)
            if case is None:
                case = self._cases[launch.case] = _Case(launch.case)
            copy = 0
            if launch.job in NOTHING:
                same = launch.case, int(launch.at)
                copy = copies[same]
                copies[same] += 1
            text = case.begin + f"{launch.job}\0{copy}".encode()
            key = int.from_bytes(blake2b(text, digest_size=8).digest(), "big", signed=True)
            if (seen := key ^ int(launch.at)) in self._seen:
                self.known += 1
                if launch.retry:
                    self._retries.append((launch.retry, key, int(launch.at)))
                continue
            self._seen.add(seen)
            self._add(launch, case, key)
            self.added += 1
        return self.added + self.known > before

    def _add(self, launch: ImportedLaunch, case: _Case, key: int) -> None:
        """Take in a new launch."""
        night = self.nights.get((launch.case.system, launch.night)) or self._night(launch)
        night.begun = min(night.begun, launch.at)
        night.statuses[status := launch.status] += 1
        night.nodes.add(nodes := nodes_of(launch.nodes))
        figures = []
        for figure, value in zip(launch.figures, launch.values, strict=True):
            series = case.series.get(figure) or self._series(launch.case, case, figure)
            series.at = max(series.at, launch.at)
            if value is not None and not math.isfinite(value):
                self.not_numbers += 1
            elif value is not None:
                figures.append((series.number, value * series.factor))
                night.values[series.number].append(value * series.factor)
        result = status if status == "wrong" else launch.result
        told = night.number, case.test, launch.case.unique, result, nodes
        self._rows.append((key, launch.at, *told, _text(figures), launch.retry))
        if len(self._rows) >= _ROWS:
            self._flush()

    def _flush(self) -> None:
        self.store.database.executemany(
            "INSERT INTO launch (key, at, night, test, name, result, nodes, figures, retry)"
            " VALUES (?,?,?,?,?,?,?,?,?)",
            self._rows,
        )
        self._rows.clear()

    def _night(self, launch: ImportedLaunch) -> _Night:
        system = launch.case.system
        run = word(f"{system}-{launch.night}")
        query = "SELECT id FROM night WHERE run_id=? AND imported=1"
        known = self.store.database.execute(query, (run,)).fetchone()
        if known is None:
            night = Night(run, word(system), CAMPAIGN, "", {}, (), {}, imported=True)
            found = _Night(self.store.insert_night(night), new=True)
        else:
            found = _Night(known[0], new=False)
        self.nights[system, launch.night] = found
        return found

    def _series(self, named: ImportedCase, case: _Case, figure: ImportedFigure) -> _Series:
        """The series of a figure that this case has not had so far."""
        unit, factor = si_of(figure.unit)
        limits = (figure.lower, figure.upper) if figure.reference else ()  # 0 says nothing
        better = better_of(unit, *limits) or "unknown"
        found = _Series(self._series_id(named, figure.name, unit, better), factor)
        case.series[figure] = found
        return found

    def _series_id(self, case: ImportedCase, metric: str, unit: str, better: str) -> int:
        """The series of a figure in a unit; one in another unit is another series."""
        basis, *params = case.test.split(" %")
        pairs = dict(one.partition("=")[::2] for one in params)
        texts = "\0".join((case.partition, case.environ, case.test)).encode()
        key = SeriesKey(
            case_id=blake2b(texts, digest_size=6).hexdigest(),
            check=word(basis),
            environment=word(case.environ),
            params={"partition": case.partition, **pairs},
            metric=word(metric),
            unit=unit,
            better=better,  # type: ignore[arg-type]
            at={},
            title=metric,
            check_title=basis,
        )
        site, database = word(case.system), self.store.database
        where = "site=? AND campaign=? AND case_id=? AND metric=? AND at='{}'"
        known = database.execute(
            f"SELECT id, unit, better FROM series WHERE {where}",  # noqa: S608 own text
            (site, CAMPAIGN, key.case_id, key.metric),
        ).fetchone()
        if known and known[1] != unit:
            return self._series_id(case, f"{metric} in {unit}", unit, better)
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
        rows = []
        first: dict[str, str] = {}
        for (system, _), night in self.nights.items():
            begun = self._close(night)
            first[word(system)] = min(begun, first.get(word(system), begun))
            for series, values in night.values.items():
                rows.append((series, night.number, len(values), median(values), _text(values)))
        rows.sort()  # as the table is
        columns = "(series, night, launches, median, launch_values)"
        insertion = f"INSERT OR REPLACE INTO value {columns} VALUES (?,?,?,?,?)"  # noqa: S608 own text
        database.executemany(insertion, rows)
        self._write_references()
        self._write_retries()
        where = "SELECT id FROM night WHERE site=? AND started_at>=? AND imported AND judged"
        for changed in (
            "DELETE FROM change WHERE author IS NULL AND found",
            "UPDATE change SET closed=NULL WHERE closed",
            "UPDATE night SET judged=0 WHERE id",
        ):
            database.executemany(f"{changed} IN ({where})", first.items())

    def _write_references(self) -> None:
        """Keep the newest reference of each series."""
        rows = []
        for case in self._cases.values():
            for figure, series in case.series.items():
                known = figure.reference is not None and math.isfinite(figure.reference)
                value = figure.reference if known else 0.0
                told = series.at, figure.unit, value, figure.lower, figure.upper
                rows.append((series.number, *told))
        self.store.database.executemany(
            "INSERT INTO reference VALUES (?,?,?,?,?,?) ON CONFLICT (series) DO UPDATE SET"
            " at=excluded.at, unit=excluded.unit, value=excluded.value, lower=excluded.lower,"
            " upper=excluded.upper WHERE excluded.at >= at",
            rows,
        )

    def _write_retries(self) -> None:
        """Keep which of the launches that were there already are retries: a log does not tell."""
        columns = "(retry INTEGER, key INTEGER, second INTEGER)"
        self.store.database.execute(f"CREATE TEMP TABLE IF NOT EXISTS retried {columns}")
        self.store.database.executemany("INSERT INTO retried VALUES (?,?,?)", self._retries)
        self.store.database.execute(
            "UPDATE launch SET retry=r.retry FROM retried r"
            " WHERE launch.key=r.key AND CAST(launch.at AS INTEGER)=r.second"
        )

    def _close(self, added: _Night) -> str:
        """Write a night's begin, nodes and statuses, and add its former values; gives its begin."""
        begun = f"{datetime.fromtimestamp(added.begun, UTC):%Y-%m-%dT%H:%M:%SZ}"
        nodes = {one for listed in added.nodes for one in listed.split()}
        if not added.new:
            night = self.store.night(added.number)
            nodes.update(night.nodes)
            added.statuses.update(night.statuses)
            begun = min(begun, night.started_at)
            query = "SELECT series, launch_values FROM value WHERE night=?"
            for series, values in self.store.tuples(query, (added.number,)):
                if series in added.values:
                    added.values[series][:0] = json.loads(values)
        told = begun, json.dumps(sorted(nodes)), json.dumps(added.statuses), added.number
        query = "UPDATE night SET started_at=?, nodes=?, statuses=? WHERE id=?"
        self.store.database.execute(query, told)
        return begun


def _text(values: list[Any]) -> str:
    return msgspec.json.encode(values).decode()
