# SPDX-License-Identifier: Apache-2.0
"""A night's answer: what is slower, by how much, since when; or that nothing is, or not known."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from shlex import quote

import numpy as np

from records.history import DEFAULT_HISTORY
from records.history.model import SeriesKey
from records.text.reasons import grouped
from reports.answer.phrases import listed, short_reason
from reports.answers import Answer, State, fitting
from reports.notation.units import count_text, level_text, percent, readable_unit, three_digits
from reports.verdicts.nightly.check import Checked
from reports.verdicts.nightly.findings import Finding
from reports.verdicts.nightly.wording import at_text, causes_of, n_text, nights_more, since_text

#: Changes that one command accepts.
_MOST_ACCEPTED = 6


def answer_of_night(checked: Checked) -> Answer:
    """What the night says, in one sentence."""
    found = checked.judgement.of
    if slower := [*found("regression"), *found("open")]:
        answer = _slower(checked, slower)
    elif checked.bad_launches:
        answer = _bad_launches(checked)
    elif silent := found("silent"):
        answer = _silent(checked, silent)
    elif suspects := found("suspect"):
        answer = _suspects(checked, suspects)
    elif checked.state is State.LEARNING:
        answer = _learning(checked)
    elif checked.judgement.wide_reasons:
        answer = Answer(checked.state, _too_wide(checked), _unknown(checked))
    else:
        answer = Answer(checked.state, fitting(*_as_usual(checked)), _unknown(checked))
    return answer


def _name(key: SeriesKey) -> str:
    """ "openmpi, Send/Recv, 256 KiB"; without a point the check."""
    return f"{key.environment}, {at_text(key) or key.check_title}"


def slower_text(key: SeriesKey, before: float, after: float) -> str:
    """ "8.1 % slower", from a factor of two on "2.4 times slower"; "8.1 % worse" of what has no
    speed."""
    word = "slower" if key.unit in ("s", "bytes/s", "flop/s") else "worse"
    factor = after / before if key.better == "lower" else before / after
    if factor >= 2:
        return f"{three_digits(factor)} times {word}"
    return f"{percent(abs(after / before - 1))} {word}"


def _slower(checked: Checked, found: list[Finding]) -> Answer:
    """The gravest new regression, else the gravest open one, of the night in which most began."""
    history = checked.history
    begun = Counter(item.change.since for item in found if item.change)
    worst = max(
        found,
        key=lambda item: (
            item.verdict == "regression",
            begun[item.change.since] if item.change else 0,
            _size(item),
        ),
    )
    key, change = history.series[worst.series], worst.change
    assert change is not None
    place = history.position(change.since)
    causes = causes_of(history, place, key.environment)
    head = f"{_name(key)}: {slower_text(key, change.before, change.after)}"
    head += f" than {n_text(worst, change)}" if change.stage == "peers" else ""
    since = f"since {since_text(history, change)[:10]}"
    if change.stage == "early":
        since = f"since before {history.nights[place].date[:10]}"
    others = f"; {len(found) - 1} more series" if len(found) > 1 else ""
    text = [f"{head} {since}{others}."]
    if causes:
        also = f" and {len(causes) - 1} more" if len(causes) > 1 else ""
        text.insert(0, f"{head} {since}, the night of {causes[0]}{also}{others}.")
    unknown = "" if causes else "why: nothing that is recorded changed that night"
    mine = [item.change.id for item in found if item.change and item.change.id]
    ids = [change.id, *(one for one in mine if one != change.id)][:_MOST_ACCEPTED]
    command = f"assay history accept-change {' '.join(map(str, ids))}"
    rest = _unknown(checked)
    return Answer(
        checked.state,
        fitting(*text),
        "; ".join(filter(None, (unknown, rest))),
        command + _history(checked),
        ("Accept only intended changes; once fixed, it closes after four nights.",),
    )


def _size(finding: Finding) -> float:
    """By how much a change is a change, either way."""
    return abs(np.log(finding.change.ratio)) if finding.change else 0.0


def _bad_launches(checked: Checked) -> Answer:
    night = checked.night
    total = sum(number for word, number in night.statuses.items() if word != "skipped")
    reasons = grouped(("failed", text.split(": ", 2)[-1]) for text in night.failures)
    head = f"{checked.bad_launches} of {total} launches ended without a result tonight"
    told = [f"{head}: {short_reason(reasons[0].reason)}"] if reasons else []
    command = f"assay status {quote(night.run_path or night.run_id)}"
    return Answer(checked.state, fitting(*told, f"{head}."), _unknown(checked), command)


def _silent(checked: Checked, found: list[Finding]) -> Answer:
    key, first = checked.history.series[found[0].series], found[0]
    what = "zero" if first.value <= 0 else "no value"
    usual = ""
    if first.reference > 0:
        unit = readable_unit(key.unit, [first.reference])
        usual = f", usually {first.reference / unit.factor:.4g} {unit.label}"
    more = f"; {len(found) - 1} more series" if len(found) > 1 else ""
    sentence = f"{count_text(len(found), 'series', 'series')} silent tonight: {_name(key)}:"
    return Answer(
        checked.state,
        fitting(f"{sentence} {what}{usual}{more}.", f"{sentence} {what}."),
        "; ".join(filter(None, ("why: look at the run", _unknown(checked)))),
        f"assay status {quote(checked.night.run_path or checked.night.run_id)}",
    )


def _suspects(checked: Checked, found: list[Finding]) -> Answer:
    worst = max(found, key=lambda item: item.size)
    key = checked.history.series[worst.series]
    more = f"; {len(found) - 1} more series" if len(found) > 1 else ""
    told = slower_text(key, worst.reference, worst.value)
    return Answer(
        checked.state,
        fitting(
            f"{_name(key)}: {told} tonight than {'' if worst.peers else 'in '}{n_text(worst)}"
            f" (limit {percent(worst.limit)}){more}.",
            f"{count_text(len(found), 'series', 'series')} slower than allowed tonight.",
        ),
        "whether it stays: fresh launches tonight tell",
        f"assay history check --rerun{_history(checked)}",
    )


def _learning(checked: Checked) -> Answer:
    """A history that is too young for PASS: what tonight tells all the same, and how long yet."""
    night, judgement, finds = checked.night, checked.judgement, level_text(checked.rules.finds)
    total = sum(number for word, number in night.statuses.items() if word != "skipped")
    nodes = ", no node stands out" if judgement.compared else ""
    young = count_text(len(judgement.learning), "series needs", "series need")
    again = f"assay nightly run --campaign {quote(night.campaign)} --site {quote(night.site)}"
    unknown = (
        f"whether anything is slower than before by {finds}: {young} more nights before a limit of"
        " this size holds"
    )
    return Answer(
        State.LEARNING,
        f"Night {judgement.night + 1}: all {total} launches right{nodes}; for PASS"
        f" {nights_more(checked.more_nights)}.",
        "; ".join(filter(None, (unknown, _unknown(checked)))),
        again + _history(checked),
    )


def _too_wide(checked: Checked) -> str:
    """What the nights of some series do not let anybody see."""
    many, judged = len(checked.judgement.wide_reasons), checked.judgement.judged
    return (
        f"Nothing stands out, but {many} of {judged} series vary too much to show a change of"
        f" {level_text(checked.rules.finds)}."
    )


def _as_usual(checked: Checked) -> Iterator[str]:
    """How many series were judged, and the one nearest to its limit."""
    count = checked.judgement.judged
    if not count:
        yield f"None of {len(checked.history.series)} series could be judged tonight."
        return
    head = f"As usual: {count_text(count, 'series is', 'series are')} within what is allowed"
    stage_a = checked.stage_a
    worse, limits = stage_a.worse, stage_a.limits.alone
    known = np.isfinite(worse) & np.isfinite(limits) & (limits > 0)
    if known.any():
        share = np.where(known, worse / np.where(known, limits, 1), -np.inf)
        series = int(share.argmax())
        key, by = checked.history.series[series], float(worse[series])
        told = f"{percent(abs(by))} {'slower' if by > 0 else 'faster'}"
        limit = percent(float(limits[series]))
        yield f"{head}; nearest to its limit: {_name(key)}, {told} (limit {limit})."
    yield f"{head}."


def _unknown(checked: Checked) -> str:
    """Series that were not judged, and limits that are too wide to be of use."""
    judgement, told = checked.judgement, []
    if judgement.unjudged:
        reasons = judgement.unjudged.most_common()
        many = sum(judgement.unjudged.values())
        told.append(f"{many} series not judged: {listed([text for text, _ in reasons], 2)}")
    if judgement.wide:
        reason = judgement.wide.most_common(1)[0][0]
        many = sum(judgement.wide.values())
        wide = checked.stage_a.limits.alone[[*judgement.wide_reasons]]
        told.append(
            f"{count_text(many, 'limit is', 'limits are')} wider than"
            f" {level_text(checked.rules.finds)} (up to {percent(float(wide.max()), 0)}): {reason}"
        )
    return "; ".join(told)


def _history(checked: Checked) -> str:
    """The option that names the history, where it is not the usual one."""
    path = checked.history_file
    return f" --history {quote(path)}" if path not in ("", str(DEFAULT_HISTORY)) else ""
