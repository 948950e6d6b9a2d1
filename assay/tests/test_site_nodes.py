# SPDX-License-Identifier: Apache-2.0
"""Launches kept off some nodes of a site."""

import pytest

from assay.sites.site_file import read_description
from assay.sites.slurm import SlurmSite
from records.errors import AssayError


def test_launches_are_kept_off_nodes():
    size = {"nodes": 4, "cores_per_node": 2, "memory_bytes_per_node": 2**33}
    description = read_description("virtual").model_copy(update=size)
    site = SlurmSite(description).without_nodes({"n2", "n1"})
    assert site.description.access[-1] == "--exclude=n1,n2"
    assert site.facts().nodes == 2
    assert SlurmSite(description).without_nodes(()).description == description


@pytest.mark.parametrize(
    "own", [["--exclude=n[7-8],n9"], ["--exclude", "n[7-8],n9"], ["-xn[7-8],n9"]]
)
def test_nodes_that_the_site_excludes_itself_stay_so(own):
    size = {"nodes": 4, "cores_per_node": 2, "memory_bytes_per_node": 2**33}
    description = read_description("virtual").model_copy(update={**size, "access": ["-x n0", *own]})
    site = SlurmSite(description).without_nodes({"n2"})
    assert site.description.access[-1] == "--exclude=n[7-8],n9,n2"
    assert site.without_nodes({"n1"}).description.access[-1] == "--exclude=n[7-8],n9,n2,n1"


def test_a_node_is_no_option():
    site = SlurmSite(read_description("virtual"))
    with pytest.raises(AssayError, match="no name of a node"):
        site.without_nodes(["n1 --uid=0"])
