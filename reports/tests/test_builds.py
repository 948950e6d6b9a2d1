# SPDX-License-Identifier: Apache-2.0
"""What differs between the builds of two runs."""

import msgspec
import pytest

from records.run.provenance import Provenance
from reports.verdicts.comparison.compare import ABSENT, belongs_to_builds, build_differences

LAM = {"version": "7.1.4", "variants": "~romio", "compiler": "gcc@12.2.0", "namespace": "assay"}
LAM |= {"target": "x86_64_v2", "os": "debian12", "hash": "wc7ibclq6gz5vjjss5eoxedexlaxfsio"}
DISTRIBUTION = {
    "lam": {"source": "distribution", "packages": {"lam-runtime": "7.1.4-7"}, "spack": None},
    "mpich": {"source": "distribution", "packages": {"mpich": "4.0.2-3"}},
}


def spack(*, sources=None, **facts):
    """A build by Spack with these facts of its package, and of these sources."""
    build = {"packages": {"lam": LAM | facts}, **({"sources": sources} if sources else {})}
    return {"lam": {"source": "spack", "packages": {}, "spack": build}}


@pytest.mark.parametrize(
    ("a", "b", "found"),
    [
        (spack(), spack(), []),
        (DISTRIBUTION, {}, []),
        (spack(), spack(variants="+romio"), [("lam: variants", "~romio", "+romio")]),
        (spack(), spack(hash="x" * 32), [("lam: hash", LAM["hash"], "x" * 32)]),
        (spack(sources="4d69"), spack(sources="0123"), [("our C sources", "4d69", "0123")]),
        (
            DISTRIBUTION,
            spack(),
            [
                ("built by", "distribution", "spack"),
                ("lam", ABSENT, "7.1.4 ~romio %gcc@12.2.0 x86_64_v2 /wc7ibcl"),
                ("lam-runtime", "7.1.4-7", ABSENT),
            ],
        ),
    ],
)
def test_builds_are_told_by_what_differs(a, b, found):
    first, second = (msgspec.convert({"environments": one}, Provenance) for one in (a, b))
    differences = build_differences(first, second)
    assert [(one.what, one.a, one.b) for one in differences] == found
    assert {one.environment for one in differences} <= {"lam"}


@pytest.mark.parametrize("what", ["spack.packages.lam", "packages.lam-runtime", "source"])
def test_the_table_of_builds_tells_what_the_list_of_provenance_leaves_out(what):
    assert belongs_to_builds(f"environments.lam.{what}")
    assert not belongs_to_builds("environments.lam.launcher")
    assert not belongs_to_builds("host.cpu")
