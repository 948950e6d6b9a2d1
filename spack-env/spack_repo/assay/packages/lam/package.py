# SPDX-License-Identifier: Apache-2.0
# flake8: noqa: F403,F405
from spack_repo.builtin.build_systems.autotools import AutotoolsPackage

from spack.package import *


class Lam(AutotoolsPackage):
    """LAM/MPI, an implementation of MPI-1.2 and parts of MPI-2 that lives in daemons (lamd): ranks
    talk client to client (rpi tcp, sysv, usysv) or through the daemons (rpi lamd)."""

    homepage = "https://www.lam-mpi.org"
    url = "https://www.lam-mpi.org/download/files/lam-7.1.4.tar.gz"
    license("BSD-3-Clause")

    version("7.1.4", sha256="7cd5f289b9e4887d2a62532c33d93265a049b372ae23d0a6309e6870fef811ae")

    variant("cxx", default=False, description="Build the C++ bindings of MPI-2")
    variant("fortran", default=False, description="Build the Fortran 77 bindings")
    variant("romio", default=False, description="Build ROMIO, the parallel files of MPI-2")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("fortran", type="build", when="+fortran")
    provides("mpi@:1")

    def patch(self):
        """Send no empty vector: its address is wild, and newer kernels then answer EFAULT, so that
        MPI_Init fails by chance ("The selected RPI failed to initialize")."""
        move = r"(m(?:read|write)v\(sd_kernel, iov), 2\)"
        filter_file(move, r"\1, pkmsg->k_length > 0 ? 2 : 1)", "share/kreq/clientio.c")

    def flag_handler(self, name, flags):
        """The C and C++ of its day; common symbols; no check of Fortran arguments."""
        days = {
            "cflags": ["-O2", "-std=gnu89", "-fcommon", "-w"],
            "cxxflags": ["-O2", "-std=gnu++98", "-w"],
            "fflags": ["-fallow-argument-mismatch"],
        }
        return None, None, flags + days.get(name, [])

    def configure_args(self):
        """No memory manager: the default would replace malloc in every program."""
        args = ["--enable-shared", "--disable-static", "--with-memory-manager=none"]
        args += ["--with-wrapper-extra-ldflags", "--with-rsh=ssh -x"]
        args += self.with_or_without("romio")
        args += [] if self.spec.satisfies("+cxx") else ["--without-mpi2cpp"]
        return args + ([] if self.spec.satisfies("+fortran") else ["--without-fc"])

    @run_after("configure")
    def name_the_compiler_itself(self):
        """The wrappers are programs with the compiler's path inside: not Spack's own wrapper's."""
        filter_file(spack_cc, self.compiler.cc, "share/include/lam_config.h", string=True)

    def setup_dependent_build_environment(self, env, dependent_spec):
        """Dependents are compiled through Spack's wrapper."""
        compiler = getattr(dependent_spec.package.module, "spack_cc", None)
        if compiler:
            env.set("LAMHCC", compiler)

    def setup_dependent_package(self, module, dependent_spec):
        """The compilers that dependents ask for."""
        self.spec.mpicc, self.spec.mpicxx = self.prefix.bin.mpicc, self.prefix.bin.mpicxx
        self.spec.mpif77 = self.spec.mpifc = self.prefix.bin.mpif77
