# SPDX-License-Identifier: Apache-2.0
"""Ranks started by each launcher in jobs of a real Slurm, on a site with a file of its own."""

import os
import shlex
import shutil
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from assay.sites import site_file
from assay.sites.loading import SlurmSite
from assay.sites.site_file import read_description
from assay.tests.test_run_on_cluster import own_name
from checks.common.json_lines import TOKEN
from checks.common.session.launch_commands import launch_words
from checks.common.sources import LIBRARY
from virtual_cluster.api import down, up
from virtual_cluster.tests.clusters import NEEDS_CLUSTER, booted, lacking

CLUSTER = own_name("l")
NEEDED = ("mpiexec.hydra", "mpirun.openmpi")
#: What Open MPI 5 alone may lack.
PRRTE = not lacking("prte", "prun")
MISSING = lacking(*NEEDED)

pytestmark = [
    *NEEDS_CLUSTER,
    pytest.mark.skipif(bool(MISSING), reason=f"needs {', '.join(MISSING)}: run make packages"),
]

SITE = """\
schema: 2
name: here
modules_system: lmod
module_init: {init}
partitions:
  all:
    access: [--comment=of-the-site]
    nodes: 2
    cores_per_node: 2
    memory_bytes_per_node: 1000000000
environments:
  srun:
    description: Slurm itself
    compiler: mpicc.mpich
    launcher: assay-srun
    launcher_options: [--mpi=pmi2]
    library: MPICH
    modules: [any/1]
    variables: {{OF_SITE: "$LOADED by $HOME"}}
  hydra: {{like: srun, launcher: assay-hydra, launcher_options: null}}
  template:
    like: srun
    launcher: null
    launcher_options: null
    launcher_command: mpiexec.hydra -n {{ranks}} -ppn {{ranks_per_node}}
  openmpi:
    like: srun
    launcher: assay-openmpi
    launcher_options: [--bind-to, none]
    mpirun: {mpirun}
"""


class OnCluster(SlurmSite):
    """A site whose login node is that of a virtual cluster, and nothing else of it."""

    cluster = None

    def command(self, argv, variables, folder=None):
        """As the cluster's user."""
        return self.cluster.user_command(argv, variables, folder), dict(os.environ)


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sites")
    (folder / "here").mkdir()
    cluster = up(booted(CLUSTER, nodes=2, cpus_per_node=2, network="unlimited"), lambda _: None)
    init = Path(cluster.site_facts()["home_dir"]) / "init.sh"
    init.write_text('module() { [ "$2" = any/1 ] || return 1; export LOADED=any/1; }\n')
    text = SITE.format(init=init, mpirun=shutil.which("mpirun.openmpi"))
    (folder / "here" / "site.yaml").write_text(text)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(site_file, "SITES", folder)
        made = OnCluster(read_description("here"))
    made.cluster = cluster
    yield made
    down(cluster.name)


def in_job(site, name, command):
    """Status and output of a job that was made ready for an environment, in a bare shell."""
    home = site.cluster.site_facts()["home_dir"]
    lines = ["#!/bin/bash", "unset -f module", *site.preparation(name), shlex.join(command)]
    script = Path(home, f"{name}.sh")
    script.write_text("\n".join([*lines, ""]))
    output = Path(home, f"{name}.out")
    options = [*site.description.access, "-N2", "-n4", "--ntasks-per-node=2", f"--output={output}"]
    argv, environment = site.command(
        ["sbatch", "--wait", "--chdir=/tmp", *options, str(script)],
        {TOKEN: "s3", "ASSAY_LAUNCHED_AT": "1"},
    )
    answer = subprocess.run(
        argv, env=environment, capture_output=True, text=True, check=False, timeout=600
    )
    return answer.returncode, output.read_text()


@pytest.mark.parametrize("name", ["srun", "hydra", "template", "openmpi"])
def test_ranks_lie_as_asked_with_the_variables_of_site_and_harness(site, name):
    described = site.description.environments[name]
    how = {"mpirun": described.mpirun or "", "template": described.launcher_command or ""}
    words = [*launch_words(described.launcher, 4, 2, **how), *described.launcher_options]
    told = f'echo "$(hostname) ${TOKEN} $OF_SITE"'
    status, output = in_job(site, name, [*words, "sh", "-c", told])
    home = site.cluster.site_facts()["home_dir"]
    assert status == 0, output
    lines = Counter(output.splitlines())
    assert lines == {f"n1 s3 any/1 by {home}": 2, f"n2 s3 any/1 by {home}": 2}


@pytest.mark.skipif(
    not PRRTE,
    reason="needs prte and prun on the PATH, which Debian 12 lacks: build PRRTE 3 on PMIx 5,"
    " or Open MPI 5 by assay build --site virtual-newer",
)
def test_daemons_of_prrte_start_ranks_on_all_nodes_and_end_with_the_launch(site):
    folder = Path(site.cluster.site_facts()["home_dir"], "prrte")
    shutil.copytree(LIBRARY.parent / "launch", folder)
    keeper = ["make", "-s", "-C", str(LIBRARY), "CC=cc", f"OUT={folder}", f"{folder}/stepkeeper"]
    subprocess.run(keeper, check=True)
    folder.chmod(0o777)
    words = ["./session.sh", "prte", "60", *launch_words("assay-prte", 4, 2), "hostname"]
    text = f"cd {folder} && {shlex.join(words)}; s=$?; srun ps -e -o comm=; exit $s"
    status, output = in_job(site, "srun", ["sh", "-c", text])
    assert status == 0, output
    lines = Counter(output.splitlines())
    assert (lines["n1"], lines["n2"]) == (2, 2)
    assert lines["slurmstepd"] > 0
    assert not any(line.startswith(("prte", "stepkeeper")) for line in lines)
