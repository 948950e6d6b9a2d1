# SPDX-License-Identifier: Apache-2.0
"""`assay verify` reads values again: a record that its raw output does not give is named, though
checksums, chain and seal were computed again; so is what was added to archives and folders."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from zipfile import ZipFile

import pytest

from assay.cli import main
from assay.documents.verify import SuiteTestError, unproven
from assay.run import rereading
from assay.tests.rewritten_runs import rewritten
from assay.tests.test_accept_every_campaign import WITH_RUN, stored_run
from checks.common.registry import CHECKS
from records.run.archive import ArchiveWriter, Packed
from records.run.run_directory import open_run


@pytest.fixture
def verified(capsys):
    """Verifies a run: status, and what was told by check."""

    def verify(run: Path) -> tuple[int, dict[str, dict]]:
        capsys.readouterr()
        status = main(["verify", str(run), "--json"])
        said = capsys.readouterr()
        return status, {one["what"]: one for one in json.loads(said.out)["checks"]}

    return verify


RATE = " flop/s, higher is better"
MEASURED = f"15685997225.732891{RATE}"
VALUES, RAW = "values read again from raw output", "raw output against the records"


@pytest.mark.parametrize("campaign", WITH_RUN)
def test_all_values_of_a_stored_run_are_those_of_its_raw_output(campaign, tmp_path, verified):
    status, told = verified(stored_run(campaign, tmp_path))
    assert status == 0
    assert told[VALUES] == {"what": VALUES, "faults": [], "note": "", "unproven": False}


def test_launches_that_only_a_suite_can_read_are_judged_where_the_criteria_say_so(tmp_path):
    run = open_run(str(stored_run("nightly", tmp_path)))

    def reread(files, record):
        raise SuiteTestError

    told = [*unproven(run.path, run.records(), reread)]
    assert told
    assert all("criteria with `unproven: accept` take it" in one for one in told)
    assert not [*unproven(run.path, run.records(), reread, suites=True)]


def doubled(record):
    for metric in record["metrics"]:
        if metric["name"] == "rate":
            metric["value"] *= 2


def without_metrics(record):
    record["metrics"] = []


def of_another_time(record):
    record["ended_at"] = "2026-11-23T18:05:56.000Z"


def oversubscribed(record):
    record["flags"] = ["oversubscribed"]


def cut(record):
    doubled(record)
    record["flags"] += ["raw-cut-to-64-MiB"]


def too_short(record):
    record["flags"] = ["too-short"]


def in_a_file(record):
    doubled(record)
    record["artifacts"] |= {
        kind.replace("stdout", "points"): value
        for kind, value in record["artifacts"].items()
        if kind.startswith("stdout")
    }


def on_other_nodes(record):
    record["nodes"] = ["n3", "n4"]


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (doubled, f"rate is 31371994451.465782{RATE} in the record, {MEASURED} in the raw output"),
        (without_metrics, f"rate is missing in the record, {MEASURED} in the raw output"),
        (
            of_another_time,
            "ended_at is 2026-11-23T18:05:56.000Z, its raw output says 2026-11-23T18",
        ),
        (oversubscribed, "its flags are oversubscribed, by the raw output none"),
        (too_short, "its flags are too-short, by the raw output none"),
        (cut, "it is said to be cut, and none of its raw files is so long"),
        (in_a_file, "rate is 31371994451.465782"),
        (on_other_nodes, "it is recorded as ok, its raw output is wrong: "),
    ],
)
def test_a_record_that_is_not_its_raw_outputs_is_named(change, told, tmp_path, verified):
    first = "hpl-b2ad446d, block 1, attempt 1: "

    def edit(record):
        if (record["case_id"], record["block"]) == ("hpl-b2ad446d", 1):
            change(record)
        return record

    status, found = verified(rewritten(stored_run("nightly", tmp_path), edit))
    assert status == 1
    assert found[VALUES]["faults"][0].startswith(first + told), found
    assert [one for one in found.values() if one["faults"]] == [found[VALUES]]


def of_another_site(record, _):
    record["site"] = "elsewhere"


def of_more_ranks(record, _):
    record["ranks"] = 64


def of_a_third_attempt(record, _):
    record["attempt"] = 3


def copied(record, others):
    fast = others["hpl-b2ad446d", 1]
    names = "metrics", "artifacts", "started_at", "ended_at", "job_id", "nodes"
    record |= {name: fast[name] for name in names}


def of_another_environment(record, others):
    other = others["hpl-8853791c", 2]
    names = "metrics", "artifacts", "started_at", "ended_at", "job_id", "nodes"
    record |= {name: other[name] for name in names}


@pytest.mark.parametrize(
    ("change", "status", "told"),
    [
        (of_another_site, 2, "`site` is 'elsewhere', but plan.json has 'virtual'"),
        (of_more_ranks, 2, "`ranks` is 64, but plan.json has 2 for case hpl-b2ad446d"),
        (of_a_third_attempt, 1, "attempt 3 is there, of 3 attempts 1 have a record"),
        (copied, 1, "its job script is that of hpl_b2ad446d, block 1"),
        (copied, 1, "its raw output is that of hpl-b2ad446d, block 1, attempt 1"),
        (of_another_environment, 1, "raw output is wrong: the library calls itself 'MPICH"),
    ],
)
def test_a_launch_that_is_another_is_named(change, status, told, tmp_path, capsys):
    others = {}

    def edit(record):
        place = others[record["case_id"], record["block"]] = record["case_id"], record["block"]
        others[place] = record
        if place == ("hpl-b2ad446d", 2):
            change(record, others)
        return record

    assert (
        main(["verify", str(rewritten(stored_run("nightly", tmp_path), edit)), "--json"]) == status
    )
    said = capsys.readouterr()
    assert told in " ".join((said.out + said.err).split())


def test_what_the_plan_says_of_a_metric_is_held_against_its_check(tmp_path, verified):
    run = stored_run("nightly", tmp_path)
    plan = run / "plan.json"
    turned = plan.read_text().replace(
        '"name":"rate","unit":"flop/s","better":"higher"',
        '"name":"rate","unit":"flop/s","better":"lower"',
    )
    plan.write_text(turned)

    def edit(record):
        for metric in record["metrics"]:
            metric["better"] = "lower" if metric["name"] == "rate" else metric["better"]
        return record

    status, found = verified(rewritten(run, edit))
    assert status == 1
    assert "flop/s, lower is better in the record" in found[VALUES]["faults"][0]


def test_environments_that_change_places_are_named(tmp_path, verified):
    run, turned = stored_run("nightly", tmp_path), {"mpich": "openmpi", "openmpi": "mpich"}
    for name in ("plan.json", "provenance.json"):
        text = (run / name).read_text().replace('"mpich"', '"other"')
        text = text.replace('"openmpi"', '"mpich"').replace('"other"', '"openmpi"')
        (run / name).write_text(text)

    def edit(record):
        return record | {"environment": turned[record["environment"]]}

    status, found = verified(rewritten(run, edit))
    assert status == 1
    faults = found["records along their chain"]["faults"]
    assert "case hpl-8853791c has not the id of its check, environment and para" in faults[0]


def test_a_status_that_the_raw_output_does_not_give_is_told(tmp_path, verified):
    def failed(record):
        if record["check"] == "hpl":
            record |= {"status": "failed", "reason": "Slurm ended the job: TIMEOUT", "metrics": []}
        return record

    status, found = verified(rewritten(stored_run("nightly", tmp_path), failed))
    assert status == 0
    assert found[VALUES]["note"] == (
        "not read again: 10 launches of hpl: recorded as failed, of which their output is ok"
        " all the same"
    )


def test_a_check_that_is_not_here_is_told(tmp_path, verified, monkeypatch):
    others = {name: one for name, one in CHECKS.items() if name != "hpl"}
    monkeypatch.setattr(rereading, "checks_with", lambda brought: others)
    status, found = verified(stored_run("nightly", tmp_path))
    assert status == 3
    assert "10 launches of hpl: the check is not here; name its folder" in found[VALUES]["note"]


def test_scripts_that_lost_their_secrets_prove_nothing(tmp_path, verified):
    def cut(name, content):
        return b"#!/bin/bash\n" if name.endswith(".sh") else content

    status, found = verified(rewritten(stored_run("nightly", tmp_path), member=cut))
    assert status == 3
    assert found[VALUES]["unproven"]


def appended(run: Path) -> str:
    with (run / "raw" / "b2.zip").open("ab") as file:
        file.write(b"more")
    return "raw/b2.zip has "


def in_the_directory(run: Path) -> str:
    with ZipFile(run / "raw" / "b2.zip", "a") as archive:
        archive.filelist[0].comment = b"more"
        archive._didModify = True  # type: ignore[attr-defined]
    return "raw/b2.zip has 4 bytes that are of none of its members"


def other_directory(run: Path) -> str:
    path = run / "raw" / "b2.zip"
    content = path.read_bytes()
    at = content.index(b"PK\1\2")
    listed = (
        content[at:].replace(b".b2.a1.out", b".b2.a1.tmp").replace(b".b2.a1.err", b".b2.a1.out")
    )
    path.write_bytes(content[:at] + listed.replace(b".b2.a1.tmp", b".b2.a1.err"))
    return "raw/b2.zip has a directory that is not of its members"


def twice(run: Path) -> str:
    path = run / "raw" / "b2.zip"
    with ZipFile(path) as archive:
        name = archive.namelist()[3]
    writer = ArchiveWriter(path, lambda _: True)
    writer.append([Packed(name, [b"other"])])
    writer.close()
    return f"{path}: its member {name} is there twice"


def within_a_member(run: Path) -> str:
    path = run / "raw" / "b2.zip"
    with ZipFile(path) as archive:
        held = {name: archive.read(name) for name in archive.namelist()}
    path.unlink()
    packed = [Packed(name, [content]) for name, content in held.items()]
    packed[0].data += b"more"
    packed[0].info.compress_size += 4
    writer = ArchiveWriter(path, lambda _: True)
    writer.append(packed)
    writer.close()
    return f"{path}: its member {packed[0].info.filename} is damaged"


def linked(run: Path) -> str:
    shutil.move(run / "raw" / "b2.zip", run.parent / "b2.zip")
    (run / "raw" / "b2.zip").symlink_to(run.parent / "b2.zip")
    return "raw/b2.zip is a symbolic link"


def of_two_names(run: Path) -> str:
    os.link(run / "raw" / "b2.zip", run.parent / "b2.zip")
    return "raw/b2.zip has 2 names (hard links)"


def folder_elsewhere(run: Path) -> str:
    shutil.move(run / "raw", run.parent / "raw")
    (run / "raw").symlink_to(run.parent / "raw")
    return "raw is a symbolic link"


def pipe(run: Path) -> str:
    (run / "points").mkdir()
    os.mkfifo(run / "points" / "x.parquet")
    return "points/x.parquet is a FIFO"


def linked_work(run: Path) -> str:
    (run / "work").symlink_to(run.parent)
    return "work is a symbolic link"


def linked_document(run: Path) -> str:
    (run / "report").mkdir()
    (run / "report" / "index.html").symlink_to("/etc/hostname")
    return "report/index.html is a symbolic link"


@pytest.mark.parametrize(
    "change",
    [
        *(appended, in_the_directory, twice, within_a_member, linked, of_two_names),
        *(folder_elsewhere, linked_document, linked_work, pipe, other_directory),
    ],
)
def test_what_was_added_or_linked_is_named(change, tmp_path, verified):
    run = stored_run("nightly", tmp_path)
    told = change(run)
    status, found = verified(run)
    assert status == 1
    assert any(fault.startswith(told) for one in found.values() for fault in one["faults"]), found


def changed_raw(run: Path) -> str:
    held = {"hpl-b2ad446d.b2.a1.out": b"other\n"}
    path = run / "raw" / "b2.zip"
    with ZipFile(path) as archive:
        held = {name: archive.read(name) for name in archive.namelist()} | held
    path.unlink()
    writer = ArchiveWriter(path, lambda _: True)
    writer.append([Packed(name, [content]) for name, content in held.items()])
    writer.close()
    return "hpl-b2ad446d, block 2, attempt 1: raw/b2.zip/hpl-b2ad446d.b2.a1.out is not what its"


def missing_raw(run: Path) -> str:
    (run / "raw" / "b2.zip").unlink()
    return ".b2.a1.sh is missing"


def other_values(run: Path) -> str:
    def edit(record):
        if record["block"] == 2:
            doubled(record)
        return record

    rewritten(run, edit)
    return "hpl-b2ad446d, block 2, attempt 1: rate is "


@pytest.mark.parametrize("change", [changed_raw, missing_raw])
def test_whoever_reads_a_run_says_that_its_raw_output_is_gone(
    change, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    run, whole = stored_run("nightly", tmp_path), stored_run("nightly", tmp_path / "whole")
    told = change(run)
    assert main(["report", str(run), "--format", "html", "--format", "json"]) == 0
    assert told in (run / "report" / "index.html").read_text()
    (one,) = json.loads((run / "report" / "verdicts.json").read_text())["warnings"]
    assert one.startswith("The raw output of ") and told in one
    capsys.readouterr()
    assert main(["compare", str(whole), str(run), "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)["facts"]
    assert next(fact for fact in facts if told in fact).startswith("B: The raw output")
    assert main(["history", "add", str(run)]) == 0
    assert "warning: The raw output of " in " ".join(capsys.readouterr().out.split())


def without_secrets(run: Path) -> str:
    def cut(name, content):
        return b"#!/bin/bash\n" if name.startswith("hpl") and name.endswith(".sh") else content

    rewritten(run, member=cut)
    return "block 1, attempt 1: is not read again: their job scripts have no secrets"


@pytest.mark.parametrize("change", [changed_raw, missing_raw, other_values, without_secrets])
def test_a_launch_without_proof_is_not_judged(change, tmp_path, capsys):
    run = stored_run("nightly", tmp_path)
    told = change(run)
    assert main(["accept", str(run), "--criteria", "standard"]) == 2
    said = " ".join(capsys.readouterr().err.split())
    assert "is not judged, for its raw output does not bear out its records" in said
    assert told in said
    assert not (run / "acceptance").exists()
