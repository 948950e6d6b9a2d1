# SPDX-License-Identifier: Apache-2.0
"""What a provenance keeps of the caller's environment, and what it withholds."""

from pathlib import Path

import pytest

from assay.run.provenance import NOT_KEPT, listed_variables, variables_of
from records.run.provenance import EnvironmentAsRun, Provenance, SlurmAsRun, read_provenance
from records.text.plain_text import WITHHELD, looks_secret
from reports.show.rows import provenance_rows

JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl"


def test_every_variable_that_is_kept_is_documented():
    text = (Path(__file__).parents[2] / "docs" / "provenance.md").read_text()
    names = [name for listed in listed_variables().values() for name in listed.split()]
    assert len(names) == len(set(names))
    assert [name for name in names if f"`{name}`" not in text] == []


def test_only_what_matters_is_kept_and_secrets_are_named():
    kept = {"UCX_TLS": "tcp,self", "OMP_PLACES": "{0:4}:2", "OMPI_MCA_btl_sm_eager_limit": "1"}
    secret = {"SLURM_JWT": JWT, "OMPI_MCA_btl": f"tcp,{JWT}"}
    others = {"HOME": "/root", "AWS_SECRET_ACCESS_KEY": "abc", "UCXTLS": "x"}
    account = {"SLURM_JOB_ACCOUNT": "project-4711"}
    expected = {**kept, **dict.fromkeys(secret, WITHHELD), "SLURM_JOB_ACCOUNT": NOT_KEPT}
    assert variables_of({**kept, **secret, **others, **account}) == expected


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("SLURM_JWT", "x"),
        ("db_password", "x"),
        ("munge.key", "x"),
        ("accessKey", "x"),
        ("MPI_PASSWD2", "x"),
        ("PMIX_CREDENTIALS", "x"),
        ("UCX_TLS", JWT),
        ("UCX_TLS", "tcp -x GITHUB_TOKEN=abc"),
        ("UCX_TLS", "https://me:hunter2@example.org/x"),
        ("UCX_TLS", "password: hunter2"),
        ("UCX_TLS", "-----BEGIN OPENSSH PRIVATE KEY-----"),
        ("UCX_TLS", "Bearer abcdefgh"),
        ("UCX_TLS", "$6$salt$IxDD3jeSOb5eB1CX5LBsqZFVkJdido3OUILO5Ifz5iwMuTS4XMS130"),
    ],
)
def test_what_looks_like_a_secret_is_one(name, value):
    assert looks_secret(name, value)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("OMPI_MCA_btl", "tcp,vader,self"),
        ("OMPI_MCA_hwloc_base_binding_policy", "core"),
        ("UCX_IB_PKEY", "0xffff"),
        ("UCX_NET_DEVICES", "mlx5_0:1,mlx5_1:1,mlx5_2:1,mlx5_3:1"),
        ("PVM_ROOT", "/usr/lib/pvm3"),
        ("LD_LIBRARY_PATH", "/usr/lib/x86_64-linux-gnu/openmpi:/opt/intel/oneapi/2021.9.0/lib"),
        ("KMP_AFFINITY", "granularity=fine,compact,1,0"),
        ("compiles_with", "gcc -Wl,-z,relro -I/usr/include/x86_64-linux-gnu/mpich -lmpich -lopa"),
        ("SchedulerParameters", "batch_sched_delay=0,sched_min_interval=1"),
        ("SelectTypeParameters", "CR_CORE"),
        ("OMPI_MCA_coll_hcoll_bypass", "1"),
        ("SLURM_PWD", ""),
    ],
)
def test_what_matters_to_measurements_is_no_secret(name, value):
    assert not looks_secret(name, value)


def test_a_secret_that_a_former_provenance_kept_reaches_no_reader(tmp_path):
    options = ["-x", f"SLURM_JWT={JWT}"]
    lam = EnvironmentAsRun(variables={"LAM_TOKEN": "hush"}, launcher_options=options)
    kept = Provenance(
        slurm=SlurmAsRun(settings={"AuthInfo": f"jwt={JWT}"}),
        environments={"lam": lam},
        variables={"SLURM_JWT": JWT, "UCX_TLS": "tcp"},
    )
    path = tmp_path / "provenance.json"
    path.write_bytes(kept.to_json())
    rows = provenance_rows(read_provenance(path))
    assert JWT not in repr(rows)
    assert "hush" not in repr(rows)
    assert {("UCX_TLS", "tcp"), ("SLURM_JWT", WITHHELD)} <= {*dict(rows)["variables"]}
