# SPDX-License-Identifier: Apache-2.0
from spack_repo.builtin.build_systems.makefile import MakefilePackage

from spack.package import depends_on, find, install, license, mkdirp, variant, version


class Netpipe(MakefilePackage):
    """NetPIPE: ping-pong over MPI and over bare TCP, with sizes around every power of two."""

    homepage = "https://netpipe.cs.ksu.edu"
    url = "https://src.fedoraproject.org/repo/pkgs/NetPIPE/NetPIPE-3.7.2.tar.gz"
    license("GPL-2.0-or-later")

    version("3.7.2", sha256="13dac884ff52951636f651c421f5ff4a853218a95aa28a4a852402ee385a2ab8")

    variant("tcp", default=True, description="Build NPtcp too, which needs no MPI")

    depends_on("c", type="build")
    depends_on("gmake", type="build")
    depends_on("mpi")

    @property
    def build_targets(self):
        """The programs, each with the compiler it needs."""
        programs = ["mpi", "tcp"] if self.spec.satisfies("+tcp") else ["mpi"]
        return [
            f"MPICC={self.spec['mpi'].mpicc}",
            f"CC={self.module.spack_cc}",
            "CFLAGS=-O2 -w",
            *programs,
        ]

    def install(self, spec, prefix):
        """The programs; the makefile knows no installation."""
        mkdirp(prefix.bin)
        for program in find(".", "NP*", recursive=False):
            install(program, prefix.bin)
