# SPDX-License-Identifier: Apache-2.0
# flake8: noqa: F403,F405
from spack_repo.builtin.packages.mpich.package import Mpich as BuiltinMpich

from spack.package import *


class Mpich(BuiltinMpich):
    """MPICH from the archive as Debian 12 has repacked it, without upstream's later patches, which
    only the web has."""

    version(
        "4.0.2",
        sha256="b27039f964afeb6b8a3e009c56b441cbe368c26d6d6476ad3bb7190996875860",
        extension="tar.xz",
        preferred=True,
    )

    def configure_args(self):
        """Shared libraries only: half the compilations."""
        return [*super().configure_args(), "--disable-static"]


Mpich.patches = {}
