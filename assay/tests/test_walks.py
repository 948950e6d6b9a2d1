# SPDX-License-Identifier: Apache-2.0
"""A user's walks by the command line alone, each from a real cluster to its document."""

import json
import re
import subprocess
from hashlib import sha256
from html import unescape

import pytest
from pypdf import PdfReader

from assay.tests.test_run_on_cluster import ASSAY, own_name, the_run
from assay.tests.test_run_on_cluster import of_full as pytestmark
from reports.render.files import find_browser

__all__ = ["pytestmark"]
#: Two test runs on one machine do not meet.
CLUSTER = own_name("w")
SITE = f"virtual:{CLUSTER}"


def assay(*arguments, folder=None):
    """The exit status of a command, and what the screen says: its words, without line breaks."""
    argv = [ASSAY, *map(str, arguments)]
    how = {"capture_output": True, "text": True, "timeout": 1800}
    done = subprocess.run(argv, check=False, cwd=folder, **how)
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


def test_accept_a_machine(tmp_path):
    part = ("--environments", "lam", "--blocks", "3", "--scale", "small")
    status, said = assay("run", "acceptance", "--site", SITE, *part, folder=tmp_path)
    assert status == 0, said
    run = the_run(tmp_path, "acceptance")
    folder = run / "acceptance"
    statuses = {"PASS": 0, "FAIL": 1, "INCONCLUSIVE": 3, "SUSPECT": 3}
    for criteria, options in (("rehearsal", []), ("standard", ["--criteria", "standard"])):
        status, said = assay("accept", run, *options)
        told = json.loads((folder / "acceptance.json").read_text())
        assert told["criteria"]["name"] == criteria
        assert (status, f"{told['verdict']}: " in said) == (statuses[told["verdict"]], True)
    assert {item["verdict"] for item in told["results"]} >= {"PASS"}
    page = (folder / "document.html").read_text()
    seal = sha256((folder / "acceptance.json").read_bytes()).hexdigest()
    assert run.name in page and seal[:16] in page.replace(" ", "")
    if find_browser() is not None:
        print_ = "".join(sheet.extract_text() for sheet in PdfReader(folder / "document.pdf").pages)
        assert run.name in print_
    assert assay("verify", run)[0] == 0
    assert assay("verify", folder / "document.html")[0] == 0
    (folder / "document.html").write_text(page.replace(told["verdict"], "PASS!"))
    status, said = assay("verify", run)
    assert (status, "document.html was changed" in said) == (1, True), said


NIGHTLY = """
schema: 1
name: nights
question: Is a node slower tonight?
environments: [mpich]
blocks: 4
seed: 5
cases:
  - check: node
    fixed: {ranks: 4, ranks_per_node: 1, turns: true, kernels: [dgemm], dgemm_n: 800}
"""


def test_a_node_that_becomes_slow_is_named_in_its_nights_of_a_young_history(tmp_path):
    (tmp_path / "nights.yaml").write_text(NIGHTLY)
    night = ("nightly", "run", "--campaign", "nights.yaml", "--site", SITE)
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
            assert re.search(r"\bat n2 [^,;]*? (slower|as slow)\)", said), said
    status, said = assay("cluster", "mend", "n2", "--name", CLUSTER)
    assert status == 0, said
    status, said = assay("nightly", "show", folder=tmp_path)
    assert (status, "nights on virtual: 5 nights" in said) == (0, True), said
