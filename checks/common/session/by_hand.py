# SPDX-License-Identifier: Apache-2.0
"""The checks as plain ReFrame tests: `reframe -c checks/common/session/by_hand.py -r -n hpl`."""

from __future__ import annotations

import reframe as rfm
from reframe.core.meta import make_test

from checks.common.registry import CHECKS
from checks.common.session.leaves import leaf_of

for _name, _definition in CHECKS.items():
    _leaf, _example = leaf_of(_definition), dict(_definition.example)
    rfm.simple_test(make_test(_name, (_leaf,), _example, module=__name__))
