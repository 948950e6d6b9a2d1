# SPDX-License-Identifier: Apache-2.0
"""What the descriptions of foreign clusters ask virtual_cluster for."""

import re
from pathlib import Path

import pytest

import setup.foreign_cluster.description as description_module
from records.errors import AssayError
from setup.foreign_cluster.description import description, is_hidden, module_programs
from setup.foreign_cluster.site_setup import SiteSetup


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SiteSetup:
    """The cluster twain, with a file of the package that setup/unpacked.sh brings."""
    file = tmp_path / "environment-modules/usr/share/modules/init/bash"
    file.parent.mkdir(parents=True)
    file.touch()
    monkeypatch.setattr(description_module, "_UNPACKED", tmp_path)
    return description_module.site("twain")


def test_nodes_of_two_types_have_their_cores_and_generic_resources(site):
    conf = site.files["etc/slurm.conf"]
    assert site.cores == {"t01": 1, "t02": 1, "f1": 2, "f2": 2}
    assert "NodeName=f[1-2] CPUs=2 RealMemory=3600 Feature=fat,avx512 Gres=gpu:k80:2" in conf
    assert "File=/cluster/devices/gpu[0-1]" in site.files["etc/gres.conf"]
    assert {"devices/gpu0", "devices/gpu1"} <= site.devices.keys()


def test_lines_of_a_site_replace_those_of_the_same_key(site):
    lines = site.files["etc/slurm.conf"].splitlines()
    chosen = [line for line in lines if line.startswith("SelectTypeParameters=")]
    assert chosen == ["SelectTypeParameters=CR_Core_Memory"]
    keys = [line.partition("=")[0] for line in lines if not line.startswith("#")]
    assert {key for key in keys if keys.count(key) > 1} <= {"NodeName", "PartitionName"}


def test_nothing_is_left_to_fill_in_but_the_secret(site):
    texts = [*site.files.values(), site.mounts, str(site.daemons), str(site.commands)]
    left = re.compile(r"\{(name|address|account|limit|user|family|module|folder|key|value)\}")
    assert not [text for text in texts if left.search(text)]
    assert "{secret}" in site.files["etc/slurmdbd.conf"]


def test_modules_are_written_for_their_system(site):
    assert "environment-modules/usr/share/modules/init/bash" in site.files
    assert site.files["modules/comp/gnu/12.2"].startswith("#%Module1.0\nprereq base/2023")
    openmpi = site.files["modules/ompi/4.1"]
    assert "setenv OMPI_MCA_pml ob1\n" in openmpi
    assert openmpi.endswith("prereq comp/gnu comp/intel\n")
    assert "prereq(" in description_module.site("walk").files["modules/mpich/4.0.lua"]


def test_each_user_has_an_association_with_the_limit(site):
    orders = [" ".join(words) for words in site.daemons[-1].after]
    assert "sacctmgr -i modify user kim set MaxSubmitJobs=12" in orders


@pytest.mark.parametrize(
    "values", [{"cores": {"c-1": 1}}, {"cores": {"login": 1}}, {"users": ("root me",)}]
)
def test_names_that_cannot_be_made_are_refused(values):
    with pytest.raises(AssayError, match="allowed are"):
        SiteSetup(**{"cores": {"c1": 1}, "users": ("ada",), "files": {}, **values})


def test_programs_of_mpi_and_debian_are_hidden_and_no_others():
    shown = ["gcc", "python3", "srun", "make", "git", "gfortran", "apptainer", "printf", "lastlog"]
    hidden = ["mpicc", "mpirun.lam", "orterun", "hydra_pmi_proxy", "dpkg"]
    found = description("walk")
    assert [name for name in shown + hidden if is_hidden(found, name)] == hidden


def test_a_module_has_the_programs_of_its_library_alone():
    programs = ["mpicc.mpich", "mpicc.openmpi", "mpirun.mpich", "hydra_pmi_proxy", "orted", "gcc"]
    common = description("walk")
    assert module_programs(common, "mpich", programs) == {
        "mpicc": "mpicc.mpich",
        "mpirun": "mpirun.mpich",
        "hydra_pmi_proxy": "hydra_pmi_proxy",
    }
    assert set(module_programs(common, "openmpi", programs)) == {"mpicc", "orted"}
