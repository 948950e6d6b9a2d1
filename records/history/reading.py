# SPDX-License-Identifier: Apache-2.0
"""A history as matrices: all nights and series of a campaign on a site."""

from __future__ import annotations

import msgspec
import numpy as np

from records.errors import AssayError
from records.history.model import Acceptance, Change, History, Launches, SeriesKey
from records.history.store import Store
from records.values import ALLOWED, Params, Scalar, odd_word

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
        column = {night.id: place for place, night in enumerate(nights)}
        row = {number: place for place, number in enumerate(keys)}
        newest = len(nights) - 1
        fresh = {at for at, night in enumerate(nights) if not night.judged or at == newest}
        launches, relaunches = Launches(), Launches()
        values, reruns, elsewhere = np.full((3, len(keys), len(nights)), np.nan)
        counts, rerun_counts = np.zeros((2, len(keys), len(nights)), dtype=np.int64)
        unexplained = np.zeros((len(keys), len(nights)), dtype=np.bool_)
        for series, night, rerun_of, away, n, median, odd, text in store.database.execute(
            "SELECT v.series, v.night, n.rerun_of, n.elsewhere, v.launches, v.median,"
            " v.unexplained, v.launch_values FROM value v JOIN night n ON n.id=v.night"
            " WHERE n.site=? AND n.campaign=? ORDER BY n.id",
            (site, campaign),
        ):
            if rerun_of is None:
                place = row[series], column[night]
                values[place], counts[place], unexplained[place] = median, n, odd
                told = launches
            elif rerun_of in column and away:
                elsewhere[row[series], column[rerun_of]] = median
                continue
            elif rerun_of in column:
                place = row[series], column[rerun_of]
                reruns[place], rerun_counts[place] = median, n
                told = relaunches
            else:
                continue
            if place[1] in fresh and keys[series].is_of_a_node:
                told[place] = _LAUNCHES.decode(text)
        return History(
            nights,
            list(keys.values()),
            list(keys),
            values,
            counts,
            reruns,
            rerun_counts,
            changes=_changes(store, row),
            elsewhere=elsewhere,
            other_nodes=store.other_nodes(),
            unexplained=unexplained,
            launches=launches,
            relaunches=relaunches,
        )


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
        names = (row["case_id"], row["check"], row["environment"], row["metric"])
        if (odd := odd_word(names)) is not None:
            raise ValueError(f"series {number} holds the name {odd!r}; {ALLOWED}")
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
