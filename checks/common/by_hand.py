# SPDX-License-Identifier: Apache-2.0
"""The checks as plain ReFrame tests: `reframe -c checks/common/by_hand.py -r -n hpl`."""

from __future__ import annotations

import reframe as rfm
from reframe.core.meta import make_test

from checks.common.leaves import leaf_of
from checks.common.registry import CHECKS

#: What a check needs to be told where its defaults do not say it: small, over two nodes or four.
KNOBS = {
    "alltoall_pairs": {"ranks": 4, "turns": True},
    "bisection": {"ranks": 4},
    "collectives": {"ranks": 2},
    "hpl": {"n": 1000, "p": 1, "q": 2},
    "osu": {"test": "osu_latency"},
    "su3_rmd": {"nx": 4, "ny": 4, "nz": 4, "nt": 8, "trajectories": 10},
}

for _name, _definition in CHECKS.items():
    _leaf = leaf_of(_definition)
    rfm.simple_test(make_test(_name, (_leaf,), KNOBS.get(_name, {}), module=__name__))
