# SPDX-License-Identifier: Apache-2.0
"""Class for each launch of a test of a ReFrame suite, derived from the suite's own.

It pins environment, layout, time limit and proof; all else is the test's: what it runs, what is
right, what it measures.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from secrets import token_hex
from typing import Any

import reframe.utility as util
from reframe.core.builtins import fixture, run_after, run_before
from reframe.core.exceptions import ReframeFatalError, SkipTestError
from reframe.core.meta import make_test

from checks.common.definition import CheckDefinition
from checks.common.json_lines import TOKEN
from checks.common.registry import UnfitTestError
from checks.common.session.builds import Programs
from checks.common.session.outcome import Outcome, report_refusal, send
from checks.common.slurm.commands import HALTING_S, limits_s
from checks.common.slurm.scheduler import END_MARKER, run_options
from checks.common.sources import LAUNCH_SCRIPTS
from plugins.reframe.classes import ReframeDefinition, no_modules, planned
from plugins.reframe.foreign.listing import parameters_of

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
