# SPDX-License-Identifier: Apache-2.0
"""The checks as plain ReFrame tests, by hand: `reframe -c checks/by_hand.py -r -n hpl`."""

from __future__ import annotations

import reframe as rfm

from checks.alltoall_pairs import AlltoallPairsCheck
from checks.hpl import HplCheck
from checks.netpipe import NetpipeCheck
from checks.node import NodeCheck
from checks.pt2pt import Pt2ptCheck
from checks.startup import StartupCheck
from checks.su3_rmd import Su3RmdCheck


@rfm.simple_test
class alltoall_pairs(AlltoallPairsCheck):  # noqa: N801
    """Every pair of four nodes, one pair after the other."""

    ranks, turns = 4, True


@rfm.simple_test
class hpl(HplCheck):  # noqa: N801
    """HPL on a 1×2 grid unless knobs say otherwise."""

    n, p, q = 1000, 1, 2


@rfm.simple_test
class netpipe(NetpipeCheck):  # noqa: N801
    """NetPIPE between two nodes."""


@rfm.simple_test
class node(NodeCheck):  # noqa: N801
    """Two nodes, one after the other."""


@rfm.simple_test
class pt2pt(Pt2ptCheck):  # noqa: N801
    """Ping-pong between two nodes."""


@rfm.simple_test
class startup(StartupCheck):  # noqa: N801
    """Start-up of two ranks."""


@rfm.simple_test
class su3_rmd(Su3RmdCheck):  # noqa: N801
    """Ten trajectories on 4³×8 on two nodes."""

    nx, ny, nz, nt, trajectories = 4, 4, 4, 8, 10
