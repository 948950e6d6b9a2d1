# SPDX-License-Identifier: Apache-2.0
"""A night's answer: a headline of at most 20 words, what is not known, what comes next."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from math import log

from records.text.plain_text import grouped
from reports import commands
from reports.answers import Answer, State, clipped, listed
from reports.commands import NextCommand
from reports.notation.units import all_text, count_text, level_text, percent
from reports.verdicts.nightly import wording
from reports.verdicts.nightly.check import Checked
from reports.verdicts.nightly.forms import ChangePart, NightFinding, SeriesPart
from reports.verdicts.nightly.judge import finding_of

#: Changes that one command accepts.
_MOST_ACCEPTED = 6
#: Words of a series' name in the headline.
_MOST_NAME = 5


def answer_of_night(checked: Checked) -> Answer:
    """Answer of a night. Of imported launches no command runs any again."""
    return Answer(
        checked.state, headline(checked), _unknown(checked), _next(checked), _details(checked)
    )


def headline(checked: Checked) -> str:
    """The gravest finding and how many more there are; without any how far the night can be
    trusted, and the series nearest to its limit."""
    judgement = checked.judgement
    if changed := _changed(checked):
        worst, change = changed[0]
        amount = wording.compared(worst, change.before, change.after)
        if worst.of_peers:
            amount += f" than {count_text(change.n_before, 'other node')}"
        day = wording.day_of(checked.history, change)
        return f"{_name(worst)}: {amount} since {day}{_more(changed)}."
    if checked.bad_launches:
        launches = count_text(_launches(checked), "launch")
        return f"{checked.bad_launches} of {launches} ended without a result tonight."
    if silent := judgement.of("silent"):
        no_value = "no value" if silent[0].value is None else "zero"
        return (
            f"{count_text(len(silent), 'series')} silent tonight: {_name(silent[0])}: {no_value}."
        )
    if suspects := judgement.of("suspect"):
        worst = max(suspects, key=lambda item: item.size)
        amount = wording.compared(worst, worst.reference or 0, worst.value or 0)
        usual = f"than {'' if worst.of_peers else 'in '}{wording.n_text(worst)}"
        limit = f"(limit {percent(worst.limit)})"
        return f"{_name(worst)}: {amount} tonight {usual} {limit}{_more(suspects)}."
    if checked.state is State.LEARNING:
        nodes = ", no node stands out" if judgement.compared else ""
        right = f"{all_text(_launches(checked), 'launch')} right{nodes}"
        more = wording.nights_more(checked.more_nights)
        return f"Night {judgement.night + 1}: {right}; for PASS {more}."
    return _as_usual(checked)


def _as_usual(checked: Checked) -> str:
    judgement, tonight = checked.judgement, checked.tonight
    if not (count := judgement.judged):
        return f"No series could be judged tonight ({len(checked.history.series)} known)."
    if wide := len(judgement.wide_reasons):
        vary = "varies" if wide == 1 else "vary"
        finds = level_text(checked.rules.finds)
        return (
            f"{wide} of {count_text(count, 'series')} {vary} too much to show a change of {finds}."
        )
    shares = {
        series: tonight.worse[series] / tonight.limit[series]
        for series in range(len(checked.history.series))
        if series not in judgement.reasons and tonight.limit[series] > 0
    }
    nearest = finding_of(tonight, max(shares, key=lambda series: shares[series]), "as usual")
    by, limit = nearest.worse or 0.0, percent(nearest.limit)
    same = percent(abs(by)) == percent(0)
    told = "as before" if same else f"{percent(abs(by))} {'slower' if by > 0 else 'faster'}"
    within = f"As usual: {count_text(count, 'series')} within limits"
    return f"{within}; nearest: {_name(nearest)}, {told} (limit {limit})."


def _changed(checked: Checked) -> list[tuple[NightFinding, ChangePart]]:
    """Regressions with their changes, the gravest first: new ones before open ones, of the night in
    which most began, by size."""
    found = checked.judgement.of("regression", "open")
    changed = [(item, item.change) for item in found if item.change]
    begun = Counter(change.since for _, change in changed)

    def gravity(pair: tuple[NightFinding, ChangePart]) -> tuple[bool, int, float]:
        finding, change = pair
        size = abs(log(change.after / change.before)) if change.after * change.before > 0 else 0.0
        return finding.verdict == "regression", begun[change.since], size

    return sorted(changed, key=gravity, reverse=True)


def _name(series: SeriesPart) -> str:
    """ "openmpi, Send/Recv, 256 KiB"; without a point the check."""
    point = wording.at_text(series) or series.name.split(" in ")[0]
    return clipped(f"{series.environment}, {point}", _MOST_NAME)


def _more(findings: Sequence[object]) -> str:
    """The findings that a headline does not name."""
    return f"; {len(findings) - 1} more series" if len(findings) > 1 else ""


def _launches(checked: Checked) -> int:
    """Launches of the night; skipped cases do not count."""
    return sum(n for word, n in checked.night.statuses.items() if word != "skipped")


def _details(checked: Checked) -> tuple[str, ...]:
    if changed := _changed(checked):
        causes = changed[0][1].causes
        why = f"Changed that night: {listed(causes, 3)}." if causes else ""
        accept = "Accept only intended changes; once fixed, it closes after four nights."
        return tuple(filter(None, (why, accept)))
    failures = [("failed", text.split(": ", 2)[-1]) for text in checked.night.failures]
    return tuple(group.reason for group in grouped(failures))


def _next(checked: Checked) -> NextCommand:
    night, judgement = checked.night, checked.judgement
    whose = checked.began, night.campaign, night.site, checked.history_file
    if changed := _changed(checked):
        ids = dict.fromkeys(change.id for _, change in changed if change.id)
        return commands.accept_changes([*ids][:_MOST_ACCEPTED], checked.history_file)
    if night.imported:
        return commands.NOTHING
    if checked.bad_launches or judgement.of("silent"):
        return commands.night_status(night.run_path or night.run_id)
    if judgement.of("suspect"):
        return commands.rerun_suspects(*whose)
    return commands.night_again(*whose) if checked.state is State.LEARNING else commands.NOTHING


def _unknown(checked: Checked) -> str:
    """Why something is slow, and for how long; series that were not judged; limits that are too
    wide to be of use."""
    judgement, told = checked.judgement, list[str]()
    finds = level_text(checked.rules.finds)
    if changed := _changed(checked):
        told += [] if changed[0][1].causes else ["why: nothing that is recorded changed that night"]
    elif judgement.of("suspect") and not judgement.of("silent") and not checked.bad_launches:
        told.append("whether it stays: fresh launches tonight tell")
    elif checked.state is State.LEARNING:
        young = count_text(len(judgement.learning), "series needs", "series need")
        told.append(
            f"whether anything is slower than before by {finds}: {young} more nights before a limit"
            " of this size holds"
        )
    if judgement.unjudged:
        reasons = [text for text, _ in judgement.unjudged.most_common()]
        many = count_text(len(judgement.reasons), "series")
        told.append(f"{many} not judged: {listed(reasons, 2)}")
    if judgement.wide:
        reason = judgement.wide.most_common(1)[0][0]
        wide = checked.tonight.limit[[*judgement.wide_reasons]]
        limits = count_text(len(wide), "limit is", "limits are")
        most = percent(float(wide.max()), 0)
        told.append(f"{limits} wider than {finds} (up to {most}): {reason}")
    return "; ".join(told)
