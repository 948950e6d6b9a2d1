# SPDX-License-Identifier: Apache-2.0
"""One walk of a user on a virtual cluster, or where none can be on this machine alone: what
`make test` has of launches."""

import json
import os
import shutil

import pytest

from assay.tests.test_accept_every_campaign import STATUS
from assay.tests.test_installed import CRITERIA
from assay.tests.test_run_on_cluster import campaign, the_run
from assay.tests.test_walks import assay
from virtual_cluster import images
from virtual_cluster.tests import clusters

#: Two test runs on one machine do not meet.
CLUSTER = f"t-m{os.getpid()}"
SITE = f"virtual:{CLUSTER}"
CASES = """
  - check: startup
    fixed: {ranks: 2, ranks_per_node: 1}
  - check: echo
    fixed: {sizes: [8, 1024], iterations: 200, warmup: 5}
"""
WITHIN = "placement: within-node, warmup"
#: What its nodes boot.
IMAGE = os.environ.get("ASSAY_TEST_IMAGE") or images.DEFAULT
pytestmark = pytest.mark.smoke
NEEDS_IMAGE = pytest.mark.skipif(
    not (images.found(IMAGE) or os.environ.get(images.MIRROR) or images.apt_mirror()),
    reason=f"needs image {IMAGE} or a mirror of Debian: {images.MIRROR}, assay image load",
)


@pytest.fixture
def cluster():
    yield CLUSTER
    status, said = assay("cluster", "down", "--name", CLUSTER)
    assert (status, "nothing is left" in said) == (0, True), said


@pytest.mark.skipif(bool(clusters.REASON), reason=f"no virtual cluster: {clusters.REASON}")
@NEEDS_IMAGE
def test_a_cluster_runs_a_campaign_that_is_reported_accepted_and_a_night(tmp_path, cluster):
    campaign(tmp_path, "smoke", "mpich, openmpi", 3, CASES)
    (tmp_path / "modest.yaml").write_text(CRITERIA)
    status, said = assay("cluster", "up", "--name", cluster, "--nodes", "2", "--image", IMAGE)
    assert (status, f"cluster {cluster}: up" in said) == (0, True), said

    walk(tmp_path, SITE)


@pytest.mark.skipif(not clusters.REASON, reason="walked on a virtual cluster")
@pytest.mark.skipif(shutil.which("cc") is None, reason="needs cc: make packages, as root")
def test_this_machine_alone_does_where_no_cluster_can_be(tmp_path):
    """The tests of clusters, which are skipped, belong to a machine with namespaces."""
    cases = CASES.replace("ranks_per_node: 1", "ranks_per_node: 2")
    campaign(tmp_path, "smoke", "mpich, openmpi", 3, cases.replace("warmup", WITHIN))
    (tmp_path / "modest.yaml").write_text(CRITERIA)
    (tmp_path / "site-config").mkdir()
    status, said = assay("site", "init", "local", folder=tmp_path)
    assert status == 0, said
    walk(tmp_path, "local")


def walk(tmp_path, site):
    """A run, its report, an acceptance, a night."""
    status, said = assay("run", "smoke.yaml", "--site", site, folder=tmp_path)
    assert (status, "12 of 12 launches have a record: 12 ok" in said) == (0, True), said
    run = the_run(tmp_path, "smoke")

    status, said = assay("report", folder=tmp_path)
    answer = json.loads((run / "report" / "verdicts.json").read_text())["answer"]
    assert (status, answer["sentence"] in said) == (0, True), said

    status, said = assay("accept", run, "--criteria", "modest.yaml", folder=tmp_path)
    told = json.loads((run / "acceptance" / "acceptance.json").read_text())
    assert (status, f"{told['verdict']}: " in said) == (STATUS[told["verdict"]], True), said
    assert assay("verify", run)[0] == 0

    night = ("nightly", "run", "--campaign", "smoke.yaml", "--site", site)
    status, said = assay(*night, folder=tmp_path)
    assert (status, "LEARNING: " in said) == (3, True), said
    assert len([*(tmp_path / "results" / "smoke").iterdir()]) == 2
