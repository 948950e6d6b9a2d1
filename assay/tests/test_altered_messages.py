# SPDX-License-Identifier: Apache-2.0
"""An altered message through a session's pipe makes its launch wrong, and the run can be read."""

import json
import sys

import msgspec
import pytest

from assay.cli import main
from assay.run import driver as drivers
from assay.run import kept_builds
from assay.run import recording as heard
from assay.run.driver import Driver
from assay.run.interruption import Interruption
from assay.run.progress import Progress
from assay.sites.site_file import read_description
from assay.sites.slurm import SlurmSite
from assay.tests.test_accept_every_campaign import stored_run
from checks.common.slurm.commands import Answer
from records.errors import AssayError
from records.run.record import read_records
from records.run.run_directory import RunDirectory

JOB = "1000"
#: The session: it writes what a launch leaves and the first message, waits for the copy of the
#: programs, writes the second message.
TALK = """
import os, time
pipe = int(os.environ["ASSAY_OUTCOME_FD"])
def say(text):
    while text:
        text = text[os.write(pipe, text):]
os.makedirs({stage!r})
for name in ("script", "stdout", "stderr", "stepkeeper"):
    open(os.path.join({stage!r}, name), "w").write(name)
say({built!r})
while not os.path.isdir({programs!r}):
    time.sleep(0.002)
say({message!r})
"""
BESIDE = [{"launch_index": 1, "nodes": ["n1"]}]
#: The path of a member, what is put there, and what is said; None: there is no record.
ALTERED = [
    *((name, [], f"`{name}` is missing or empty") for name in ("metrics", "nodes", "programs")),
    *((name, None, f"`{name}` is missing") for name in ("started_at", "ended_at", "job_id")),
    ("status", "skipped", "`status` is skipped, which a launch of this check is not"),
    ("fault", "slurm", "it has an unfit kind"),
    ("beside", BESIDE, "`beside` names launches that are none of this session"),
    ("metrics.0.value", None, "it is none (Expected `float`"),
    ("metrics.0.name", "magic", "metric 'magic'; allowed: a metric that plan.json defines"),
    ("metrics.0.name", "init", "`metrics` hold init, which check pt2pt does not report"),
    ("metrics.0.unit", "bananas", "in 'bananas'; allowed: s"),
    ("metrics.0.value", -1, "half_round_trip is -1 s, which cannot be measured"),
    ("metrics.0.samples", [1e308], "half_round_trip is 1e+308 s, which cannot be measured"),
    ("metrics.0.samples", [], "`samples` of half_round_trip are an empty list"),
    ("metrics.0.at", {"x": {"y": [1]}}, "`at` of half_round_trip holds a list or an object"),
    ("metrics.0.at", {"x": -1}, "`at` of half_round_trip has x -1; allowed"),
    ("metrics.0.value", 1e3, "is 1000 s; in this launch it can be 1e-08 to"),
    ("metrics.0.value", 1e-11, "is 1e-11 s; in this launch it can be 1e-08 to"),
    ("flags", ["x", "x"], "`flags` are not up to 20 different words"),
    ("flags", ["\x1b[2J"], "`flags` are not up to 20 different words"),
    ("profile", [], "`profile` is there, and none was asked for"),
    ("nodes", ["n1"], "`nodes` are 1; the launch has 2"),
    ("nodes", ["n1", "n1"], "`nodes` hold one twice"),
    ("nodes", ["n1", "n99"], "`nodes` hold some that job 1000 does not have"),
    ("nodes", ["n1", "-rf"], "`nodes` holds '-rf'; allowed"),
    ("job_id", "998", "`job_id` 998 is not the job of this launch"),
    ("job_id", "12_1", "`job_id` 12_1 is no job of this Slurm"),
    ("job_id", "4242424242", "`job_id` 4242424242 is no job of this Slurm"),
    ("started_at", "1999-01-01T00:00:00.000Z", "which is not within this run"),
    ("ended_at", "9999-12-31T23:59:59Z", "which is not within this run"),
    ("started_at", "2026-02-30T00:00:00.000Z", "30T00:00:00.000Z'; allowed: a time as 20"),
    ("ended_at", "2026-11-23T00:00:00.000Z", "`started_at` is later than `ended_at`"),
    ("submitted_at", "x", "`submitted_at` is 'x'; allowed: a time as 20"),
    (
        "submitted_at",
        "1999-01-01T00:00:00.000Z",
        "`submitted_at` is 1999-01-01T00:00:00.000Z, which",
    ),
    ("submitted_at", "2026-11-24T00:00:00.000Z", "`submitted_at` is later than `started_at`"),
    ("files.stdout", "../../etc/passwd", "`files` lie in the folder of another launch"),
    ("files.stdout", "/etcSTAGE/passwd", "stdout is outside of the session's folder"),
    ("files.stdout", "STAGE/none", "raw output refused: stdout is missing"),
    ("files.points", "STAGE/stdout", "`files` hold values of a scan"),
    ("programs", ["/etc/passwd"], "program '/etc/passwd' was neither built nor described"),
    ("launch_index", 3, None),
]
#: What is put in the place of members, of which no word is believed; a text replaces the message.
DROPPED = object()
FORGED = {
    "unit of another": ("metrics.0.unit", "bytes/s"),
    "immense": ("metrics.0.value", 1e308),
    "text value": ("metrics.0.value", "1"),
    "zero": ("metrics.0.value", 0),
    "samples number": ("metrics.0.samples", -1),
    "samples huge number": ("metrics.0.samples", 10**30),
    "samples negative": ("metrics.0.samples", [0.1, -1.0]),
    "metrics dropped": ("metrics", DROPPED),
    "metrics twice": ("metrics", lambda metrics: metrics * 2),
    "better": ("metrics.0.better", "higher"),
    "point text": ("metrics.0.at", {"message_bytes": "long"}),
    "point huge": ("metrics.0.at", {"x": 10**400}),
    "point deep": ("metrics.0.at", {"x": json.loads("[" * 300 + "]" * 300)}),
    "month 13": ("ended_at", "2026-13-01T00:00:00.000Z"),
    "time number": ("ended_at", 5),
    "more nodes": ("nodes", ["n1", "n2", "n3", "n4"]),
    "job of nobody": ("job_id", "; rm"),
    "flag long": ("flags", ["x" * 1000]),
    "extra key": ("colour", "red"),
    "unknown status": ("status", "good"),
    "other file": ("files", {"../../x": "/etc/passwd"}),
    "no files": ("files", {}),
    "no stderr": ("files.stderr", DROPPED),
    "raw cut by word": ("flags", ["raw-cut-to-64-MiB"]),
    "neither status nor fault": ("status", None),
    "with progress": ("progress", "building"),
    "with build": ("build", {"environment": "mpich", "program": "Programs", "output": ""}),
    "beyond doubles": '{"status":"ok","launch_index":INDEX,"metrics":[{"value":1e999}]}',
    "nan": '{"status":"ok","launch_index":INDEX,"metrics":[{"value":NaN}]}',
    "member twice": '{"status":"ok","status":"failed","launch_index":INDEX}',
    "deep": '{"launch_index":INDEX,"metrics":' + "[" * 50_000,
    "cut": '{"status":"ok","launch_index":INDEX,"metrics":[{"name":"laun',
    "surrogate": '{"status":"failed","reason":"\\ud800","launch_index":INDEX}',
}


class Site(SlurmSite):
    program, begun = "", False

    def owner(self):
        return ["cluster", "user"]

    def command(self, argv, variables, folder=None):
        if "checks.common.session.command_line" in argv:
            argv, self.begun = [sys.executable, "-S", "-c", self.program], True
        return super().command(argv, variables, folder)


@pytest.fixture(scope="module")
def drive(tmp_path_factory):
    """Lets a driver of a new run hear what a function makes of an honest message; gives the run,
    the record that it ought to be, and the records."""
    with pytest.MonkeyPatch.context() as patched:
        yield driving(tmp_path_factory.mktemp("driven"), patched)


def driving(folder, patched):
    patched.setenv("XDG_CACHE_HOME", str(folder / "cache"))
    stored = stored_run("nightly", folder)
    honest = next(
        one for one in RunDirectory(stored).records() if one.status == "ok" and one.check == "pt2pt"
    )
    described = {"work_dir": str(folder / "work"), "nodes": 8}
    site = Site(read_description("virtual").model_copy(update=described))
    run = RunDirectory(folder / "20261124T000000Z-aaaa")
    run.raw.mkdir(parents=True)
    for name in ("plan.json", "provenance.json", "campaign.yaml"):
        (run.path / name).write_bytes((stored / name).read_bytes())
    known = kept_builds.environment_as_run(site, honest.environment)
    patched.setattr(kept_builds, "environment_as_run", lambda *_: known)
    patched.setattr(kept_builds, "sources_digest", lambda _: "sources")
    for name in ("end_jobs", "trouble"):
        patched.setattr(drivers, name, lambda *_, **__: None)
    patched.setattr(drivers, "PAUSE_S", 0.0)
    patched.setattr(Driver, "_prove", lambda *_: None)
    patched.setattr(heard, "node_states", lambda _: dict.fromkeys(["n1", "n2"], "idle"))

    def drive(message):
        for file in (run.records_file, run.path / "seal.json", *run.raw.iterdir()):
            file.unlink(missing_ok=True)
        with Interruption() as interruption:
            driver = Driver(run, run.ledger(), site, Progress(False), interruption)
            every = list(driver._to_come())
            (launch,) = [x for x in every if x.key == (honest.case_id, honest.block)]
            site.begun = False
            driver._to_come = lambda: [] if site.begun else [launch]
            driver._hearing._earliest = 1.7e9
            stage = str(driver.work.session / "stage" / f"L{launch.index:07d}_x")
            programs = str(driver.work.programs / f"Programs-{launch.environment}")
            built = {"environment": launch.environment, "program": "Programs"}
            built |= {"folder": stage, "files": ["stepkeeper"]}
            kept = ("metrics", "flags", "nodes", "started_at", "ended_at")
            told = {name: msgspec.to_builtins(getattr(honest, name)) for name in kept}
            told |= {"status": "ok", "job_id": JOB, "launch_index": launch.index}
            told["files"] = {kind: f"{stage}/{kind}" for kind in ("script", "stdout", "stderr")}
            told["programs"] = [f"{programs}/stepkeeper"]
            mine = f"Comment=assay-{driver.work.name} NodeList={','.join(honest.nodes)}"
            answers = {
                JOB: f"JobId={JOB} {mine} StdOut={stage}/out\n",
                "998": f"JobId=998 {mine} StdOut=/other/out\n",
                "config": "NEXT_JOB_ID = 1001\n",
            }
            asked = lambda _, *argv: Answer(0, answers.get(argv[-1], ""), "")  # noqa: E731
            patched.setattr(heard, "asked", asked)
            said = json.dumps({"built": built}).encode() + b"\n"
            text = message(told)
            text = text if isinstance(text, str) else json.dumps(text).replace("STAGE", stage)
            line = text.encode() + b"\n"
            site.program = TALK.format(stage=stage, built=said, programs=programs, message=line)
            try:
                driver.run()
            except AssayError as error:
                assert len(str(error)) < 6000
        found = list(read_records(run.records_file)) if run.records_file.exists() else []
        return run.path, honest, found

    return drive


def readable(run, *words):
    return all(main([word, str(run)]) in (0, 1, 3) for word in ("status", "verify", *words))


def test_an_honest_message_is_believed(drive):
    run, honest, (record,) = drive(lambda told: {**told, "reason": "\x1b[2J\u202e\x00 no\nmore"})
    assert record.status == "ok" and record.reason.isprintable()
    kept = ("metrics", "nodes", "started_at", "ended_at")
    assert [getattr(record, name) for name in kept] == [getattr(honest, name) for name in kept]
    assert record.job_id == JOB and record.programs
    assert {*record.artifacts} > {"script", "stdout", "stderr"}
    assert readable(run)


def altered(told, member, value):
    place, (*above, last) = told, member.split(".")
    for key in above:
        place = place[int(key) if isinstance(place, list) else key]
    old = place.pop(last, None)
    if value is not DROPPED:
        place[last] = value(old) if callable(value) else value
    return told


@pytest.mark.parametrize("name", FORGED)
def test_of_a_forged_message_nothing_is_believed(name, drive):
    def forge(told):
        if isinstance(forged := FORGED[name], str):
            return forged.replace("INDEX", str(told["launch_index"]))
        return altered(told, *forged)

    run, _, (record,) = drive(forge)
    assert record.status == "wrong" and "was refused" in record.reason
    assert record.metrics == [] and record.nodes == []
    assert len(record.reason) <= 4000 and record.reason.isprintable()
    assert readable(run)


@pytest.mark.full(sample=16)
@pytest.mark.parametrize(("member", "value", "said"), ALTERED)
def test_an_altered_message_makes_its_launch_wrong(member, value, said, drive):
    run, _, records = drive(lambda told: altered(told, member, value))
    assert [one.status for one in records] == (["wrong"] if said else [])
    for record in records:
        assert said in record.reason and record.reason.isprintable()
        assert readable(run, *["report"] * (member == "status"))
