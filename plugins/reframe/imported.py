# SPDX-License-Identifier: Apache-2.0
"""Launches that another harness ran, taken into a history as nights marked `imported`.

A launch enters once, from whichever file it comes: system, partition, environment, test, job and
second of its end tell it from all others. Its nights are those of the campaign `reframe` on the
system; no night of Assay's own launches is in such a group.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from hashlib import blake2b
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from records.history.store import Store
from records.site.node_facts import names_in
from records.units import si_of
from records.values import WORD

#: The campaign of imported nights.
CAMPAIGN = "reframe"
#: What ReFrame writes where there is nothing.
NOTHING = {"", "null", "None", None}
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
