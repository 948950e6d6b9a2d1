# SPDX-License-Identifier: Apache-2.0
import os

from spack_repo.builtin.build_systems.makefile import MakefilePackage

from spack.package import *

#: The C programs of the checkout that this repository of recipes belongs to.
SOURCES = os.path.abspath(os.path.join(__file__, *[".."] * 6, "checks", "src"))


class AssayPrograms(MakefilePackage):
    """Base of what is built from the C programs of Assay's own checkout."""

    license("Apache-2.0")
    variant(
        "sources",
        default="checkout",
        values=lambda word: word.isalnum(),
        multi=False,
        description="Digest of the C sources, so that a changed source is another build",
    )
    depends_on("c", type="build")
    depends_on("gmake", type="build")
    depends_on("blas")
    depends_on("mpi")

    #: Targets of the sources' Makefile, and what is installed from its output.
    targets, results = ["all"], ["*"]

    def build(self, spec, prefix):
        """Make a copy of the sources with the library's compiler."""
        copy_tree(SOURCES, "assay")
        blas = f"BLAS={spec['blas'].libs.ld_flags}"
        make("-C", "assay", f"CC={spec['mpi'].mpicc}", "OUT=out", blas, *self.targets_and_places())

    def targets_and_places(self):
        """The targets and what else make must know."""
        return self.targets

    def install(self, spec, prefix):
        """One folder, as the checks expect it of their own builds."""
        mkdirp(prefix.libexec.assay)
        for result in self.results:
            for name in find(join_path("assay", "out"), result, recursive=False):
                if os.path.isfile(name):
                    install(name, prefix.libexec.assay)


class AssayBenchmarks(AssayPrograms):
    """Assay's own micro-benchmarks, with their evidence library and the helpers of the daemons."""

    homepage = "https://example.org/assay"
    has_code = False
    version("0.1.0")
