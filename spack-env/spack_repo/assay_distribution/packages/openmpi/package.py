# SPDX-License-Identifier: Apache-2.0
# flake8: noqa: F403,F405
from spack_repo.builtin.packages.openmpi.package import Openmpi as BuiltinOpenmpi

from spack.package import *


class Openmpi(BuiltinOpenmpi):
    """Open MPI from the archive as Debian 12 has repacked it, without upstream's later patches,
    which only the web has."""

    version(
        "4.1.4",
        sha256="ddaee7dbdb01eb4fab1fda5b5e03e8bbff026711806c095c1f39bb410f99f263",
        extension="tar.xz",
        preferred=True,
    )


Openmpi.patches = {}
