# SPDX-License-Identifier: Apache-2.0
from pathlib import Path

from spack_repo.builtin.build_systems.makefile import MakefilePackage

from spack.package import (
    copy,
    depends_on,
    install,
    join_path,
    license,
    mkdirp,
    variant,
    version,
    working_dir,
)

#: MPI-3 removed two names that MILC calls, and Open MPI from 4.0 on has them no more.
NAMES_OF_MPI_3 = """\
#include <mpi.h>
#if MPI_VERSION >= 3
#undef MPI_Errhandler_create
#undef MPI_Errhandler_set
#define MPI_Errhandler_create MPI_Comm_create_errhandler
#define MPI_Errhandler_set MPI_Comm_set_errhandler
#endif
"""


class MilcSu3Rmd(MakefilePackage):
    """The original of our lattice program: pure_gauge/su3_rmd of the MILC collaboration."""

    homepage = "https://github.com/milc-qcd/milc_qcd"
    git = "https://github.com/milc-qcd/milc_qcd.git"
    license("GPL-2.0-only")

    version("2024-07-09", commit="1e11e121b220433c220310b79de03cb3ee6adba0")

    variant(
        "precision",
        default="double",
        values=("single", "double"),
        description="Of links and momenta; double agrees with ours in every printed digit",
    )

    depends_on("c", type="build")
    depends_on("gmake", type="build")
    depends_on("mpi")

    def build(self, spec, prefix):
        """One application, in its own folder with the common Makefile; one job, as its libraries
        are made beside it. -fcommon: headers of its day define variables. IMPI: flags of what uses
        MPI, which MILC's own libraries do not."""
        copy("Makefile", "pure_gauge")
        names = Path("names_of_mpi_3.h").absolute()
        names.write_text(NAMES_OF_MPI_3)
        precision = "2" if spec.satisfies("precision=double") else "1"
        compiler = spec["mpi"].mpicc
        with working_dir("pure_gauge"):
            self.module.make(
                "su3_rmd",
                "MPP=true",
                f"PRECISION={precision}",
                f"MY_CC={compiler}",
                f"MY_CXX={compiler}",
                "OPT=-O2 -fcommon -w",
                f"IMPI=-include {names}",
                parallel=False,
            )

    def install(self, spec, prefix):
        """Under a name that is not our program's."""
        mkdirp(prefix.bin)
        install(join_path("pure_gauge", "su3_rmd"), join_path(prefix.bin, "milc_su3_rmd"))
