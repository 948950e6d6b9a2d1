# SPDX-License-Identifier: Apache-2.0
"""PVM's echo: two tasks, over PVM's ways to send and receive, routes and message sizes."""

from collections.abc import Iterator, Sequence
from operator import attrgetter
from typing import Annotated, Any, Literal, get_args

from checks.common.answer import Asked, Reading
from checks.common.json_lines import Output
from checks.common.messages import (
    EchoesDefinition,
    Placement,
    SizesFromZero,
    TwoRankDefinition,
    echoes,
    refuse_many_samples,
    sizes_field,
)
from checks.common.metrics import BANDWIDTHS, ECHO_RELATIONS, HALF_ROUND_TRIPS, time_metric
from checks.common.parameters import EachOnce, Parameters, Repeats, Seed, quantity
from records.metric import Metric

PvmConstruct = Literal["psend", "InPlace", "Raw", "Default"]
Route = Literal["direct", "daemon"]
Element = Literal["byte", "int", "double"]

#: In the order of their cost on the machines of the 1995 study.
PVM_CONSTRUCTS: tuple[PvmConstruct, ...] = get_args(PvmConstruct)

#: Up to 1024 bytes, over which the study fitted its latencies, then up to its 800 Kbytes.
DEFAULT_PVM_SIZES = [0, 64, 128, 256, 512, 768, 1024, 4096, 16384, 65536, 262144, 800000]

#: Medians of the parts of a round trip on the asking task, and of one copy.
STEPS = {
    "pack_time": "pvm_initsend and packing of one message, median",
    "send_time": "pvm_send or pvm_psend until it returns, median",
    "wait_time": "pvm_recv or pvm_precv from the message's leaving to the answer's coming in,"
    " median",
    "unpack_time": "unpacking of one message into the buffer, median",
    "copy_time": "memcpy of a message from buffer to buffer, median",
}


#: So many times shorter than the best round trip no median of its steps is.
_STEPS_APART = 10.0


class PvmEchoParameters(Parameters):
    """A launch of the echo between two PVM tasks."""

    placement: Placement = quantity("Where the two tasks are.", "none", "between-nodes")
    route: Route = quantity(
        "direct: a TCP connection of the tasks (PvmRouteDirect); daemon: from daemon to daemon.",
        "none",
        "direct",
    )
    constructs: Annotated[list[PvmConstruct], EachOnce(PVM_CONSTRUCTS, "construct")] = quantity(
        "psend: pvm_psend and pvm_precv; the others: pvm_send and pvm_recv with this encoding.",
        "none",
        list(PVM_CONSTRUCTS),
    )
    element: Element = quantity(
        "Type that encoded messages are packed as; Default converts all but bytes.",
        "none",
        "double",
    )
    sizes: SizesFromZero = sizes_field(DEFAULT_PVM_SIZES)
    iterations: Repeats = quantity(
        "Measured round trips for each construct and size.", "round trips", 100
    )
    warmup: Repeats = quantity("Round trips before them that are left out.", "round trips", 10)
    seed: Seed = quantity("Seed of the order of constructs and sizes inside a launch.", "none", 1)

    def model_post_init(self, context: Any) -> None:
        """Refuse more samples than a launch may keep."""
        refuse_many_samples(len(self.constructs), len(self.sizes), self.iterations)


class PvmEchoDefinition(TwoRankDefinition[PvmEchoParameters], EchoesDefinition[PvmEchoParameters]):
    """Layout and cost of the echo between two PVM tasks."""

    name = "pvm_echo"
    title = "PVM echo"
    deciding = "half_round_trip"
    shown = "bandwidth"
    parameters = PvmEchoParameters
    features = frozenset({"pvm"})
    example = {"constructs": ["psend"], "sizes": [0, 1024]}
    metrics = (
        *HALF_ROUND_TRIPS,
        *BANDWIDTHS,
        *(
            time_metric(step, what, may_be_zero=True, kind="copy" if step == "copy_time" else "")
            for step, what in STEPS.items()
        ),
    )
    relations = ECHO_RELATIONS
    no_options = frozenset({"route"})
    points = ("construct", "message_bytes")
    noted = {
        "warmup": attrgetter("warmup"),
        "order_seed": attrgetter("seed"),
        "route": attrgetter("route"),
        "payload_verified": str,
    }

    def options(self, params: PvmEchoParameters) -> dict[str, object]:
        """Route and placement are switches of the program."""
        switches = {
            "daemon-route": params.route == "daemon",
            "within-node": params.placement == "within-node",
        }
        return {**super().options(params), **switches}

    def expected(self, params: PvmEchoParameters, hosts: Sequence[str]) -> Iterator[Asked]:
        """Half round trips, bandwidths and the steps of each protocol and size; copies a size."""
        for size in self.message_bytes(params):
            for construct in params.constructs:
                at = {"construct": construct, "message_bytes": size}
                yield from echoes(at, params.iterations)
                packing = () if construct == "psend" else ("pack_time", "unpack_time")
                yield from (Asked(step, at) for step in ("send_time", "wait_time", *packing))
            if size:
                yield Asked("copy_time", {"message_bytes": size})

    def messages_held(self, params: PvmEchoParameters) -> int:
        """Messages held: one each way, and PVM's copy of each."""
        return 4

    def least_duration_s(self, params: PvmEchoParameters, metrics: Sequence[Metric]) -> float:
        """All round trips, timed as a whole and again step by step: of those, half take at least
        the median of a step."""
        steps_s = sum(one.value for one in metrics if one.name in STEPS and one.name != "copy_time")
        return super().least_duration_s(params, metrics) + steps_s * params.iterations / 2

    def check_values(self, params: PvmEchoParameters, output: Output) -> Reading:
        """The steps of a round trip are no shorter than the best that was timed as a whole; where
        ranks share cores, they may be many times as long."""
        values = {(one.name, *sorted((one.at or {}).items())): one.value for one in output.metrics}
        for (name, *at), whole_s in values.items():
            if name != "half_round_trip":
                continue
            steps_s = sum(values.get((step, *at), 0.0) for step in STEPS)
            least_s = 2 * values["half_round_trip_best", *at] / _STEPS_APART
            if steps_s < least_s:
                place = " ".join(f"{key}={value}" for key, value in at)
                return Reading(
                    wrong=f"the steps of a round trip at {place} took {steps_s:.6g} s; half of one"
                    f" took {whole_s:.6g} s as a whole"
                )
        return super().check_values(params, output)


CHECK = PvmEchoDefinition()
