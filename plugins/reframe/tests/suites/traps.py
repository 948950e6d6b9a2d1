# SPDX-License-Identifier: Apache-2.0
# mypy: ignore-errors
# ruff: noqa: F403, F405, N802, PTH113, PTH118  as suites are written
"""Tests as public suites write them, each with something that a harness trips over."""

import math
import os

import reframe as rfm
import reframe.utility.sanity as sn
import reframe.utility.typecheck as typ
from reframe.core.backends import getlauncher
from reframe.core.builtins import *
from reframe.core.exceptions import ReframeFatalError


class _Prints(rfm.RunOnlyRegressionTest):
    """Prints lines; a library class that its users complete."""

    executable = "printf"
    executable_opts = ["'rate=1234.125\\ntime=7.25e-3\\n'"]
    valid_systems = ["daint:gpu"]
    valid_prog_environs = ["PrgEnv-gnu"]

    @sanity_function
    def printed(self):
        return sn.assert_found("rate", self.stdout)


@rfm.simple_test
class BothUnits(_Prints):
    """Modern style, figures in free units, values by parameter."""

    size = parameter([10, 20])

    @run_before("performance")
    def by_environment(self):
        assert self.current_environ.name == "PrgEnv-gnu"
        assert os.path.isfile(os.path.join(self.stagedir, "src", "hello_mpi.c"))

    sourcesdir = "."

    @performance_function("MBytes/sec")
    def rate(self):
        return sn.extractsingle(r"rate=(\S+)", self.stdout, 1, float)

    @performance_function("ms")
    def time(self):
        return sn.extractsingle(r"time=(\S+)", self.stdout, 1, float)


@rfm.simple_test
class ByParameter(_Prints):
    kind = parameter(["rate", "time"])

    @run_after("init")
    def figures(self):
        found = sn.extractsingle(rf"{self.kind}=(\S+)", self.stdout, 1, float)
        unit = {"rate": "MB/s", "time": "ms"}[self.kind]
        self.perf_variables = {self.kind: sn.make_performance_function(found, unit)}


@rfm.simple_test
class AsksForFeatures(_Prints):
    """Asks for features, and looks for them in its hooks."""

    valid_prog_environs = ["+mpi +prgenv -cpe"]

    @run_before("performance")
    def by_features(self):
        assert {"mpi", "prgenv"} <= {*self.current_environ.features}
        assert self.current_environ.name != "PrgEnv-gnu"
        assert self.current_environ.extras.get("launcher_options") is None  # none of ours
        assert self.current_environ.extras.get("omp_flag") == "-fopenmp"
        assert self.current_environ.cxx.startswith("mpicxx")


@rfm.simple_test
class NeedsModules(_Prints):
    modules = ["GROMACS/2024"]
    executable_opts = ["'rate with %s\\n'", "$LOADEDMODULES"]

    @sanity_function
    def printed(self):
        return sn.assert_found("rate with GROMACS/2024$", self.stdout)


@rfm.simple_test
class NeedsTable(_Prints):
    """A variable of a kind that no text is made into."""

    table = variable(typ.Dict)


@rfm.simple_test
class Raises(_Prints):
    @performance_function("s")
    def absent(self):
        return sn.extractsingle(r"absent=(\S+)", self.stdout, 1, float)


@rfm.simple_test
class NotANumber(_Prints):
    @performance_function("s")
    def odd(self):
        return math.nan


@rfm.simple_test
class OldStyle(_Prints):
    """perf_patterns, and a reference that a hook computes and that is missed."""

    strict_check = True

    @run_after("init")
    def patterns(self):
        self.perf_patterns = {"speed": sn.extractsingle(r"rate=(\S+)", self.stdout, 1, float)}

    @run_before("performance")
    def computed(self):
        self.reference = {"*": {"speed": (9999.0, -0.1, None, "MB/s")}}


@rfm.simple_test
class Lenient(OldStyle):
    """As before; ReFrame calls it passed."""

    strict_check = False


@rfm.simple_test
class NoFigures(_Prints):
    """Not about speed; time limit of its own, no launcher, stage folder read by sanity."""

    time_limit = "2m"

    @run_after("setup")
    def alone(self):
        self.job.launcher = getlauncher("local")()

    @sanity_function
    def printed(self):
        return sn.path_isfile(os.path.join(self.stagedir, "x"))

    @run_before("run")
    def leaves_file(self):
        self.postrun_cmds += ["touch x"]


@rfm.simple_test
class Unright(_Prints):
    @sanity_function
    def printed(self):
        return sn.assert_found("never", self.stdout)


class _Thing:
    """A value that JSON has not; its `repr` has its address."""


@rfm.simple_test
class OddParameters(_Prints):
    """Parameters of kinds that no plan holds."""

    deep = parameter([{"a": {"b": [("c", 1), {"d": [2]}]}}])
    several = parameter([{"x", "y", "z"}])
    thing = parameter([_Thing()])


@rfm.xfail("known bug", lambda test: True)
@rfm.simple_test
class BrokenAsKnown(Unright):
    pass


@rfm.xfail("known bug", lambda test: True)
@rfm.simple_test
class BetterThanKnown(_Prints):
    """Its sanity holds, against what is expected."""


@rfm.simple_test
class SlowAsKnown(_Prints):
    reference = {"*": {"rate": xfail("slow disk", (9999.0, -0.1, None, "MB/s"))}}

    @performance_function("MB/s")
    def rate(self):
        return sn.extractsingle(r"rate=(\S+)", self.stdout, 1, float)


@rfm.simple_test
class AfterAnother(_Prints):
    @run_after("init")
    def after(self):
        self.depends_on("Skips")


@rfm.simple_test
class Skips(_Prints):
    @run_after("setup")
    def not_here(self):
        self.skip_if(True, "no GPU here")


@rfm.simple_test
class Insists(_Prints):
    """Its hooks allow no other system and environment than it asks for."""

    @run_after("init")
    def unchanged(self):
        if (self.valid_systems, self.valid_prog_environs) != (["daint:gpu"], ["PrgEnv-gnu"]):
            raise ReframeFatalError(f"valid_prog_environs is {self.valid_prog_environs}")


@rfm.simple_test
class LacksKey(_Prints):
    @run_before("run")
    def by_system(self):
        self.executable_opts = {"daint": ["rate"]}["virtual"]


@rfm.simple_test
class DoesNotCompile(rfm.RegressionTest):
    valid_systems = ["*"]
    valid_prog_environs = ["PrgEnv-gnu"]
    build_system = "CustomBuild"

    @run_before("compile")
    def fails(self):
        self.build_system.commands = ["echo 'error: no such flag' >&2; exit 3"]


@rfm.simple_test
class Fatal(_Prints):
    """A launch of it raises what ends ReFrame."""

    @run_after("init")
    def ends_reframe(self):
        if type(self).__name__ != "Fatal":
            raise ReframeFatalError("no such thing here")


@rfm.simple_test
class OwnSrun(_Prints):
    """Starts its ranks itself, on as many nodes as there are."""

    num_tasks = 0
    num_tasks_per_node = 1

    @run_before("run")
    def by_srun(self):
        self.job.launcher = getlauncher("local")()
        self.executable, self.executable_opts = "srun", ["--mpi=none", "echo", "rate"]


@rfm.simple_test
class Compiles(rfm.RegressionTest):
    """Compiles and runs MPI at each launch, a program of the working folder, with an option for
    another machine's srun; a figure is the time of something else."""

    valid_systems = ["*"]
    valid_prog_environs = ["+mpi"]
    sourcepath = "hello_mpi.c"
    num_tasks = 2
    num_tasks_per_node = 1

    @run_before("run")
    def start(self):
        self.job.launcher.options += ["--mpi=cray_shasta"]
        self.executable = self.executable.removeprefix("./")

    @sanity_function
    def right(self):
        return sn.assert_found("ranks=2", self.stdout)

    @performance_function("s")
    def compilation(self):
        return sn.extractsingle(r"ranks=(2)", self.stdout, 1, lambda _: 1e5)

    @performance_function("MB/s")
    def Triad(self):
        return sn.extractsingle(r"Triad:\s+(\S+)", self.stdout, 1, float)


class Download(rfm.RunOnlyRegressionTest):
    """A fixture without a network."""

    local = True
    executable = "false"

    @sanity_function
    def there(self):
        return sn.assert_found("200 OK", self.stdout)


@rfm.simple_test
class NeedsDownload(_Prints):
    """Its session's fixture downloads what it runs."""

    archive = fixture(Download, scope="session")


class Build(rfm.CompileOnlyRegressionTest):
    sourcepath = "hello_mpi.c"
    build_system = "SingleSource"


@rfm.simple_test
class Fixture(rfm.RunOnlyRegressionTest):
    built = fixture(Build, scope="environment")
    valid_systems = ["*"]
    valid_prog_environs = ["*"]
    num_tasks = 2
    num_tasks_per_node = 1

    @run_before("run")
    def program(self):
        self.executable = os.path.join(self.built.stagedir, self.built.executable)

    @sanity_function
    def right(self):
        return sn.assert_found("ranks=2", self.stdout)


@rfm.simple_test
class NoValues(_Prints):
    module_name = parameter([])


class _Local(rfm.RunOnlyRegressionTest):
    local = True
    executable = "true"

    @sanity_function
    def there(self):
        return sn.assert_true(self.is_local())


class Element(_Local):
    """A fixture with a parameter."""

    kind = parameter(["float", "double"])


class Stored(_Local):
    element = fixture(Element, scope="session")
    depth = parameter([1])


@rfm.simple_test
class ByFixture(_Prints):
    """Its variants differ only by the parameter of a fixture's fixture."""

    stored = fixture(Stored, scope="session")
    both = fixture(Element, scope="session", action="join")

    @sanity_function
    def printed(self):
        return sn.assert_eq([self.stored.element.kind, len(self.both)], ["double", 2])
