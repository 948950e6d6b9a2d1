# SPDX-License-Identifier: Apache-2.0
"""`assay vet` as Slurm calls it, and inside a job, on a virtual cluster."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from assay import ROOT
from assay.tests.test_run_on_cluster import pytestmark, wait_for
from plugins.vetting.judge import Vetting, vetting_of
from plugins.vetting.nodes import own_command
from plugins.vetting.tests.test_vet_faults import prepared, state_of, told, write_reference
from virtual_cluster import Cluster
from virtual_cluster.host import SLURM_CONF
from virtual_cluster.state import folders
from virtual_cluster.tests.clusters import made

__all__ = ["pytestmark"]
PAGE = Path(__file__).parents[1] / "docs" / "vetting.md"


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with made("vc", nodes=3, cpus_per_node=1) as cluster:
        cluster.show([ROOT, Path(sys.prefix)])
        yield cluster


def in_job(cluster: Cluster, nodes: int, *words: str) -> subprocess.CompletedProcess[str]:
    folder = f"--folder={cluster.site_facts()['home_dir']}/job"
    argv = ["salloc", "--quiet", f"-N{nodes}", own_command(), "vet", "--job", folder, *words]
    return subprocess.run(
        cluster.user_command(argv), capture_output=True, text=True, check=False, timeout=240
    )


def test_inside_a_job_the_good_nodes_are_listed_for_what_follows(cluster: Cluster) -> None:
    ended = in_job(cluster, 2, "--steps=facts")
    assert ended.returncode == 3, ended.stderr
    assert "good n[1-2]" in ended.stdout.splitlines()


def test_inside_a_job_each_node_measures_its_link_to_others_of_the_job(cluster: Cluster) -> None:
    ended = in_job(cluster, 3, "--steps=facts,link", "--json")
    found = [vetting_of(line) for line in ended.stdout.splitlines()]
    linked = {one.node: one for one in found if one.figures}
    assert {*linked} == {"n1", "n2", "n3"}, ended.stderr
    for node, one in linked.items():
        assert {figure.metric for figure in one.figures} == {"link_in", "link_out"}
        assert {node, *one.neighbour.split(",")} == {*linked}


def test_the_lines_of_the_page_drain_an_unfit_node_and_resume_it(cluster: Cluster) -> None:
    nodes, folder = cluster.site_facts()["nodes"], prepared(cluster, "vettings", unfit=True)
    block = re.search(r"```text file=assay-vet\n(.*?)```", PAGE.read_text(), re.DOTALL)
    lines = re.search(r"```\n(HealthCheckProgram=.*?)```", PAGE.read_text(), re.DOTALL)
    assert block and lines
    script = folder / "assay-vet"
    text = block[1].replace("/shared/assay/.venv/bin/assay", own_command())
    text = text.replace("/var/log/assay-vet.log", f"{folder}/log")
    text = text.replace("facts,memory,arithmetic,latency", "facts")
    head = f"#!/bin/sh\nexport SLURM_CONF={SLURM_CONF} PATH=/usr/bin:/bin; cd {folder}\n"
    script.write_text(text.replace("#!/bin/sh\n", head))
    script.chmod(0o755)
    settings = lines[1].replace("/shared/assay-vet", str(script)).replace("3600", "4")
    settings = settings.replace("IDLE,CYCLE", "ANY,CYCLE")
    with (folders(cluster.name).root / "etc" / "slurm.conf").open("a") as file:
        file.write("\n".join(one for one in settings.splitlines() if "Epilog" not in one) + "\n")
    told(cluster, "scontrol", "reconfigure")
    log = folder / "log"
    # The log has a drain before Slurm does it, and says then of another node why it is none.
    wait_for(lambda: any("DRAIN" in state_of(cluster, n) for n in nodes))
    wait_for(lambda: "at most 1 drain an hour" in log.read_text())
    (drained,) = [n for n in nodes if "DRAIN" in state_of(cluster, n)]  # one: the cap
    shown = told(cluster, "scontrol", "show", "node", drained, "-o")
    assert "assay: file_systems./scratch is none, not lustre" in shown
    record = next((folder / "records" / drained).iterdir())
    write_reference(folder, msgspec.json.decode(record.read_bytes(), type=Vetting))
    # A vetting says so after Slurm has done it.
    wait_for(lambda: "resumed: fit again" in log.read_text())
    assert "DRAIN" not in state_of(cluster, drained)
    told(cluster, "srun", "--mpi=none", "-w", drained, "true")  # through the prolog
