# SPDX-License-Identifier: Apache-2.0
"""Where a run is resumed when nobody says where."""

import json

import pytest

from assay.plan import make_plan
from assay.run.start import resume_run
from assay.schema import campaign_from_text
from assay.sites.loading import VirtualSite
from assay.sites.site import SiteFacts
from assay.sites.site_file import read_description
from records.errors import AssayError
from records.run import run_directory as directory
from records.run.provenance import Network, SiteAsRun

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


def test_a_run_whose_cluster_is_gone_names_the_command_that_brings_it_up(tmp_path, monkeypatch):
    path = run_begun_on("virtual:t-nowhere", tmp_path, monkeypatch)
    with pytest.raises(AssayError) as caught:
        resume_run(str(path), None, False)
    up = "up --name t-nowhere --nodes 3 --cpus-per-node 1 --network gigabit --switches 2x2"
    for told in ("there is no cluster t-nowhere", f"`assay cluster {up}`", f"--resume {path}`"):
        assert told in str(caught.value)


def test_the_command_that_a_foreign_provenance_makes_is_quoted():
    began_on = SiteAsRun(switches="2x2;id", network=Network(name="$(id)"))
    command = "assay cluster up --network '$(id)' --switches '2x2;id'"
    assert VirtualSite.revival(began_on) == command


def test_a_site_that_is_named_wins_over_where_the_run_began(tmp_path, monkeypatch):
    path = run_begun_on("virtual:t-nowhere", tmp_path, monkeypatch)
    with pytest.raises(AssayError, match="'elsewhere': no such site"):
        resume_run(str(path), "elsewhere", False)
