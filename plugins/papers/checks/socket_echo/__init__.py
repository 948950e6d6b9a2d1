# SPDX-License-Identifier: Apache-2.0
"""Echo over TCP or UDP, without an MPI library, between two hosts; one may be the login node."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, Literal

from checks.common.answer import Asked
from checks.common.definition import OrdinaryMachine
from checks.common.messages import expand_sizes
from checks.common.parameters import quantity
from checks.echo import EchoDefinition, EchoParameters
from plugins.papers.checks.sockets import LOGIN_NODE, SocketsDefinition
from records.metric import MetricDefinition

#: Bytes in one UDP datagram over IPv4.
DATAGRAM_MOST_BYTES = 65_507


class SocketEchoParameters(EchoParameters):
    """Parameters of the echo over sockets, which know no empty message."""

    transport: Literal["tcp", "udp"] = quantity(
        "What carries the messages; a lost datagram is counted and sent again.", "none", "tcp"
    )
    placement: Literal["within-node", "between-nodes", "login-node"] = quantity(  # type: ignore[assignment]  # other ends
        "Where the two ends are: on a node, on two nodes, or one on the login node.",
        "none",
        "between-nodes",
    )

    def model_post_init(self, context: Any) -> None:
        """Refuse what sockets do not have."""
        for name, allowed in {"distance": 1, "mpi_profile": False}.items():
            if (found := getattr(self, name)) != allowed:
                raise ValueError(f"sockets do not go with {name} = {found}; allowed is {allowed}")
        greatest = expand_sizes(self.sizes)[-1]
        if self.transport == "udp" and greatest > DATAGRAM_MOST_BYTES:
            raise ValueError(
                f"transport = udp does not go with {greatest} bytes; allowed are at most"
                f" {DATAGRAM_MOST_BYTES}, which one datagram holds"
            )


class SocketEchoDefinition(SocketsDefinition[EchoParameters], EchoDefinition):
    """Layout and cost of the echo over sockets."""

    name = "socket_echo"
    title = "Echo over sockets"
    shown = "half_round_trip"
    parameters: Any = SocketEchoParameters
    metrics = (
        *(one for one in EchoDefinition.metrics if not one.name.startswith("echo_latency")),
        MetricDefinition(
            "datagrams_lost",
            "1",
            "lower",
            "datagrams of a size that had no answer within 0.1 s, of all that were sent",
            may_be_zero=True,
            title="datagrams lost",
        ),
    )
    no_options = frozenset({"transport", "distance"})
    without_library = {"tcp": "tcp_echo", "udp": "udp_echo"}
    noted = EchoDefinition.noted
    took_over = ("echo", "transport")

    def message_bytes(self, params: Any) -> list[int]:
        """All sizes measured, ascending."""
        return list(params.sizes)

    def expected(self, params: Any, hosts: Sequence[str]) -> Iterator[Asked]:
        """Values of every size, and over UDP the datagrams that it lost."""
        yield from super().expected(params, hosts)
        for size in self.message_bytes(params) if params.transport == "udp" else ():
            yield Asked("datagrams_lost", {"message_bytes": size})

    def ranks(self, params: EchoParameters) -> int:
        """Number of ranks: one with the login node, else two."""
        return 1 if params.placement == LOGIN_NODE else 2

    def measuring_s(self, params: EchoParameters, machine: OrdinaryMachine) -> Iterable[float]:
        """As of every echo; between a node and the login node too there is the network."""
        if params.placement == LOGIN_NODE:
            machine = replace(machine, nodes=2)
        return super().measuring_s(params, machine)


CHECK = SocketEchoDefinition()
