# SPDX-License-Identifier: Apache-2.0
"""What each check can be asked: its parameters, its layout on nodes, its cost. No ReFrame here."""

from typing import Any

from checks.catalogue.alltoall_pairs import ALLTOALL_PAIRS, AlltoallPairsParameters
from checks.catalogue.bisection import BISECTION, BisectionParameters
from checks.catalogue.collectives import COLLECTIVES, CollectivesParameters
from checks.catalogue.definition import CheckDefinition, Layout, Parameters, SiteCapacity
from checks.catalogue.echo import ECHO, EchoParameters
from checks.catalogue.hpl import HPL, HplParameters
from checks.catalogue.interference import INTERFERENCE, InterferenceParameters
from checks.catalogue.netpipe import NETPIPE, NetpipeParameters
from checks.catalogue.node import NODE, NodeParameters
from checks.catalogue.osu import OSU, OsuParameters
from checks.catalogue.pt2pt import PT2PT, Pt2ptParameters
from checks.catalogue.pvm_echo import PVM_ECHO, PvmEchoParameters
from checks.catalogue.ring import RING, RingParameters
from checks.catalogue.sizes import SizeRange, expand_sizes
from checks.catalogue.startup import STARTUP, StartupParameters
from checks.catalogue.streams import STREAMS, StreamsParameters
from checks.catalogue.su3_rmd import SU3_RMD, Su3RmdParameters

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
