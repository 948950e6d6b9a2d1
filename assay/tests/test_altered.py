# SPDX-License-Identifier: Apache-2.0
"""An altered record, raw file, profile or value is refused, and the sentence says which; what is
not altered is believed, and commands print of it the values that release c076f9e printed."""

import csv
import json
import re
import shutil
from functools import partial
from hashlib import sha256
from itertools import chain
from zipfile import ZipFile

import pytest

from assay.cli import main
from assay.documents.verify import NotReadError, unproven
from assay.run import rereading
from assay.tests.rewritten_runs import rewritten
from assay.tests.test_accept_every_campaign import STORED, WITH_RUN, stored_run
from checks.common.registry import CHECKS
from checks.common.tests.judged import Launch
from records.run.archive import ArchiveWriter, Packed, RawFiles
from records.run.run_directory import open_run
from reports.render.files import find_browser

#: A launch of HPL by case and block.
MINE = ("hpl-b2ad446d", 2)
ITS = "hpl-b2ad446d, block 2, attempt 1: "
ARCHIVE = "raw/b2.zip"
COPIED = ("metrics", "artifacts", "started_at", "ended_at", "job_id", "nodes")


def record(change, place=MINE):
    """An alteration of a run: `change` gives members of a record; it knows those before it."""

    def alter(run):
        known = {}

        def edit(one):
            at = one["case_id"], one["block"]
            known[at] = one
            return one | change(one, known) if place in (at, None) else one

        rewritten(run, edit)

    return alter


def members(**put):
    return record(lambda *_: put)


def doubled(one, _=None):
    return {"metrics": [m | {"value": m["value"] * 2} for m in one["metrics"]]}


def in_a_file(one, _):
    held = one["artifacts"]
    more = {kind.replace("stdout", "points"): value for kind, value in held.items()}
    return doubled(one) | {"artifacts": held | more}


def copied(*place):
    return record(lambda _, known: {name: known[place][name] for name in COPIED})


def failed(one, _):
    put = {"status": "failed", "reason": "Slurm ended the job: TIMEOUT", "metrics": []}
    return put if one["check"] == "hpl" else {}


def turned(one, _):
    lower = {"rate": "lower"}
    return {"metrics": [m | {"better": lower.get(m["name"], m["better"])} for m in one["metrics"]]}


def better_turned(run):
    plan, rate = run / "plan.json", '"name":"rate","unit":"flop/s","better":"'
    plan.write_text(plan.read_text().replace(f"{rate}higher", f"{rate}lower"))
    record(turned, None)(run)


def environments_turned(run):
    other = {"mpich": "openmpi", "openmpi": "mpich"}
    for name in ("plan.json", "provenance.json"):
        text = re.sub('"(mpich|openmpi)"', lambda m: f'"{other[m[1]]}"', (run / name).read_text())
        (run / name).write_text(text)
    record(lambda one, _: {"environment": other[one["environment"]]}, None)(run)


def without_token(run):
    rewritten(run, member=lambda name, old: b"#!/bin/bash\n" if name.endswith(".sh") else old)


def with_one_token(run):
    """A run as it is made now: a launch has a token in place of two secrets."""

    def member(name, old):
        token = sha256(name.rpartition(".")[0].encode()).hexdigest()[:16].encode()
        old = re.sub(rb"export ASSAY_SESSION_SECRET=.*\n", b"", old)
        old = re.sub(rb"ASSAY_PROGRAM_SECRET=\w+", b"ASSAY_TOKEN=" + token, old)
        return re.sub(rb'"secret":"\w+"', b'"token":"' + token + b'"', old)

    rewritten(run, member=member)


def without_archive(run):
    (run / ARCHIVE).unlink()


def archived(spoil, put=None):
    """An alteration of a run: an archive is written again with a changed member."""

    def alter(run):
        with ZipFile(run / ARCHIVE) as archive:
            held = {name: archive.read(name) for name in archive.namelist()} | (put or {})
        (run / ARCHIVE).unlink()
        packed = [Packed(name, [content]) for name, content in held.items()]
        spoil(packed[0])
        writer = ArchiveWriter(run / ARCHIVE, lambda _: True)
        writer.append(packed)
        writer.close()

    return alter


def longer(packed):
    at = len(packed.data) - packed.info.compress_size
    packed.info.compress_size += 4
    packed.data = packed.info.FileHeader() + packed.data[at:] + b"more"


def twice(run):
    with ZipFile(run / ARCHIVE) as archive:
        name = archive.namelist()[3]
    writer = ArchiveWriter(run / ARCHIVE, lambda _: True)
    writer.append([Packed(name, [b"other"])])
    writer.close()


def elsewhere(run):
    shutil.move(run / ARCHIVE, run.parent / "moved")
    (run / ARCHIVE).symlink_to(run.parent / "moved")


CHANGED = archived(lambda _: None, {"hpl-b2ad446d.b2.a1.out": b"other\n"})
MEASURED = "2783119169.8112235 flop/s, higher is better in the raw output"
DOUBLED = f"{ITS}rate is 5566238339.622447 flop/s, higher is better in the record, {MEASURED}"
#: Of the stored run `nightly`: what is altered, the first words of the checks that fail, what is
#: said. Without a check the command refuses the run.
RUNS = [
    (record(doubled), "values", DOUBLED),
    (record(in_a_file), "values", DOUBLED),
    (members(metrics=[]), "values", f"{ITS}rate is missing in the record, {MEASURED}"),
    (members(ended_at="2026-11-23T18:05:56.000Z"), "values", f"{ITS}ended_at is 2026-11-23T18:05"),
    (members(flags=["too-short"]), "values", f"{ITS}its flags are too-short, by the raw output no"),
    (members(flags=["raw-cut-to-64-MiB"]), "values", f"{ITS}it is said to be cut, and none of its"),
    (members(nodes=["n3", "n4"]), "values", f"{ITS}it is recorded as ok, its raw output is wrong"),
    (copied("hpl-b2ad446d", 1), "values", f"{ITS}its job script is that of hpl_b2ad446d, blo"),
    (copied("hpl-b2ad446d", 1), "values", f"{ITS}its raw output is that of hpl-b2ad446d, blo"),
    (copied("hpl-8853791c", 2), "values", "wrong: the library calls itself 'MPICH"),
    (better_turned, "values", "flop/s, lower is better in the record"),
    (environments_turned, "records", "case hpl-8853791c has not the id of its check, environment"),
    (CHANGED, "raw", f"{ITS}{ARCHIVE}/hpl-b2ad446d.b2.a1.out is not what its"),
    (without_archive, "raw", f"{ITS}{ARCHIVE}/hpl-b2ad446d.b2.a1.sh is missing"),
    (twice, "raw", "is none that Assay writes"),
    (archived(longer), "raw", " is damaged"),
    (elsewhere, "raw", f"{ARCHIVE}: is a link"),
]
#: What is altered, the status, and what is said of values that cannot be read again; None: the
#: check is gone.
UNREAD = [
    (record(failed, None), 0, "10 launches of hpl: recorded as failed, of which their output is"),
    (without_token, 3, "their job scripts have no token by which their lines are known"),
    (None, 3, "10 launches of hpl: the check is not here; name its folder"),
]


@pytest.fixture
def undrawn(monkeypatch):
    """No document has pictures, no acceptance is printed: what is told is the same."""
    monkeypatch.setattr("reports.render.html.svg_of", lambda *_: "")
    monkeypatch.setattr("assay.documents.acceptance_files.find_browser", lambda: None)


@pytest.fixture
def verified(tmp_path, capsys):
    """Alters a run and verifies it: status, what was told by check, the sentence of a refusal."""

    def verify(alter, campaign="nightly"):
        alter(run := stored_run(campaign, tmp_path))
        status = main(["verify", str(run), "--json"])
        said = capsys.readouterr()
        checks = json.loads(said.out)["checks"] if status != 2 else []
        return status, {one["what"].split()[0]: one for one in checks}, " ".join(said.err.split())

    return verify


@pytest.mark.parametrize(("alter", "checks", "said"), RUNS)
def test_what_is_altered_in_a_run_is_named(alter, checks, said, verified):
    status, found, refusal = verified(alter)
    faults = {name: one["faults"] for name, one in found.items() if one["faults"]}
    assert (status, " ".join(faults)) == (1 if checks else 2, checks), found
    assert any(said in one for one in [refusal, *chain(*faults.values())])


@pytest.mark.parametrize(("alter", "status", "said"), UNREAD)
def test_what_cannot_be_read_again_is_told(alter, status, said, verified, monkeypatch):
    if alter is None:
        others = {name: one for name, one in CHECKS.items() if name != "hpl"}
        monkeypatch.setattr(rereading, "checks_with", lambda brought: others)
    found, checks, _ = verified(alter or (lambda _: None))
    told = checks["values"]
    assert (found, told["unproven"], told["faults"]) == (status, status == 3, [])
    assert said in told["note"]


@pytest.mark.parametrize(
    ("campaign", "alter"), [("nightly", with_one_token), *((one, str) for one in WITH_RUN)]
)
def test_a_run_that_is_not_altered_is_believed(campaign, alter, verified):
    status, found, _ = verified(alter, campaign)
    what = "values read again from raw output"
    assert status == 0
    assert found["values"] == {"what": what, "faults": [], "note": "", "unproven": False}


def test_launches_that_only_a_suite_can_read_are_judged_where_the_criteria_say_so(tmp_path):
    run = open_run(str(stored_run("nightly", tmp_path)))

    def reread(files, record):
        raise NotReadError("of a suite", suite=True)

    told = [*unproven(run.path, run.records(), reread)]
    assert told
    assert all("criteria with `unproven: accept` take it" in one for one in told)
    assert not [*unproven(run.path, run.records(), reread, suites=True)]


@pytest.mark.parametrize(
    ("alter", "told"),
    [
        (CHANGED, f"{ITS}{ARCHIVE}/hpl-b2ad446d.b2.a1.out is not what its"),
        (without_archive, ".b2.a1.sh is missing"),
        (record(doubled), f"{ITS}rate is "),
        (without_token, "is not read again: their job scripts have no token"),
    ],
)
@pytest.mark.usefixtures("undrawn")
def test_a_launch_without_proof_is_not_judged(alter, told, folder, capsys):
    run = stored_run("nightly", folder)
    alter(run)
    assert main(["accept", str(run), "--criteria", "standard"]) == 2
    said = " ".join(capsys.readouterr().err.split())
    assert "is not judged, for its raw output does not bear out its records" in said
    assert told in said and not (run / "acceptance").exists()


#: Of rank 0's line of a profile: member, what it becomes, what is said.
PROFILES = [
    ("elapsed_s", lambda was: was * 0.9, "its MPI profile is not that of the raw out"),
    ("calls.7.greatest_s", lambda was: was * 1.001, "its MPI profile is not that of the raw out"),
    ("elapsed_s", lambda was: was * 1000, "an MPI profile: what was timed took"),
    ("elapsed_s", lambda _: -1.0, "holds an impossible number"),
    ("elapsed_s", lambda _: 1e-3, " s in MPI of 0.001 s"),
    ("mpi_s", lambda was: was * 0.999, "; its calls took "),
    ("rank", lambda _: 1, "MPI profiles came of ranks [1, 1]; there are 2 ranks"),
    ("calls.0.count", str, "an MPI profile that cannot be read"),
    ("calls.0.peer", lambda _: 2, "names a peer 2 of 2 ranks"),
    ("calls.7.count", lambda _: 1, "has 1 calls of Allreduce with 127 messages"),
    ("calls.0.greatest_s", lambda _: 1e3, "has a call of Send of 1000 s, all "),
]


def altered_line(content, member, change):
    """The raw output in which a member of rank 0's profile is changed."""
    (line,) = re.findall(r'.*"assay":"profile".*"rank":0.*', content)
    place, keys = (entry := json.loads(line)), member.split(".")
    *above, last = [int(key) if key.isdecimal() else key for key in keys]
    for key in above:
        place = place[key]
    place[last] = change(place[last])
    return content.replace(line, json.dumps(entry, separators=(",", ":")))


@pytest.mark.plugins("profile")
def test_what_is_altered_in_a_profile_is_named(tmp_path):
    run = open_run(str(stored_run("quick", tmp_path)))
    profiled = (one for one in run.records() if one.profile and one.ranks == 2)
    rows = {
        f"{one.case_id}.b{one.block}": row for row, one in zip(PROFILES, profiled, strict=False)
    }
    assert len(rows) == len(PROFILES)

    def changed(name, content):
        launch, _, kind = name.partition(".a1.")
        if kind != "out" or launch not in rows:
            return content
        return altered_line(content.decode(), *rows[launch][:2]).encode()

    rewritten(run.path, member=changed)
    reread = rereading.Rereader(run.plan(), run.provenance()).faults
    with RawFiles(run.path) as files:
        for one in run.records():
            if row := rows.pop(f"{one.case_id}.b{one.block}", None):
                (fault,) = reread(files, one)
                assert row[2] in fault
    assert not rows


def every(metric, value):
    """An alteration of output: each value and sample of a metric, so that they agree."""

    def alter(text):
        def same(line):
            alike = re.sub(r'("value":)[^,}]+', rf"\g<1>{value:.9g}", line[0])
            samples = lambda m: re.sub(r"[^,]+", f"{value:.9g}", m[0])  # noqa: E731
            return re.sub(r'(?<="samples":\[)[^]]+', samples, alike)

        return re.sub(f'.*"name":"{metric}(_best)?".*', same, text)

    return alter


NO_CORE, LONG = "no core takes less than", "what was timed took"
#: By check and sample: the metric, an impossible value, what is said, a possible value.
VALUES_SAID = [
    ("startup", "mpich", "first_instruction", 0.17, "rank 0 began 0.176346 s after that", None),
    ("pvm_echo", "pvm", "wait_time", 1.0, LONG, None),
    ("pvm_echo", "pvm", "copy_time", 1e-11, "is 1e-11 s; in this launch it can be 5e-10 to", None),
    ("node", "openmpi", "operation_time", 7e-11, "in this launch it can be 1e-10 to", 1.1e-10),
    ("node", "openmpi", "floatmath_time", 5e-5, NO_CORE, 4e-4),
    ("node", "openmpi", "whetstone_time", 1e-6, NO_CORE, 5e-5),
    ("interference", "3ranks.mpich", "exchange_time", 1.0, LONG, 1e-3),
    ("interference", "3ranks.mpich", "exchange_time", 2e-9, "it can be 1e-08 to", 2e-7),
    ("collectives", "each.lam", "collective_time", 2e-9, "in this launch it can be 1e-08 to", 2e-7),
]
#: Of the sample of startup: what is replaced where it is first found, by what, and what is said.
TEXTS = [
    ("(launched-at.*)063", r"\g<1>064", "the program counts from 1795317064.931403"),
    ('"probe_s":[^,}]+', '"probe_s":1e4', "and the probe 10000 s"),
]
SAMPLED = partial(re.sub, '(stream_copy".*?)[^:]+,"at"', r'\1 1.3e13,"at"', count=1)
OUTPUTS = [
    ("node", "openmpi", SAMPLED, "is 1.3e+13; by its samples it must be", str),
    *(
        (check, sample, every(metric, bad), said, every(metric, good) if good else str)
        for check, sample, metric, bad, said, good in VALUES_SAID
    ),
    *(("startup", "mpich", partial(re.sub, *two, count=1), said, str) for *two, said in TEXTS),
]


@pytest.mark.parametrize(("check", "sample", "alter", "said", "possible"), OUTPUTS)
@pytest.mark.plugins("papers")
def test_what_is_altered_in_output_makes_a_launch_wrong(check, sample, alter, said, possible):
    launch = Launch(check, sample)
    assert launch.outcome(possible(launch.text)).status == "ok"
    outcome = launch.outcome(alter(launch.text))
    assert said in (outcome.reason or "")
    assert outcome.status == "wrong"


#: Keys whose value is a sentence, a command, or a date of this judgement.
WORDS = {
    *("answer", "summary", "sentence", "sentences", "text", "note", "title", "statement", "facts"),
    *("made_with", "judged_on", "what", "warnings", "because", "details", "unknown", "command"),
    *("label", "proposals"),
}
#: By file of `values.tar.xz`, which has what a command printed: the command, its exit status. To
#: renew a file after an intended change, write what the command prints in its place.
PRINTED = {
    "accept": ("accept acceptance --criteria standard --json", 1),
    "compare": ("compare measurements mpi-choice --json", 0),
    "predict": ("predict quick --nodes 8 --json", 0),
    "paper": ("paper hypercube-1988 hypercube-1988 --json", 0),
    "history": ("nightly show --json", 0),
    "night": ("nightly check --json", 3),
}
for run in ("quick", "hypercube-1988", "mpi-choice"):
    PRINTED[f"{run}.verdicts"] = (f"report {run} --format csv --format json", 0)
#: Keys of the kept values that no verdict rests on any more.
GONE = ("lag_1", "lag_1_limit", "p_holm", "carried_by")


def flat(value, place=""):
    """The values below a place by their paths, without sentences; real numbers as about so."""
    held = enumerate(value) if isinstance(value, list) else getattr(value, "items", list)()
    if isinstance(value, float):
        return {place: pytest.approx(value, rel=1e-9, abs=0, nan_ok=True)}
    found = {place: len(value) if isinstance(value, list) else {} if held else value}
    for key, inner in held:
        if key not in GONE:
            found |= {f"{place}/{key}": "words"} if key in WORDS else flat(inner, f"{place}/{key}")
    return found


def table(file):
    """A CSV file as `flat` takes it."""
    number = re.compile(r"-?(\d[\d.]*(e[-+]\d+)?|inf|nan)")
    with file.open(newline="") as lines:
        rows = [*csv.DictReader(lines)]
    return [{k: float(v) if number.fullmatch(v) else v for k, v in row.items()} for row in rows]


@pytest.mark.usefixtures("undrawn")
@pytest.mark.parametrize("name", PRINTED)
@pytest.mark.plugins("papers")
def test_a_command_prints_the_same_values(name, folder, capsys):
    """Keys may be added, with a greater number of the form; sentences may differ."""
    command, status = PRINTED[name]
    if name == "paper" and find_browser() is None:
        pytest.skip("needs chromium: make packages, as root")
    shutil.unpack_archive(STORED / "values.tar.xz", folder)
    (folder / "results").mkdir()
    shutil.copy("values/history.sqlite", "results")
    for run in {*command.split()} & {*WITH_RUN}:
        stored_run(run, folder)
    assert main(command.split()) == status
    printed = capsys.readouterr().out
    old, new = (json.loads((folder / "values" / f"{name}.json").read_bytes()),), (printed,)
    if run := name.removesuffix(".verdicts") if "." in name else "":
        report = folder / run / "report"
        old += (table(folder / "values" / f"{run}.summary.csv"),)
        new = ((report / "verdicts.json").read_bytes(), table(report / "summary.csv"))
    old, found = flat([*old]), flat([json.loads(new[0]), *new[1:]])
    assert {place: found.get(place, "missing") for place in old} == old
