# SPDX-License-Identifier: Apache-2.0
"""The program on nodes of invented names: which pairs it measures and reports, and when."""

import json
import re
from functools import cache

import pytest

from checks.alltoall_pairs import CHECK
from checks.common.sources import CHECKS, LIBRARY
from checks.common.tests.program_runs import (
    COMPILERS,
    LIBRARIES,
    built_programs,
    chosen,
    command_of,
    library_of,
    only,
    run_each,
)

SHORT, LONG = 24, 50000
SIZES = {"latency_bytes": SHORT, "latency_iterations": 5}
SIZES |= {"bandwidth_bytes": LONG, "bandwidth_iterations": 3}
#: A round trip that is verified, one that warms up, one after it, and the samples.
LEAST_SENDS = {SHORT: 1 + 2 + 1 + 5, LONG: 1 + 2 + 1 + 3}


def scans(ranks_on_node, *node_counts):
    """Commands on so many nodes and their parameters: all pairs and some, in turns and not."""
    asked = [
        {"turns": turns, **only}
        for turns in (False, True)
        for only in ({}, {"only": ["n1:n0", "n0:n7", "n7:n8"]})
    ]
    ranks = [{"ranks": nodes * ranks_on_node} for nodes in node_counts]
    fixed = {"ranks_per_node": ranks_on_node, **SIZES}
    cases = [fixed | counted | one for counted in ranks for one in asked]
    return dict(command_of("alltoall_pairs", **case) for case in cases)


#: By the ranks of a node.
ASKED = {1: scans(1, 2, 3, 4), 2: scans(2, 2, 3)}
TINY = f"alltoall_pairs --latency-iterations=1 --bandwidth-iterations=1 --bandwidth-bytes={LONG}"
REFUSED = {
    f"3 {TINY} --only=n0:n7,n8:n1": "of which this launch has no pair",
    f"3 {TINY} --only=n0:n1,n2:n2": "found n2:n2, allowed are two hosts",
    f"3 {TINY} --only=n0:n1,n2": "found n2, allowed are two hosts",
    f"3 {TINY} --only=n0:n1,:n2": "found :n2, allowed are two hosts",
    f"3 {TINY} --only=n0:n1,n2:": "found n2:, allowed are two hosts",
}


@pytest.fixture(scope="module", params=LIBRARIES)
def runs(request):
    """What a case did; the first one asked has those like it run. Of a list all naps last 50 ms."""
    library, compiler = request.param, COMPILERS[request.param]
    out, cases = built_programs(library, ["alltoall_pairs"]), chosen(request, "case")
    late = library_of(out, LIBRARY / "proof" / "late_nap.c")
    named = CHECKS / "alltoall_pairs" / "tests" / "named_hosts.c"

    @cache
    def of_group(ranks_on_node, listed):
        names = library_of(out, named, f"-DRANKS_ON_NODE={ranks_on_node}", compiler=compiler)
        asked = [one for one in cases if (one[0], one in LISTED) == (ranks_on_node, listed)]
        preloaded = [names, late] if listed else [names]
        return run_each(library, out, [command for _, command in asked], *preloaded)

    return lambda case: of_group(case[0], case in LISTED)[case[1]]


def sends(run):
    """How often each rank sent a message of each length, and when: by length and rank."""
    lines = map(json.loads, re.findall(r'^\{"sent".*', run.text, re.MULTILINE))
    return {(line["sent"], line["rank"]): line for line in lines}


CASES = [(on_node, command) for on_node, asked in ASKED.items() for command in asked]
LISTED = [case for case in CASES if "--only" in case[1]]
#: All pairs of 2 nodes without turns.
FAST = [CASES[0], *((1, command) for command in REFUSED)]


@pytest.mark.parametrize("case", only(FAST, CASES))
def test_what_was_asked_is_answered_without_hosts_that_are_absent(runs, case):
    run, params = runs(case), ASKED[case[0]][case[1]]
    assert run.status == 0, run.text
    assert CHECK.read(params, run.output).wrong is None
    pairs = 1 if params.only else params.nodes * (params.nodes - 1) // 2
    assert len(run.lines("metric")) == 2 * pairs


@pytest.mark.parametrize("case", only(FAST, LISTED))
def test_beside_listed_pairs_all_of_their_round_are_measured_unless_they_take_turns(runs, case):
    params, found = ASKED[case[0]][case[1]], sends(runs(case))
    sending = {rank // params.ranks_per_node for length, rank in found if length == LONG}
    assert len(sending) == (2 if params.turns else params.nodes // 2 * 2)
    assert sending >= {0, 1}
    for (length, _), line in found.items():
        assert line["times"] >= LEAST_SENDS.get(length, 0)


@pytest.mark.parametrize("case", only(FAST, [case for case in LISTED if "--turns" not in case[1]]))
def test_no_pair_sends_long_messages_while_another_sends_short_ones(runs, case):
    found = sends(runs(case))
    shorts = [line["last"] for (length, _), line in found.items() if length == SHORT]
    longs = [line["first"] for (length, _), line in found.items() if length == LONG]
    assert max(shorts) < min(longs)


@pytest.mark.parametrize("case", [(1, command) for command in REFUSED])
def test_a_list_of_which_nothing_is_left_or_that_is_none_is_refused(runs, case):
    run = runs(case)
    assert run.status != 0 and not run.lines("end")
    assert any(REFUSED[case[1]] in line["message"] for line in run.lines("error")), run.text
