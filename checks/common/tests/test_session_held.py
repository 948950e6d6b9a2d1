# SPDX-License-Identifier: Apache-2.0
"""Words of session and evidence are held against the job, and against each other."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from checks.common.tests.judged import Launch
from records.site.node_facts import names_in

Change = Callable[[dict[str, Any]], object]


def changed(launch: Launch, kind: str, change: Change, name: str | None = None) -> str:
    """The launch's text with the lines of a kind (a stamp's name) changed."""
    lines = []
    for line in launch.text.split("\n"):
        entry = json.loads(line) if line.startswith('{"assay"') else {}
        if entry.get("assay") == kind and name in (None, entry.get("name")):
            change(entry)
        lines.append(json.dumps(entry, separators=(",", ":")) if entry else line)
    return "\n".join(lines)


@pytest.fixture(scope="module")
def launch() -> Launch:
    return Launch("ring", "lam")


@pytest.mark.parametrize(
    ("name", "seconds"),
    [
        *(("session_begin", 1e6), ("boot_end", -50.0), ("launch_begin", -50.0)),
        *(("launch_end", 1e5), ("halt_begin", 1e5), ("session_end", -50.0)),
        *(("session_begin", -1e5), (None, 1e9), (None, -1e6)),
    ],
)
@pytest.mark.plugins("papers")
def test_stamps_that_do_not_fit_into_the_job_are_lost_by_a_clock(launch, name, seconds):
    def later(entry):
        entry["at"] += seconds

    outcome = launch.outcome(changed(launch, "stamp", later, name))
    assert (outcome.status, outcome.fault) == ("lost", "clock")
    assert "was one set?" in outcome.reason


@pytest.mark.parametrize(
    ("listed", "hosts"),
    [
        ("n[08-10],m2", ["n08", "n09", "n10", "m2"]),
        ("n0[8-9],n[10],m2", ["n08", "n09", "n10", "m2"]),
        ("r[1-2]n[3-4]", ["r1n3", "r1n4", "r2n3", "r2n4"]),
        ("n[1-999999999][1-999999999]", []),  # takes no memory
    ],
)
def test_nodes_are_known_however_slurm_lists_them(listed, hosts):
    assert names_in(listed) == hosts


def members(kind: str, **facts: Any) -> Change:
    """Changes facts of the second rank or link."""
    return lambda entry: entry[kind][1].update(facts)


Facts = dict[str, Any]
WRONG_RANKS: list[Facts] = [{"cpu": [3]}]
WRONG_LINKS: list[Facts] = [{"sent_bytes": 1, "arrived_bytes": 1}]
WRONG_LINKS += [{"to_host": "n2", "from_host": "n2"}]


@pytest.mark.parametrize(
    "change",
    [
        *(members("ranks", **facts) for facts in WRONG_RANKS),
        *(members("links", **facts) for facts in WRONG_LINKS),
        lambda entry: entry["links"].append(dict(entry["links"][1])),
        lambda entry: entry.update({"link": []}),
    ],
)
@pytest.mark.plugins("papers")
def test_evidence_that_cannot_be_is_wrong(launch, change):
    assert launch.outcome(changed(launch, "evidence", change)).status == "wrong"
