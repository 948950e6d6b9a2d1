# SPDX-License-Identifier: Apache-2.0
"""MPI profiles of real launches are believed; altered in any one place, most are not.

What their own redundancy cannot show: another elapsed time above that in MPI and within the launch,
another longest call between the mean and the sum.
"""

import copy
import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from assay.run import rereading
from assay.tests.test_accept_every_campaign import stored_run
from checks.common.json_lines import (
    PROGRAM_SECRET,
    SESSION_SECRET,
    Output,
    OutputError,
    Secrets,
)
from records.run.archive import RawFiles
from records.run.mpi_profile import rank_profile
from records.run.record import read_records
from records.run.run_directory import open_run

CAMPAIGNS = ("quick", "su3-scaling", "wyeast-2003")
TIMES = ("time_s", "greatest_s", "elapsed_s", "mpi_s")
#: Numbers of which redundancy shows some changes only.
LOOSE = {"greatest_s", "elapsed_s"}


@pytest.fixture(scope="module")
def profiles(tmp_path_factory):
    """The profile of each launch that has one, as the lines that its program printed."""
    place = tmp_path_factory.mktemp("profiled")
    return [
        msgspec.to_builtins(record.profile)
        for campaign in CAMPAIGNS
        for record in read_records(stored_run(campaign, place) / "records.jsonl")
        if record.profile
    ]


def refused(profile: list[dict[str, Any]]) -> bool:
    """Whether a launch that printed this is wrong."""
    try:
        output = Output(profile=[rank_profile(rank) for rank in profile])
        output.profile_by_rank(len(profile), own=True)
    except (ValueError, OutputError):
        return True
    return False


def altered(profile: list[dict[str, Any]]) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """The profile with one thing changed, and what that is."""
    for place, rank in enumerate(profile):
        for change in _changes(rank):
            other = copy.deepcopy(profile)
            yield change(other[place]), other


def _changes(rank: dict[str, Any]) -> Iterator[Any]:
    def number(name: str, factor: float, call: int | None = None):
        def change(rank: dict[str, Any]) -> str:
            at = rank if call is None else rank["calls"][call]
            at[name] = at[name] * factor if name in TIMES else round(at[name] * factor) + 1
            return name

        return change

    def sizes(call: int, key: str, what: str):
        def change(rank: dict[str, Any]) -> str:
            found = rank["calls"][call]["sizes"]
            if what == "moved":
                found[str(2 * int(key) or 1)] = found.pop(key)
            elif what == "dropped":
                del found[key]
            else:
                found[key] += 1
            return f"size {what}"

        return change

    def whole(call: int, what: str):
        def change(rank: dict[str, Any]) -> str:
            calls = rank["calls"]
            if what == "dropped":
                del calls[call]
            elif what == "doubled":
                calls.insert(call, calls[call])
            elif what == "renamed":
                others = {"Isend": "Issend", "Barrier": "Bcast", "Reduce": "Gather"}
                calls[call]["call"] = others.get(calls[call]["call"], "Gatherv")
            elif what == "peer":
                peer = calls[call]["peer"]
                calls[call]["peer"] = 0 if peer is None else peer + 1
            return f"call {what}"

        return change

    for name in ("elapsed_s", "mpi_s"):
        yield from (number(name, factor) for factor in (0.5, 0.999, 1.001, 2))
    for place, call in enumerate(rank["calls"]):
        yield from (number(name, 1, place) for name in ("count", "bytes"))
        yield from (number(name, 2, place) for name in ("count", "bytes") if call[name])
        for name in ("time_s", "greatest_s"):
            yield from (number(name, factor, place) for factor in (0.5, 0.999, 1.001, 2))
        for key in call["sizes"]:
            yield from (sizes(place, key, what) for what in ("moved", "dropped", "more"))
        yield from (whole(place, what) for what in ("dropped", "doubled", "renamed", "peer"))


def test_profiles_of_real_launches_are_believed(profiles):
    assert len(profiles) == 126
    assert not any(map(refused, profiles))


def test_nearly_every_alteration_of_a_profile_is_refused(profiles):
    made: Counter[str] = Counter()
    seen: Counter[str] = Counter()
    for profile in profiles[::5]:
        for what, other in altered(profile):
            made[what] += 1
            seen[what] += refused(other)
    shares = {what: seen[what] / made[what] for what in made}
    told = {what: f"{seen[what]} of {made[what]}" for what in made}
    assert sum(made.values()) > 5000
    assert min(share for what, share in shares.items() if what not in LOOSE) > 0.88, told
    firm = made.keys() - LOOSE
    assert sum(seen[what] for what in firm) > 0.95 * sum(made[what] for what in firm), told


@pytest.mark.parametrize(
    ("factor", "told"),
    [
        (1.0, None),
        (1000.0, "an MPI profile: what was timed took"),
        (0.9, "the MPI profile of rank 0 is of"),
    ],
)
def test_a_profile_is_as_long_as_the_program_within_its_launch(factor, told, tmp_path):
    run = open_run(str(stored_run("quick", tmp_path)))
    record = next(one for one in run.records() if one.profile and len(one.profile) > 1)

    def changed(line: str) -> str:
        if '"assay":"profile"' not in line:
            return line
        entry = json.loads(line)
        if entry["rank"] == 0:
            entry["elapsed_s"] *= factor
            entry["mpi_s"] *= min(1.0, factor)
            for call in entry["calls"]:
                call["time_s"] *= min(1.0, factor)
                call["greatest_s"] *= min(1.0, factor)
        return json.dumps(entry, separators=(",", ":"))

    with RawFiles(run.path) as files:
        text = {
            kind: files.read(record.artifacts[kind]) or b""
            for kind in ("script", "stdout", "stderr")
        }
    secrets = dict(rereading._SECRET.findall(text["script"].decode()))
    known = Secrets(secrets[SESSION_SECRET], secrets[PROGRAM_SECRET])
    text["stdout"] = "\n".join(map(changed, text["stdout"].decode().split("\n"))).encode()
    judge = rereading.Rereader(run.plan(), run.provenance())._judged
    outcome = judge(record, known, text, {})
    assert outcome.status == ("wrong" if told else "ok"), outcome.reason
    assert told is None or told in (outcome.reason or "")
