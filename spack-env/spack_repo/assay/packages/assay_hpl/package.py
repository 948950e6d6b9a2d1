# SPDX-License-Identifier: Apache-2.0
from spack_repo.assay.packages.assay_benchmarks.package import AssayPrograms

from spack.package import version


class AssayHpl(AssayPrograms):
    """HPL 2.0 as HPCC has it, with Assay's own main program, which states the evidence of each
    launch."""

    homepage = "https://hpcchallenge.org"
    url = "https://hpcchallenge.org/projectsfiles/hpcc/download/hpcc-1.5.0.tar.gz"
    targets, results = ["hpl"], ["xhpl"]

    version("1.5.0", sha256="0a6fef7ab9f3347e549fed65ebb98234feea9ee18aea0c8f59baefbe3cf7ffb8")

    def further_places(self):
        """HPL's source is the stage itself."""
        return [f"HPL_SOURCE={self.stage.source_path}"]
