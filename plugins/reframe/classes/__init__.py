# SPDX-License-Identifier: Apache-2.0
"""The definition of a check that is a class of a ReFrame suite: made of what a plan keeps of it.

Without ReFrame, and without the suite: nothing of its code is executed here.
"""

import hashlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from pydantic import ConfigDict

from checks.common.definition import CheckDefinition, Layout, SiteCapacity
from checks.common.parameters import Parameters, Ranks, quantity
from records.errors import AssayError
from records.run.brought import ReframeTest
from records.run.plan import canonical_json

#: Seconds of a launch while none is known: at least, and as a share of the test's own limit, which
#: tells little.
_ROUGH_S, _LIMIT_SHARE = 0.5, 0.01


class TestParameters(Parameters):
    """Layout of a launch, the digest of what is run, and the test's own parameters."""

    model_config = ConfigDict(strict=True, extra="allow", frozen=True, allow_inf_nan=False)
    __test__ = False

    ranks: Ranks = quantity("MPI ranks of the launch, num_tasks of the test.", "ranks")
    ranks_per_node: Ranks = quantity("Ranks on each node.", "ranks")
    source: str = quantity("Digest of class, file, variables and the suite's commit.", "none")


class ReframeDefinition(CheckDefinition[TestParameters]):
    """A class of a ReFrame suite. What it measures, and whether that is right, is its own."""

    parameters = TestParameters
    line: ReframeTest
    deciding = ""
    is_reread = False

    def __init__(self, name: str, line: ReframeTest) -> None:
        self.line = line
        # Of every definition these are attributes of its class.
        metrics = tuple({one.metric.name: one.metric for one in line.figures}.values())
        self.__dict__.update(name=name, title=line.title, metrics=metrics)
        self.__dict__.update(shown=self.metrics[0].name if self.metrics else "")

    def memory_bytes_per_node(self, params: TestParameters, cores_per_node: int) -> int:
        """Unknown: the suite does not tell it."""
        return 0

    def estimate_s(self, params: TestParameters, layout: Layout, site: SiteCapacity) -> float:
        """A rough time until launches were timed: most tests of suites are short."""
        limit_s = self.line.time_limit_s or 0.0
        return site.launch_overhead_s + max(_ROUGH_S, _LIMIT_SHARE * limit_s)

    def refuse_changed(self) -> None:
        """Raise AssayError where the file is not that of the plan any more."""
        if digest_of(Path(self.line.file), self.line.cls) != self.line.digest:
            raise AssayError(
                f"{self.line.file}: is not the file that was planned; put that back, or begin a"
                " new run"
            )


def no_modules(names: Iterable[str]) -> str:
    """Why a test that asks for modules is refused on a site without them."""
    return (
        f"asks for modules {', '.join(names)}, and the site has no module system: name one as"
        " modules_system in site.yaml, or set `vars: {modules: []}` where nothing is to be loaded"
    )


def planned(params: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters as a plan can hold them: deeper values as their canonical text."""

    def flat(value: Any, levels: int = 2) -> bool:
        if isinstance(value, list | dict):
            inside = value.values() if isinstance(value, dict) else value
            return levels > 0 and all(flat(one, levels - 1) for one in inside)
        return True

    return {k: v if flat(v) else canonical_json(v) for k, v in params.items()}


def digest_of(file: Path, cls: str) -> str:
    """SHA-256 of a class's name and its file, in hexadecimal."""
    try:
        content = file.read_bytes()
    except OSError as error:
        raise AssayError(f"{file}: cannot be read ({error.strerror})") from None
    return hashlib.sha256(cls.encode() + b"\0" + content).hexdigest()


#: What a plan brings, and the definition that is made of it.
BROUGHT = ReframeTest, ReframeDefinition
