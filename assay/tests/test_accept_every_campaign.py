# SPDX-License-Identifier: Apache-2.0
"""Every shipped criteria file judges a real run of every shipped campaign, to a document that
verifies; what a campaign does not measure is INCONCLUSIVE and named."""

import json
import shutil
from pathlib import Path

import pytest

from assay import criteria_files
from assay.cli import main
from assay.documents import acceptance_files as store
from assay.schema.criteria import load_criteria
from assay.schema.loading import campaign_names

STORED = Path(__file__).with_name("stored_runs")
#: Campaigns with a stored run; those of programs that few machines have are without.
WITH_RUN = [name for name in campaign_names() if (STORED / f"{name}.tar.xz").exists()]
STATUS = {"PASS": 0, "FAIL": 1, "INCONCLUSIVE": 3, "SUSPECT": 3}


def stored_run(campaign: str, place: Path) -> Path:
    """A copy of the stored run of a campaign."""
    shutil.unpack_archive(STORED / f"{campaign}.tar.xz", place)
    return place / campaign


@pytest.fixture(scope="module", params=WITH_RUN)
def run(request, tmp_path_factory):
    return stored_run(request.param, tmp_path_factory.mktemp("stored"))


@pytest.mark.full(sample=3)
@pytest.mark.parametrize("criteria", criteria_files())
def test_every_criteria_file_judges_a_run_of_every_campaign(run, criteria, monkeypatch, capsys):
    monkeypatch.setattr(store, "find_browser", lambda: None)
    status = main(["accept", str(run), "--criteria", criteria])
    told = json.loads((run / "acceptance" / store.MACHINE).read_bytes())
    assert status == STATUS[told["verdict"]]
    results = {result["id"]: result for result in told["results"]}
    asked = {one.id: one for one in load_criteria(criteria)[0].criteria}
    left_out = {one["id"] for one in told["left_out"]}
    assert {*results, *left_out} == {"answers", *asked}
    measured = {case["check"] for case in json.loads((run / "plan.json").read_bytes())["cases"]}
    for name in asked.keys() - left_out:
        one = asked[name]
        result = results[name]
        notes = [result["note"], *(item["note"] for item in result["items"])]
        if result["verdict"] == "INCONCLUSIVE":
            assert any(notes), name
        if one.check not in measured:
            assert (result["verdict"], result["items"]) == ("INCONCLUSIVE", []), name
            assert f"no case of check {one.check}" in result["note"]
    assert told["verdict"] != "PASS" or all(r["verdict"] == "PASS" for r in results.values())
    capsys.readouterr()
    assert main(["verify", str(run)]) == 0, capsys.readouterr().out
