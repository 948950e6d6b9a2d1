# SPDX-License-Identifier: Apache-2.0
from spack_repo.assay.packages.assay_benchmarks.package import AssayPrograms

from spack.package import version


class Su3Rmd(AssayPrograms):
    """Pure SU(3) lattice gauge theory by refreshed molecular dynamics, in both precisions."""

    homepage = "https://arxiv.org/abs/hep-lat/9602007"
    has_code = False
    targets, results = ["su3_rmd"], ["su3_rmd_*"]

    version("0.1.0")
