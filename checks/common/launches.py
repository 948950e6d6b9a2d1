# SPDX-License-Identifier: Apache-2.0
"""ReFrame test file of a campaign: one test for each launch of the list, named by its place in it.

The harness gives the list as JSON lines in the file that LAUNCHES_FILE names; ReFrame runs them one
by one in the order of their names. By hand, use `reframe -c checks/by_hand.py` instead.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import reframe as rfm
from reframe.core.meta import make_test

from checks.alltoall_pairs.run import AlltoallPairsCheck
from checks.bisection.run import BisectionCheck
from checks.collectives.run import CollectivesCheck
from checks.echo.run import EchoCheck
from checks.hpl.run import HplCheck
from checks.interference.run import InterferenceCheck
from checks.netpipe.run import NetpipeCheck
from checks.node.run import NodeCheck
from checks.osu.run import OsuCheck
from checks.pt2pt.run import Pt2ptCheck
from checks.pvm_echo.run import PvmEchoCheck
from checks.ring.run import RingCheck
from checks.startup.run import StartupCheck
from checks.streams.run import StreamsCheck
from checks.su3_rmd.run import Su3RmdCheck

#: Environment variable with the path of the list of launches.
LAUNCHES_FILE = "ASSAY_LAUNCHES_FILE"

LEAVES = {
    "alltoall_pairs": AlltoallPairsCheck,
    "bisection": BisectionCheck,
    "collectives": CollectivesCheck,
    "echo": EchoCheck,
    "hpl": HplCheck,
    "interference": InterferenceCheck,
    "netpipe": NetpipeCheck,
    "node": NodeCheck,
    "osu": OsuCheck,
    "pt2pt": Pt2ptCheck,
    "pvm_echo": PvmEchoCheck,
    "ring": RingCheck,
    "startup": StartupCheck,
    "streams": StreamsCheck,
    "su3_rmd": Su3RmdCheck,
}


def make_launch_test(launch: dict[str, Any], module: str) -> type:
    """The ReFrame test of one launch: its leaf with all knobs set."""
    leaf = LEAVES[launch["check"]]
    body = {
        "valid_systems": ["*"],
        "valid_prog_environs": [launch["environment"]],
        "launch_index": launch["index"],
        "ranks": launch["ranks"],
        "ranks_per_node": launch["ranks_per_node"],
        "launch_limit_s": launch["limit_s"],
        **{name: launch["params"][name] for name in leaf.knob_names if name in launch["params"]},
    }
    name = f"L{launch['index']:07d}_{launch['case_id'].replace('-', '_')}_b{launch['block']}"
    return make_test(name, (leaf,), body, module=module)


def _register_all(path: str) -> None:
    for line in Path(path).read_text().splitlines():
        rfm.simple_test(make_launch_test(json.loads(line), __name__))


if _path := os.environ.get(LAUNCHES_FILE):
    _register_all(_path)
