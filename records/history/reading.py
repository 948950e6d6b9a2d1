# SPDX-License-Identifier: Apache-2.0
"""A history as matrices: all nights and series of a campaign on a site."""

import msgspec
import numpy as np

from records.errors import AssayError
from records.history.model import Acceptance, Change, History, SeriesKey
from records.history.store import Store, refuse_odd
from records.values import Params, Scalar

_PARAMS = msgspec.json.Decoder(Params)
_LAUNCHES = msgspec.json.Decoder(tuple[float, ...])
_POINT = msgspec.json.Decoder(dict[str, Scalar])


def read_history(store: Store, site: str, campaign: str) -> History:
    """Everything of a campaign on a site. Raises AssayError when there is nothing, or damage."""
    nights = store.nights(site, campaign)
    if not nights:
        known = ", ".join(f"{c} on {s}" for s, c, _ in store.groups()) or "nothing"
        raise AssayError(f"{store.path}: no nights of {campaign} on {site}; it holds {known}")
    with store.explained("read"):
        keys = _series(store, site, campaign)
        row = {number: place for place, number in enumerate(keys)}
        shape = (len(keys), len(nights))
        values, reruns, elsewhere = np.full((3, *shape), np.nan)
        counts, rerun_counts = np.zeros((2, *shape), dtype=np.int64)
        history = History(
            nights,
            list(keys.values()),
            list(keys),
            values,
            counts,
            reruns,
            rerun_counts,
            elsewhere,
            np.zeros(shape, dtype=np.bool_),
            _changes(store, row),
            store.other_nodes(),
        )
        _fill(history, store, row, site, campaign)
    return history


def _fill(history: History, store: Store, row: dict[int, int], site: str, campaign: str) -> None:
    """Read the values of all nights and re-runs; `row`: the store's id → row of the matrices."""
    column = {night.id: place for place, night in enumerate(history.nights)}
    # CROSS: values first, of which no index knows the nights.
    of_group = "FROM value v CROSS JOIN night n ON n.id=v.night WHERE n.site=? AND n.campaign=?"
    found = store.tuples(
        f"SELECT v.series, v.night, v.launches, v.median, v.unexplained {of_group}"
        " AND n.rerun_of IS NULL",
        (site, campaign),
    ).fetchall()
    if found:
        series, nights, counts, medians, odd = zip(*found, strict=True)
        places = [row[one] for one in series], [column[one] for one in nights]
        history.counts[places], history.values[places] = counts, medians
        history.unexplained[places] = odd
    newest = history.nights[-1].id
    for number, night, rerun_of, away, n, median, text in store.tuples(
        f"SELECT v.series, v.night, n.rerun_of, n.elsewhere, v.launches, v.median, v.launch_values"
        f" {of_group} AND NOT n.imported AND (n.rerun_of IS NOT NULL OR NOT n.judged OR n.id=?)"
        " ORDER BY n.id",
        (site, campaign, newest),
    ):
        place = row[number], column.get(night if rerun_of is None else rerun_of, -1)
        if place[1] < 0:
            continue
        launches = history.launches
        if away:
            history.elsewhere[place] = median
            continue
        if rerun_of is not None:
            history.reruns[place], history.rerun_counts[place] = median, n
            launches = history.relaunches
        of = history.nights[place[1]]
        if history.series[place[0]].is_of_a_node and (of.id == newest or not of.judged):
            launches[place] = _LAUNCHES.decode(text)


def _series(store: Store, site: str, campaign: str) -> dict[int, SeriesKey]:
    """The series by their ids, in the order of readers."""
    rows = store.database.execute(
        'SELECT id, case_id, check_name AS "check", environment, params, metric, unit, better, at,'
        " title, check_title FROM series"
        " WHERE site=? AND campaign=? ORDER BY check_name, environment, case_id, metric, id",
        (site, campaign),
    )
    found = {}
    for row in map(dict, rows):
        number = row.pop("id")
        names = ("case_id", "check", "environment", "metric")
        refuse_odd(f"series {number}", *(row[name] for name in names))
        decoded = {"params": _PARAMS.decode(row["params"]), "at": _POINT.decode(row["at"])}
        found[number] = SeriesKey(**row | decoded)
    return found


def _changes(store: Store, row_of: dict[int, int]) -> list[Change]:
    """The changes of the series in `row_of`: the store's id → row of the matrices."""
    rows = store.database.execute(
        "SELECT id, series, kind, stage, since, found, before, after, n_before, closed, author,"
        " reason, accepted_at FROM change ORDER BY id"
    )
    found = []
    for row in map(dict, rows):
        if row["series"] in row_of:
            row["series"] = row_of[row["series"]]
            author, reason, at = (row.pop(name) for name in ("author", "reason", "accepted_at"))
            accepted = Acceptance(author, reason, at) if author else None
            found.append(Change(**row, accepted=accepted))
    return found
