# SPDX-License-Identifier: Apache-2.0
"""What each check can be asked: its parameters, its layout on nodes, its cost. No ReFrame here."""

from typing import Any

from checks.alltoall_pairs import ALLTOALL_PAIRS, AlltoallPairsParameters
from checks.bisection import BISECTION, BisectionParameters
from checks.collectives import COLLECTIVES, CollectivesParameters
from checks.common.definition import CheckDefinition, Layout, Parameters, SiteCapacity
from checks.common.sizes import SizeRange, expand_sizes
from checks.echo import ECHO, EchoParameters
from checks.hpl import HPL, HplParameters
from checks.interference import INTERFERENCE, InterferenceParameters
from checks.netpipe import NETPIPE, NetpipeParameters
from checks.node import NODE, NodeParameters
from checks.osu import OSU, OsuParameters
from checks.pt2pt import PT2PT, Pt2ptParameters
from checks.pvm_echo import PVM_ECHO, PvmEchoParameters
from checks.ring import RING, RingParameters
from checks.startup import STARTUP, StartupParameters
from checks.streams import STREAMS, StreamsParameters
from checks.su3_rmd import SU3_RMD, Su3RmdParameters

#: Every check a campaign may name.
CHECKS: dict[str, CheckDefinition[Any]] = {
    check.name: check
    for check in (
        ALLTOALL_PAIRS,
        BISECTION,
        COLLECTIVES,
        ECHO,
        HPL,
        INTERFERENCE,
        NETPIPE,
        NODE,
        OSU,
        PT2PT,
        PVM_ECHO,
        RING,
        STARTUP,
        STREAMS,
        SU3_RMD,
    )
}

__all__ = [
    "CHECKS",
    "AlltoallPairsParameters",
    "BisectionParameters",
    "CheckDefinition",
    "CollectivesParameters",
    "EchoParameters",
    "HplParameters",
    "InterferenceParameters",
    "Layout",
    "NetpipeParameters",
    "NodeParameters",
    "OsuParameters",
    "Parameters",
    "Pt2ptParameters",
    "PvmEchoParameters",
    "RingParameters",
    "SiteCapacity",
    "SizeRange",
    "StartupParameters",
    "StreamsParameters",
    "Su3RmdParameters",
    "expand_sizes",
]
