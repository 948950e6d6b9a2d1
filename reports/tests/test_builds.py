# SPDX-License-Identifier: Apache-2.0
"""What differs between the builds of two runs."""

import copy

import msgspec
import pytest

from records.run.provenance import Provenance
from reports.verdicts.comparison.compare import ABSENT, belongs_to_builds, build_differences

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


def changed(**facts):
    """The build by Spack with other facts of its package, or other sources."""
    build = copy.deepcopy(SPACK["environments"]["lam"])
    sources = {"sources": facts.pop("sources")} if "sources" in facts else {}
    build["spack"] = {"packages": {"lam": LAM | facts}, **sources}
    return {"environments": {"lam": build}}


@pytest.mark.parametrize(
    ("a", "b", "found"),
    [
        (SPACK, changed(), []),
        (DISTRIBUTION, {}, []),
        (
            SPACK,
            changed(variants="+romio", hash="x" * 32),
            [
                ("lam", "lam: variants", "~romio", "+romio"),
                ("lam", "lam: hash", LAM["hash"], "x" * 32),
            ],
        ),
        (
            changed(sources="4d690e82b103"),
            changed(sources="0123456789ab"),
            [("lam", "our C sources", "4d690e82b103", "0123456789ab")],
        ),
        (
            DISTRIBUTION,
            SPACK,
            [
                ("lam", "built by", "distribution", "spack"),
                ("lam", "lam", ABSENT, "7.1.4 ~romio %gcc@12.2.0 x86_64_v2 /wc7ibcl"),
                ("lam", "lam-runtime", "7.1.4-7", ABSENT),
            ],
        ),
    ],
    ids=["same", "one run only", "fact by fact", "our sources", "packages against a build"],
)
def test_builds_are_told_by_what_differs(a, b, found):
    first, second = (msgspec.convert(content, Provenance) for content in (a, b))
    differences = build_differences(first, second)
    assert [(one.environment, one.what, one.a, one.b) for one in differences] == found


@pytest.mark.parametrize("what", ["spack.packages.lam", "packages.lam-runtime", "source"])
def test_the_table_of_builds_tells_what_the_list_of_provenance_leaves_out(what):
    assert belongs_to_builds(f"environments.lam.{what}")
    assert not belongs_to_builds("environments.lam.launcher")
    assert not belongs_to_builds("host.cpu")
