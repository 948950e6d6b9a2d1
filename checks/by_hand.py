# SPDX-License-Identifier: Apache-2.0
"""The checks as plain ReFrame tests, to be run by hand: `reframe -c checks/by_hand.py -r -n hpl`."""

from __future__ import annotations

import reframe as rfm

from checks.hpl import HplCheck
from checks.pt2pt import Pt2ptCheck
from checks.startup import StartupCheck


@rfm.simple_test
class hpl(HplCheck):  # noqa: N801
    """HPL on a 1×2 grid unless knobs say otherwise."""

    n, p, q = 1000, 1, 2


@rfm.simple_test
class pt2pt(Pt2ptCheck):  # noqa: N801
    """Ping-pong between two nodes."""


@rfm.simple_test
class startup(StartupCheck):  # noqa: N801
    """Start-up of two ranks."""
