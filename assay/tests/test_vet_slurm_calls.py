# SPDX-License-Identifier: Apache-2.0
"""Slurm calls `assay vet`: an unfit node is drained with the reason, and resumed when fit."""

from __future__ import annotations

import re
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from assay.tests.test_run_on_cluster import pytestmark
from assay.vet.nodes import own_command
from checks.common.slurm.text import fields
from records.files import write_whole
from records.forms import as_bytes
from records.site.node_facts import facts_by_value, kinds_of
from records.vetting import KindReference, Level, Reference, Vetting
from virtual_cluster import Cluster, ClusterSpec, up

__all__ = ["pytestmark"]
PAGE = Path(__file__).parents[2] / "docs" / "vetting.md"
SITE = """\
schema: 2
name: mysite
vetting: {{folder: {folder}, drain: true, drains_per_hour: 1}}
partitions: {{all: {{nodes: 2, cores_per_node: 1, memory_bytes_per_node: 1000000000}}}}
environments:
  ours: {{description: an MPI, compiler: cc, launcher: assay-srun, library: ^x}}
"""
WAIT_S = 90


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    made = up(ClusterSpec("vet-calls", nodes=2, cpus_per_node=1), lambda _: None)
    yield made
    made.down(lambda _: None)


def told(cluster: Cluster, *words: str) -> str:
    argv = cluster.user_command(list(words))
    return subprocess.run(argv, capture_output=True, text=True, check=True).stdout


def admin(cluster: Cluster, *words: str) -> None:
    conf = f"SLURM_CONF={cluster.site_facts()['slurm_conf']}"
    subprocess.run(cluster.admin_command(["env", conf, *words]), check=True)


def wait_for(cluster: Cluster, node: str, *, drained: bool) -> str:
    until = time.monotonic() + WAIT_S
    while time.monotonic() < until:
        shown = told(cluster, "scontrol", "show", "node", node, "--oneliner")
        if ("DRAIN" in fields(shown)["State"]) == drained:
            return shown
        time.sleep(0.5)
    raise AssertionError(shown)


def write_reference(folder: Path, vetting: Vetting, **further: str) -> None:
    """As if four nodes like this one had been slower, and had these facts too."""
    known = facts_by_value({"n9": vetting.facts}) | {k: {v: ["n9"]} for k, v in further.items()}
    level = Level(centre=10.0, spread=0.5, noise=0.5, freedom=20, worst=0, nodes=4, vettings=20)
    kind = KindReference(levels={"memory_latency": level}, facts=known)
    kinds = {kinds_of({"n9": vetting.facts}).get("n9", ""): kind}
    made = Reference(made_at="2020-01-01T00:00:00Z", kinds=kinds)
    write_whole(folder / "reference.json", as_bytes(made))


def test_the_lines_of_the_page_drain_an_unfit_node_and_resume_it(cluster: Cluster) -> None:
    facts = cluster.site_facts()
    folder = Path(facts["state_dir"]) / "vettings"
    (folder / "site-config" / "mysite").mkdir(parents=True)
    (folder / "site-config" / "mysite" / "site.yaml").write_text(SITE.format(folder=folder))
    words = ["--mpi=none", "-w", "n1", own_command(), "vet", "--local", "--json", "--steps=facts"]
    here = f"--folder={facts['home_dir']}/v"
    ended = subprocess.run(
        cluster.user_command(["srun", *words, here]), capture_output=True, text=True, check=False
    )
    write_reference(
        folder,
        msgspec.json.decode(ended.stdout, type=Vetting),
        **{"file_systems./scratch": "lustre"},
    )
    block = re.search(r"```text file=assay-vet\n(.*?)```", PAGE.read_text(), re.DOTALL)
    lines = re.search(r"```\n(HealthCheckProgram=.*?)```", PAGE.read_text(), re.DOTALL)
    assert block and lines
    script = folder / "assay-vet"
    text = block[1].replace("/shared/assay/.venv/bin/assay", own_command())
    text = text.replace("/var/log/assay-vet.log", f"{folder}/log")
    text = text.replace("facts,memory,arithmetic,latency", "facts,latency")
    head = f"#!/bin/sh\nexport SLURM_CONF={facts['slurm_conf']} PATH=/usr/bin:/bin; cd {folder}\n"
    script.write_text(text.replace("#!/bin/sh\n", head))
    script.chmod(0o755)
    settings = lines[1].replace("/shared/assay-vet", str(script)).replace("3600", "4")
    settings = settings.replace("IDLE,CYCLE", "ANY,CYCLE")
    with Path(facts["slurm_conf"]).open("a") as file:
        file.write("\n".join(one for one in settings.splitlines() if "Epilog" not in one) + "\n")
    admin(cluster, "scontrol", "reconfigure")
    until = time.monotonic() + WAIT_S
    while not (folder / "drains.jsonl").exists() and time.monotonic() < until:
        time.sleep(0.5)
    time.sleep(6)
    shown = {node: told(cluster, "scontrol", "show", "node", node, "-o") for node in ("n1", "n2")}
    drained = [node for node, text in shown.items() if "DRAIN" in fields(text)["State"]]
    assert len(drained) == 1  # the cap
    assert "assay: file_systems./scratch is none, not lustre" in shown[drained[0]]
    vetting = msgspec.json.decode(
        next((folder / "records" / drained[0]).iterdir()).read_bytes(), type=Vetting
    )
    write_reference(folder, vetting)
    wait_for(cluster, drained[0], drained=False)
    assert "resumed: fit again" in (folder / "log").read_text()
    told(cluster, "srun", "--mpi=none", "-w", drained[0], "true")  # through the prolog
