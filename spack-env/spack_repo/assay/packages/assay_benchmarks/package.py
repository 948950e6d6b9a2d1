# SPDX-License-Identifier: Apache-2.0
import glob
import os

from spack_repo.builtin.build_systems.makefile import MakefilePackage

from spack.package import copy_tree, depends_on, find, install, join_path, license, mkdirp, version

#: The checkout that this repository of recipes belongs to.
ROOT = os.path.abspath(os.path.join(__file__, *[".."] * 6))
#: Where their Makefile is.
LIBRARY = join_path("assay", "common", "src")


class AssayPrograms(MakefilePackage):
    """Base of what is built from the C programs of Assay's own checkout. `assay build` builds them
    again when they have changed."""

    license("Apache-2.0")

    depends_on("c", type="build")
    depends_on("gmake", type="build")
    depends_on("blas")
    depends_on("mpi")

    #: Targets of the sources' Makefile, and what is installed from its output.
    targets, results = ["all"], ["*"]

    def build(self, spec, prefix):
        """Make a copy of the sources with the library's compiler."""
        for folder in [join_path(ROOT, "checks"), *glob.glob(join_path(ROOT, "plugins/*/checks"))]:
            copy_tree(folder, "assay")
        places = [f"CC={spec['mpi'].mpicc}", "OUT=out", f"BLAS={spec['blas'].libs.ld_flags}"]
        self.module.make("-C", LIBRARY, *places, *self.further_places(), *self.targets)

    def further_places(self):
        """What else make must know."""
        return []

    def install(self, spec, prefix):
        """One folder, as the checks expect it of their own builds."""
        mkdirp(prefix.libexec.assay)
        for result in self.results:
            for name in find(join_path(LIBRARY, "out"), result, recursive=False):
                if os.path.isfile(name):
                    install(name, prefix.libexec.assay)


class AssayBenchmarks(AssayPrograms):
    """Assay's own micro-benchmarks, with their evidence library and the helpers of the daemons."""

    homepage = "https://hpcchallenge.org"
    has_code = False

    version("0.1.0")
