# SPDX-License-Identifier: Apache-2.0
"""Provenance comes back as it was written, and the flat names of its context never change."""

import json

import pytest

from records.errors import AssayError
from records.history.model import context_of
from records.run import provenance as as_run
from records.run.provenance import Provenance, read_provenance

LAM = as_run.EnvironmentAsRun(
    source="spack",
    launcher_options=["-ssi", "rpi", "sysv", "C"],
    settings={"short_message_bytes": 65536},
    packages={"liblam4": "7.1.4-7+b1", "lost": None},
    spack=as_run.SpackBuild(
        sources="4d69", packages={"lam": as_run.SpackPackage(version="7.1.4", hash="wc7i")}
    ),
)
KNOWN = Provenance(
    run_id="r",
    started_at="2026-11-22T02:29:41Z",
    order_seed=7,
    harness=as_run.Harness(version="0.1.0", git_dirty=False),
    site=as_run.SiteAsRun(
        name="virtual",
        virtual=True,
        description="namespaces",
        network=as_run.Network(name="gigabit", bits_per_second=1e9),
        asked_as="virtual:base",
        nodes_left_out=["n4"],
    ),
    environments={"lam": LAM},
    variables={"LAM_MPI_SSI_rpi": "sysv", "SLURM_JOB_ID": "7"},
)


def test_provenance_comes_back_as_it_was_and_the_names_of_its_context_stay(tmp_path):
    path = tmp_path / "provenance.json"
    path.write_bytes(KNOWN.to_json())
    assert read_provenance(path) == KNOWN
    assert context_of(KNOWN, ["n1", "n2"]) == {
        "harness.version": "0.1.0",
        "harness.git_dirty": "False",
        "site.name": "virtual",
        "site.virtual": "True",
        "site.network.name": "gigabit",
        "site.network.bits_per_second": "1000000000.0",
        "environments.lam.source": "spack",
        "environments.lam.launcher_options": "-ssi rpi sysv C",
        "environments.lam.settings.short_message_bytes": "65536",
        "environments.lam.packages.liblam4": "7.1.4-7+b1",
        "environments.lam.spack.sources": "4d69",
        "environments.lam.spack.packages.lam.version": "7.1.4",
        "environments.lam.spack.packages.lam.hash": "wc7i",
        "variables.LAM_MPI_SSI_rpi": "sysv",
        "nodes": "n1 n2",
    }


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"site": {"network": "gigabit"}}, r"\.json:1: not a provenance: .*site\.network"),
        ({"environments": None}, r"\$\.environments"),
        ({"schema": 9}, "schema 9"),
        (["no"], "not a provenance"),
    ],
)
def test_a_missing_file_and_a_damaged_member_are_named(tmp_path, content, message):
    path = tmp_path / "provenance.json"
    with pytest.raises(AssayError, match=r"provenance\.json: cannot be read"):
        read_provenance(path)
    path.write_text(json.dumps(content))
    with pytest.raises(AssayError, match=message):
        read_provenance(path)


def test_members_of_a_later_assay_are_passed_over(tmp_path):
    path = tmp_path / "provenance.json"
    path.write_text(json.dumps({"schema": 1, "weather": "rain", "site": {"altitude_m": 8}}))
    assert read_provenance(path) == Provenance()
