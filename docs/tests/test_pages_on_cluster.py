# SPDX-License-Identifier: Apache-2.0
"""Pages whose commands need a virtual cluster: each class of them on one, in one folder."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from docs.tests.test_docs import PAGES, ROOT, needs_cluster, own_folder, to_follow
from setup.tests.needs import NEEDS_HPL
from virtual_cluster.host import missing_programs
from virtual_cluster.tests.clusters import NEEDS_CLUSTER, own_name

CLUSTER = own_name("d")
FIRST = ROOT / "docs/first-run.md"

pytestmark = [pytest.mark.full, *NEEDS_CLUSTER, NEEDS_HPL]


def in_order(*names: str) -> pytest.MarkDecorator:
    """Parametrize a class by its pages; later ones go on with what earlier ones made."""
    pages = [page for name in names for page in PAGES if page.stem == name]
    return pytest.mark.parametrize("page", pages, ids=names)


@pytest.fixture(scope="class")
def folder() -> Iterator[Path]:
    """The folder of the pages of a class."""
    with own_folder() as folder:
        yield folder
    down = [str(Path(sys.executable).with_name("assay")), "cluster", "down", "--name", CLUSTER]
    subprocess.run(down, check=True, stdout=subprocess.DEVNULL)


class OnOneCluster:
    """Pages on one cluster."""

    def test_commands_run_as_shown(self, page: Path, folder: Path) -> None:
        blocks = to_follow(page, with_cluster=True)
        own = any("cluster up" in block.text for block in blocks)
        if not own and not any(folder.iterdir()):
            blocks[:0] = [
                one for one in to_follow(FIRST, with_cluster=True) if "cluster up" in one.text
            ]
        for block in blocks:
            block.named(CLUSTER).follow(folder)


@in_order("first-run", "campaign-file", "reading-a-report", "nightly")
class TestOfTheFirstRun(OnOneCluster):
    pass


@in_order("acceptance-contract", "stability", "storage")
class TestOfAcceptance(OnOneCluster):
    pass


@in_order("programs")
class TestOfCampaigns(OnOneCluster):
    pass


@in_order("from-reframe", "your-benchmark", "writing-a-check", "measuring-with-a-check")
class TestOfOnesOwn(OnOneCluster):
    pass


@pytest.mark.skipif(bool(missing_programs()), reason="boots this machine's programs: make packages")
@in_order("reframe")
class TestOfReframe(OnOneCluster):
    pass


@in_order("virtual-cluster")
class TestOfClusters(OnOneCluster):
    pass


@in_order("next-release")
class TestOfReleases(OnOneCluster):
    pass


def test_each_page_that_needs_a_cluster_is_followed() -> None:
    classes = OnOneCluster.__subclasses__()
    followed = [page for one in classes for page in vars(one)["pytestmark"][0].args[1]]
    assert sorted(followed) == sorted(page for page in PAGES if needs_cluster(page))
