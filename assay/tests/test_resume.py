# SPDX-License-Identifier: Apache-2.0
"""Where a run is resumed when nobody says where."""

import json

import pytest

from assay.plan.planner import make_plan
from assay.run.start import resume_run
from assay.schema.loading import campaign_from_text
from assay.sites.site import SiteFacts
from assay.sites.site_file import read_description
from records.errors import AssayError
from records.run import run_directory as directory

CAMPAIGN = """
schema: 1
name: small
question: which?
environments: [lam]
blocks: 1
seed: 7
cases:
  - check: startup
    fixed: {ranks: 2}
"""


def run_begun_on(asked_as, tmp_path, monkeypatch):
    monkeypatch.setattr(directory, "RESULTS", tmp_path)
    features = {"lam": set(read_description("virtual").environments["lam"].features)}
    site = SiteFacts("virtual", 3, 1, 10**9, features)
    run = directory.create_run(CAMPAIGN, make_plan(campaign_from_text("x.yaml", CAMPAIGN), site))
    size = {"nodes": 3, "cores_per_node": 1, "network": {"name": "gigabit"}, "switches": "2x2"}
    began_on = {"name": "virtual", "asked_as": asked_as, "virtual": True, **size}
    run.provenance_file.write_text(json.dumps({"schema": 1, "site": began_on}))
    return run.path


def test_a_site_that_is_named_wins_over_where_the_run_began(tmp_path, monkeypatch):
    path = run_begun_on("virtual:t-nowhere", tmp_path, monkeypatch)
    with pytest.raises(AssayError, match="'elsewhere': no such site"):
        resume_run(str(path), "elsewhere", False)
