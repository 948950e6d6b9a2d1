# SPDX-License-Identifier: Apache-2.0
"""The night's answer: short, with its number; the numbers of page and sentence are the same."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from bench.tests.simulated.nights import Event, normal, simulate
from records.history import USUAL_FINDS
from records.history.model import Change, History, SeriesKey
from reports.answers import Answer, State
from reports.load.nights import nights_of as comparable
from reports.render.formats import junit
from reports.render.html import page
from reports.show.tables import Table
from reports.verdicts.nightly.evidence import evidence, rules_for
from reports.verdicts.nightly.forms import natural_order
from reports.verdicts.nightly.judge import NightJudgement, judge
from reports.verdicts.nightly.result import answer_of_night, night_result, trend

pytestmark = pytest.mark.numerical

SIZES = (8, 1024, 16384, 262144)


def junit_of(night: NightJudgement) -> str:
    return "".join(junit(night_result(night).tests, "nights"))


def tables_of(night: NightJudgement) -> dict[str, Table]:
    blocks = (block for section in night_result(night).sections for block in section.blocks)
    return {block.anchor: block for block in blocks if isinstance(block, Table)}


def html_of(night: NightJudgement) -> str:
    return page(night_result(night))


def a_history(event: Event, nights: int, *, seed: int = 1, spread: float = 0.01) -> History:
    """A simulated history of eight series that are called as a real one's."""
    made = simulate(event, normal, spread, (2 * len(SIZES), nights), seed)
    titles = "one-way time", "Point-to-point"
    places = [{"construct": "Send/Recv", "message_bytes": m} for m in (262144, 1024, 8, 16384)]
    keys = [
        SeriesKey(f"pt2pt-{name}", "pt2pt", name, {}, "half_round_trip", "s", "lower", at, *titles)
        for name in ("mpich", "openmpi")
        for at in places
    ]
    return replace(made, series=keys)


def nights_of(
    history: History, *, reruns: bool = False, finds: float = USUAL_FINDS
) -> list[NightJudgement]:
    """Each night as it was told, one after the other."""
    rules, changes, told = rules_for(len(history.series), finds=finds), list[Change](), []
    seen = history if reruns else replace(history, relaunches={}, reruns=history.reruns * np.nan)
    nights, unexplained = comparable(seen), seen.unexplained.copy()
    for place in range(len(history.nights)):
        tonight = evidence(nights, place, changes, rules, unexplained.copy())
        judgement = judge(tonight)
        changes = [replace(one, id=n) for n, one in enumerate(judgement.changes, 1)]
        new = [one for one in changes if one.found == history.nights[place].id]
        judgement = replace(judge(tonight, new), changes=changes)
        unexplained[[item.series for item in judgement.of("suspect")], place] = True
        known = replace(seen, changes=changes, unexplained=unexplained.copy())
        tonight = replace(tonight, nights=replace(nights, history=known))
        told.append(replace(judgement, tonight=tonight))
    return told


def checked(history: History, **options: Any) -> NightJudgement:
    """The last night."""
    return nights_of(history, **{"reruns": True, **options})[-1]


def answered(history: History, **options: Any) -> Answer:
    answer = answer_of_night(checked(history, **options))
    assert 3 <= len(answer.sentence.split(" ")) <= 20
    assert re.search(r"\d", answer.sentence)
    return answer


def test_a_regression_is_told_with_size_day_cause_and_the_command_that_accepts_it() -> None:
    history = a_history(Event("step", step=0.08, at=20, context_at=20), 24)
    night, answer = checked(history), answered(history)
    assert answer.state is State.FAIL
    headline = (
        r"\w+, Send/Recv, [0-9.]+\s\w+: (\d\.\d\s%) slower since 2026-01-21; 7 more series\.$"
    )
    found = re.match(headline, answer.sentence)
    assert found
    assert answer.details[0] == "Changed that night: host.kernel: 6.1 → 6.2."
    assert re.fullmatch(r"assay nightly accept-change \d+( \d+){5}", answer.command)
    # The same number stands in the page's list of all changes.
    changes = tables_of(night)["table-changes"].rows
    assert f"{found[1]} slower" in {row[4].text for row in changes}


@pytest.mark.parametrize("nights", [1, 2, 4, 9, 10])
def test_a_young_history_is_learning_and_passes_nothing(nights: int) -> None:
    night = checked(a_history(Event("nothing"), nights))
    answer = answer_of_night(night)
    assert (answer.state, int(night.status)) == (State.LEARNING, 3)
    more = f"about {11 - nights} more nights are" if nights < 10 else "about 1 more night is"
    assert answer.sentence == f"Night {nights}: all 5 launches right; for PASS {more} needed."
    assert "whether anything is slower than before by 10" in answer.unknown
    few = {"fewer than 3 earlier nights to compare with": 8} if nights < 4 else {}
    assert (night.unjudged, night.more_nights) == (few, 11 - nights)
    tests = junit_of(night)
    assert 'tests="8" failures="0" errors="0" skipped="8"' in tests
    assert tests.count("<skipped message=") == 8


def test_the_fourth_night_is_judged_and_the_eleventh_can_pass() -> None:
    assert checked(a_history(Event("nothing"), 4)).judged == 8
    night = checked(a_history(Event("nothing"), 11))
    assert (night.state, int(night.status)) == (State.PASS, 0)
    assert "<skipped" not in junit_of(night)


def test_no_limit_wider_than_the_change_to_be_found_passes() -> None:
    history = a_history(Event("nothing"), 40, spread=0.01)
    fine, coarse = checked(history, finds=0.01), checked(history, finds=0.15)
    assert (coarse.state, int(coarse.status)) == (State.PASS, 0)
    assert (fine.state, int(fine.status)) == (State.INCONCLUSIVE, 3)
    answer = answer_of_night(fine)
    assert "8 of 8 series vary too much to show a change of 1" in answer.sentence
    assert junit_of(fine).count("<skipped message=") == 8


def test_a_quiet_night_tells_what_is_nearest_to_its_limit() -> None:
    answer = answered(a_history(Event("nothing"), 20))
    assert answer.state is State.PASS
    assert answer.sentence.startswith("As usual: 8 series within limits; nearest: ")
    assert re.search(r"\d % (slower|faster) \(limit \d+\.\d %\)\.$", answer.sentence)


def test_a_suspect_is_to_be_run_again() -> None:
    history = a_history(Event("step", step=0.3, at=19), 20)
    history.reruns[:] = np.nan
    answer = answered(history)
    assert answer.state is State.SUSPECT
    assert answer.command.startswith("assay nightly check --rerun --campaign ")


def test_silence_is_told_with_what_was_usual() -> None:
    history = a_history(Event("nothing"), 20)
    history.values[2, -1], history.counts[2, -1] = np.nan, 0
    answer = answered(history)
    assert answer.state is State.FAIL
    assert answer.sentence.startswith("1 series silent tonight: mpich, Send/Recv, 8 B: no value")


def test_a_limit_wider_than_ten_per_cent_is_noted_with_its_reason() -> None:
    night = checked(a_history(Event("nothing"), 30, spread=0.05))
    assert night.wide_reasons
    shown = html_of(night)
    told = re.findall(r"<td[^>]*>limit too wide: its nights stray that far</td>", shown)
    assert len(told) == len(night.wide_reasons)
    assert "wider than 10 %" in answer_of_night(night).unknown


def test_lengths_stand_in_their_natural_order() -> None:
    history = a_history(Event("nothing"), 5)
    sizes = [history.series[series].at["message_bytes"] for series in natural_order(history)]
    assert sizes == [*SIZES, *SIZES]
    shown = html_of(checked(history))
    rows = re.findall(r"<td[^>]*>one-way time at Send/Recv, ([^<]*)</td>", shown)
    assert rows == ["8\u00a0B", "1\u00a0KiB", "16\u00a0KiB", "256\u00a0KiB"] * 2


def test_the_axis_of_a_trend_spans_the_floor_of_detection() -> None:
    axis = trend(checked(a_history(Event("nothing"), 30, spread=0.0005)), 0).y
    assert axis.low is not None and axis.high is not None
    assert axis.high / axis.low > 1.05


def test_the_tables_of_a_night_begin_with_what_was_found_last() -> None:
    history = a_history(Event("none"), 26)
    history.values[6, 12:] *= 1.3
    history.values[3, 20:] *= 1.3
    tables = tables_of(checked(history))
    since = [row[1].text for row in tables["table-changes"].rows]
    assert len(since) >= 2
    assert since == sorted(since, reverse=True)
    verdicts = [row[2].text for row in tables["table-tonight"].rows]
    assert "as usual" not in verdicts[:2]
    assert verdicts[2:] == ["as usual"] * (len(history.values) - 2)
