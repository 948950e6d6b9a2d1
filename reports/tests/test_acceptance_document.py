# SPDX-License-Identifier: Apache-2.0
"""The document says what was judged, is safe and whole; verification finds every change."""

import json
import re
import shutil
import subprocess
from xml.etree import ElementTree

import html5lib  # type: ignore[import-untyped]
import msgspec
import pytest
from pypdf import PdfReader

from assay.documents import acceptance_files as store
from assay.documents.verify import verify
from assay.schema.criteria import criteria_from_text
from records.errors import AssayError
from records.run.chain import SEAL, SIGNATURE, digest, sign, sums_text
from reports.render import html, terminal
from reports.render.files import find_browser
from reports.render.formats import junit
from reports.verdicts.acceptance.judge import AcceptanceForm
from reports.verdicts.acceptance.result import acceptance_result

from . import acceptance_runs as runs
from .synthetic import chained, changed, rewrite, with_records

HERE = "Assay 0.1.0 (commit 0123)"
RUN, RERUN = "20261120T000000Z-0001", "20261121T000000Z-0002"
RECORDS, AGAIN = "records.jsonl", f"../{RERUN}/records.jsonl"
PAGE, MACHINE = f"acceptance/{store.DOCUMENT}", f"acceptance/{store.MACHINE}"
ASKED, SUMS = f"acceptance/{store.CRITERIA}", f"acceptance/{store.SUMS}"
CRITERIA = """\
schema: 1
name: mine
title: Contract <b>4711</b>
criteria:
  - {id: triad, kind: nodes, title: Triad, check: node, metric: stream_triad}
  - id: bw
    kind: links
    title: Links
    check: alltoall_pairs
    metric: pair_bandwidth
    of: best
    at_least: 0.9
  - id: abs
    kind: limit
    title: Promise
    check: node
    metric: stream_triad
    at_least: 4.0e+9
    unit: bytes/s
"""
WAIVER = "- {{criterion: nodes-measured, subject: {}, author: A, reason: R, expires: 2099-12-31}}\n"


def made(path, reruns=()):
    criteria = criteria_from_text("mine.yaml", CRITERIA)
    return runs.dossier(path, criteria, CRITERIA, reruns, HERE)


@pytest.fixture(scope="module")
def judged_once(tmp_path_factory):
    """A judged run with a re-run; without the print, which takes long and is tested apart."""
    slow = {"slow_node": {"n2": 0.7}, "slow_link": {"n3": 0.5}}
    place = tmp_path_factory.mktemp("judged")
    run = runs.write_run(place / RUN, **slow)
    again = runs.write_run(place / RERUN, seed=9, blocks=3, **slow)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(store, "find_browser", lambda: None)
        store.write(made(run, [again]), CRITERIA)
    return place


@pytest.fixture(scope="module")
def dossier(judged_once):
    return made(judged_once / RUN, store.known_reruns(judged_once / RUN))


@pytest.fixture
def accepted(judged_once, tmp_path):
    """A copy of the judged run, to be tampered with."""
    shutil.copytree(judged_once, tmp_path / "results")
    return tmp_path / "results" / RUN


def checked(run, **more):
    return verify(run, criteria_from_text, **{"made_with": HERE} | more)


def faults(run, **more):
    return [fault for check in checked(run, **more) for fault in check.faults]


def test_the_page_is_well_formed_escaped_and_its_links_lead_somewhere(accepted):
    text = (accepted / PAGE).read_text()
    tree = html5lib.HTMLParser(strict=True, namespaceHTMLElements=False).parse(text)
    ids = [element.get("id") for element in tree.iter() if element.get("id")]
    links = [element.get("href") for element in tree.iter("a")]
    assert len(ids) == len(set(ids))
    assert {link[1:] for link in links if link.startswith("#")} <= set(ids)
    raw = [accepted / "acceptance" / link for link in links if "/raw/" in link]
    assert raw and all(path.is_file() for path in raw)
    assert "Slow node n2" in text and "Slow link of n3" in text
    assert not re.search("<b>4711|<script|script-src", text)


def test_the_page_names_environments_that_the_site_lacks(tmp_path):
    path = runs.write_run(tmp_path / "run", checks=("node",), blocks=3)
    changed(path / "plan.json", absent={"lam": "site virtual has no environment <lam>"})
    page = html.page(acceptance_result(made(path)))
    assert "not on site virtual: lam (site virtual has no environment &lt;lam&gt;)" in page


def test_each_criterion_is_a_test(dossier):
    text = "".join(junit(acceptance_result(dossier).tests, "acceptance"))
    cases = ElementTree.fromstring(text).iter("testcase")  # noqa: S314 our own
    outcomes = {str(case.get("name")): [one.tag for one in case] for case in cases}
    found = {"triad: Triad": ["failure"], "bw: Links": ["failure"], "abs: Promise": []}
    assert {name: outcomes[name] for name in found} == found
    assert next(name for name in outcomes if name not in found).startswith("answers: ")
    assert "n2, mpich: " in text


def test_the_same_run_gives_the_same_seal_and_page(accepted, dossier):
    again = made(accepted, store.known_reruns(accepted))
    page = html.page(acceptance_result(again))
    assert (again.seal, page) == (dossier.seal, html.page(acceptance_result(dossier)))
    assert again.seal in (accepted / SUMS).read_text()
    assert f'<meta name="assay-run" content="{RUN}">' in page
    assert f'<meta name="assay-seal" content="{dossier.seal}">' in page
    assert f"Run {RUN} · seal {dossier.seal[:16]}" in page


def test_the_machine_form_has_each_verdict_with_its_raw_output(accepted):
    content = json.loads((accepted / MACHINE).read_bytes())
    assert content["verdict"] == "FAIL"
    assert content["named"] == ["slow node n2", "slow link of n2", "slow link of n3"]
    triad = content["results"][1]
    assert triad["items"][0]["n"] == 8
    launches = triad["launches"][triad["items"][0]["launches"]]
    assert len(launches) == 8
    assert all(re.search(r"/raw/.*\.out$", launch) for launch in launches)


def test_what_was_not_touched_is_verified_and_another_assay_says_so(accepted):
    assert faults(accepted) == []
    found = checked(accepted, made_with="Assay 9.9.9")
    assert all(check.good and not check.unproven for check in found)
    notes = {check.what: check.note for check in found}
    assert notes["verdicts from the records"] == f"made with {HERE}; this is Assay 9.9.9"


@pytest.mark.parametrize("forged", [False, True])
def test_a_document_of_schema_3_is_verified_by_the_keys_it_has(accepted, forged):
    machine = accepted / MACHINE
    content = json.loads(machine.read_bytes()) | {"schema": 3}
    del content["rerun_pairs"]
    for result in content["results"]:
        del result["lacks_rate"], result["further_explained"]
        for item in result["items"]:
            del item["place"], item["shares"], item["decidable"], item["charged_to"]
    kept = {"n", "median", "low", "high", "level", "bound"}
    kept |= {"criterion", "environment", "subject", "point"}
    for finding in content["findings"]:
        found = finding["accusations"]
        finding["accusations"] = [{name: one[name] for name in kept} for one in found]
    content["results"][1]["items"][0]["median"] *= 1.1 if forged else 1.0
    machine.write_text(json.dumps(content))
    checks = {check.what: check for check in checked(accepted, made_with="Assay 9.9.9")}
    assert checks["verdicts from the records"].good != forged
    form = msgspec.json.decode(machine.read_bytes(), type=AcceptanceForm)
    assert [finding.title for finding in form.findings] == content["named"]


@pytest.mark.parametrize(
    ("key", "value", "compared"),
    [("statement", "worded otherwise", False), ("note", "too", False), ("verdict", "PASS", True)],
)
def test_of_a_document_numbers_and_verdicts_are_compared_but_no_sentences(
    accepted, key, value, compared
):
    results = json.loads((accepted / MACHINE).read_bytes())["results"]
    results[1][key] = value
    changed(accepted / MACHINE, results=results)
    for version in (HERE, "Assay 9.9.9"):
        checks = {check.what: check for check in checked(accepted, made_with=version)}
        assert bool(checks["verdicts from the records"].faults) == compared


def replaced(name, old, new):
    def change(run):
        content = (run / name).read_bytes()
        assert old in content
        (run / name).write_bytes(content.replace(old, new, 1))

    return change


def removed(name):
    return lambda run: (run / name).unlink()


def put(name, text):
    return lambda run: (run / name).write_text(text)


def sums_made_again(run):
    """What a forger does last: the list of checksums made again from what lies there."""
    folder = run / "acceptance"
    names = [line[66:] for line in (run / SUMS).read_text().splitlines()]
    sums = {name: digest(folder / name) for name in names if (folder / name).is_file()}
    (run / SUMS).write_text(sums_text(sums))


@pytest.fixture(scope="module")
def keys(tmp_path_factory):
    """Two private keys; the first is that of the acceptor, whom the file of signers allows."""
    folder = tmp_path_factory.mktemp("keys")
    for name in ("mine", "other"):
        words = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", name, "-f", folder / name]
        subprocess.run(words, check=True)
    (folder / "signers").write_text(f"acceptor@site {(folder / 'mine.pub').read_text()}")
    return folder


@pytest.mark.full
@pytest.mark.skipif(
    shutil.which("ssh-keygen") is None, reason="no ssh-keygen: apt-get install openssh-client"
)
def test_a_signature_names_its_signer_and_covers_every_file(accepted, keys):
    sums, signers = accepted / SUMS, keys / "signers"
    assert faults(accepted, signers=signers) == [f"{store.SUMS}{SIGNATURE} is missing"]
    sign(sums, keys / "mine")
    for given in (None, signers):
        (check,) = (one for one in checked(accepted, signers=given) if "signature" in one.what)
        assert check.good
        assert ("acceptor@site" in check.note) == (given is not None)
    # Whoever replaces the page and its checksum cannot sign for the acceptor.
    with (accepted / PAGE).open("a") as file:
        file.write("<!-- PASS -->")
    sums_made_again(accepted)
    told = faults(accepted, signers=signers, made_with="Assay 9.9.9")
    assert [fault.partition(":")[0] for fault in told] == ["ssh-keygen -Y verify"]
    sums.with_name(sums.name + SIGNATURE).unlink()
    sign(sums, keys / "other")
    told = faults(accepted, signers=signers, made_with="Assay 9.9.9")
    assert "find-principals" in told[0]


def forged(change):
    """A change of the folder after which its checksums agree."""
    return lambda run: (change(run), sums_made_again(run))


def is_found(run, tamper, told):
    tamper(run)
    found = faults(run)
    assert any(told in fault for fault in found), found


def fewer_sums(run):
    sums = {name: digest(run / "acceptance" / name) for name in (store.MACHINE, store.CRITERIA)}
    (run / SUMS).write_text(sums_text(sums))


def _record_better(run):
    def better(record):
        for metric in record["metrics"]:
            if metric.get("at") == {"node": "n2"}:
                metric["value"] *= 1.4
        return record

    chained(with_records(run, better))


def _raw(run):
    next((run / "raw").glob("node-*.b1.a1.out")).write_text("faster\n")


def _without_checksums(run):
    with_records(run, lambda one: one | {"artifacts": {"stdout": one["artifacts"]["stdout"]}})


def _sealed(**members):
    return lambda run: changed(run / SEAL, **members)


def _half(run):
    rewrite(run, lambda found: found[: len(found) // 2])


@pytest.mark.full(sample=4)
@pytest.mark.parametrize(
    ("tamper", "told"),
    [
        (_record_better, "criterion triad: FAIL in the document"),
        (_raw, "is not what its record says"),
        (_without_checksums, "has no checksum in its record"),
        (_half, "lines at the end are missing"),
        (put("raw/more.out", ""), "raw/more.out was added"),
        (put("acceptance/evil.html", ""), "evil.html is not listed"),
        (replaced(ASKED, b"4.0e+9", b"3.0e+9"), "criteria.yaml was changed"),
        (replaced(PAGE, b"FAIL", b"PASS"), "document.html was changed"),
        (replaced(MACHINE, b"FAIL", b"PASS"), "verdict differs: 'PASS' in the document, 'FAIL'"),
        (put(MACHINE, "{}"), "cannot be read"),
        (removed(SUMS), "SHA256SUMS is missing"),
        (put("provenance.json", "{}"), "provenance.json:1: is not the file that the run began"),
        (replaced(AGAIN, b'"job_id":"41"', b'"job_id":"7"'), "0002/records.jsonl:2: the chain is"),
        (forged(removed(MACHINE)), "acceptance.json is missing"),
        (forged(fewer_sums), "document.html is not listed"),
    ],
)
def test_tampering_is_found(accepted, tamper, told):
    is_found(accepted, tamper, told)


@pytest.fixture
def sealed(tmp_path):
    """A run that is chained and sealed, and not judged."""
    return runs.write_run(tmp_path / RUN)


@pytest.mark.parametrize(
    ("tamper", "told"),
    [
        (removed(SEAL), "seal.json is missing"),
        (_sealed(began_with={}), "campaign.yaml:1: is not the file that the run began with"),
        (_sealed(schema=77), "is a seal of schema 77"),
        (_sealed(head="0" * 64), "not the record with which the run was sealed"),
        (_half, "7 records; the run was sealed with 15"),
        (
            lambda run: (run / RECORDS).open("ab").write(b'{"half'),
            "jsonl:16: the last line is torn",
        ),
    ],
)
def test_a_sealed_run_that_was_changed_is_not_verified(sealed, tamper, told):
    is_found(sealed, tamper, told)


def test_a_sealed_run_is_verified_and_its_head_is_in_the_document(sealed, monkeypatch):
    monkeypatch.setattr(store, "find_browser", lambda: None)
    head = json.loads((sealed / SEAL).read_bytes())["head"]
    assert all(check.good and not check.unproven for check in checked(sealed))
    store.write(made(sealed), CRITERIA)
    assert faults(sealed) == []
    assert head in (sealed / PAGE).read_text()
    (told,) = json.loads((sealed / MACHINE).read_bytes())["records"]
    assert (told["records"], told["head"]) == (15, head)


def test_another_run_is_no_re_run(tmp_path):
    run = runs.write_run(tmp_path / RUN, checks=("node",))
    with pytest.raises(AssayError, match="is no re-run of"):
        made(run, [runs.write_run(tmp_path / RERUN, checks=("hpl",))])


@pytest.mark.full
@pytest.mark.skipif(find_browser() is None, reason="no browser: apt-get install chromium")
def test_the_document_is_printed_too(tmp_path):
    run = runs.write_run(tmp_path / RUN, checks=("node",))
    store.write(made(run), CRITERIA)
    printed = PdfReader(run / "acceptance" / store.PRINT).pages
    assert f"page 1 of {len(printed)}" in printed[0].extract_text()
    first = "".join(page.extract_text() for page in printed[:2])
    assert all(told in first for told in ("PASS", "Criteria", "Signatures"))
    for place in (run, shutil.copytree(run, tmp_path / "copy")):
        assert all(check.good and not check.unproven for check in checked(place))
    put("acceptance/document.pdf", "x")(run)
    assert faults(run) == ["document.pdf was changed"]


@pytest.mark.parametrize(
    ("waived", "verdict", "named"),
    [
        ((), "INCONCLUSIVE", "not measured: n98, n99"),
        (("n98",), "INCONCLUSIVE", "not measured: n99"),
        (("n98", "n99"), "PASS", "not measured: n98, n99, waived"),
        ((None,), "PASS", "not measured: n98, n99, waived"),
    ],
)
def test_nodes_of_the_partition_without_values_leave_it_open_until_each_is_waived(
    tmp_path, waived, verdict, named
):
    more = "".join(WAIVER.format(json.dumps(node)) for node in waived)
    text = f"{CRITERIA}waivers:\n{more}" if waived else CRITERIA
    run = runs.write_run(tmp_path / RUN, unmeasured=("n98", "n99"))
    dossier = runs.dossier(run, criteria_from_text("mine.yaml", text), text)
    assert dossier.judgement.verdict == verdict
    assert not dossier.judgement.rerun
    result = acceptance_result(dossier)
    first = f"Every node of the partition was measured: {named}."
    assert (result.answer.sentence == first) == (verdict != "PASS")
    assert all(named in text for text in (terminal.text(result), html.page(result)))


@pytest.mark.parametrize(
    ("nodes", "checks", "named"),
    [
        (runs.NODES, ("node",), True),
        (runs.NODES, ("alltoall_pairs",), True),
        (runs.NODES, ("hpl",), True),
        ((*runs.NODES, "n5"), ("hpl",), False),  # of 4 nodes: it says nothing of all
    ],
)
def test_only_a_run_that_speaks_of_all_nodes_lacks_one(tmp_path, nodes, checks, named):
    run = runs.write_run(tmp_path / RUN, nodes=nodes, checks=checks, unmeasured=("n10", "n9"))
    assert made(run).evidence.unmeasured == (("n9", "n10") if named else ())
