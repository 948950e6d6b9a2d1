# SPDX-License-Identifier: Apache-2.0
"""The answer of a run: short, with its number, true of the run, and a command that can be typed."""

import re
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from shutil import unpack_archive
from typing import Any

import msgspec.structs
import numpy as np
import pytest

from assay.cli.main import make_parser
from assay.schema.loading import load_campaign
from bench.tests.simulated.campaigns import NAMES, POINTS, extended_run, simulated_run
from reports.analysis.run import analyse
from reports.answers import MOST_WORDS, Answer, State, clipped, listed
from reports.load.loading import Run, Series, load_run
from reports.tests.synthetic import analysed, case
from reports.verdicts.choice.answer import answer_of

pytestmark = pytest.mark.numerical

STARTS = [case("startup", name, {"ranks": 2}) for name in ("mpich", "lam")]


def logs(factors: list[float], blocks: int, *, noise: float = 0.01, seed: int = 1) -> Any:
    rng = np.random.default_rng(seed)
    shape = (len(factors), POINTS, blocks)
    return np.log(factors)[:, None, None] + noise * rng.standard_normal(shape)


def answered(factors: list[float], blocks: int, bad: Any = None, **options: Any) -> Answer:
    """The answer of a run, of whose launches `bad` failed."""
    return answer_of(analyse(simulated_run(logs(factors, blocks, **options), bad)))


BEST = r"DECIDED: b is the best choice: a costs 2.*at least \+1[89]\."
BEST_A = "DECIDED: a is the best choice: b failed in 20 of 60 launches"
FEW = [1.0, 1.3, 0.8, 4.0]
OF_FEW = r"OPEN: HPL .*right\. how far launches scatter, from \d block"


def failed(blocks: Iterable[int]) -> dict[tuple[int, int], str]:
    """Launches of b by case and block: each of its cases failed in these blocks."""
    return {(5 + n, block): "failed" for n in range(5) for block in blocks}


@pytest.mark.parametrize(
    ("factors", "blocks", "noise", "bad", "said"),
    [
        ([1.2, 1.0, 1.4, 3.0], 8, 0.01, (), BEST),
        ([1.0, 1.001, 1.5], 12, 0.005, (), "DECIDED: .*b and a are equivalent within 3 %"),
        ([1.0, 0.9], 12, 0.01, (0, 3, 6, 9), BEST_A),
        ([1.0, 0.9], 6, 0.01, range(6), "OPEN: .*anything of b: no launch of it has a value"),
        (FEW, 1, 0.01, (), OF_FEW),
        (FEW, 2, 0.01, (), OF_FEW),
        (FEW, 5, 0.01, (), "OPEN: .*5 blocks decide nothing"),
        ([1.0], 1, 0.01, (), "MEASURED: a: HPL .*all 5 launches right.*1 block"),
    ],
)
def test_an_answer_has_its_state_and_numbers(factors, blocks, noise, bad, said):
    answer = answered(factors, blocks, failed(bad), noise=noise)
    assert re.match(said, f"{answer.state.name}: {answer.sentence} {answer.unknown}")


STRAYS = {(5, 1): "failed", (6, 4): "failed", (7, 7): "failed"}


@pytest.mark.parametrize(("cost", "noise"), [(0.85, 0.01), (0.97, 0.03), (1.0, 0.002)])
def test_where_failures_forbid_a_preference_no_further_block_is_asked_for(cost, noise):
    answer = answered([1.0, cost], 12, STRAYS, noise=noise)
    assert answer.state is State.OPEN
    assert "b failed in 3 of 60 launches" in answer.sentence
    assert "failures decide, and more blocks fail the same way" in answer.unknown
    assert "would tell" not in answer.unknown and "will do" not in answer.sentence
    assert "--blocks" not in answer.command and answer.command.startswith("assay doctor")


def test_blocks_are_still_asked_for_where_the_one_that_fails_costs_more() -> None:
    answer = answered([1.0, 1.05], 12, STRAYS, noise=0.15)
    assert answer.state is State.OPEN and "--blocks" in answer.command


@pytest.mark.parametrize("factors", [[1.0, 1.0], [1.0, 1.3]])
def test_no_further_block_is_asked_for_where_all_blocks_are_the_same(factors: list[float]) -> None:
    answer = answered(factors, 8, noise=0.0)
    assert answer.state is State.OPEN
    assert "the same in every block" in answer.unknown and "longer batches" in answer.unknown
    assert "would tell" not in answer.unknown and answer.command == ""


def test_the_answer_begins_with_that_the_machine_was_disturbed(tmp_path: Path) -> None:
    """As quick on a machine under load, which said only that 200 blocks would not tell."""

    def flagged(record: dict[str, Any]) -> dict[str, Any]:
        return record | {"flags": ["disturbed"] * (record["block"] < 3)}

    analysis = analysed(tmp_path, STARTS, blocks=5, edit=flagged)
    answer = answer_of(analysis)
    assert answer.sentence.startswith("Disturbed: ")
    assert answer.details[0] == "Other programs disturbed 4 of 10 launches."
    assert "the speed of the machine alone: run it again on idle nodes" in answer.unknown
    assert analysis.rows[0].flags == ("disturbed in 2 of 5",)


def with_a_slow_start(run: Run, weights: dict[str, float]) -> Run:
    """A run in which openmpi takes nine tenths of mpich's time, and starts 150 ms later."""
    cases = run.plan.cases
    place = {(one.check, one.environment, str(one.params)): n for n, one in enumerate(cases)}
    lower = {name for name, one in run.plan.register.metrics.items() if one.better == "lower"}
    made: list[Series] = []
    for one in run.series:
        of = cases[one.case]
        if of.environment != "mpich":
            continue
        scale = 0.9 if one.metric in lower else 1 / 0.9
        jitter = 1 + 0.002 * np.sin(1.7 * one.blocks + len(made))
        values = one.values + 0.15 if of.check == "startup" else one.values * scale * jitter
        case = place[of.check, "openmpi", str(of.params)]
        made += [one, msgspec.structs.replace(one, case=case, values=values)]
    plan = msgspec.structs.replace(run.plan, weights=weights, sequential=None)
    return replace(run, plan=plan, series=made)


def test_start_up_has_its_share_of_a_job_of_ten_minutes(tmp_path: Path) -> None:
    unpack_archive(Path(__file__).parents[2] / "assay/tests/stored_runs/quick.tar.xz", tmp_path)
    run = load_run(tmp_path / "quick")
    assert run.plan.weights["startup"] == 1.0, "a stored run keeps its weights"
    declared = load_campaign("quick").weights
    assert declared["startup"] / sum(declared.values()) == pytest.approx(0.1 / 600, rel=0.01)
    answer = answer_of(analyse(with_a_slow_start(run, declared)))
    told = answer.sentence.replace("\u202f", " ")
    assert re.match(r".*openmpi is the best choice: mpich costs 1[01]\.\d % more", told)
    earlier = answer_of(analyse(with_a_slow_start(run, run.plan.weights)))
    assert earlier.sentence != answer.sentence


def test_environments_not_told_apart_are_named_with_costs_and_the_blocks_it_takes() -> None:
    answer = answered([1.0, 1.01, 2.5, 1.0], 6, noise=0.06)
    assert answer.state is State.OPEN
    told = "d, a and b cannot yet be told apart: costs are up to 1.02 times d's."
    assert answer.sentence == told
    assert re.search(r"^assay run --resume \S+ --blocks \d+$", answer.command)


def test_so_many_blocks_as_the_answer_says_mostly_decide() -> None:
    decided = asked = 0
    for seed in range(8):
        answer = answered([1.0, 1.08], 6, noise=0.06, seed=seed)
        for blocks in re.findall(r"--blocks (\d+)", answer.command):
            more = logs([1.0, 1.08], 6 + int(blocks), noise=0.06, seed=seed)
            again = answer_of(analyse(extended_run(more, (6, 6 + int(blocks)))))
            asked += 1
            decided += again.state is State.DECIDED
    assert asked >= 4
    assert decided >= 0.7 * asked


def test_an_extended_run_says_so() -> None:
    answer = answer_of(analyse(extended_run(logs([1.0, 1.5], 12), (6, 8, 12))))
    assert answer.details[0].startswith("This run was extended after block 6 to at most 8 (2026")


def test_an_unfinished_run_is_not_decided(tmp_path: Path) -> None:
    run = simulated_run(logs([1.0, 1.5], 8))
    kept = (run.launches.case != 0) | (run.launches.block != 8)
    answer = answer_of(analyse(replace(run, launches=run.launches.part(kept))))
    assert answer.state is State.UNFINISHED
    assert answer.sentence.startswith("So far: a is the best choice")
    assert answer.unknown.startswith("1 launch has not run yet")
    assert answer.command.startswith("assay run --resume ")


def edited(path: Path, edit: Any) -> Answer:
    """The answer of a run of start-up alone."""
    return answer_of(analysed(path / "run", STARTS, blocks=8, edit=edit))


ONE_REASON = "All 16 launches failed for one reason: "
STATUS_7 = "the launcher ended with status 7"


@pytest.mark.parametrize(
    ("bad", "reason", "said", "command"),
    [
        (range(16), STATUS_7, ONE_REASON + STATUS_7, "doctor"),
        (range(16), "time limit: ended after 120 s", f"{ONE_REASON}time limit", "plan quick"),
        (range(4, 16), "status 7", "12 of 16 launches failed", "doctor"),
    ],
)
def test_a_mostly_failed_run_is_red_with_its_commonest_reason(tmp_path, bad, reason, said, command):
    count = iter(range(10_000))

    def edit(record: dict[str, Any]) -> dict[str, Any]:
        failed = {"status": "failed", "reason": reason, "metrics": []}
        return record | failed if next(count) in bad else record

    answer = edited(tmp_path, edit)
    assert (answer.state, answer.state.colour) == (State.FAILED, "bad")
    assert answer.sentence.startswith(said)
    assert answer.command == f"assay {command} --site virtual"
    assert answer.details[0].startswith("Raise limits.launch_s") == ("time limit" in reason)


def test_a_run_without_records_says_how_to_begin(tmp_path: Path) -> None:
    answer = edited(tmp_path, lambda record: None)
    assert answer.state is State.EMPTY
    assert answer.command.startswith("assay run --resume ")


def test_failed_launches_that_leave_too_few_blocks_lead_to_a_command_that_runs(tmp_path) -> None:
    def lose(record: dict[str, Any]) -> dict[str, Any]:
        ends = record["block"] <= 4 if record["environment"] == "mpich" else record["block"] > 6
        return record | {"status": "lost", "reason": "gone", "metrics": []} if ends else record

    answer = edited(tmp_path, lose)
    assert "too many launches failed" in answer.unknown
    assert answer.command.endswith(" --blocks 6")


def test_what_does_not_fit_is_cut_to_its_words() -> None:
    assert len(clipped("a " * 60, 9).split()) == 9
    assert listed(["a", "b", "c"], 2) == "a and 2 others"


@pytest.mark.parametrize("seed", range(24))
def test_every_answer_is_short_and_its_command_can_be_typed(seed: int) -> None:
    rng = np.random.default_rng(seed)
    names, blocks = int(rng.integers(1, 5)), int(rng.integers(1, 14))
    factors = (1 + rng.choice([0.0, 0.02, 0.3, 9.0]) * rng.random(names)).tolist()
    launches = rng.integers([5 * names, blocks], size=(rng.choice([0, 1, 20]), 2))
    bad = dict.fromkeys(map(tuple, launches.tolist()), "failed")
    noise = float(rng.choice([0.002, 0.02, 0.2]))
    run = simulated_run(logs(factors, blocks, noise=noise, seed=seed), bad)
    long = [f"a-library-with-a-long-name-{name}" for name in NAMES[:names]]
    cases = [
        msgspec.structs.replace(item, environment=long[NAMES.index(item.environment)])
        for item in run.plan.cases
    ]
    plan = msgspec.structs.replace(run.plan, environments=long, cases=cases)
    answer = answer_of(analyse(replace(run, plan=plan)))
    assert 3 <= len(answer.sentence.split()) <= MOST_WORDS
    assert re.search(r"\d", answer.sentence)
    assert "\n" not in answer.sentence + answer.unknown
    if answer.command:
        name, *options = answer.command.split()[1:]
        assert make_parser([name]).parse_args([name, *options])
