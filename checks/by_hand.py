# SPDX-License-Identifier: Apache-2.0
"""The checks as plain ReFrame tests, by hand: `reframe -c checks/by_hand.py -r -n hpl`."""

from __future__ import annotations

import reframe as rfm

from checks.alltoall_pairs import AlltoallPairsCheck
from checks.bisection import BisectionCheck
from checks.collectives import CollectivesCheck
from checks.echo import EchoCheck
from checks.hpl import HplCheck
from checks.interference import InterferenceCheck
from checks.netpipe import NetpipeCheck
from checks.node import NodeCheck
from checks.osu import OsuCheck
from checks.pt2pt import Pt2ptCheck
from checks.pvm_echo import PvmEchoCheck
from checks.ring import RingCheck
from checks.startup import StartupCheck
from checks.streams import StreamsCheck
from checks.su3_rmd import Su3RmdCheck


@rfm.simple_test
class alltoall_pairs(AlltoallPairsCheck):  # noqa: N801
    """Every pair of four nodes, one pair after the other."""

    ranks, turns = 4, True


@rfm.simple_test
class bisection(BisectionCheck):  # noqa: N801
    """Random pairs of four nodes."""

    ranks = 4


@rfm.simple_test
class echo(EchoCheck):  # noqa: N801
    """Echo between two nodes."""


@rfm.simple_test
class collectives(CollectivesCheck):  # noqa: N801
    """All collective operations over two nodes."""

    ranks = 2


@rfm.simple_test
class hpl(HplCheck):  # noqa: N801
    """HPL on a 1×2 grid unless knobs say otherwise."""

    n, p, q = 1000, 1, 2


@rfm.simple_test
class interference(InterferenceCheck):  # noqa: N801
    """Two endpoints on two nodes."""


@rfm.simple_test
class netpipe(NetpipeCheck):  # noqa: N801
    """NetPIPE between two nodes."""


@rfm.simple_test
class node(NodeCheck):  # noqa: N801
    """Two nodes, one after the other."""


@rfm.simple_test
class osu(OsuCheck):  # noqa: N801
    """OSU's latency between two nodes."""

    test = "osu_latency"


@rfm.simple_test
class pt2pt(Pt2ptCheck):  # noqa: N801
    """Ping-pong between two nodes."""


@rfm.simple_test
class pvm_echo(PvmEchoCheck):  # noqa: N801
    """Echo between two PVM tasks on two nodes."""


@rfm.simple_test
class ring(RingCheck):  # noqa: N801
    """A ring of two ranks."""


@rfm.simple_test
class startup(StartupCheck):  # noqa: N801
    """Start-up of two ranks."""


@rfm.simple_test
class streams(StreamsCheck):  # noqa: N801
    """Streams between two nodes."""


@rfm.simple_test
class su3_rmd(Su3RmdCheck):  # noqa: N801
    """Ten trajectories on 4³×8 on two nodes."""

    nx, ny, nz, nt, trajectories = 4, 4, 4, 8, 10
