# SPDX-License-Identifier: Apache-2.0
"""Times of plans learned from earlier runs, and the clock that all screens go by."""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path

import pytest
from msgspec.structs import replace

from assay.cli.main import main
from assay.plan.planner import launch_limit_s, make_plan
from assay.plan.times import Clock, earlier_times, interval
from assay.schema.loading import campaign_from_text
from assay.tests.campaign_texts import GOOD, SITE, spoiled
from assay.tests.test_accept_every_campaign import stored_run
from records.run.plan import Plan, PlannedCase
from records.run.provenance import Provenance, SiteAsRun
from records.run.record import Record, RecordWriter
from records.run.run_directory import RunDirectory
from records.tests.made import record

pytestmark = pytest.mark.usefixtures("folder")
#: When made runs begin, their launches after it.
BEGAN = 1_790_000_000.0
Made = tuple[PlannedCase, int, float, float]
VIRTUAL = SiteAsRun(name="virtual", partition="p", cores_per_node=1)


def time_of(seconds: float) -> str:
    told = datetime.fromtimestamp(BEGAN + seconds, UTC).isoformat(timespec="milliseconds")
    return told.replace("+00:00", "Z")


def made_run(plan: Plan, launches: Iterable[Made], name: str = "r1") -> RunDirectory:
    """A run of `plan` on the virtual site: cases with their blocks, begins and ends."""
    run = RunDirectory(Path("results", "c", name))
    run.path.mkdir(parents=True)
    run.campaign_file.write_text(GOOD)
    run.plan_file.write_text(plan.to_json())
    began = Provenance(run_id=name, started_at=time_of(0), site=VIRTUAL)
    run.provenance_file.write_bytes(began.to_json())
    with RecordWriter(run.records_file) as writer:
        for launch in launches:
            writer.append(record_of(*launch, name))
    return run


def record_of(case: PlannedCase, block: int, begin: float, end: float, run_id: str) -> Record:
    whose = {name: getattr(case, name) for name in ("check", "environment", "params", "ranks")}
    nodes = {"nodes": [f"n{n}" for n in range(case.nodes)], "metrics": []}
    times = {"started_at": time_of(begin), "ended_at": time_of(end)}
    return record(block, case_id=case.id, run_id=run_id, **whose, **nodes, **times)


def one_after_another(plan: Plan, took_s: float) -> list[Made]:
    """Each launch of a plan, the first after 20 s, with a second between two."""
    pairs = [(case, block) for block in range(1, plan.blocks + 1) for case in plan.cases]
    step_s = took_s + 1
    return [
        (case, block, 20 + step_s * n, 20 + step_s * n + took_s)
        for n, (case, block) in enumerate(pairs)
    ]


def plan_of(text: str = GOOD, earlier: Sequence[RunDirectory] = ()) -> Plan:
    campaign = campaign_from_text("c.yaml", text)
    seen = earlier_times(VIRTUAL, campaign.name) if earlier else None
    return make_plan(campaign, SITE, earlier=seen)


def test_the_second_plan_knows_what_the_first_run_took() -> None:
    first = plan_of()
    assert {case.measured for case in first.cases} == {0}
    launches = one_after_another(first, 7.0)
    second = plan_of(earlier=[made_run(first, launches)])
    assert {(case.estimate_s, case.measured) for case in second.cases} == {(7.0, 3)}
    assert (second.times.runs, second.times.between_s, second.times.builds) == (["r1"], 1.0, [])
    assert second.totals.wall_s == pytest.approx(launches[-1][3], rel=0.1)


def test_a_time_that_was_seen_makes_limits_longer_and_never_shorter() -> None:
    text = spoiled("n: [1000, 2000]", "n: [12000]").replace(", launch_s: 100", "")
    rough = plan_of(text)
    learned = plan_of(text, [made_run(rough, one_after_another(rough, 0.1))])
    limits = [[launch_limit_s(plan, case) for case in plan.cases] for plan in (rough, learned)]
    assert limits[0] == limits[1]
    assert max(limits[0]) > 60
    text = spoiled(", launch_s: 100", "")
    rough = plan_of(text)
    learned = plan_of(text, [made_run(rough, one_after_another(rough, 50.0), "r2")])
    assert {launch_limit_s(learned, case) for case in learned.cases} == {500.0}


def test_a_build_is_planned_until_a_run_has_made_it() -> None:
    rough = plan_of()
    assert rough.times.builds == ["Hpl-lam", "Hpl-mpich", "Programs-lam", "Programs-mpich"]
    of_mpich = [one for one in one_after_another(rough, 1.0) if one[0].environment == "mpich"]
    assert plan_of(earlier=[made_run(rough, of_mpich)]).times.builds == ["Hpl-lam", "Programs-lam"]


@pytest.mark.parametrize("damage", ["{", '{"case_id": 1}', '{"x": ' + "[" * 100_000, ""])
def test_a_damaged_run_teaches_nothing(damage: str) -> None:
    rough = plan_of()
    run = made_run(rough, one_after_another(rough, 7.0))
    (run.records_file if damage else run.plan_file).write_text(f"{damage}\n")
    assert plan_of(earlier=[run]) == rough


def test_runs_of_other_campaigns_and_partitions_are_left_out() -> None:
    rough = plan_of()
    made_run(rough, one_after_another(rough, 7.0))
    assert (found := earlier_times(VIRTUAL, rough.campaign)) and found.run == "r1"
    assert earlier_times(replace(VIRTUAL, partition="q"), rough.campaign) is None
    assert earlier_times(VIRTUAL, "another") is None


def test_time_left_is_what_was_seen_of_each_case(capsys: pytest.CaptureFixture[str]) -> None:
    plan = plan_of()
    clock = Clock(plan)
    assert clock.left_s() == pytest.approx(plan.totals.wall_s, abs=0.1)
    for case, block, begin, end in one_after_another(plan, 30.0):
        clock.add(record_of(case, block, begin, end, "r1"))
        if block == 1 and case is plan.cases[-1]:
            assert clock.left_s() == pytest.approx(18 * 31, rel=0.01)
            assert clock.left_s(BEGAN + end + 10) == pytest.approx(clock.left_s() - 10)
    assert clock.left_s() == 0
    assert main(["status", str(made_run(plan, one_after_another(plan, 30.0)[:9]).path)]) == 0
    assert f"about {round(18 * 31 / 60)} min left; it is not running" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["acceptance", "mpi-choice", "quick", "su3-scaling", "witness"])
def test_after_a_quarter_of_a_real_run_the_time_left_is_right(name: str, tmp_path: Path) -> None:
    run = RunDirectory(stored_run(name, tmp_path))
    entries = [one for one in run.ledger().entries if one.block > 0]
    made = {(one.case_id, one.block) for one in entries}
    plan, quarter = run.plan(), len(entries) // 4
    cases = [case for case in plan.cases if (case.id, 1) in made]
    clock = Clock(replace(plan, cases=cases), blocks=max(one.block for one in entries))
    for one in entries[:quarter]:
        clock.add(one)
    ends = entries[quarter - 1], entries[-1]
    begin, end = (interval(one.started_at, one.ended_at) for one in ends)
    assert begin and end
    assert clock.left_s() == pytest.approx(end[1] - begin[1], rel=0.2)
