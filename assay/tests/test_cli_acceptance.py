# SPDX-License-Identifier: Apache-2.0
"""`assay accept` and `assay verify`: exit statuses, messages, a re-run of the same cases, a run
years later against the acceptance that was kept."""

import json
import shutil
import subprocess

import pytest

from assay.cli import main
from assay.documents import acceptance_files as store
from assay.plan.planner import make_plan
from assay.schema.loading import load_campaign
from assay.tests.campaign_texts import CRITERIA, SITE
from reports.tests import acceptance_runs as runs
from reports.tests.synthetic import chained, changed

pytestmark = pytest.mark.usefixtures("believed")


@pytest.fixture
def place(folder, monkeypatch):
    """A working folder with a criteria file; no print, which is tested in reports."""
    monkeypatch.setattr(store, "find_browser", lambda: None)
    (folder / "mine.yaml").write_text(CRITERIA)
    return folder


def a_run(place, day="20261120", **more):
    return str(runs.write_run(place / "results" / "acceptance" / f"{day}T000000Z-0001", **more))


def test_a_good_machine_is_accepted_and_verified(place, said):
    run = a_run(place)
    told = said(0, "accept", run, "--criteria", "mine.yaml")
    assert "PASS: All 3 criteria met; nearest: " in told
    assert main(["accept", run]) == 0
    assert said(0, "verify", run).endswith(f" consistent; not proven by a signature: {run}")
    assert main(["verify", run.rsplit("/", 1)[1], "--json"]) == 0


@pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="apt-get install openssh-client")
def test_a_signed_acceptance_is_verified_by_its_signer(place, said):
    for name in ("key", "other"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", name], check=True)
        allowed = f'{name}@site namespaces="assay-acceptance" {(place / f"{name}.pub").read_text()}'
        (place / f"{name}.signers").write_text(allowed)
    run = a_run(place)
    assert main(["accept", run, "--criteria", "mine.yaml", "--sign", "key"]) == 0
    told = said(0, "verify", run, "--signers", "key.signers")
    assert "key@site" in told
    assert f"verified: {run}" in told
    assert main(["verify", run, "--signers", "other.signers"]) == 1
    assert "ssh-keygen -Y sign: " in said(2, "accept", run, "--sign", "no-such-key")


def test_a_suspect_is_inconclusive_until_a_re_run_confirms_it(place, said):
    run = a_run(place, slow_node={"n2": 0.7})
    assert f"assay accept {run} --rerun" in said(3, "accept", run, "--criteria", "mine.yaml")
    folder = place / "results" / "rerun" / "20261121T000000Z-0002"
    rerun = runs.write_run(folder, slow_node={"n2": 0.7}, blocks=3, seed=5)
    told = json.loads(said(1, "accept", run, "--with", str(rerun), "--json"))
    assert told["named"] == ["slow node n2"]
    assert main(["verify", run]) == 0
    (rerun / "provenance.json").write_text("{}")
    assert "is not the file that the run began with" in said(1, "verify", run)


def test_bad_input_gives_one_message(place, said):
    run = a_run(place)
    for argv, told in (
        (["accept", run], "--criteria FILE"),
        (["accept", run], "rehearsal, standard"),
        (["accept", run, "--criteria", "nothing"], "rehearsal, standard"),
        (["accept", "nowhere", "--criteria", "mine.yaml"], "no run 'nowhere'"),
    ):
        assert told in said(2, *argv)


@pytest.mark.parametrize(("virtual", "name"), [(False, "standard"), (True, "rehearsal")])
def test_a_run_is_judged_by_the_criteria_that_its_campaign_names(place, capsys, virtual, name):
    run = runs.write_run(place / "20261120T000000Z-0001")
    changed(run / "plan.json", judged_by=load_campaign("acceptance").judged_by)
    changed(run / "provenance.json", site={"name": "virtual", "virtual": virtual})
    assert main(["accept", str(run)]) == 3
    assert json.loads((run / "acceptance" / store.MACHINE).read_bytes())["criteria"]["name"] == name
    capsys.readouterr()
    assert main(["verify", str(run)]) == 0, capsys.readouterr().out


def test_criteria_that_are_gone_are_named_with_those_that_there_are(place, said):
    run = runs.write_run(place / "20261120T000000Z-0001")
    (place / "gone").write_text(CRITERIA)  # a plan's word is no path
    changed(run / "plan.json", judged_by={"real": "gone"})
    told = said(2, "accept", str(run))
    assert "names criteria gone, which are not there" in told
    assert "(rehearsal, standard)" in told


def test_a_re_run_has_the_cases_of_the_run_with_their_ids(place):
    plan = make_plan(load_campaign("acceptance"), SITE)
    run = runs.write_run(place / "20261120T000000Z-0001", slow_node={"n2": 0.7}, blocks=5)
    node = next(case for case in plan.cases if case.check == "node")
    own = json.loads((run / "plan.json").read_bytes())["cases"][0]["id"]
    path = run / "records.jsonl"
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    kept = [line for line in lines if line["case_id"] == own]
    for line in kept:
        line["case_id"], line["params"] = node.id, node.params
    path.write_text("".join(json.dumps(line) + "\n" for line in kept))
    (run / "plan.json").write_text(plan.to_json())
    chained(run)
    assert main(["accept", str(run), "--criteria", "mine.yaml"]) == 3
    again = make_plan(load_campaign(str(run / "acceptance" / "rerun.yaml")), SITE)
    assert [case.id for case in again.cases] == [node.id]
    assert again.blocks == 3
    assert (plan.judged_by, again.judged_by) == ({"real": "standard", "virtual": "rehearsal"}, {})
