# SPDX-License-Identifier: Apache-2.0
"""A user's nights by the command line alone, on a real cluster."""

import re
import subprocess
from html import unescape

import pytest

from assay.tests.test_run_on_cluster import ASSAY, campaign, own_name
from assay.tests.test_run_on_cluster import of_full as pytestmark

__all__ = ["pytestmark"]
#: Two test runs on one machine do not meet.
CLUSTER = own_name("w")
SITE = f"virtual:{CLUSTER}"


def assay(*arguments, folder=None):
    """The exit status of a command, and what the screen says: its words, without line breaks."""
    how = {"capture_output": True, "text": True, "timeout": 1800}
    done = subprocess.run([ASSAY, *map(str, arguments)], check=False, cwd=folder, **how)
    return done.returncode, " ".join((done.stdout + done.stderr).split())


def words(page):
    """The text of a page without markup and line breaks."""
    return " ".join(unescape(re.sub(r"<[^>]+>", "", page.read_text())).split())


@pytest.fixture(scope="module", autouse=True)
def cluster():
    status, said = assay("cluster", "up", "--name", CLUSTER, "--nodes", "4", "--network", "gigabit")
    assert status == 0, said
    yield CLUSTER
    status, said = assay("cluster", "down", "--name", CLUSTER)
    assert (status, "nothing is left" in said) == (0, True), said


NODES = """
  - check: node
    fixed: {ranks: 4, ranks_per_node: 1, turns: true, kernels: [dgemm], dgemm_n: 800}
"""


def test_a_node_that_becomes_slow_is_named_in_its_nights_of_a_young_history(tmp_path):
    name = campaign(tmp_path, "nights", "mpich", 4, NODES)
    night = ("nightly", "run", "--campaign", name, "--site", SITE)
    for number in range(1, 6):
        if number == 4:
            status, said = assay("cluster", "degrade", "n2", "--cpu", "0.1", "--name", CLUSTER)
            assert status == 0, said
        status, said = assay(*night, folder=tmp_path)
        state, sentence = re.search(r"\b([A-Z]{4,}): (.*?)(?= Accept only| site: )", said).groups()
        # A young history says nothing good; other work on the machine may make any node slow.
        assert status == {"LEARNING": 3, "SUSPECT": 3, "FAIL": 1}.get(state), said
        assert sentence in words(tmp_path / re.search(r"page: (\S+)", said)[1])
        if number >= 4:
            assert state != "LEARNING", said
            # The sentence names the newest regression, which may be of another node.
            assert re.search(r"\bn2\b[^,;]*? slower\b", said), said
    status, said = assay("cluster", "mend", "n2", "--name", CLUSTER)
    assert status == 0, said
    status, said = assay("nightly", "show", folder=tmp_path)
    assert (status, "nights on virtual: 5 nights" in said) == (0, True), said
