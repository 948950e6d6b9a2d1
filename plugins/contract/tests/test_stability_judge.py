# SPDX-License-Identifier: Apache-2.0
"""Outages from looks, their classes, availability and mean times, and the promise judged."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest

from plugins.contract.stability.booking import Booked, Outage, booked
from plugins.contract.stability.judge import Figures
from plugins.contract.stability.ledger import (
    BookedJob,
    Classed,
    ClusterLook,
    Entry,
    NodeEvent,
    NodeState,
    PartitionState,
    WatchTerms,
)
from plugins.contract.stability.result import stability_result
from reports.render import markdown
from reports.render.terminal import text

T0, HOUR = 1_800_000_000.0, 3600.0
NODES = ("n1", "n2", "n3", "n4")
UP = NodeState()
DOWN, DRAINED = NodeState("down", "DOWN"), NodeState("drained", "IDLE+DRAIN", "fan")
MAINT = NodeState("maintenance", "MAINT")


@dataclass
class Ledger:
    """Looks once a minute, each saying what has changed."""

    entries: list[Entry] = field(default_factory=list)
    passed: float = 0.0
    offset: float = 0.0
    boot: str = "a"

    def begin(self, **more: Any) -> Ledger:
        self.entries = [WatchTerms(at=T0, site="s", every_s=60.0, length_s=HOUR, **more)]
        return self.look(nodes=dict.fromkeys(NODES, UP), after=0.0)

    def look(self, after: float = 60.0, **what: Any) -> Ledger:
        self.passed += after
        at, steady = T0 + self.passed + self.offset, 500.0 + self.passed
        self.entries.append(ClusterLook(at=at, steady=steady, boot=self.boot, host="login", **what))
        return self

    def quiet(self, looks: int) -> Ledger:
        for _ in range(looks):
            self.look()
        return self

    def until_the_end(self) -> Ledger:
        return self.quiet(60 - int(self.passed // 60))

    def classed(self, outage: Outage, word: Any) -> Ledger:
        said = Classed(at=T0, outage=outage.id, word=word, by="A. Buyer", reason="seen")
        self.entries.append(said)
        return self

    def with_outages(self, count: int) -> Ledger:
        """So many are the vendor's; then nothing more to the end."""
        for _ in range(count):
            self.look(nodes={"n1": DOWN}).look(nodes={"n1": UP})
        self.until_the_end()
        for outage in self.booked.outages:
            self.classed(outage, "vendor")
        return self

    @property
    def booked(self) -> Booked:
        return booked(self.entries)

    @property
    def outages(self) -> list[tuple[str, str, float, float]]:
        """Kind, thing, begin and end in s since the first look."""
        found = self.booked.outages
        return [(o.kind, o.thing, round(o.begin - T0, 3), round(o.end - T0, 3)) for o in found]


def test_a_node_is_out_from_the_look_that_sees_it_to_the_one_that_sees_it_back():
    ledger = Ledger().begin().look(nodes={"n2": DOWN}).quiet(2).look(nodes={"n2": UP})
    assert ledger.outages == [("node down", "n2", 60, 240)]


def test_slurms_own_times_begin_and_end_an_outage_between_two_looks():
    down = NodeState("down", "DOWN", "Not responding", since=T0 + 20)
    back = NodeState(daemon=T0 + 130)
    ledger = Ledger().begin().look(nodes={"n2": down}).look().look(nodes={"n2": back})
    assert ledger.outages == [("node down", "n2", 20, 130)]
    late = NodeState("down", "DOWN", "Not responding", since=T0 - 900)
    assert Ledger().begin().look(nodes={"n2": late}).outages == [("node down", "n2", 60, 60)]


def test_a_node_that_missed_a_message_serves_and_is_down_since_then_when_slurm_calls_it_so():
    silent = NodeState(state="IDLE+NOT_RESPONDING")
    down = NodeState("down", "DOWN+NOT_RESPONDING", "Not responding", since=T0 + 230)
    ledger = Ledger().begin().look(nodes={"n2": silent}).look(nodes={"n2": UP})
    assert ledger.outages == []
    ledger.look(nodes={"n2": silent}).look(nodes={"n2": down}).look(nodes={"n2": UP})
    assert ledger.outages == [("node down", "n2", 180, 300)]


def test_nodes_that_fall_together_are_one_outage_and_others_are_others():
    ledger = Ledger().begin().look(nodes={"n1": DOWN}).look(nodes={"n2": DOWN, "n3": DRAINED})
    ledger.quiet(2).look(nodes={"n4": DOWN})
    assert [one[:3] for one in ledger.outages] == [
        ("node down", "n1,n2", 60),
        ("node drained", "n3", 120),
        ("node down", "n4", 300),
    ]
    assert ledger.booked.outages[0].lasts


def test_a_maintenance_is_scheduled_and_splits_what_was_down_before():
    ledger = Ledger().begin().look(nodes={"n1": DOWN}).look(nodes={"n1": MAINT})
    ledger.look(nodes={"n1": UP})
    assert ledger.outages == [("node down", "n1", 60, 120), ("maintenance", "n1", 120, 180)]
    assert [one.word for one in ledger.booked.outages] == ["unknown", "scheduled"]


def test_a_silent_controller_takes_all_nodes_and_hides_none_that_were_out():
    ledger = Ledger().begin().look(nodes={"n1": DOWN}).look(fault="no contact")
    ledger.look(fault="no contact").look(started=T0 + 210, nodes={"n1": UP})
    assert ledger.outages == [("node down", "n1", 60, 240), ("controller", "controller", 120, 210)]
    assert ledger.booked.outages[1].nodes == {*NODES}


def test_a_partition_takes_the_nodes_that_no_other_has_up():
    both = {"a": PartitionState("UP", ["n1", "n2"]), "b": PartitionState("UP", ["n2", "n3"])}
    ledger = Ledger().begin().look(partitions=both)
    ledger.look(partitions={"a": PartitionState("DOWN", ["n1", "n2"])}).look()
    ledger.look(partitions={"a": both["a"]})
    assert ledger.outages == [("partition", "a", 120, 240)]
    assert ledger.booked.outages[0].nodes == {"n1"}


def test_a_file_system_is_booked():
    full = {"/scratch": "No space left on device"}
    ledger = Ledger().begin().look(file_systems=full).look(file_systems=full).look()
    assert ledger.outages == [("file system", "/scratch", 60, 180)]


def test_accounting_tells_what_began_and_ended_while_nobody_looked():
    events = [
        NodeEvent("n1", T0 + 100, T0 + 400, "down", "power"),
        NodeEvent("n1", T0 + 400, T0 + 500, "drained", "check"),
        NodeEvent("n2", T0 + 1500, None, "down"),
        NodeEvent("n3", T0 - 900, T0 + 30, "down"),
    ]
    ledger = Ledger().begin().look()
    ledger.look(1740, nodes={"n2": DOWN}, events=events, accounting=True)
    assert ledger.outages == [("node down", "n1", 100, 500), ("node down", "n2", 1500, 1800)]
    assert not ledger.booked.unseen


def test_without_accounting_a_restart_shows_and_the_time_is_called_unseen():
    back = {"n1": NodeState(daemon=T0 + 900)}
    ledger = Ledger().begin(scale=2.0).look(1740, nodes=back, started=T0 + 1000)
    controller = ("controller", "controller", 1000, 1000)
    assert ledger.outages == [("node restarted", "n1", 900, 900), controller]
    assert Figures(ledger.booked).unseen_s == 2 * 1740
    short = Ledger().begin().look(nodes={"n1": NodeState(daemon=T0 + 30)})
    assert short.outages == []
    silent = Ledger().begin().look(nodes={"n1": NodeState(state="IDLE*")})
    silent.look(nodes={"n1": NodeState(daemon=T0 + 110)})
    assert silent.outages == [("node restarted", "n1", 60, 110)]


@pytest.mark.parametrize("jump", [3600.0, -3600.0])
def test_a_clock_that_jumps_is_named_and_neither_adds_nor_takes_time(jump):
    ledger = Ledger().begin().look(nodes={"n1": DOWN})
    ledger.offset = jump
    ledger.look(nodes={"n1": UP}).until_the_end()
    assert ledger.outages == [("node down", "n1", 60, 120)]
    found = Figures(ledger.booked)
    assert (found.period_s, found.finished, found.unseen_s) == (HOUR, True, 0)
    (note,) = ledger.booked.notes
    assert f"set {'forward' if jump > 0 else 'back'} by 3600 s between look 2 and 3" in note


def test_a_restart_of_the_bookers_host_goes_by_the_wall_clock():
    ledger = Ledger().begin().look()
    ledger.boot = "b"
    ledger.look(600)
    assert (ledger.booked.times[-1] - T0, ledger.booked.notes) == (660, [])


def test_availability_goes_by_node_hours_and_overlaps_count_once():
    ledger = Ledger().begin().look(nodes={"n1": DOWN, "n4": MAINT}).quiet(11)
    ledger.look(fault="no contact").look(nodes={"n1": UP, "n4": UP}).until_the_end()
    found = Figures(ledger.booked)
    lost = {word: found.lost[word] for word in ("scheduled", "unknown")}
    assert lost == pytest.approx({"scheduled": 780, "unknown": 780 + 2 * 60})
    assert found.node_s == 4 * HOUR - 780
    assert found.availability == (pytest.approx(1 - 900 / found.node_s), 1.0)
    later = Ledger().begin().look(1800, nodes={"n5": UP}).look(1800)
    assert Figures(later.booked).node_s == 4.5 * HOUR


def verdicts(ledger: Ledger) -> dict[str, tuple[str, str]]:
    return {one.name: (one.verdict, one.why) for one in Figures(ledger.booked).criteria}


def test_a_class_decides_and_the_first_word_stays():
    ledger = Ledger().begin(availability=0.99).look(nodes={"n1": DOWN}).quiet(5)
    ledger.look(nodes={"n1": UP}).until_the_end()
    assert verdicts(ledger)["availability"] == ("INCONCLUSIVE", "1 outage of unknown class")
    outage = ledger.booked.outages[0]
    assert verdicts(ledger.classed(outage, "vendor"))["availability"][0] == "FAIL"
    assert verdicts(ledger.classed(outage, "external"))["availability"][0] == "PASS"
    said = ledger.booked.outages[0].said
    assert [(one.word, one.by) for one in said] == [(w, "A. Buyer") for w in ("vendor", "external")]


def test_a_lost_availability_fails_before_the_end_and_a_kept_one_waits():
    ledger = Ledger().begin(availability=0.99).look(nodes=dict.fromkeys(NODES, DOWN)).look()
    ledger.classed(ledger.booked.outages[0], "vendor")
    assert verdicts(ledger)["availability"][0] == "FAIL"
    found = verdicts(Ledger().begin(availability=0.99).quiet(30))["availability"]
    assert found == ("INCONCLUSIVE", "50.0 % of the phase are booked")


def test_an_mtbi_needs_the_length_and_few_failures():
    def phase(mtbi_s: float, failures: int) -> str:
        return verdicts(Ledger().begin(mtbi_s=mtbi_s).with_outages(failures))["MTBI"][0]

    found = [phase(HOUR / 4, failures) for failures in (0, 1, 2, 9)]
    assert found == ["PASS", "PASS", "INCONCLUSIVE", "FAIL"]
    assert phase(HOUR, 0) == "INCONCLUSIVE"


def test_jobs_that_failures_ended_have_the_class_of_their_nodes_outage():
    killed = [BookedJob(str(n), T0 + 5, T0 + 70, [f"n{n}"], "NODE_FAIL") for n in (1, 2, 3)]
    ledger = Ledger().begin(mtti_s=60.0).look(nodes={"n1": DOWN}).look(nodes={"n2": DRAINED})
    ledger.look(jobs=killed)
    down, drained = ledger.booked.outages
    ledger.classed(down, "vendor").classed(drained, "site")
    assert sorted(Figures(ledger.booked).killed) == ["site", "unknown", "vendor"]


def test_the_result_names_verdict_outages_classes_and_what_was_not_seen():
    ledger = Ledger().begin(availability=0.99, mtbi_s=HOUR, scale=1.0)
    ledger.look(nodes={"n1": DOWN}, unseen=["jobs of others"]).look(nodes={"n1": UP})
    ledger.classed(ledger.booked.outages[0], "vendor").until_the_end()
    result = stability_result(ledger.entries)
    told = "INCONCLUSIVE", "can prove nothing", "node down", "A. Buyer", "Not seen: jobs"
    for shown in (text(result), markdown.text(result)):
        assert all(words in shown for words in told)
    outage = result.data.outages[0]
    assert (outage.word, outage.length_s, outage.node_hours) == ("vendor", 60, 60 / 3600)
    assert result.data.mtbi_low_s < result.data.mtbi_s
