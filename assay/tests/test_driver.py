# SPDX-License-Identifier: Apache-2.0
"""What is still to be run, from a plan and the records so far."""

from assay.plan import make_plan, runs_alone
from assay.run.launches import in_sessions, launches_to_come
from assay.schema import campaign_from_text
from assay.sites.facts import SiteFacts
from records.tests.made import record

CAMPAIGN = """
schema: 1
name: small
question: which?
environments: [a, b]
blocks: 3
seed: 7
cases:
  - check: startup
    matrix: {ranks: [1, 2, 64]}
"""
SITE = SiteFacts("s", 4, 1, 10**9, {"a": {"mpi"}, "b": {"mpi"}})


def plan():
    return make_plan(campaign_from_text("small.yaml", CAMPAIGN), SITE)


def keys(launches):
    return [(launch.case_id, launch.block) for launch in launches]


def test_a_fresh_run_has_every_feasible_case_once_in_every_block():
    found = keys(launches_to_come(plan(), []))
    cases = [case.id for case in plan().cases if case.skipped is None]
    assert len(cases) == 4
    assert sorted(found) == sorted((case, block) for case in cases for block in (1, 2, 3))


def test_a_session_has_one_mix_where_jobs_are_handed_in_at_once():
    coming = [*launches_to_come(plan(), [])]
    sessions = [[launch.block for launch in one] for one in in_sessions(coming, 2)]
    assert sessions == [[1] * 4 + [2] * 4, [3] * 4]
    assert [*in_sessions(coming, 0)] == [coming]


def test_blocks_come_one_after_the_other_each_in_its_own_order():
    launches = list(launches_to_come(plan(), []))
    assert [launch.block for launch in launches] == [1] * 4 + [2] * 4 + [3] * 4
    orders = {tuple(k for k, b in keys(launches) if b == block) for block in (1, 2, 3)}
    assert len(orders) > 1


def test_the_order_is_the_same_every_time():
    assert keys(launches_to_come(plan(), [])) == keys(launches_to_come(plan(), []))


def test_what_is_done_is_not_run_again_but_what_was_lost_is():
    everything = keys(launches_to_come(plan(), []))
    outcomes = {3: ("lost", 2), 4: ("failed", 1)}
    done = [
        record(block, case_id=case, status=status, attempt=attempt)
        for place, (case, block) in enumerate(everything)
        for status, attempt in [outcomes.get(place, ("ok", 1))]
        if place != 7
    ]
    left = list(launches_to_come(plan(), done))
    assert keys(left) == [everything[3], everything[7]]
    assert [launch.attempt for launch in left] == [3, 1]


def test_of_launches_that_others_may_run_beside_some_are_drawn_to_run_alone():
    launches = list(launches_to_come(plan(), [], at_once=2))
    assert {launch.drawn_alone for launch in launches if launch.nodes > 1} == {None}
    assert all(launch.undisturbed for launch in launches if launch.nodes > 1)
    drawn = [launch for launch in launches if launch.nodes == 1]
    assert {launch.drawn_alone for launch in drawn} == {True, False}
    assert all(launch.undisturbed is launch.drawn_alone for launch in drawn)
    assert {launch.drawn_alone for launch in launches_to_come(plan(), [])} == {None}
    share = sum(runs_alone(f"a-{n}", 1, 1, 4) for n in range(3000)) / 3000
    assert 0.17 < share < 0.23
