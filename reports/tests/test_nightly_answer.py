# SPDX-License-Identifier: Apache-2.0
"""The night's answer: short, with its number, the same as on its page; nodes beside each other
within a night: what is suspect does not become normal."""

import json
import re
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from assay.cli import main
from bench.tests.simulated import nights as simulated
from bench.tests.simulated.nights import LAUNCHES, NOISES, Event, normal, simulate
from records.history import USUAL_FINDS
from records.history.model import Acceptance, Change, History, Night, NightValues, SeriesKey
from records.history.reading import read_history
from records.history.store import Store
from reports.answers import Answer, State
from reports.load.nights import nights_of as comparable
from reports.render.formats import junit
from reports.render.html import page
from reports.render.terminal import text
from reports.show.tables import Table
from reports.verdicts.nightly.detection import peers_of_night
from reports.verdicts.nightly.evidence import evidence, read_night, rules_for
from reports.verdicts.nightly.forms import Verdict, natural_order
from reports.verdicts.nightly.judge import NightJudgement, judge
from reports.verdicts.nightly.result import answer_of_night, night_result, trend

pytestmark = pytest.mark.numerical

SIZES = (8, 1024, 16384, 262144)
STORED = Path(__file__).parents[2] / "assay/tests/stored_runs"
SLOWER = 1.42
BAD = "n3"


def junit_of(night: NightJudgement) -> str:
    return "".join(junit(night_result(night).tests, "nights"))


def tables_of(night: NightJudgement) -> dict[str, Table]:
    blocks = (block for section in night_result(night).sections for block in section.blocks)
    return {block.anchor: block for block in blocks if isinstance(block, Table)}


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
    shown = page(night_result(night))
    told = re.findall(r"<td[^>]*>limit too wide: its nights stray that far</td>", shown)
    assert len(told) == len(night.wide_reasons)
    assert "wider than 10 %" in answer_of_night(night).unknown


def test_lengths_stand_in_their_natural_order() -> None:
    history = a_history(Event("nothing"), 5)
    sizes = [history.series[series].at["message_bytes"] for series in natural_order(history)]
    assert sizes == [*SIZES, *SIZES]
    shown = page(night_result(checked(history)))
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


def simulate_nodes(shape, seed, *, spread=0.03, noise=normal, slow=None, again=None):
    """A history of shape (nodes, nights) of two rates of each node, one of every other in LAUNCHES.

    Launches vary by `spread`, all nodes together in each block by half of that, nodes for ever by
    1 %. `slow` has by how much each node is slower on each night (a factor; None: none is), `again`
    the same of its re-run.
    """
    rng = np.random.default_rng(seed)
    nodes, nights = shape
    slow = np.ones(shape) if slow is None else slow
    series = (2, *shape, LAUNCHES)
    own = 1 + 0.01 * rng.standard_normal((2, nodes, 1, 1))
    rates = np.array([2e10, 4e10])[:, None, None, None] * own

    def launches(slower):
        block = 1 + spread / 2 * noise(rng, (2, 1, nights, LAUNCHES))
        one = np.maximum(1 + spread * noise(rng, series), 0.2)
        values = rates * block * one / slower[..., None]
        rows = values.reshape(2 * nodes, nights, LAUNCHES)
        found = {(row, at): tuple(rows[row, at].tolist()) for row, at in np.ndindex(rows.shape[:2])}
        return found, np.median(rows, axis=-1)

    first, values = launches(slow)
    second, reruns = launches(slow if again is None else again)
    sets = [tuple(f"n{node + 1}" for node in range(nodes))] * nights
    keys = [
        SeriesKey("node-case", "node", "mpich", {}, metric, unit, "higher", at, metric, "Nodes")
        for metric, unit in (("stream_triad", "bytes/s"), ("dgemm_rate", "flop/s"))
        for at in ({"node": node} for node in sets[0])
    ]
    made = simulated.history_of(values, reruns, None, sets)
    return replace(made, series=keys, launches=first, relaunches=second)


def slow_nodes(nights: int, since: int = 0, until: int = 99, by: float = SLOWER) -> np.ndarray:
    """The third of four nodes slower from a night on, and before another."""
    slow = np.ones((4, nights))
    slow[2, since:until] = by
    return slow


def named(night: NightJudgement, *verdicts: Verdict) -> set[str]:
    series = night.history.series
    return {str(series[one.series].at["node"]) for one in night.of(*verdicts)}


def test_a_slow_node_is_named_every_night_and_never_becomes_normal() -> None:
    for night in nights_of(simulate_nodes((4, 14), 7, slow=slow_nodes(14))):
        assert named(night, "suspect") == {BAD}
        assert (night.state, int(night.status)) == (State.SUSPECT, 3)
        assert {item.limit for item in night.of("suspect")} == {0.10}
        answer = answer_of_night(night)
        assert BAD in answer.sentence and "than 3 other nodes (limit 10" in answer.sentence
        assert junit_of(night).count('failures="0"') == 2
        said = text(night_result(night))
        assert f"at {BAD}" in said and "n = 3 other nodes" in said
        # Nothing of these nights enters a reference, so none of them widens a limit.
        assert not night.tonight.reference.n.any()


def test_a_node_that_becomes_slow_is_not_learnt_by_young_series() -> None:
    nights = nights_of(simulate_nodes((4, 9), 11, slow=slow_nodes(9, since=5)))
    assert [named(night, "suspect") for night in nights] == [set()] * 5 + [{BAD}] * 4
    before = [night.tonight.limit for night in nights[5:]]
    assert all((limit == before[0]).all() for limit in before)
    assert all(night.tonight.reference.n.max() == 5 for night in nights[5:])


@pytest.mark.parametrize(("again", "verdict"), [(SLOWER, "regression"), (1.0, "dismissed")])
def test_the_rerun_decides(again: float, verdict: Verdict) -> None:
    slow, rerun = slow_nodes(1), slow_nodes(1, by=again)
    (night,) = nights_of(simulate_nodes((4, 1), 5, slow=slow, again=rerun), reruns=True)
    assert named(night, verdict) == {BAD}
    assert night.state is (State.FAIL if verdict == "regression" else State.LEARNING)
    if verdict == "regression":
        told = r"mpich, n3: (2|3|4)\d\.\d % slower than 3 other nodes since 2026-01-01"
        assert re.match(told, answer_of_night(night).sentence)


def test_a_rerun_that_does_not_tell_clears_nobody() -> None:
    slow = slow_nodes(1)
    history, noisy = (simulate_nodes((4, 1), 5, slow=slow, spread=one) for one in (0.03, 0.3))
    peers = peers_of_night(noisy, 0, [], rules_for(8), again=True)
    assert peers.beyond[[2, 6]].any() and not peers.slow.any()
    again = np.median([noisy.relaunches[row, 0] for row in range(8)], axis=1, keepdims=True)
    told = replace(history, relaunches=noisy.relaunches, reruns=again)
    (night,) = nights_of(told, reruns=True)
    assert named(night, "suspect", "dismissed") == {BAD}
    for item in night.findings:
        assert (item.verdict == "suspect") == bool(peers.beyond[item.series])


def test_what_is_accepted_is_how_the_node_is() -> None:
    history = simulate_nodes((4, 12), 5, slow=slow_nodes(12))
    first = nights_of(history, reruns=True)[0]
    accepted = Acceptance("R. Roe", "an older processor", "2026-01-02T00:00:00Z")
    changes = [replace(one, accepted=accepted) for one in first.changes]
    nights = comparable(history)
    for place in range(1, 12):
        judgement = judge(evidence(nights, place, changes, rules_for(8)))
        assert not judgement.findings
    assert not judgement.learning


def test_healthy_nodes_learn_then_pass() -> None:
    nights = nights_of(simulate_nodes((4, 12), 3, spread=0.01))
    assert [night.state for night in nights] == [State.LEARNING] * 10 + [State.PASS] * 2
    assert [night.more_nights for night in nights] == [*range(10, 0, -1), 0, 0]
    assert "no node stands out" in answer_of_night(nights[0]).sentence


@pytest.mark.full(sample=2)
@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("spread", [0.02, 0.08, 0.2])
def test_noise_of_sound_nodes_is_seldom_suspected(noise: str, spread: float) -> None:
    rules = rules_for(8)
    history = simulate_nodes((4, 300), 31, spread=spread, noise=NOISES[noise])
    # 10 of 300 are allowed; 19 or more of a binomial distribution of 1/30 come in 1 of 100.
    assert sum(peers_of_night(history, at, [], rules).slow.any() for at in range(300)) <= 18
    history = simulate_nodes((4, 30), 37, spread=spread, noise=NOISES[noise])
    told = simulated.judge_all(history, rules)
    assert not [item for _, item in told.findings if item.verdict == "regression"]


def real_launches(folder: Path) -> tuple[Night, list[NightValues]]:
    """The night of the stored acceptance run, and DGEMM's launches on its four nodes."""
    shutil.unpack_archive(STORED / "acceptance.tar.xz", folder)
    night, values = read_night(folder / "acceptance")
    launches: dict[str, list[float]] = {}
    for line in (folder / "acceptance" / "records.jsonl").read_text().splitlines():
        for metric in json.loads(line).get("metrics", ()):
            if metric["name"] == "dgemm_rate":
                launches.setdefault(metric["at"]["node"], []).append(metric["value"])
    key = next(one.series for one in values if one.series.metric == "stream_triad")
    key = replace(key, metric="dgemm_rate", unit="flop/s")
    return night, [NightValues(replace(key, at={"node": n}), tuple(v)) for n, v in launches.items()]


@pytest.mark.full
@pytest.mark.parametrize("slower", [1.0, SLOWER])
def test_real_launches_of_four_nodes(tmp_path, monkeypatch, capsys, slower: float) -> None:
    monkeypatch.chdir(tmp_path)
    night, values = real_launches(tmp_path)
    ((bad, one),) = ((n, one) for n, one in enumerate(values) if one.series.at == {"node": BAD})
    values[bad] = replace(one, launches=tuple(rate / slower for rate in one.launches))
    for number in (1, 2, 3):
        with Store(Path("results/history.sqlite"), create=True) as store:
            started = f"2026-01-0{number}T02:00:00Z"
            store.add(replace(night, run_id=f"night-{number}", started_at=started), values)
        assert main(["nightly", "check", "--json"]) == 3
        told = json.loads(capsys.readouterr().out)
        assert {item["at"]["node"] for item in told["findings"]} == ({BAD} if slower > 1 else set())
        assert {item["compared_with"] for item in told["findings"]} <= {"nodes"}
        assert told["verdict"] == ("SUSPECT" if slower > 1 else "LEARNING")
        assert (told["compared"], told["exit_status"], told["finds"]) == (4, 3, 0.1)
    with Store(Path("results/history.sqlite")) as store:
        history = read_history(store, night.site, night.campaign)
    assert history.unexplained.sum() == (3 if slower > 1 else 0)
    assert main(["nightly", "check", "--find", "60"]) == 3
    assert "suspect" not in capsys.readouterr().out


def test_nodes_of_another_kind_are_not_compared_and_one_that_tells_none_is_of_the_others() -> None:
    history = simulate_nodes((4, 1), 3, slow=slow_nodes(1))
    same, several = dict.fromkeys(("n1", "n2", "n4"), "a"), {"n1": "a", "n2": "b", "n4": "b"}
    for kinds, found in ((same, {BAD}), (several, set()), (same | {BAD: "old"}, set())):
        history.nights[0] = replace(history.nights[0], kinds=kinds)
        (night,) = nights_of(history)
        assert named(night, "suspect") == found
    assert (night.state, night.compared) == (State.LEARNING, 6)


def test_a_suspect_node_stays_suspect_until_a_night_is_within_what_it_may_differ() -> None:
    history = simulate_nodes((4, 40), 4, spread=0.02, slow=slow_nodes(40, by=1.15))
    surely = [peers_of_night(history, at, [], rules_for(8)) for at in range(40)]
    assert any(one.beyond[2] and not one.slow[2] for one in surely)
    doubted = False
    for night, one in zip(nights_of(history), surely, strict=True):
        doubted = bool(one.slow[2] or (doubted and one.beyond[2]))
        assert (2 in {item.series for item in night.of("suspect")}) == doubted


def drawn(history: History, most: int) -> History:
    """The history as a scheduler gives it that draws so many nodes each night."""
    rng, launches = np.random.default_rng(1), dict(history.launches)
    for at, night in enumerate(history.nights):
        here = {f"n{1 + node}" for node in rng.choice(8, most, replace=False)}
        history.nights[at] = replace(night, nodes=tuple(sorted(here)))
        for row, key in enumerate(history.series):
            if key.at["node"] not in here:
                history.values[row, at], history.counts[row, at] = np.nan, 0
                del launches[row, at]
    return replace(history, launches=launches)


def test_a_node_that_was_not_drawn_is_not_silent() -> None:
    nights = nights_of(drawn(simulate_nodes((8, 20), 3, spread=0.01), 4))
    assert not [item for night in nights for item in night.findings]
    assert nights[-1].state is State.PASS


def test_a_node_that_is_gone_is_silent_where_no_other_ran_in_its_place() -> None:
    history = simulate_nodes((4, 6), 3)
    history.nights[5] = replace(history.nights[5], nodes=("n1", "n2", "n4"))
    history.values[[2, 6], 5], history.counts[[2, 6], 5] = np.nan, 0
    assert named(nights_of(history)[5], "silent") == {BAD}


@pytest.mark.full(sample=2)
@pytest.mark.parametrize("slow_nights", [1, 2, 5, 12])
@pytest.mark.parametrize("reruns", [False, True])
def test_a_node_that_was_mended_is_neither_suspect_nor_open(slow_nights: int, reruns: bool) -> None:
    slow = slow_nodes(34, until=slow_nights)
    for seed in (2, 3):
        history = simulate_nodes((4, 34), seed, slow=slow, again=slow, spread=0.01)
        nights = nights_of(history, reruns=reruns)
        for night in nights[slow_nights + 8 :]:
            assert not night.of("suspect", "regression", "open")
        assert nights[-1].state is State.PASS
