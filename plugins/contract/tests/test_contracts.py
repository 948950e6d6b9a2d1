# SPDX-License-Identifier: Apache-2.0
"""Contracts: the file, the log, and what is refused before anything runs."""

import hashlib
import json
import os
import shutil
import subprocess

import jsonschema
import pytest
import yaml

from assay.cli import main
from assay.documents import acceptance_files
from assay.tests.published_forms import published
from plugins.contract import documents
from plugins.contract.loading import SCHEMA_FILE, contract_schema, load_contract
from plugins.contract.log import CONTRACTS, open_contract
from plugins.contract.stability.ledger import WatchFolder
from plugins.contract.tests.test_stability_judge import DOWN, UP, Ledger
from records.errors import AssayError
from records.run.chain import signer
from reports.tests import acceptance_runs as runs

pytestmark = pytest.mark.usefixtures("believed")

CONTRACT = """\
schema: 1
name: mine
title: A contract
stages:
  - name: nodes
    title: Every node computes
    campaign: acceptance
    checks: [node]
    criteria:
      - {id: dgemm, kind: limit, title: Rate, check: node, metric: dgemm_rate, at_least: 1,
         unit: flop/s}
"""


@pytest.fixture
def place(folder, monkeypatch):
    for module in (documents, acceptance_files):
        monkeypatch.setattr(module, "find_browser", lambda: None)
    (folder / "mine.yaml").write_text(CONTRACT)
    return folder


def test_the_schema_is_current_and_takes_the_shipped_contracts():
    assert json.loads(SCHEMA_FILE.read_text()) == contract_schema(), "run make schema"
    for name in ("small", "site"):
        _, text, _ = load_contract(name)
        jsonschema.Draft202012Validator(contract_schema()).validate(yaml.safe_load(text))


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("campaign: acceptance", "campaigns: acceptance", "mine.yaml:7: stages[0].campaigns"),
        ("unit: flop/s", "unit: Gflop/s", "mine.yaml:11: stages[0].criteria[0].unit"),
        ("metric: dgemm_rate", "metric: dgemm", "mine.yaml:10: stages[0].criteria[0].metric"),
        ("stages:\n", "stages: []\nx:\n", "stages"),
        ("    campaign: acceptance\n", "", "needs a campaign with criteria, or stability"),
        (
            CONTRACT[CONTRACT.index("kind: limit") :],
            "kind: efficiency, title: R, check: node, metric: dgemm_rate,"
            " peak: nominal,\n         at_least: 0.9, promise: 1.2}",
            "promise: found 1.2 (a number); allowed is a number of at most 1",
        ),
    ],
)
def test_a_fault_is_named_with_its_place_and_nothing_is_started(place, said, old, new, told):
    (place / "mine.yaml").write_text(CONTRACT.replace(old, new))
    assert told in said(2, "contract", "start", "mine.yaml")
    assert not CONTRACTS.exists()


def test_a_started_contract_shows_its_stages_and_cannot_be_changed(place, said):
    assert main(["contract", "start", "mine.yaml"]) == 0
    assert "NOT RUN" in said(3, "contract", "status")
    folder = open_contract(None)
    folder.file.write_text(CONTRACT.replace("at_least: 1,", "at_least: 0,"))
    with pytest.raises(AssayError, match=r"contract\.yaml"):
        folder.entries()


WALKED = CONTRACT.replace("at_least: 1,", "at_least: 1.0e+9,") + "    reruns_at_most: 0\n"
WALKED = WALKED.replace("dgemm_rate", "stream_triad").replace("flop/s", "bytes/s")
WAIVE = ["contract", "waive", "nodes", "--by", "A. Buyer", "--reason", "to be replaced"]


@pytest.fixture
def walk(place):
    """A started contract, and how its stage ends with a run that was measured before."""
    (place / "mine.yaml").write_text(WALKED)
    assert main(["contract", "start", "mine.yaml"]) == 0
    folder = open_contract(None)

    def ended(number, **slow):
        run = runs.write_run(place / "results" / "a" / f"20261120T000000Z-000{number}", **slow)
        path = os.path.relpath(run, folder.path)
        folder.append("begun", stage="nodes", attempt=number, run=path)
        return main(["contract", "next", "nodes"])

    return folder, ended


def test_a_stage_that_was_killed_after_its_run_goes_on_to_its_verdict(walk, capsys, said):
    folder, ended = walk
    assert ended(1) == 0
    assert "PASS: Its stage is passed." in capsys.readouterr().out
    assert [one.what for one in folder.entries()] == ["started", "begun", "ended"]
    assert "every stage has run" in said(2, "contract", "next")


def test_a_repeated_stage_keeps_both_attempts_and_the_latest_counts(walk, said):
    _, ended = walk
    assert ended(1, slow_node={"n2": 0.02}) == 1
    assert ended(2) == 0
    stage = published("contract", said(0, "contract", "report", "--json"))["stages"][0]
    assert [one["verdict"] for one in stage["attempts"]] == ["FAIL", "PASS"]


def test_a_waiver_by_name_and_reason_lets_it_pass_and_stays_in_the_document(walk, said):
    folder, ended = walk
    assert ended(1, slow_node={"n2": 0.02}) == 1
    waive = [*WAIVE[:3], "dgemm", *WAIVE[3:]]
    before = folder.log.read_bytes()
    for who in ([], ["--by", " "]):
        assert "--by is missing or blank" in said(2, *waive[:4], *WAIVE[5:], *who)
    assert main([*WAIVE[:3], "dgem", *WAIVE[3:]]) == 2
    for more in (("--until", "soon"), ("--until", "2026-01-31"), ("--subject", "n9")):
        assert more[1] in said(2, *waive, *more)
    assert folder.log.read_bytes() == before
    assert main([*waive, "--subject", "n2"]) == 0
    assert main(["contract", "report"]) == 0
    page = (folder.path / "document.html").read_text()
    assert all(told in page for told in ("A. Buyer", "to be replaced", "waived"))
    assert [one.verdict for one in folder.entries() if one.what == "ended"] == ["FAIL", "PASS"]


def test_a_node_that_was_not_measured_is_waived_by_name(walk, said):
    _, ended = walk
    assert ended(1, unmeasured=("n98", "n99")) == 3
    waive = [*WAIVE[:3], "nodes-measured", *WAIVE[3:], "--subject"]
    assert "not measured: n99" in said(3, *waive, "n98")
    assert main([*waive, "n99"]) == 0


def test_what_is_open_is_not_what_is_waived(walk, said):
    _, ended = walk
    assert ended(1, slow_node={"n2": 0.02, "n3": 0.03}) == 1
    assert "FAIL nodes, Rate: node n3" in said(1, *WAIVE, "--subject", "n2")


def verified(capsys, *words):
    capsys.readouterr()
    status = main(["contract", "verify", *map(str, words), "--json"])
    checks = published("verify", capsys.readouterr().out)["checks"]
    return status, [fault for check in checks for fault in check["faults"]]


def test_a_contract_is_verified_down_to_its_records(walk, capsys, monkeypatch):
    folder, ended = walk
    monkeypatch.setattr(documents, "made_with", lambda: "Assay of one commit")
    assert ended(1, slow_node={"n2": 0.02}) == 1
    assert main(WAIVE) == 0
    assert verified(capsys, folder.path) == (0, [])
    assert main(["contract", "report"]) == 0
    document = folder.path / "document.html"
    assert verified(capsys, document, "--seal", folder.chain.head[:12]) == (0, [])
    copy = shutil.copy(document, "copy.html")
    assert verified(capsys, copy) == (0, [])
    assert verified(capsys, folder.path, "--seal", "0" * 12)[0] == 1
    page = document.read_bytes()
    document.write_bytes(page.replace(b"A. Buyer", b"B. Buyer"))
    assert verified(capsys, folder.path) == (1, ["document.html was changed"])
    sums = folder.path / documents.SUMS
    old, new = (hashlib.sha256(one).hexdigest() for one in (page, document.read_bytes()))
    sums.write_text(sums.read_text().replace(old, new))
    assert verified(capsys, folder.path)[1] == ["document.html does not say what the log says"]
    document.write_bytes(page)
    (run,) = folder.path.glob("../../a/*")
    raw = max(path for path in (run / "raw").iterdir() if path.is_file())
    raw.write_bytes(raw.read_bytes() + b" ")
    assert any("raw output" in fault for fault in verified(capsys, folder.path)[1])
    folder.log.write_bytes(folder.log.read_bytes().replace(b'"PASS"', b'"FAIL"'))
    status, faults = verified(capsys, folder.path)
    assert (status, "log.jsonl" in faults[0]) == (1, True)


def test_signatures_need_a_party_and_a_stage_that_has_ended(walk, capsys, said):
    folder, ended = walk
    sign = ["contract", "sign", "--by", "A. Buyer", "--role"]
    assert "has not ended" in said(2, *sign, "Buyer")
    ended(1)
    assert "did you mean Buyer?" in said(2, *sign, "Byer")
    assert main([*sign, "Buyer"]) == 0
    assert folder.entries()[-1].verdict == "PASS"
    assert "current" in capsys.readouterr().out
    ended(2, slow_node={"n2": 0.02})
    assert "superseded" in " ".join(capsys.readouterr().out.split())


def test_the_vendor_gets_what_fails_with_raw_output(walk):
    folder, ended = walk
    ended(1, slow_node={"n2": 0.02})
    assert main(["contract", "report"]) == 1
    page = (folder.path / "vendor.html").read_text()
    assert "n2" in page and "20261120T000000Z-0001/raw/" in page
    ended(2)
    assert main(["contract", "report"]) == 0
    assert not (folder.path / "vendor.html").exists()


def test_a_judgement_that_was_changed_is_refused(walk, said):
    folder, ended = walk
    ended(1)
    kept = next((folder.path / "judgements").iterdir())
    kept.write_bytes(kept.read_bytes().replace(b"PASS", b"FAIL"))
    assert kept.name in said(2, "contract", "status")


def test_a_stage_that_holds_up_others_is_named(place, said):
    second = WALKED[WALKED.index("  - name: nodes") :].replace("name: nodes", "name: links")
    first = WALKED.replace("    checks: [node]\n", "    checks: [node]\n    holds_up: true\n")
    (place / "mine.yaml").write_text(first + second)
    assert main(["contract", "start", "mine.yaml"]) == 0
    assert "stage links waits: stage nodes" in said(2, "contract", "next", "links")


PROMISED = {"mtbi_s": 1440.0, "availability": 0.9}
PERIOD = CONTRACT[: CONTRACT.index("  - name: nodes")]
PERIOD += """\
  - name: stability
    title: An hour
    stability: {days: 0.0416666667, mtbi_h: 0.4, availability: 0.9}
"""


@pytest.fixture
def period(place):
    """A started period, and how it ends with looks that were booked by a timer."""
    (place / "mine.yaml").write_text(PERIOD)
    assert main(["contract", "start", "mine.yaml"]) == 0
    folder = open_contract(None)

    def ended(ledger):
        watch = WatchFolder(folder.path / "stability-1")
        watch.path.mkdir()
        for entry in ledger.entries:
            watch.add(entry)
        folder.append("begun", stage="stability", attempt=1, file="stability-1")
        return main(["contract", "next"])

    return folder, ended


def test_a_period_with_many_outages_fails_and_can_be_waived(period, capsys):
    folder, ended = period
    assert ended(Ledger().begin(**PROMISED).with_outages(9)) == 1
    assert "stability, MTBI of the period" in " ".join(capsys.readouterr().out.split())
    assert main(["contract", "waive", "stability", "mtbi", *WAIVE[3:]]) == 0
    assert main(["contract", "report"]) == 0
    assert "to be replaced" in (folder.path / "document.html").read_text()
    assert verified(capsys, folder.path) == (0, [])


def test_an_outage_that_gets_its_class_after_the_judgement_is_judged_again(period, capsys):
    folder, ended = period
    ledger = Ledger().begin(**PROMISED)
    ended(ledger.look(nodes={"n2": DOWN}).look(nodes={"n2": UP}).until_the_end())
    (outage,) = ledger.booked.outages
    watch = f"contract watch --folder {folder.path}/stability-1 --site virtual".split()
    assert main([*watch, "--class", f"{outage.id}=vendor", *WAIVE[3:]]) == 0
    main(["contract", "next", "stability"])
    assert main(["contract", "report"]) != 2
    assert [one.attempt for one in folder.entries() if one.what == "ended"] == [1, 1]
    assert verified(capsys, folder.path) == (0, [])


def test_a_quiet_period_passes_and_its_ledger_cannot_be_changed_afterwards(period, capsys, said):
    folder, ended = period
    assert ended(Ledger().begin(**PROMISED).until_the_end()) == 0
    assert "PASS" in capsys.readouterr().out
    ledger = folder.path / "stability-1" / "looks.jsonl"
    ledger.write_bytes(ledger.read_bytes().replace(b'"n1"', b'"n9"'))
    assert "looks.jsonl" in said(2, "contract", "report")


def test_the_score_is_the_weighted_mean_of_values_over_limits(walk, place, said):
    _, ended = walk
    ended(1, noise=0.0)
    form = published("contract", said(0, "contract", "status", "--json"))
    (item,) = form["stages"][0]["attempts"][0]["results"][1]["items"][:1]
    assert form["score"] == pytest.approx(item["median"] / 1.0e9, rel=0.05)


@pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="apt-get install openssh-client")
def test_a_key_signs_the_checksums_of_the_document(walk, place):
    folder, ended = walk
    ended(1)
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", "key"], check=True)
    assert main(["contract", "sign", "--role", "Buyer", "--by", "A. Buyer", "--key", "key"]) == 0
    sums = folder.path / documents.SUMS
    assert "key" in signer(sums, None)
    subprocess.run(["sha256sum", "--check", "--quiet", sums.name], cwd=folder.path, check=True)
