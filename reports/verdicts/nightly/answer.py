# SPDX-License-Identifier: Apache-2.0
"""A night's answer: what is slower, by how much, since when; or that nothing is, or not known."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from records.history.model import SeriesKey
from records.run.provenance import Provenance
from records.text.reasons import grouped
from reports import commands
from reports.answers import Answer, State, fitting, listed, short_reason
from reports.notation.units import all_text, count_text, level_text, percent
from reports.verdicts.nightly.check import Checked
from reports.verdicts.nightly.findings import NightFinding
from reports.verdicts.nightly.wording import (
    at_text,
    causes_of,
    compared,
    day_of,
    n_text,
    nights_more,
    silent_text,
    than,
)

#: Changes that one command accepts.
_MOST_ACCEPTED = 6


def answer_of_night(checked: Checked) -> Answer:
    """What the night says, in one sentence. Of imported launches no command runs any again."""
    answer = _answer(checked)
    accepts = bool(checked.judgement.of("regression", "open"))
    return (
        replace(answer, command=commands.NOTHING)
        if (checked.night.imported and not accepts)
        else answer
    )


def _answer(checked: Checked) -> Answer:
    found, night = checked.judgement.of, checked.night
    if slower := [*found("regression"), *found("open")]:
        return _slower(checked, slower)
    unknown = _unknown(checked)
    status = commands.night_status(night.run_path or night.run_id)
    if checked.bad_launches:
        return Answer(checked.state, fitting(*_bad_launches(checked)), unknown, status)
    if silent := found("silent"):
        why = _joined("why: look at the run", unknown)
        return Answer(checked.state, fitting(*_silent(checked, silent)), why, status)
    if suspects := found("suspect"):
        sentence = fitting(*_suspects(checked, suspects))
        why = "whether it stays: fresh launches tonight tell"
        return Answer(checked.state, sentence, why, commands.rerun_suspects(*_whose(checked)))
    if checked.state is State.LEARNING:
        return _learning(checked, unknown)
    return Answer(checked.state, fitting(*_as_usual(checked)), unknown)


def _name(key: SeriesKey) -> str:
    """ "openmpi, Send/Recv, 256 KiB"; without a point the check."""
    return f"{key.environment}, {at_text(key) or key.check_title}"


def _joined(*parts: str) -> str:
    return "; ".join(filter(None, parts))


def _others(found: list[NightFinding]) -> str:
    """The findings that a sentence does not name."""
    return f"; {len(found) - 1} more series" if len(found) > 1 else ""


def _launches(checked: Checked) -> int:
    """Launches of the night; skipped cases do not count."""
    return sum(n for word, n in checked.night.statuses.items() if word != "skipped")


def _whose(checked: Checked) -> tuple[Provenance, str, str, str]:
    """How the night was asked for, its campaign and site, the history."""
    night = checked.night
    return checked.began, night.campaign, night.site, checked.history_file


def _slower(checked: Checked, found: list[NightFinding]) -> Answer:
    """The gravest new regression, else the gravest open one, of the night in which most began."""
    history = checked.history
    changed = [(item, item.change) for item in found if item.change]
    begun = Counter(change.since for _, change in changed)
    worst, change = max(
        changed,
        key=lambda one: (
            one[0].verdict == "regression",
            begun[one[1].since],
            abs(np.log(one[1].ratio)),
        ),
    )
    key, causes = history.series[worst.series], causes_of(history, change)
    amount = compared(key, change.before, change.after)
    head = f"{_name(key)}: {amount}"
    head += f" {than(amount)} {n_text(worst, change)}" if change.stage == "peers" else ""
    since = f"since {day_of(history, change)}"
    text = [f"{head} {since}{_others(found)}."]
    if causes:
        also = f" and {len(causes) - 1} more" if len(causes) > 1 else ""
        text.insert(0, f"{head} {since}, the night of {causes[0]}{also}{_others(found)}.")
    unknown = "" if causes else "why: nothing that is recorded changed that night"
    ids = dict.fromkeys([change.id, *(one.id for _, one in changed if one.id)])
    accepted = commands.accept_changes([*ids][:_MOST_ACCEPTED], checked.history_file)
    return Answer(
        checked.state,
        fitting(*text),
        _joined(unknown, _unknown(checked)),
        accepted,
        ("Accept only intended changes; once fixed, it closes after four nights.",),
    )


def _bad_launches(checked: Checked) -> Iterator[str]:
    reasons = grouped(("failed", text.split(": ", 2)[-1]) for text in checked.night.failures)
    bad, launches = checked.bad_launches, _launches(checked)
    head = f"{bad} of {count_text(launches, 'launch')} ended without a result tonight"
    if reasons:
        yield f"{head}: {short_reason(reasons[0].reason)}"
    yield f"{head}."


def _silent(checked: Checked, found: list[NightFinding]) -> Iterator[str]:
    key = checked.history.series[found[0].series]
    what = silent_text(key, found[0])
    many = count_text(len(found), "series")
    yield f"{many} silent tonight: {_name(key)}: {what}{_others(found)}."
    yield f"{many} silent tonight: {_name(key)}: {what.partition(',')[0]}."


def _suspects(checked: Checked, found: list[NightFinding]) -> Iterator[str]:
    worst = max(found, key=lambda item: item.size)
    key = checked.history.series[worst.series]
    usual = f"{'' if worst.peers else 'in '}{n_text(worst)} (limit {percent(worst.limit)})"
    amount = compared(key, worst.reference, worst.value)
    yield f"{_name(key)}: {amount} tonight {than(amount)} {usual}{_others(found)}."
    yield f"{count_text(len(found), 'series')} slower than allowed tonight."


def _learning(checked: Checked, unknown: str) -> Answer:
    """A history that is too young for PASS: what tonight tells all the same, and how long yet."""
    judgement = checked.judgement
    nodes = ", no node stands out" if judgement.compared else ""
    young = count_text(len(judgement.learning), "series needs", "series need")
    slower = (
        f"whether anything is slower than before by {level_text(checked.rules.finds)}: {young} more"
        " nights before a limit of this size holds"
    )
    return Answer(
        State.LEARNING,
        f"Night {judgement.night + 1}: {all_text(_launches(checked), 'launch')} right{nodes};"
        f" for PASS {nights_more(checked.more_nights)}.",
        _joined(slower, unknown),
        commands.night_again(*_whose(checked)),
    )


def _as_usual(checked: Checked) -> Iterator[str]:
    """How many series were judged, and the one nearest to its limit."""
    judgement, tonight = checked.judgement, checked.tonight
    count = judgement.judged
    if not count:
        yield f"No series could be judged tonight ({len(checked.history.series)} known)."
        return
    if wide := len(judgement.wide_reasons):
        yield (
            f"Nothing stands out, but {wide} of {count_text(count, 'series')}"
            f" {'varies' if wide == 1 else 'vary'} too much to show a change of"
            f" {level_text(checked.rules.finds)}."
        )
        return
    head = f"As usual: {count_text(count, 'series is', 'series are')} within what is allowed"
    worse, limits = tonight.worse, tonight.limit
    known = np.isfinite(worse) & np.isfinite(limits) & (limits > 0)
    if known.any():
        share = np.where(known, worse / np.where(known, limits, 1), -np.inf)
        series = int(share.argmax())
        by = float(worse[series])
        told = percent(abs(by))
        told = f"{told} {'slower' if by > 0 else 'faster'}" if told != percent(0) else "as before"
        name, limit = _name(checked.history.series[series]), percent(float(limits[series]))
        yield f"{head}; nearest to its limit: {name}, {told} (limit {limit})."
    yield f"{head}."


def _unknown(checked: Checked) -> str:
    """Series that were not judged, and limits that are too wide to be of use."""
    judgement, told = checked.judgement, []
    if judgement.unjudged:
        reasons = [text for text, _ in judgement.unjudged.most_common()]
        told.append(
            f"{count_text(len(judgement.reasons), 'series')} not judged: {listed(reasons, 2)}"
        )
    if judgement.wide:
        reason = judgement.wide.most_common(1)[0][0]
        wide = checked.tonight.limit[[*judgement.wide_reasons]]
        told.append(
            f"{count_text(len(wide), 'limit is', 'limits are')} wider than"
            f" {level_text(checked.rules.finds)} (up to {percent(float(wide.max()), 0)}): {reason}"
        )
    return "; ".join(told)
