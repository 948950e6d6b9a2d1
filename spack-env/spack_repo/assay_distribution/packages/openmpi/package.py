# SPDX-License-Identifier: Apache-2.0
# flake8: noqa: F403,F405
from spack_repo.builtin.packages.openmpi.package import Openmpi as BuiltinOpenmpi

from spack.package import *


class Openmpi(BuiltinOpenmpi):
    """Open MPI from the archives as Debian 12 and 13 have repacked them, without upstream's later
    patches, which only the web has."""

    version(
        "5.0.7",
        sha256="97f10c04e9b9a1771db3fd005009e4c07afa3ce739f940e41eb0fc7397cb9473",
        extension="tar.xz",
    )
    version(
        "4.1.4",
        sha256="ddaee7dbdb01eb4fab1fda5b5e03e8bbff026711806c095c1f39bb410f99f263",
        extension="tar.xz",
        preferred=True,
    )

    @when("@5:")
    def configure_args(self):
        """Without zlib's place: PMIx looks in its lib and lib64, not where Debian has it."""
        return [arg for arg in super().configure_args() if arg != "--with-zlib=/usr"]


Openmpi.patches = {}
