# SPDX-License-Identifier: Apache-2.0
"""ReFrame test file of a campaign: one test for each launch of the list, named by its place in it.

The harness gives the list as JSON lines in the file that LAUNCHES_FILE names; ReFrame runs them one
by one in the order of their names. By hand, use by_hand.py instead.

The list comes from a run directory, which is not trusted: every launch is validated again before
any part of it reaches a job script. One that is refused is reported as failed.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from reframe.core.decorators import TestRegistry
from reframe.core.meta import make_test

from checks.common.base import MpiCheck
from checks.common.brought import brought_to_session, checks_with
from checks.common.guard import CheckError, UnfitTestError
from checks.common.parameters import MAX_RANKS
from checks.common.registry import CHECKS, Checks
from checks.common.resources import CpusPerTask, Resources
from checks.common.session.leaves import leaf_of
from checks.common.session.outcome import outcome_pipe, report_refusal
from checks.common.switches import Switches
from records.plugins import hooks

#: Environment variable with the path of the list of launches.
LAUNCHES_FILE = "ASSAY_LAUNCHES_FILE"

Ranks = Annotated[int, Field(ge=1, le=MAX_RANKS)]


class LaunchRequest(BaseModel):
    """A line of the list, as far as it is used."""

    model_config = ConfigDict(strict=True, frozen=True, allow_inf_nan=False)

    index: int = Field(ge=0)
    case_id: str = Field(pattern=r"^[a-z][a-z0-9_]*-[0-9a-f]+$", max_length=100)
    check: str
    environment: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$", max_length=100)
    params: dict[str, Any]
    ranks: Ranks
    ranks_per_node: Ranks
    block: int = Field(ge=0)
    attempt: int = Field(ge=1)
    limit_s: float = Field(gt=0, le=1e7)
    undisturbed: bool = True
    switches: Switches | None = None
    cpus_per_task: CpusPerTask | None = None
    resources: Resources = {}


#: ReFrame reads the tests from here.
_rfm_test_registry = TestRegistry()


def launch_test(
    launch: LaunchRequest,
    leaves: dict[str, type[MpiCheck]],
    module: str,
    checks: Checks = CHECKS,
) -> Callable[..., Any]:
    """What makes the ReFrame test of one launch: its leaf, or what derives from the class of a
    suite. Raises UnfitTestError."""
    definition = checks.get(launch.check)
    if definition is None:
        raise UnfitTestError(f"check: no check {launch.check!r}; allowed is {', '.join(checks)}")
    try:
        params = definition.parameters.model_validate(launch.params)
    except ValidationError as error:
        raise UnfitTestError(_problems(error, "params.")) from None
    ranks, on_node = definition.ranks(params), definition.ranks_asked_per_node(params)
    if launch.ranks != ranks or on_node not in {"fill", "half", launch.ranks_per_node}:
        raise UnfitTestError(
            f"ranks = {launch.ranks}, ranks_per_node = {launch.ranks_per_node}; by its params"
            f" allowed is {ranks}, {on_node}"
        )
    name = f"L{launch.index:07d}_{launch.case_id.replace('-', '_')}_b{launch.block}"
    if maker := definition.test_maker(launch, name, module):
        return maker
    if launch.check not in leaves:
        leaves[launch.check] = leaf_of(definition)
    made: type = make_test(
        name, (leaves[launch.check],), _body(launch, leaves, params), module=module
    )
    return made


def _body(launch: LaunchRequest, leaves: dict[str, type[MpiCheck]], params: Any) -> dict[str, Any]:
    """The variables of the test of a launch."""
    return {
        "valid_systems": ["*"],
        "valid_prog_environs": [launch.environment],
        "launch_index": launch.index,
        "drawn_by": f"{launch.case_id}.{launch.block}.{launch.attempt}",
        "ranks": launch.ranks,
        "ranks_per_node": launch.ranks_per_node,
        "launch_limit_s": launch.limit_s,
        "undisturbed": launch.undisturbed,
        "switches": launch.switches or "",
        "cpus_per_task": launch.cpus_per_task or 0,
        "resources": launch.resources,
        **leaves[launch.check].settings(params),
    }


def _problems(error: ValidationError, prefix: str = "") -> str:
    return "; ".join(
        f"{prefix}{'.'.join(map(str, one['loc']))}: {one['msg']}, found {one['input']!r:.100}"
        for one in error.errors()
    )


def _register_all(path: str) -> None:
    leaves: dict[str, type[MpiCheck]] = {}
    brought = brought_to_session()
    checks = checks_with(brought)
    for prepare in hooks("session_prepare") if brought else ():
        prepare(brought.values())
    for place, line in enumerate(Path(path).read_text().splitlines()):
        index = place
        try:
            launch = LaunchRequest.model_validate_json(line)
            index = launch.index
            # The one variant, with its fixtures.
            _rfm_test_registry.add(launch_test(launch, leaves, __name__, checks), variant_num=0)
        except (ValidationError, CheckError, UnfitTestError) as error:
            said = _problems(error) if isinstance(error, ValidationError) else str(error)
            reason = f"launch {index} was refused: {said}"
            if outcome_pipe() is None:
                raise ValueError(f"{path}: {reason}") from error
            report_refusal(index, reason)


if _path := os.environ.get(LAUNCHES_FILE):
    _register_all(_path)
