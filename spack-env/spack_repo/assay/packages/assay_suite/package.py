# SPDX-License-Identifier: Apache-2.0
from spack_repo.builtin.build_systems.bundle import BundlePackage

from spack.package import conflicts, depends_on, variant, version


class AssaySuite(BundlePackage):
    """Everything that Assay measures with on one MPI library."""

    homepage = "https://hpcchallenge.org"

    version("0.1.0")

    variant("netlib", default=False, description="Also HPL 2.3 as netlib has it, for comparison")
    variant("netpipe", default=True, description="Also NetPIPE")
    variant("osu", default=False, description="Also the OSU micro-benchmarks (MPI-3 and newer)")

    depends_on("mpi")
    depends_on("assay-benchmarks")
    depends_on("assay-hpl")
    depends_on("su3-rmd")
    depends_on("hpl@2.3:", when="+netlib")
    depends_on("netpipe", when="+netpipe")
    depends_on("osu-micro-benchmarks", when="+osu")
    conflicts("+osu", when="^lam", msg="the OSU micro-benchmarks need MPI-3; LAM has MPI-1.2")
