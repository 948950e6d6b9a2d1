# SPDX-License-Identifier: Apache-2.0
"""A history as matrices: all nights and series of a campaign on a site."""

from __future__ import annotations

import json

import numpy as np

from records.errors import AssayError
from records.history.model import Acceptance, Change, History, SeriesKey
from records.history.store import Store


def read_history(store: Store, site: str, campaign: str) -> History:
    """Everything of a campaign on a site. Raises AssayError when there is nothing, or damage."""
    with store.explained("read"):
        return _read(store, site, campaign)


def _read(store: Store, site: str, campaign: str) -> History:
    nights = store.nights(site, campaign)
    if not nights:
        known = ", ".join(f"{c} on {s}" for s, c, _ in store.groups()) or "nothing"
        raise AssayError(f"{store.path}: no nights of {campaign} on {site}; it holds {known}")
    ids, keys = _series(store, site, campaign)
    column = {night.id: place for place, night in enumerate(nights)}
    row = {number: place for place, number in enumerate(ids)}
    values, reruns, elsewhere = np.full((3, len(ids), len(nights)), np.nan)
    counts, rerun_counts = np.zeros((2, len(ids), len(nights)), dtype=np.int64)
    for series, night, rerun_of, away, launches, median in store.database.execute(
        "SELECT v.series, v.night, n.rerun_of, n.elsewhere, v.launches, v.median FROM value v"
        " JOIN night n ON n.id=v.night WHERE n.site=? AND n.campaign=? ORDER BY n.id",
        (site, campaign),
    ):
        if rerun_of is None:
            place = row[series], column[night]
            values[place], counts[place] = median, launches
        elif rerun_of in column and away:
            elsewhere[row[series], column[rerun_of]] = median
        elif rerun_of in column:
            place = row[series], column[rerun_of]
            reruns[place], rerun_counts[place] = median, launches
    return History(
        nights,
        keys,
        ids,
        values,
        counts,
        reruns,
        rerun_counts,
        changes=_changes(store, row),
        elsewhere=elsewhere,
        other_nodes=store.other_nodes(),
    )


def _series(store: Store, site: str, campaign: str) -> tuple[list[int], list[SeriesKey]]:
    rows = store.database.execute(
        "SELECT id, case_id, check_name, environment, params, metric, unit, better, at, title,"
        " check_title FROM series"
        " WHERE site=? AND campaign=? ORDER BY check_name, environment, case_id, metric, id",
        (site, campaign),
    ).fetchall()
    keys = [
        SeriesKey(
            case_id=row[1],
            check=row[2],
            environment=row[3],
            params=json.loads(row[4]),
            metric=row[5],
            unit=row[6],
            better=row[7],
            at=json.loads(row[8]),
            title=row[9],
            check_title=row[10],
        )
        for row in rows
    ]
    return [row[0] for row in rows], keys


def _changes(store: Store, row_of: dict[int, int]) -> list[Change]:
    rows = store.database.execute(
        "SELECT id, series, kind, stage, since, found, before, after, n_before, closed, author,"
        " reason, accepted_at FROM change ORDER BY id"
    )
    return [
        Change(
            id=row[0],
            series=row_of[row[1]],
            kind=row[2],
            stage=row[3],
            since=row[4],
            found=row[5],
            before=row[6],
            after=row[7],
            n_before=row[8],
            closed=row[9],
            accepted=Acceptance(row[10], row[11], row[12]) if row[10] else None,
        )
        for row in rows
        if row[1] in row_of
    ]
