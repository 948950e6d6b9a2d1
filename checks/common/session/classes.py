# SPDX-License-Identifier: Apache-2.0
"""ReFrame test classes of the checks, made from their definitions.

Launches of a campaign derive from them (launches.py). ReFrame's own command line finds them in this
file (`-c checks -R`): a class for each entry of the sweep in the configuration that `assay site
reframe` writes. What the sweep varies are parameters of ReFrame, all else that a check can be asked
are variables: `-S hpl.n=4000`, `-S echo.sizes='[8, 64]'`.
"""

import json
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import reframe.utility.sanity as sn
from msgspec import convert
from reframe.core.builtins import parameter, run_after, run_before, variable
from reframe.core.decorators import TestRegistry
from reframe.core.meta import make_test
from reframe.core.runtime import runtime

from checks.common.definition import CheckDefinition, SiteCapacity
from checks.common.registry import CHECKS, UnfitTestError, validated
from checks.common.session.launching import LaunchTest, test_of, topology_of
from checks.common.session.outcome import Launch
from checks.common.sizing import is_relative, sized
from records.metric import figure_name
from records.site.limits import bound

#: Types of a variable: text is JSON, or a word; None: the check's own default.
_TYPES = (str, bool, int, float, list, dict, type(None))
#: A launch is ended after so many times its estimate, and not before so many seconds.
_ESTIMATES, _LEAST_LIMIT_S = 10, 60.0


class CheckTest(LaunchTest):
    """Check with its parameters: those of a campaign's launch, or by variables and parameters."""

    #: Seconds after which the launch is ended; 0: ten times its estimate, at least 60 s.
    launch_limit_s = variable(float, value=0.0)

    #: Names of the variables and parameters of ReFrame; none of a campaign's launch.
    given_by: tuple[str, ...] = ()
    #: Reason why the site cannot run it, with the arithmetic.
    unfit: str | None = None

    @run_after("init")
    def take_parameters(self) -> None:
        """Validate what was given, and lay it out on the site."""
        if not self.given_by:
            return
        given, check, site = dict[str, Any](), self.definition, _capacity()
        for name in self.given_by:
            value = getattr(self, name)
            if isinstance(value, dict) and name not in _names(check):
                given |= value
            elif value is not None:
                with suppress(ValueError, TypeError):
                    value = json.loads(value)
                given[name] = value
        every = list(sized(check, given, site)) if is_relative(check, given) else [given]
        if len(every) > 1:
            raise UnfitTestError(f"nodes are {len(every)} numbers here; give one")
        self.params = validated(check, every[0])
        layout = check.layout(self.params, site.cores_per_node)
        self.unfit = check.infeasible(self.params, layout, site)
        least_s = max(_LEAST_LIMIT_S, _ESTIMATES * check.estimate_s(self.params, layout, site))
        asked = {"case_id": self.unique_name, "check": check.name, "environment": "", "index": -1}
        asked |= {"params": self.params.complete(), "limit_s": self.launch_limit_s or least_s}
        asked |= {"ranks": layout.ranks, "ranks_per_node": layout.ranks_per_node}
        asked |= {"nodes": layout.nodes, "block": 1, "attempt": 1}
        self.asked = convert(asked, Launch)
        self.launch_index, self.drawn_by = -1, self.unique_name

    @run_after("setup")
    def leave_out(self) -> None:
        """Skip what the site has no room for, or the environment no program or feature."""
        if self.given_by and not self.unfit:
            environment, storage = self.current_environ, self.current_partition.extras["storage"]
            offered = {*environment.features, *(f"storage:{one}" for one in storage)}
            offered |= {f"program:{one}" for one in environment.extras["programs"]}
            lacking = ", ".join(sorted(self.definition.features_of(self.params) - offered))
            self.unfit = lacking and f"environment {environment.name} lacks {lacking}"
        self.skip_if(bool(self.unfit), self.unfit)

    @run_before("performance")
    def report_figures(self) -> None:
        """Hand over each value with its unit, and as reference the bound by the site's nominal
        rates: what is better than that was not measured."""
        known, rates = self.definition.metrics_by_name, self.current_partition.extras["nominal"]
        layout = (self.asked.ranks, self.asked.ranks_per_node, rates)
        for metric in self.outcome.metrics if self.given_by and not self.is_dry_run() else ():
            name, at = figure_name(metric), metric.at or {}
            value = sn.make_performance_function(sn.defer(metric.value), metric.unit)
            self.perf_variables[name] = value
            limit = bound(known[metric.name], at, *layout) if metric.name in known else None
            if limit is not None:
                margins = (None, 0.0) if metric.better == "higher" else (-0.0, None)
                self.reference[f"*:{name}"] = (limit, *margins, metric.unit)


def swept(name: str, check: CheckDefinition[Any], entry: Mapping[str, Any]) -> type[CheckTest]:
    """The class of a check with the axes (`matrix`) and `fixed` parameters of an entry of a
    campaign. A mapping on an axis sets several parameters."""
    axes, fixed = entry["matrix"], entry["fixed"]
    body: dict[str, Any] = {axis: parameter(every, fmt=_shown) for axis, every in axes.items()}
    for one in (one for one in _names(check) if one not in axes):
        body[one] = variable(*_TYPES, value=fixed.get(one))
    body |= {"given_by": tuple(body), "descr": check.title}
    made: type[CheckTest] = make_test(name, (test_of(check, CheckTest),), body, module=__name__)
    return made


def _names(check: CheckDefinition[Any]) -> list[str]:
    return [*check.parameters.model_fields, *sorted(check.sizing)]


def _shown(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, separators=(",", ":"))


def _capacity() -> SiteCapacity:
    """The site as its configuration describes it."""
    (partition,) = runtime().system.partitions
    extras, tree = partition.extras, partition.extras["topology"]
    return SiteCapacity(
        runtime().system.name,
        *(extras["nodes"], partition.processor.num_cpus, extras["memory_bytes_per_node"]),
        topology=topology_of(json.dumps(tree)) if tree else None,
        shared_cores=extras["shared_cores"],
    )


def __getattr__(name: str) -> TestRegistry:
    """ReFrame's register, made when ReFrame asks for it: of each entry of the sweep a class, such
    as `echo` and `echo_part2`, of a check without one its example."""
    if name != "_rfm_test_registry":
        raise AttributeError(name)
    register = globals()[name] = TestRegistry()
    sweep = runtime().system.partitions[0].extras.get("sweep", ())
    for check in CHECKS.values():
        own = [one for one in sweep if one["check"] == check.name]
        for number, one in enumerate(own or [{"matrix": {}, "fixed": check.example}], 1):
            called = check.name if number == 1 else f"{check.name}_part{number}"
            made = swept(called, check, one)
            for variant in range(made.num_variants):
                register.add(made, variant_num=variant)
    return register
