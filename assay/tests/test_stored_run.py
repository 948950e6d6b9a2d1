# SPDX-License-Identifier: Apache-2.0
"""A run of an early Assay is planned, resumed and judged ready as the Assay that made it would."""

from pathlib import Path

from assay.plan.planner import make_plan
from assay.run.launches import launches_to_come
from assay.run.status import run_status
from assay.schema.loading import campaign_from_text
from assay.sites.site import SiteFacts
from assay.sites.site_file import read_description
from records.run.run_directory import open_run

RUN = Path(__file__).parents[2] / "reports" / "tests" / "stored_run"


def test_its_campaign_is_planned_with_the_same_ids_and_parameters():
    run = open_run(str(RUN))
    described = read_description("virtual").environments
    features = {name: set(environment.features) for name, environment in described.items()}
    campaign = campaign_from_text("quick.yaml", run.campaign_file.read_text())
    today = make_plan(campaign, SiteFacts("virtual", 4, 1, 2**33, features))
    cases = {case.id: case for case in today.cases}
    for case in run.plan().cases:
        assert cases[case.id].params == case.params
        assert (cases[case.id].ranks, cases[case.id].nodes) == (case.ranks, case.nodes)


def test_what_it_lacks_is_what_a_resumed_run_would_launch():
    run = open_run(str(RUN))
    (launch,) = launches_to_come(run.plan(), run.records())
    assert (launch.check, launch.environment, launch.params["ranks"]) == ("startup", "lam", 1)
    assert (launch.block, launch.attempt) == (5, 1)
    status = run_status(run)
    assert (status.done, status.planned, status.failed) == (74, 75, 0)
    assert status.counts == {"ok": 74, "failed": 0, "wrong": 0, "lost": 0}
