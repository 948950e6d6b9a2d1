# SPDX-License-Identifier: Apache-2.0
"""Messages forged by a seed, through the pipe of a session and the driver of a stored run's plan:
none is believed but for values and points that a machine could measure, and the run can be read
after each.

Slurm is played by a few lines.
"""

import json
import random
import sys
from typing import Any

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

FORGERIES = 80
JOB = "1000"
#: The session: it writes the first message, waits for the copy of the programs, writes the second.
TALK = """
import os, time
pipe = int(os.environ["ASSAY_OUTCOME_FD"])
def say(text):
    while text:
        text = text[os.write(pipe, text):]
say({built!r})
while not os.path.isdir({programs!r}):
    time.sleep(0.002)
say({message!r})
"""
NASTY: tuple[Any, ...] = (
    *(None, True, 0, -1, 10**30, 2**63, 1e308, -1e308, 5e-324, "", "bananas", "\x1b[2J", "\u202e"),
    *(
        "../../etc/passwd",
        "-rf",
        "x" * 5000,
        "2026-02-30T00:00:00.000Z",
        "1999-01-01T00:00:00.000Z",
    ),
    *("9999-12-31T23:59:59Z", "NaN", "skipped", "n99", [], {}, [[]], [None], {"x": {"y": [1]}}),
    *(["n1", "n1"], "raw-cut-to-64-MiB", "allocation", "4242424242", "12_1", [1, "a"]),
)
BESIDE = {
    "progress": "building",
    "fault": "slurm",
    "build": {"environment": "lam", "program": "Programs", "output": "no"},
    "built": {"environment": "lam", "program": "../x", "folder": "/etc", "files": ["shadow"]},
    "queue": {"state": "pending", "since": "2026-11-24T00:00:00.000Z", "waited_s": 1e300},
    "beside": [{"launch_index": 1, "nodes": ["n1"]}],
    "colour": "red",
}


class Site(SlurmSite):
    """A site whose sessions say what a test has forged."""

    program, begun = "", False

    def owner(self):
        return ["cluster", "user"]

    def command(self, argv, variables, reads=()):
        if "checks.common.session.command_line" in argv:
            argv, self.begun = [sys.executable, "-S", "-c", self.program], True
        return super().command(argv, variables, reads)


def places(value, above=()):
    """The path of each member, the first ones of a list."""
    items = value.items() if isinstance(value, dict) else enumerate(value[:4])
    for key, inner in items:
        yield (*above, key)
        if isinstance(inner, dict | list):
            yield from places(inner, (*above, key))


def forged(message, dice, kind):
    """The bytes of a message in which something was changed."""
    changed = json.loads(json.dumps(message))
    if kind == 0:
        changed |= {name: BESIDE[name] for name in dice.sample(sorted(BESIDE), dice.choice([1, 2]))}
    elif kind < 4:
        first = dice.choice(sorted(changed))
        within = [path for path in places(changed) if path[0] == first]
        path = (first,) if kind == 1 else dice.choice(within)
        place = changed
        for key in path[:-1]:
            place = place[key]
        if kind == 1:
            del place[path[-1]]
        else:
            place[path[-1]] = dice.choice(NASTY)
    line = json.dumps(changed).encode()
    at = dice.randrange(len(line))
    if kind == 4:
        put = dice.choice([b"\xff", b"\x00", b"\n", line, b'"status":"ok","status":"wrong",'])
        line = dice.choice([line[:at], line[:at] + put + line[at:], line + line, b"[" * 50_000])
    return line + b"\n"


@pytest.fixture
def driven(tmp_path, monkeypatch):
    """Lets a driver of a new run hear what `message` makes of an honest message; gives the record
    that it ought to be, and the records."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    stored = stored_run("nightly", tmp_path)
    raw = RunDirectory(stored)
    (honest, *_) = [one for one in raw.records() if one.status == "ok" and one.check == "pt2pt"]
    described = {"work_dir": str(tmp_path / "work"), "nodes": 8}
    site = Site(read_description("virtual").model_copy(update=described))
    run = RunDirectory(tmp_path / "20261124T000000Z-aaaa")
    run.raw.mkdir(parents=True)
    for name in ("plan.json", "provenance.json", "campaign.yaml"):
        (run.path / name).write_bytes((stored / name).read_bytes())
    known = kept_builds.environment_as_run(site, honest.environment)
    monkeypatch.setattr(kept_builds, "environment_as_run", lambda *_: known)
    monkeypatch.setattr(kept_builds, "sources_digest", lambda _: "sources")
    for name in ("end_jobs", "trouble"):
        monkeypatch.setattr(drivers, name, lambda *_, **__: None)
    monkeypatch.setattr(drivers, "PAUSE_S", 0.0)
    monkeypatch.setattr(Driver, "_prove", lambda *_: None)
    monkeypatch.setattr(heard, "node_states", lambda _: dict.fromkeys(["n1", "n2"], "idle"))

    def drive(message):
        run.records_file.unlink(missing_ok=True)
        (run.path / "seal.json").unlink(missing_ok=True)
        for archive in run.raw.iterdir():
            archive.unlink()
        with Interruption() as interruption:
            driver = Driver(run, run.ledger(), site, Progress(False), interruption)
            every = list(driver._to_come())
            (launch,) = [x for x in every if x.key == (honest.case_id, honest.block)]
            site.begun = False
            driver._to_come = lambda: [] if site.begun else [launch]
            driver._hearing._earliest = 1.7e9
            stage = driver.work.session / "stage" / f"L{launch.index:07d}_x"
            name = f"Programs-{launch.environment}"
            built = {**BESIDE["built"], "environment": launch.environment, "program": "Programs"}
            built |= {"folder": str(stage), "files": ["stepkeeper"]}
            files = {kind: str(stage / kind) for kind in ("script", "stdout", "stderr")}
            kept = ("metrics", "flags", "nodes", "started_at", "ended_at")
            told = {name: msgspec.to_builtins(getattr(honest, name)) for name in kept}
            told |= {"status": "ok", "job_id": JOB, "files": files, "launch_index": launch.index}
            told["programs"] = [str(driver.work.programs / name / "stepkeeper")]
            line = f"JobId={JOB} Comment=assay-{driver.work.name} NodeList={','.join(honest.nodes)}"
            answers = {JOB: f"{line} StdOut={stage}/out\n", "config": "NEXT_JOB_ID = 1001\n"}
            asked = lambda _, *argv: Answer(0, answers.get(argv[-1], ""), "")  # noqa: E731
            monkeypatch.setattr(heard, "asked", asked)
            make = (
                f"import os\nos.makedirs({str(stage)!r})\nfor name in {[*files, 'stepkeeper']!r}:"
            )
            make += f"\n    open(os.path.join({str(stage)!r}, name), 'w').write(name)\n"
            site.program = make + TALK.format(
                built=json.dumps({"built": built}).encode() + b"\n",
                programs=str(driver.work.programs / name),
                message=message(told),
            )
            try:
                driver.run()
            except AssayError as error:
                assert len(str(error)) < 6000
        return honest, list(read_records(run.records_file)) if run.records_file.exists() else []

    return run, drive


def test_an_honest_message_is_believed(driven):
    _, drive = driven
    honest, (record,) = drive(lambda told: json.dumps(told).encode() + b"\n")
    assert (record.status, record.metrics) == ("ok", honest.metrics), record.reason


def test_no_launch_of_a_check_is_skipped_by_its_session(driven):
    _, drive = driven
    _, (record,) = drive(lambda told: json.dumps({**told, "status": "skipped"}).encode() + b"\n")
    assert record.status == "wrong"
    assert "`status` is skipped" in record.reason


def test_no_forged_message_is_believed_and_the_run_can_be_read_after_each(driven, capsys):
    run, drive = driven
    refused = 0
    for seed in range(FORGERIES):
        dice = random.Random(seed)  # noqa: S311  no secret
        honest, records = drive(lambda told, dice=dice, kind=seed % 5: forged(told, dice, kind))
        assert len(records) <= 1
        refused += not records or records[0].status == "wrong"
        for record in records:
            assert (record.reason or "").isprintable()
            if record.status == "ok":
                assert seed % 5, "what is of no outcome stood beside it"
                assert record.programs and {*record.artifacts} > {"script", "stdout", "stderr"}
                assert (record.nodes, record.job_id) == (honest.nodes, JOB), seed
                assert [m.name for m in record.metrics] == [m.name for m in honest.metrics], seed
        for words in (["status"], ["verify"], *([["report"]] if seed % 20 == 0 else [])):
            if records:
                assert main([*words, str(run.path)]) in (0, 1, 3), (seed, capsys.readouterr())
    assert refused > FORGERIES * 0.8
