# SPDX-License-Identifier: Apache-2.0
"""Vettings are judged by peers and by the node itself, with the chances that the rules promise."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pytest

from plugins.vetting.judge import Figure, KindReference, Level, judged_figure, oddities
from plugins.vetting.reference import level_of, reference_of
from records.history.model import Night, NightValues, SeriesKey
from records.history.reading import read_history
from records.history.store import Store
from records.site.node_facts import NodeFacts


def draws(seed: int, looks: int, spread: float, slow: float = 0.0) -> dict[str, list[float]]:
    """Rates of four nodes around 1e10, the last node `slow`er by a fraction."""
    rates = 1e10 * np.exp(np.random.default_rng(seed).normal(0, spread, (4, looks)))
    rates[-1] *= 1 - slow
    return {f"n{node}": own.tolist() for node, own in enumerate(rates)}


def judged(level: Level, value: float, node: str = "new", others: float = 0.0) -> Any:
    figure = Figure(metric="dgemm_rate", value=value, unit="flop/s", others=others)
    return judged_figure(figure, node, KindReference(levels={"dgemm_rate": level}))


def word_of(*of: Any, **more: Any) -> str:
    return str(judged(*of, **more).word)


def known(seed: int = 1, spread: float = 0.01, **more: float) -> Level:
    level = level_of(draws(seed, 5, spread, **more), "higher")
    assert level is not None
    return level


@pytest.mark.parametrize("spread", [0.003, 0.01, 0.02])
def test_a_fit_node_is_seldom_unfit_in_one_look_and_never_in_two(spread: float) -> None:
    random = np.random.default_rng(7)
    once = twice = 0
    for seed in range(400):
        values = 1e10 * np.exp(random.normal(0, spread, 2))
        looks = [word_of(known(seed, spread), value) for value in values]
        once += looks[0] == "unfit"
        twice += looks == ["unfit", "unfit"]
    assert once <= 4
    assert twice == 0


@pytest.mark.full
def test_five_own_vettings_with_a_lognormal_tail_make_hardly_a_fit_node_unfit() -> None:
    """Of eight figures, in two looks; 1.6 % of vettings were."""
    random, unfit = np.random.default_rng(2), 0
    for _ in range(1000):
        for _ in range(8):
            values = 1e10 * np.exp(-0.03 * np.exp(random.normal(0, 1, 7)))
            level = level_of({"n0": values[:5].tolist()}, "higher")
            assert level is not None
            if {word_of(level, value, "n0") for value in values[5:]} == {"unfit"}:
                unfit += 1
                break
    assert unfit <= 10


@pytest.mark.parametrize("spread", [0.003, 0.01, 0.02])
def test_a_node_at_half_is_unfit_and_one_at_nine_tenths_is_hardly_ever_fit(spread: float) -> None:
    values = 1e10 * np.exp(np.random.default_rng(3).normal(0, spread, 300))
    both = [(known(seed, spread), value) for seed, value in enumerate(values)]
    assert {word_of(level, value / 2) for level, value in both} == {"unfit"}
    tenths = [word_of(level, value * 0.9) for level, value in both]
    assert tenths.count("fit") <= 0.1 * len(tenths)


def test_a_burst_of_a_noisy_host_is_not_unfit_and_half_is() -> None:
    level = known(spread=0.1)
    assert word_of(level, np.exp(level.centre - 4.3 * level.spread)) == "suspect"
    assert word_of(level, np.exp(level.centre) / 2) == "unfit"


@pytest.mark.parametrize(("spread", "said"), [(0.01, False), (0.2, True)])
def test_a_reference_that_can_exclude_no_loss_says_so(spread: float, said: bool) -> None:
    found = judged(known(spread=spread), 1e10)
    assert ("vary too much to exclude a loss of 10 %" in found.compared_with) is said
    assert found.word == ("suspect" if said else "fit")


def test_a_slow_node_does_not_lower_the_level_of_its_peers() -> None:
    level = known(slow=0.3)
    assert level.nodes == 3
    assert word_of(level, 0.7e10, "n3") == "unfit"


def test_a_node_below_its_own_level_is_unfit_though_its_peers_are_as_slow() -> None:
    random = np.random.default_rng(5)
    values = draws(5, 8, 0.002)
    values["n1"] = (1.3e10 * np.exp(random.normal(0, 0.002, 8))).tolist()
    level = level_of(values, "higher")
    assert level is not None
    assert word_of(level, 1.0e10, "n1") == "unfit"


def test_what_other_programs_disturbed_makes_a_node_neither_unfit_nor_fit() -> None:
    tried = (5e9, 0.4), (1e10, 0.4), (5e9, 0.1)
    words = [word_of(known(), rate, others=others) for rate, others in tried]
    assert words == ["suspect", "suspect", "unfit"]


def test_few_vettings_are_no_reference() -> None:
    assert level_of({"n1": [1.0, 1.0], "n2": [1.0, 1.0]}, "higher") is None
    figure = Figure(metric="dgemm_rate", value=1.0, unit="flop/s")
    assert judged_figure(figure, "n1", None).compared_with == "no reference"


def test_what_a_node_lacks_makes_it_unfit_and_another_setting_suspect() -> None:
    alike = {"file_systems./scratch": "lustre", "memory": "64 GiB", "settings.numa_balancing": "0"}
    known = {name: {value: ["n1", "n2", "n3"]} for name, value in alike.items()}
    reference = KindReference(facts=known | {"kernel": {"a": ["n1"], "b": ["n2", "n3"]}})
    facts = NodeFacts(memory_bytes=56 * 2**30, settings={"numa_balancing": "1"}, kernel="a")
    found = {odd.text.partition(" ")[0]: odd.word for odd in oddities(facts, "n3", reference)}
    unfit = dict.fromkeys(("file_systems./scratch", "memory"), "unfit")
    assert found == unfit | {"settings.numa_balancing": "suspect"}


def test_the_history_of_vettings_gives_the_reference(tmp_path) -> None:
    random, begun = np.random.default_rng(2), datetime(2026, 1, 5, tzinfo=UTC)
    at = {"step": "memory"}
    with Store(tmp_path / "history.sqlite", create=True) as store:
        for day in range(0, 42, 3):
            for node in ("n1", "n2", "n3"):
                value = 4e10 * np.exp(random.normal(0, 0.004))
                of = {"node": node}, "memory bandwidth", "Vetting"
                key = SeriesKey("vet", "vet", "local", at, "stream_triad", "bytes/s", "higher", *of)
                when = (begun + timedelta(days=day)).strftime("%Y-%m-%dT%H:%M:%SZ")
                night = Night(f"{node}-{day}", "nodes", "vet", when, {}, (node,), {"ok": 1})
                night = replace(night, kinds={node: "k"})
                store.add(night, [NightValues(key, (float(value),))])
        history = read_history(store, "nodes", "vet")
    level = reference_of(history, "2026-03-01T00:00:00Z").kinds["k"].levels["stream_triad"]
    assert word_of(level, 4e10 * 0.97, "n3") != "unfit"
