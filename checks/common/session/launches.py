# SPDX-License-Identifier: Apache-2.0
"""ReFrame test file of a campaign: one test for each launch of the list, named by its place in it.

The harness gives the list as JSON lines in the file that LAUNCHES_FILE names; ReFrame runs them one
by one in the order of their names.

Parameters are validated again: a check may have changed since the plan was made. A launch that is
refused is reported as failed.
"""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
from reframe.core.decorators import TestRegistry
from reframe.core.meta import make_test

from checks.common import registry
from checks.common.session.classes import CheckTest
from checks.common.session.launching import test_of
from checks.common.session.outcome import Launch, report_refusal
from records.plugins import hooks

#: Environment variable with the path of the list of launches.
LAUNCHES_FILE = "ASSAY_LAUNCHES_FILE"

#: ReFrame reads the tests from here.
_rfm_test_registry = TestRegistry()


def launch_test(
    launch: Launch,
    tests: dict[str, type[CheckTest]],
    module: str,
    checks: registry.Checks = registry.CHECKS,
) -> Callable[..., Any]:
    """Maker of the ReFrame test of one launch: a class of the check's among `tests`, or one derived
    from the class of a suite. Raises UnfitTestError."""
    definition = checks.get(launch.check)
    if definition is None:
        raise registry.UnfitTestError(
            f"check: no check {launch.check!r}; allowed is {', '.join(checks)}"
        )
    params = registry.validated(definition, launch.params)
    name = f"L{launch.index:07d}_{launch.case_id.replace('-', '_')}_b{launch.block}"
    for maker_of in hooks("session_test") if definition.line is not None else ():
        maker: Callable[..., Any] | None = maker_of(launch, definition, name, module)
        if maker is not None:
            return maker
    if launch.check not in tests:
        tests[launch.check] = test_of(definition, CheckTest)
    body = {
        "valid_prog_environs": [launch.environment],
        "launch_index": launch.index,
        "drawn_by": f"{launch.case_id}.{launch.block}.{launch.attempt}",
        "asked": launch,
        "params": params,
    }
    made: type = make_test(name, (tests[launch.check],), body, module=module)
    return made


def _register_all(path: str) -> None:
    made: dict[str, type[CheckTest]] = {}
    brought = registry.brought_to_session()
    checks = registry.checks_with(brought)
    for prepare in hooks("session_prepare") if brought else ():
        prepare(brought.values())
    for line in Path(path).read_bytes().splitlines():
        launch = msgspec.json.decode(line, type=Launch)
        try:
            # The one variant, with its fixtures.
            _rfm_test_registry.add(launch_test(launch, made, __name__, checks), variant_num=0)
        except (registry.CheckError, registry.UnfitTestError) as error:
            report_refusal(launch.index, f"launch {launch.index} was refused: {error}")


if _path := os.environ.get(LAUNCHES_FILE):
    _register_all(_path)
