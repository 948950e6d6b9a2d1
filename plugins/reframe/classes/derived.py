# SPDX-License-Identifier: Apache-2.0
"""Class for each launch of a test of a ReFrame suite, derived from the suite's own.

It pins environment, layout, time limit and proof; all else is the test's: what it runs, what is
right, what it measures. The launcher `assay-environment` is each environment's own: ReFrame knows
one launcher a partition, and tests use it in hooks after `setup`, so ReFrame's making of a job is
extended: the job's launcher learns the environment, and its job belongs to the run.
"""

import copy
import shlex
import shutil
import sys
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from pathlib import Path
from secrets import token_hex
from typing import Any

import reframe.utility as util
from reframe.core.backends import register_launcher
from reframe.core.builtins import fixture, run_after, run_before
from reframe.core.exceptions import ReframeFatalError, SkipTestError
from reframe.core.launchers import JobLauncher
from reframe.core.meta import make_test
from reframe.core.pipeline import RegressionTest
from reframe.frontend import executors
from reframe.utility.cpuinfo import cpuinfo

from checks.common.definition import CheckDefinition
from checks.common.json_lines import TOKEN
from checks.common.registry import UnfitTestError
from checks.common.session.builds import MakeBuild, Programs
from checks.common.session.launch_commands import launch_words
from checks.common.session.launching import LaunchTest
from checks.common.session.outcome import Outcome, report_refusal, send
from checks.common.slurm.commands import HALTING_S, limits_s
from checks.common.slurm.scheduler import END_MARKER, run_options
from checks.common.sources import LAUNCH_SCRIPTS
from plugins.reframe.classes import ReframeDefinition, no_modules, planned
from plugins.reframe.listing import parameters_of
from records.run.brought import Brought, ReframeTest

#: File in a launch's folder with the times, seconds since 1970, of its begin and end.
TIMES = "launch.times"
#: With a point, whatever the locale puts between seconds and their parts.
_TELL_TIME = 'echo "${EPOCHREALTIME/[!0-9]/.}"'


@cache
def class_of(file: str, name: str, path: tuple[str, ...]) -> Any:
    """The class of a suite's file, which is loaded as ReFrame does, and finds modules in the
    folders of `path` from then on. Raises UnfitTestError."""
    sys.path += [one for one in path if one not in sys.path]  # after ours
    try:
        with util.temp_sys_path(str(Path(file).parent)):
            module = util.import_module_from_file(file, load_parents=True)
    except (Exception, ReframeFatalError, SystemExit) as error:
        raise UnfitTestError(f"{file}: {type(error).__name__}: {error}") from error
    found = getattr(module, name, None)
    if found is None or not hasattr(found, "get_variant_info"):
        raise UnfitTestError(f"{file}: has no test class {name}")
    return found


def variant_of(cls: Any, wanted: Mapping[str, Any]) -> int:
    """The number of the first variant with these parameters. Raises UnfitTestError."""
    for number in range(cls.num_variants):
        if planned(parameters_of(cls, number)) == wanted:
            return number
    raise UnfitTestError(f"{cls.__name__} has no variant with {dict(wanted)!s:.200}")


def maker_of(
    launch: Any, definition: CheckDefinition[Any], name: str, module: str
) -> Callable[..., Any] | None:
    """Maker of the test of a launch, None for a check that is no test of a suite. Its refusal or
    skip is reported, for ReFrame is silent."""
    if not isinstance(definition, ReframeDefinition):
        return None
    test, params = definition.line, definition.parameters.model_validate(launch.params)
    cls = class_of(test.file, test.cls, tuple(test.path))
    wanted = {k: v for k, v in (params.model_extra or {}).items() if k not in test.variables}
    variant = variant_of(cls, wanted)

    def pin_environment(self: Any) -> None:
        self.valid_systems, self.valid_prog_environs = ["*"], [launch.environment]

    def pin_launch(self: Any) -> None:
        _pin(self, launch)

    # Hooks of the test before ours may hold on to what it asks for itself.
    unset = {"valid_systems": ["*"], "valid_prog_environs": [launch.environment]}
    body = {
        **{k: v for k, v in unset.items() if not cls.var_space.vars[k].is_defined()},
        **test.variables,
        "assay_programs": fixture(Programs, scope="environment"),
        "launch_index": launch.index,
        "definition": definition,
        "assay_variant": wanted,
        "executed": [],
    }
    hooks = [run_after("init")(pin_environment), run_before("run")(pin_launch)]
    folder = str(Path(test.file).parent)
    made = make_test(name, (cls,), body, hooks, module=module, custom_prefix=folder)

    return _reporting(made, variant, launch.index)


def _reporting(cls: Any, variant: int, index: int) -> Callable[..., Any]:
    """Maker of a test of a class that says why, where that fails or the test skips itself."""

    def make(variant_num: int = 0, **options: Any) -> Any:  # noqa: ARG001  the plan says which
        try:
            found = cls(variant_num=variant, **options)
        except SkipTestError as skip:
            send(Outcome("skipped", f"{skip}" or "skipped", launch_index=index))
            raise
        except (Exception, ReframeFatalError) as error:
            report_refusal(index, f"not started: {type(error).__name__}: {error!s:.400}")
            raise SkipTestError(str(error)) from error
        found.assay_token = token_hex(8)
        return found

    made: Any = make  # with what ReFrame asks of a class
    made.__qualname__ = made.__name__ = cls.__name__
    made.setvar = cls.setvar
    return make


def _pin(test: Any, launch: Any) -> None:
    """Fix what the plan says of the launch, after all hooks of the test before `run`."""
    extras, stage, job = test.current_partition.extras, Path(test.stagedir), test.job
    if test.local:
        raise UnfitTestError("the test runs where ReFrame does (local), not in a job")
    if test.modules and test.current_system.modules_system.name == "nomod":
        raise UnfitTestError(no_modules(str(one) for one in test.modules))
    if (test.num_tasks or 0) <= 0:
        test.num_tasks = launch.ranks
    if test.num_tasks_per_node is None:
        test.num_tasks_per_node = launch.ranks_per_node
    asked = test.num_tasks, test.num_tasks_per_node
    wanted = launch.ranks, launch.ranks_per_node
    if asked != wanted:
        raise UnfitTestError(
            f"a hook of the test sets num_tasks = {asked[0]}, num_tasks_per_node = {asked[1]}; the"
            f" plan has {wanted[0]}, {wanted[1]}: say ranks and ranks_per_node of the test in the"
            " campaign"
        )
    if launch.cpus_per_task:
        test.num_cpus_per_task = launch.cpus_per_task
    test.extra_resources = {**test.extra_resources, **launch.resources}
    limit_s, job_s = limits_s(launch.limit_s, extras["longest_job_s"])
    test.time_limit, test.exclusive_access = f"{job_s}s", True
    job.launch_index, job.undisturbed = launch.index, launch.undisturbed
    job.drawn_by = f"{launch.case_id}.{launch.block}.{launch.attempt}"
    job.down_nodes_return, job.needs_s = extras["down_nodes_return"], limit_s + HALTING_S
    job.options += [one for one in run_options() if one not in job.options]
    _prove_and_time(test, stage)


def _prove_and_time(test: Any, stage: Path) -> None:
    """Put evidence into the launch's folder, and stamps and the end into its job."""
    built = Path(test.assay_programs.folder).resolve()
    shutil.copy(LAUNCH_SCRIPTS / "evidence.sh", stage)
    links = {"libassay_evidence.so": "libassay_evidence.so"}
    links |= {"preload.so": one} if (one := test.assay_extras["preload"]) else {}
    for link, helper in links.items():
        (stage / link).symlink_to(built / helper)
    test.env_vars[TOKEN] = test.assay_token
    # The status of the job stays that of the test's last command.
    test.prerun_cmds.insert(0, f'{_TELL_TIME} >"{stage}/{TIMES}"')
    test.postrun_cmds.append(
        f'assay_status=$?; {_TELL_TIME} >>"{stage}/{TIMES}";'
        f' : >"{stage}/{END_MARKER}"; (exit $assay_status)'
    )


_OWN = (LaunchTest, MakeBuild)


@register_launcher("assay-environment")
class EnvironmentLauncher(JobLauncher):
    """Starts ranks as the site says for the environment; each rank by evidence.sh."""

    extras: Mapping[str, Any] = {}

    def command(self, job: Any) -> list[str]:
        """The launch command of a job."""
        ranks = job.num_tasks or 1
        words = launch_words(
            self.extras["launcher"],
            ranks,
            job.num_tasks_per_node or ranks,
            mpirun=self.extras["mpirun"] or "",
            cpus_per_task=job.num_cpus_per_task,
            template=self.extras["launcher_command"] or "",
        )
        return [shlex.quote(word) for word in [*words, *self.extras["launcher_options"]]]

    def run_command(self, job: Any) -> str:
        """With the options of the test, then what each rank begins with. How srun joins ranks to
        the library (`--mpi`) is the environment's, not the test's."""
        self.options: list[str] = [one for one in self.options if not one.startswith("--mpi=")]
        return f"{super().run_command(job)} {shlex.quote(f'{job.workdir}/evidence.sh')}"


#: C compiler → those of C++ and Fortran that come with it.
_COMPILERS = {
    "mpicc": ("mpicxx", "mpif90"),
    "mpiicc": ("mpiicpc", "mpiifort"),
    "mpiicx": ("mpiicpx", "mpiifx"),
    "gcc": ("g++", "gfortran"),
    "clang": ("clang++", "flang"),
    "icx": ("icpx", "ifx"),
    "cc": ("CC", "ftn"),
}


def configure(site: Mapping[str, Any], configuration: dict[str, Any]) -> None:
    """Add to ReFrame's configuration what tests of suites ask a system for: its modules, its
    processor, features, the launcher, compilers of C++ and Fortran."""
    (system,) = configuration["systems"]
    (partition,) = system["partitions"]
    modules = site["modules_system"]
    system["modules_system"] = "envmod" if modules.startswith("tmod") else modules
    partition["launcher"] = "assay-environment"
    partition["features"] = [*partition["features"], "remote", "scontrol"]
    if site["virtual_cluster"]:
        own = _of_this_machine(site["cores_per_node"])
        partition["processor"] = own | partition["processor"]
    for environment in configuration["environments"]:
        folder, slash, base = environment["cc"].rpartition("/")
        stem, dot, suffix = base.partition(".")
        names = zip(("cxx", "ftn"), _COMPILERS.get(stem, ()), strict=False)
        environment |= {key: f"{folder}{slash}{name}{dot}{suffix}" for key, name in names}


def _of_this_machine(cores: int) -> dict[str, Any]:
    """Processor of this machine as ReFrame's own detection finds it, cut to a node of so many
    cores."""
    found = cpuinfo()

    def cut(masks: list[str]) -> list[str]:
        return [hex(one) for mask in masks if (one := int(mask, 16) & ((1 << cores) - 1))]

    caches = [{**one, "cpusets": cut(one["cpusets"])} for one in found["topology"].pop("caches")]
    topology = {name: cut(masks) for name, masks in found["topology"].items()}
    sockets = len(topology["sockets"])
    found |= {"num_cpus": cores, "num_sockets": sockets, "num_cpus_per_socket": cores // sockets}
    return {**found, "topology": {**topology, "caches": caches}}


def _seen_as(asked: str, extras: Mapping[str, Any], environment: Any) -> Any:
    """The environment by the name that a test asks for, or with the features: `+mpi %cc=gcc`; its
    extras are those given, and not ours, which may have a name that suites use."""
    found = copy.copy(environment)
    words = [] if asked[:1].isalnum() else asked.split()
    found._name = asked if asked and not words else environment.name
    found._features = [*found.features, *(one[1:] for one in words if one[0] == "+")]
    pairs = (one[1:].partition("=")[::2] for one in words if one[0] == "%")
    found._extras = {**extras, **dict(pairs)}
    return found


def install(brought: Iterable[Brought]) -> None:
    """Let tests of suites find their environment's launcher, and the name or features by which
    they ask for that environment from their hooks after `setup` on: of a launch those of its case,
    of a fixture those of the first test that says it."""
    if not (tests := [line for line in brought if isinstance(line, ReframeTest)]):
        return
    seen_as, extras = dict[str, str](), dict[str, Any]()
    for one in reversed(tests):
        seen_as |= one.seen_as
        extras |= one.extras
    create_job, resolve = RegressionTest._create_job, RegressionTest._resolve_fixtures

    def job_of_run(test: Any, *words: Any, **options: Any) -> Any:
        test.assay_extras = test.current_environ.extras
        job = create_job(test, *words, **options)
        if isinstance(job.launcher, EnvironmentLauncher):
            job.launcher.extras = test.current_environ.extras
        if job.scheduler.registered_name != "local":
            job.options += run_options()
        return job

    def with_name(test: Any) -> Any:
        found = resolve(test)
        if not isinstance(test, _OWN):
            line = getattr(getattr(test, "definition", None), "line", None)
            asked = getattr(line, "seen_as", seen_as).get(test.current_environ.name, "")
            given = getattr(line, "extras", extras)
            test._current_environ = _seen_as(asked, given, test._current_environ)
        return found

    RegressionTest._create_job, RegressionTest._resolve_fixtures = job_of_run, with_name
    # An assertion of a test is that test's error, not ReFrame's own, at which the session ends.
    executors.ABORT_REASONS = tuple({*executors.ABORT_REASONS} - {AssertionError})
