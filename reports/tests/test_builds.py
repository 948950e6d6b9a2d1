# SPDX-License-Identifier: Apache-2.0
"""What differs between the builds of two runs."""

import copy

import msgspec

from records.run.provenance import Provenance
from reports.verdicts.comparison.builds import ABSENT, belongs_to_builds, build_differences

LAM = {
    "version": "7.1.4",
    "variants": "~romio",
    "compiler": "gcc@12.2.0",
    "target": "x86_64_v2",
    "os": "debian12",
    "hash": "wc7ibclq6gz5vjjss5eoxedexlaxfsio",
    "external": None,
    "namespace": "assay",
}
SPACK = {
    "environments": {
        "lam": {"source": "spack", "packages": {}, "spack": {"packages": {"lam": LAM}}}
    }
}
DISTRIBUTION = {
    "environments": {
        "lam": {"source": "distribution", "packages": {"lam-runtime": "7.1.4-7"}, "spack": None},
        "mpich": {"source": "distribution", "packages": {"mpich": "4.0.2-3"}},
    }
}


def told(a, b):
    first, second = (msgspec.convert(content, Provenance) for content in (a, b))
    return [(d.environment, d.what, d.a, d.b) for d in build_differences(first, second)]


def test_the_same_builds_differ_in_nothing():
    assert told(SPACK, copy.deepcopy(SPACK)) == []


def test_two_builds_of_one_package_are_told_fact_by_fact():
    other = copy.deepcopy(SPACK)
    other["environments"]["lam"]["spack"]["packages"]["lam"].update(
        variants="+romio", hash="x" * 32
    )
    assert told(SPACK, other) == [
        ("lam", "lam: variants", "~romio", "+romio"),
        ("lam", "lam: hash", LAM["hash"], "x" * 32),
    ]


def test_changed_sources_of_our_own_are_told():
    first, second = copy.deepcopy(SPACK), copy.deepcopy(SPACK)
    first["environments"]["lam"]["spack"]["sources"] = "4d690e82b103"
    second["environments"]["lam"]["spack"]["sources"] = "0123456789ab"
    assert told(first, second) == [("lam", "our C sources", "4d690e82b103", "0123456789ab")]


def test_packages_against_a_build_are_told_in_a_line_each():
    assert told(DISTRIBUTION, SPACK) == [
        ("lam", "built by", "distribution", "spack"),
        ("lam", "lam", ABSENT, "7.1.4 ~romio %gcc@12.2.0 x86_64_v2 /wc7ibcl"),
        ("lam", "lam-runtime", "7.1.4-7", ABSENT),
    ]


def test_environments_of_one_run_only_are_no_differences():
    assert told(DISTRIBUTION, {}) == []


def test_the_table_of_builds_tells_what_the_list_of_provenance_leaves_out():
    assert belongs_to_builds("environments.lam.spack.packages.lam")
    assert belongs_to_builds("environments.lam.packages.lam-runtime")
    assert belongs_to_builds("environments.lam.source")
    assert not belongs_to_builds("environments.lam.launcher")
    assert not belongs_to_builds("host.cpu")
