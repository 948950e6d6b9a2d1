# SPDX-License-Identifier: Apache-2.0
"""Wrong statements of a check's code make its launch wrong; the ledger is the same read in one go
or as records are added."""

from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import msgspec
import pytest

from assay.run.driver import Driver
from assay.run.launches import RecordMaker, launch_of
from assay.run.status import run_status
from assay.tests.campaign_texts import virtual_site
from assay.tests.test_accept_every_campaign import stored_run
from checks.common.session.outcome import Outcome
from records.errors import AssayError
from records.run.record import RecordWriter, read_records
from records.run.record_lines import Ledger
from records.run.run_directory import RunDirectory
from reports.tests.synthetic import quick_cases, rewrite, write_run

PROGRAMS, ANSWERED = {"stepkeeper": "0" * 64}, ("pt2pt", "su3_rmd")
#: The path of a member, what is put there, and what is said.
WRONG = [
    ("metrics.0.name", "magic", "metric 'magic'; allowed: a metric that plan.json defines"),
    ("metrics.0.unit", "bananas", "in 'bananas'; allowed: s"),
    ("metrics.0.better", "higher", "`better` of half_round_trip is 'higher'; allowed"),
    ("metrics.0.value", -1, "half_round_trip is -1 s, which cannot be measured"),
    ("metrics.0.samples", [1e308], "half_round_trip is 1e+308 s, which cannot be measured"),
    ("metrics.0.samples", [], "`samples` of half_round_trip are an empty list"),
    ("metrics.0.at", {"x": -1}, "`at` of half_round_trip has x -1; allowed"),
    ("metrics", lambda metrics: metrics * 2, "`metrics` hold half_round_trip at "),
    ("nodes", ["n1"], "`nodes` are n1; the launch has 2"),
    ("nodes", ["n1", "n1"], "`nodes` are n1, n1; the launch has 2"),
    ("nodes", ["n1", "-rf"], "`nodes` holds '-rf'; allowed"),
    ("submitted_at", "x", "`submitted_at` is 'x'; allowed: a time as 20"),
]


def honest_message(record):
    kept = ("status", "metrics", "flags", "nodes", "started_at", "ended_at", "job_id")
    told = {name: msgspec.to_builtins(getattr(record, name)) for name in kept}
    profile = {} if record.profile is msgspec.UNSET else {"profile": record.profile}
    return told | msgspec.to_builtins(profile)


@pytest.fixture(scope="module")
def drive(tmp_path_factory):
    """Lets a driver make a record of what a function makes of an honest message of a stored run;
    gives the record, and that which it ought to be."""
    stored = {
        name: stored_run(name, tmp_path_factory.mktemp(name)) for name in ("nightly", "quick")
    }

    def drive(change, programs=PROGRAMS, *, profiled=False):
        run = RunDirectory(stored["quick" if profiled else "nightly"])
        every = (one for one in run.records() if one.status == "ok" and one.check in ANSWERED)
        right = next(one for one in every if bool(one.profile) == profiled)
        case = next(one for one in run.plan().cases if one.id == right.case_id)
        launch = launch_of(case, index=0, block=right.block, attempt=right.attempt, limit_s=9.0)
        site, driver, written = virtual_site(), Driver.__new__(Driver), []
        vars(driver).update(
            work=SimpleNamespace(open=None),
            ledger=SimpleNamespace(add=written.append),
            own_job=None,
            progress=SimpleNamespace(record=str),
            _raw=SimpleNamespace(keep=lambda *_: right.artifacts),
            _kept_builds=SimpleNamespace(executed=lambda *_: (programs, None)),
            _records=RecordMaker(run, site),
            _made=Counter(),
            _results=0,
        )
        message = msgspec.convert(change(honest_message(right)), Outcome)
        driver._record(launch, message, SimpleNamespace(append=str))
        return written[0], right

    return drive


def changed(told, member, value):
    place, (*above, last) = told, member.split(".")
    for key in above:
        place = place[int(key) if isinstance(place, list) else key]
    place[last] = value(place.get(last)) if callable(value) else value
    return told


def test_an_honest_message_becomes_the_record(drive):
    record, right = drive(lambda told: {**told, "reason": "\x1b[2J\u202e\x00 no\n" + "x" * 9000})
    assert record.status == "ok" and record.reason.isprintable()
    assert len(record.reason) == 4000
    for name in ("metrics", "nodes", "started_at", "ended_at", "job_id", "artifacts"):
        assert getattr(record, name) == getattr(right, name)
    assert record.programs == PROGRAMS


@pytest.mark.parametrize(("member", "value", "said"), WRONG)
def test_what_cannot_be_makes_its_launch_wrong(member, value, said, drive):
    record, _ = drive(lambda told: changed(told, member, value))
    assert record.status == "wrong" and record.metrics == []
    assert said in record.reason and record.reason.isprintable()


def test_a_profile_is_kept(drive):
    record, right = drive(lambda told: told, profiled=True)
    assert (record.status, record.profile) == ("ok", right.profile)


@pytest.fixture
def run(tmp_path: Path) -> RunDirectory:
    return RunDirectory(write_run(tmp_path / "run", quick_cases(("mpich", "lam")), blocks=3))


def test_appended_records_are_read_once_and_along_the_chain(run: RunDirectory) -> None:
    records = list(read_records(run.records_file))
    run.records_file.write_bytes(b"")
    early, added = run.ledger(), run.ledger()
    for part in (records[:5], records[5:]):
        with RecordWriter(run.records_file) as writer:
            for record in part:
                writer.append(record)
                added.add(record)
        early = early if early.entries else run.ledger()  # the first seal comes after its reading
        early.catch_up()
    whole = run.ledger()
    assert early.entries == added.entries == whole.entries
    assert len(whole.entries) == len(records)
    assert whole.chain.head == early.chain.head
    assert [entry.case_id for entry in whole.entries] == [record.case_id for record in records]


def test_a_status_is_the_same_from_disk_and_from_the_driver(run: RunDirectory) -> None:
    ledger = Ledger(run.path, run.plan(), run.run_id)
    for record in read_records(run.records_file):
        ledger.add(record)
    mine, read = run_status(run, ledger), run_status(run)
    assert (mine.counts, mine.reasons, mine.failures) == (read.counts, read.reasons, read.failures)
    assert read.counts["wrong"] == 6


def test_a_record_that_stands_twice_is_refused(run: RunDirectory) -> None:
    rewrite(run.path, lambda records: [*records, records[-1]])
    with pytest.raises(AssayError, match="is recorded twice"):
        run.ledger()
