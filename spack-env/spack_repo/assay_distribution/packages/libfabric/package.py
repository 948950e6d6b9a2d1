# SPDX-License-Identifier: Apache-2.0
# flake8: noqa: F403,F405
from spack_repo.builtin.packages.libfabric.package import Libfabric as BuiltinLibfabric

from spack.package import *


class Libfabric(BuiltinLibfabric):
    """libfabric from the archive as Debian 13 has repacked it: without a configure script."""

    version(
        "2.1.0",
        sha256="1a66369772d5bb151737214af1c478993e969cf298e8f9ed369e7a2ab8d8c6df",
        extension="tar.xz",
        preferred=True,
    )

    for tool in ("autoconf", "automake", "libtool", "m4"):
        depends_on(tool, type="build")

    def autoreconf(self, spec, prefix):
        """The script that makes the configure script."""
        which("bash")("./autogen.sh")


Libfabric.patches = {}
