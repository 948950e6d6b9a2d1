# SPDX-License-Identifier: Apache-2.0
"""Programs of two ends over sockets, which two ranks start on their hosts, or one and the login
node."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Literal, TypeVar

from checks.common.answer import Reading, option_words
from checks.common.json_lines import Output
from checks.common.messages import TwoRankDefinition
from checks.common.parameters import Parameters

P = TypeVar("P", bound=Parameters)

#: The placement of one end on a node of the job, the other where the harness runs.
LOGIN_NODE = "login-node"
#: What carries messages between two hosts: the library (MPI or PVM), or TCP without it.
Transport = Literal["library", "tcp"]

#: Our programs that start the two ends of another on two hosts. Over TCP: MPI places its ranks and
#: gives their evidence.
TCP_PAIR = "tcp_pair"
#: Over PVM, between two hosts of its virtual machine.
PVM_PAIR = "pvm_pair"


class SocketsDefinition(TwoRankDefinition[P]):
    """Parameters have `transport`: the library, or sockets, by a program without MPI that two ranks
    start on their hosts."""

    #: Our program of each transport but the library.
    without_library: ClassVar[Mapping[str, str]] = {}
    noted = {"payload_verified": str}

    def programs(self, params: Any) -> list[str]:
        """Over sockets another program than over MPI, and that which starts it."""
        if params.transport == "library":
            return [self.name]
        return [self.without_library[params.transport], TCP_PAIR]

    def beside_job(self, params: Any) -> bool:
        """True if the other end runs on the login node (the harness's host), outside the job."""
        return bool(params.placement == LOGIN_NODE)

    def command(self, params: Any, built: Path) -> list[str]:
        """Over sockets the program of two ends, started on the hosts of two ranks."""
        if params.transport == "library":
            return super().command(params, built)
        program, *options = self.end(params, built)
        other = [] if self.beside_job(params) else ["--port=@port", "--host=@host"]
        return [str(built / TCP_PAIR), *two_ends(program, options, ["--port=@port"], other)]

    def end(self, params: Any, built: Path) -> list[str]:
        """The program of each end and its arguments, without the address."""
        program = str((built / self.programs(params)[0]).resolve())
        return [program, *option_words(self.options(params))]

    def notes(self, params: Any, hosts: Sequence[str]) -> Mapping[str, Any]:
        """Over sockets also the address that was connected."""
        notes = super().notes(params, hosts)
        if params.transport == "library":
            return notes
        if self.beside_job(params):
            carried_by, further = "sockets of rank 0's host and of another", {"own_address": str}
        else:
            carried_by, further = "sockets of the hosts of ranks 0 and 1", {}
        return {**notes, "peer_address": str, "carried_by": carried_by, **further}

    def check_values(self, params: Any, output: Output) -> Reading:
        """Between nodes, and from the login node, the connection must have joined two hosts."""
        peer, own = (str(output.notes.get(f"{end}_address", "")) for end in ("peer", "own"))
        if params.placement == "between-nodes" and peer.startswith("127."):
            return Reading(wrong=f"the connection went to {peer}, not to another node")
        if self.beside_job(params) and (peer == own or peer.startswith("127.")):
            return Reading(
                wrong=f"the connection came from {peer}, the node itself; start assay on a login"
                " node, outside the job"
            )
        return super().check_values(params, output)


def two_ends(
    program: str, both: Sequence[str], listening: Sequence[str], other: Sequence[str]
) -> list[str]:
    """tcp_pair's arguments: the program's path, words for both ends, and for each.

    @host and @port in the words are replaced by the address of the listening end.
    """
    return [program, *both, "@listening", *listening, "@other", *other]
